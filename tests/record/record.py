#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record compared with known results: a program with known shares (record/shares.c),
perf, and faults.

STOKE_KILLS is how often a recorder is killed (default 12); STOKE_TRUTH_FOLDER keeps what
is built and recorded."""

import collections
import contextlib
import glob
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tap

SOURCES = os.path.join(tap.SOURCE_ROOT, "tests", "record")
KILLS = int(os.environ.get("STOKE_KILLS", "12"))
SHARES = {"takes_50": 0.50, "takes_30": 0.30, "takes_15": 0.15, "takes_5": 0.05}
SURE = 2.576  # standard deviations: 99 of 100 samples of a share are within
DEEP = 400


def build(folder):
    for name, flags in (("fp", ["-fno-omit-frame-pointer"]),
                        ("plain", ["-fomit-frame-pointer"])):
        tap.output(["cc", "-O2", "-g", "-fno-optimize-strlen", *flags, "-pthread", "-o",
                os.path.join(folder, name), os.path.join(SOURCES, "shares.c")])
    tap.output(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-stack-protector", "-nostdlib",
            "-static", "-o", os.path.join(folder, "alone"),
            os.path.join(SOURCES, "alone.c")])


def stoke(*words, **more):
    return tap.output([tap.STOKE, *words], **more)


def record(folder, name, *words):
    path = os.path.join(folder, name)
    tap.output([tap.STOKE, "record", "-q", "-o", path, *words], cwd=folder)
    return path


def stacks(path, *words):
    """{stack as a tuple of names, root first: samples}"""
    found = collections.Counter()
    for line in stoke("fold", "-q", "--count-samples", *words, path).splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found


# --- Shares ------------------------------------------------------------------------------

def of_program(found):
    """The stacks of the work, without thread start and kernel."""
    return {stack: n for stack, n in found.items() if any(f in SHARES for f in stack)}


def shares_wrong(found):
    """Shares outside of the interval, and all shares as text."""
    work = of_program(found)
    total = sum(work.values())
    wrong, shares = [], []
    for name, share in SHARES.items():
        got = sum(n for stack, n in work.items() if name in stack)
        margin = SURE * math.sqrt(share * (1 - share) * total)
        text = f"{name} {100 * got / total:.2f}%" if total else f"{name} none"
        shares.append(text)
        if not total or abs(got - share * total) > margin:
            wrong.append(f"{text} of {total}, not {100 * share:.0f}% +- "
                         f"{100 * margin / max(total, 1):.2f}")
    return wrong, f"{total} samples: " + ", ".join(shares)


def broken(found, roots, least=0.995):
    """Stacks of the work whose root is not the start of a program."""
    work = of_program(found)
    whole = sum(n for stack, n in work.items() if any(f in roots for f in stack[:4]))
    total = sum(work.values())
    return "" if total and whole >= least * total else \
        f"{total - whole} of {total} stacks are broken"


ROOTS = {"main", "_start", "clone3", "__clone3", "start_thread", "__libc_start_call_main"}


def check_shares(report, folder, name, program, words, depth, exact_depth):
    """Up to six times: one of a hundred correct shares is outside of the interval, so one of 25
    correct runs is, and one of 10^8 is six times."""
    for attempt in range(6):
        path = record(folder, f"{name}.data", "-F", "1999", *words, "./" + program, "1500",
                      "2", str(depth))
        found = stacks(path)
        wrong, shares = shares_wrong(found)
        if not wrong:
            break
        print(f"# {name}, {attempt + 1}: {shares}: {'; '.join(wrong)}")
    report.result(f"{name}: shares: {shares}", "\n".join(wrong))
    work = of_program(found)
    report.result(f"{name}: no broken stacks", broken(found, ROOTS))
    if exact_depth:
        depths = collections.Counter()
        for stack, n in work.items():
            depths[stack.count("down")] += n
        right, total = depths[depth + 1], sum(depths.values())
        report.result(f"{name}: all {depth + 1} calls are there",
                      "" if right >= 0.995 * total else f"{depths.most_common(5)}")
    inlined = sum(n for stack, n in work.items()
                  if any(f.startswith("put_into") for f in stack))
    in_30 = sum(n for stack, n in work.items() if "takes_30" in stack)
    report.result(f"{name}: the inlined function is named",
                  "" if in_30 and inlined >= 0.99 * in_30 else f"{inlined} of {in_30}")
    tail = sum(n for stack, n in work.items() if "takes_5" in stack and "jumps" in stack)
    of_5 = sum(n for stack, n in work.items() if "takes_5" in stack)
    report.result(f"{name}: the caller of a tail call is not there",
                  "" if tail <= 0.02 * of_5 else f"{tail} of {of_5}")


def check_chosen(report, folder):
    """-g auto: stacks that are complete by frame pointers are complete, however short the dumps."""
    for name, program, size, depth, arguments in (
            ("all of it keeps frame pointers", "alone", 1024, 100, []),
            ("the program does, its library does not", "fp", 1024, 61, ["800", "1", "60"])):
        found = stacks(record(folder, "chosen.data", "-F", "1999", "-g", f"auto,{size}",
                              "./" + program, *arguments))
        depths = collections.Counter()
        for stack, n in found.items():
            if "work" in stack:
                depths[stack.count("down")] += n
        right, total = depths[depth], sum(depths.values())
        report.result(f"auto, {name}: all {depth} calls, of dumps of {size} bytes",
                      "" if total and right >= 0.995 * total else f"{depths.most_common(5)}")


def check_counted(report, folder):
    """Stacks that the kernel counts, short and long; none is lost."""
    status, _, err = tap.run([tap.STOKE, "record", "--bpf", "-o", "try.data", "true"],
                             cwd=folder)
    why = re.search(r"recording without --bpf: (.*)", err.decode())
    if status or why:
        report.skip("bpf", why[1] if why else err.decode())
        return
    check_shares(report, folder, "bpf", "fp", ["-g", "fp", "--bpf"], 60, True)
    for out, counted in ("all.folded", True), ("all.data", False), ("all.speedscope.json", False):
        _, _, reported = tap.run([tap.STOKE, "record", "-a", "-g", "fp", "--duration", "0.5", "-o", out],
                             cwd=folder)
        there = os.path.exists(os.path.join(folder, out)) and os.path.getsize(os.path.join(folder, out))
        report.result(f"{out} is {'counted in the kernel' if counted else 'sampled'} by default",
                      "" if (b"counted in the kernel" in reported) == counted and there else
                      reported.decode())
    cpu = 2 * 0.6e9
    for _ in range(6):  # while a virtual machine does not run, only one of both clocks advances
        path = record(folder, "counted.data", "--bpf", "-F", "4999", "./fp", "600", "2", "5")
        reported = stoke("script", "-q", "-G", "-F", "comm,time,period", path).splitlines()
        periods = sum(int(line.split()[-1]) for line in reported)
        wrong = abs(periods / cpu - 1) >= 0.02 or abs(len(reported) / (cpu * 4999e-9) - 1) >= 0.02
        if not wrong:
            break
        print(f"# bpf: {len(reported)} samples, {periods} ns of {cpu}")
    report.result(f"bpf: {len(reported)} samples at 4999 Hz, of {cpu / 1e9} s",
                  f"{periods} ns" if wrong else "")


# --- Beside perf ------------------------------------------------------------------------

def lines_of(command):
    text = tap.output(command)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


FIELDS = "comm,pid,tid,cpu,time,event,ip"


def compare_with_perf(report, name, path):
    """perf and stoke find the same samples in the file, with the same addresses."""
    ours = lines_of([tap.STOKE, "script", "-q", "--no-inline", "-F", FIELDS, path])
    theirs = lines_of(["perf", "script", "--no-inline", "--max-stack", "2000", "-F", FIELDS,
                       "-i", path])
    same = sum((collections.Counter(ours) & collections.Counter(theirs)).values())
    most = max(len(ours), len(theirs))
    report.result(f"{name}: perf script finds the same {most} lines",
                  "" if most and same >= 0.999 * most else
                  f"{most - same} of {most} differ:\n" + tap.difference(
                      "\n".join(theirs).encode(), "\n".join(ours).encode(), limit=12))


def compare_shares_with_perf(report, folder):
    path = os.path.join(folder, "perf.data")
    tap.output(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "--call-graph",
            "dwarf,16384", "-o", path, "./plain", "1500", "2", "60"], cwd=folder)
    wrong, shares = shares_wrong(stacks(path))
    report.result(f"perf record of the same program: {shares}", "")
    if wrong:
        print("#", "; ".join(wrong))


# --- Faults -----------------------------------------------------------------------------

SAMPLE_TIME = re.compile(r"^\s*([0-9]+\.[0-9]+):")


def last_time(path, program):
    words = {"stoke": [tap.STOKE, "script", "-q", "-G", "-F", "time", path],
             "perf": ["perf", "script", "-G", "-F", "time", "-i", path]}[program]
    status, out, err = tap.run(words)
    times = [float(m[1]) for m in map(SAMPLE_TIME.match, out.decode().splitlines()) if m]
    message = err.decode("utf-8", "replace")
    if not times and (status == 0 or "the recording has no samples" in message):
        return 0, ""
    if status != 0:
        return None, f"{program}: status {status}: {message[-300:]}"
    return max(times), ""


# Options and targets of recorders that are killed.
KILLED = [
    (["-F", "999"], "pid"), (["-F", "999", "-g", "dwarf"], "pid"),
    (["-F", "4999", "--no-compress"], "pid"), (["-F", "999", "--bpf"], "pid"),
    (["-F", "999"], "command"), (["-F", "999", "--off-cpu"], "pid"),
    (["-F", "999", "--rotate", "1s"], "pid"), (["-F", "999", "--snapshot"], "pid"),
]


def files_of(path):
    """The files of a recording, the newest first."""
    numbered = sorted(glob.glob(path + ".[0-9]*"), key=os.path.getmtime, reverse=True)
    return [name for name in ([path] if os.path.exists(path) else []) + numbered
            if not name.endswith(".tmp")]


def seconds_missing(path, program, began, killed):
    """The seconds missing at the end of the newest file; why a file cannot be opened."""
    found, why = files_of(path), ""
    times = []
    for name in found:
        last, why = last_time(name, program)
        if why:
            return 0, f"{os.path.basename(name)}: {why}"
        times.append(last)
    return (killed - max([began, *times]) if found else 0), ""


def kill_once(folder, number, words, target, wait, programs, least=0):
    """Kills a recorder `wait` seconds after its start (None: at a random time after the file
    exists, at least after `least` seconds). Returns ("", seconds missing) or what is wrong."""
    path = os.path.join(folder, f"killed-{number}.data")
    work = ["./plain", "100000", "1", "20"]
    load = subprocess.Popen(work, cwd=folder) if target == "pid" else None
    targets = ["-p", str(load.pid)] if load else work
    recorder = subprocess.Popen([tap.STOKE, "record", "-q", "-o", path, *words, *targets],
                                stderr=subprocess.DEVNULL, cwd=folder, start_new_session=True)
    try:
        while wait is None and "--snapshot" not in words and not files_of(path) and \
                recorder.poll() is None:
            time.sleep(0.01)
        began = time.clock_gettime(time.CLOCK_MONOTONIC)
        time.sleep(random.uniform(least, 2.2) if wait is None else wait)
        if "--snapshot" in words and wait is None and \
                tap.waits_for_signals(recorder, signal.SIGUSR2):
            recorder.send_signal(signal.SIGUSR2)
            time.sleep(random.uniform(0, 0.05))
        killed = time.clock_gettime(time.CLOCK_MONOTONIC)
        early = recorder.poll() is not None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(recorder.pid, signal.SIGKILL)
        recorder.wait()
        if load:
            load.kill()
            load.wait()
    if early:
        return f"it ended by itself, with {recorder.returncode}", 0
    missing = 0
    for program in programs:
        left, why = seconds_missing(path, program, began, killed)
        if why:
            return why, 0
        missing = max(missing, left)
    for name in glob.glob(path + "*"):
        os.remove(name)
    return "", 0 if "--snapshot" in words else missing


FEATURE_BITS = slice(72, 104)  # of a perf.data


def check_growing(report, folder, has_perf):
    """A file without features, as it is between two writes of the recorder."""
    path = os.path.join(folder, "growing.data")
    status, _, err = tap.run([tap.STOKE, "record", "-q", "-F", "999", "-o", path, "./plain", "300",
                              "1", "20"], cwd=folder)
    if status:
        report.result("a file that grows", err.decode())
        return
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[FEATURE_BITS] = bytes(32)
    with open(path, "wb") as file:
        file.write(data)
    for program in ["stoke", "perf"] if has_perf else ["stoke"]:
        found, why = last_time(path, program)
        report.result(f"a file that grows: {program}", why or ("" if found else "no sample"))


def check_kills(report, folder, has_perf):
    """At random times, and right after the start, when there may be no file yet."""
    worst, faults = 0, []
    programs = ["stoke", "perf"] if has_perf else ["stoke"]
    for number in range(KILLS):
        words, target = KILLED[number % len(KILLED)]
        wait = random.uniform(0.001, 0.08) if number % 3 == 2 else None
        why, missing = kill_once(folder, number, words, target, wait, programs)
        how = f"{' '.join(words)}, {target}, {wait or 'later'}"
        # on a busy machine, the recorder or the program may wait for a CPU; a recorder that does
        # not write fails each time
        for _ in range(5 if missing > 1 and not why else 0):
            print(f"# {how}: {missing:.2f} s are missing")
            why, missing = kill_once(folder, number, words, target, None, programs, 2)
            if why or missing <= 1:
                break
        worst = max(worst, missing)
        if why:
            faults.append(f"{how}: {why}")
        elif missing > 1:
            faults.append(f"{how}: {missing:.2f} s are missing")
    report.result(f"killed {KILLS} times: only the last {worst:.2f} s are missing",
                  "\n".join(faults))


HOTSPOT = ["/usr/lib/*/libexec/hotspot-perfparser", "/usr/lib/*/hotspot-perfparser",
           "/usr/libexec/hotspot-perfparser"]


def check_hotspot(report, folder):
    """hotspot's reader finds the program's functions in an uncompressed recording."""
    found = [name for pattern in HOTSPOT for name in glob.glob(pattern)]
    if not found:
        report.skip("hotspot", "it is not installed")
        return
    path = record(folder, "hotspot.data", "-F", "999", "-g", "fp", "--no-compress", "./fp",
                  "300", "1", "5")
    status, out, err = tap.run([found[0], "--input", path, "--output", "/dev/stdout"])
    missing = [name for name in [*SHARES, "cpu-clock"]
               if name.encode() not in out and name != "takes_5"]
    report.result(f"hotspot reads it: {len(out)} bytes",
                  "" if status == 0 and not missing else
                  f"status {status}, no {missing}: {err.decode('utf-8', 'replace')[-500:]}")


def check_lost(report, folder):
    """A stopped recorder loses samples: it reports how many, and the file contains the number."""
    path = os.path.join(folder, "lost.data")
    load = subprocess.Popen(["./plain", "100000", "2", "60"], cwd=folder)
    recorder = subprocess.Popen([tap.STOKE, "record", "-F", "4999", "-g", "fp", "-m", "32K",
                                 "-o", path, "-p", str(load.pid), "--duration", "4"],
                                stderr=subprocess.PIPE, cwd=folder)
    while not files_of(path) and recorder.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    recorder.send_signal(signal.SIGSTOP)
    time.sleep(2)
    recorder.send_signal(signal.SIGCONT)
    message = recorder.communicate()[1].decode()
    load.kill()
    load.wait()
    reported = re.search(r"([0-9]+) records \([0-9.]+%\) were lost", message)
    noted = re.search(r"lost +([0-9]+)", stoke("info", path).replace(",", ""))
    if shutil.which("perf") and reported:
        text = tap.output(["perf", "report", "-i", path, "--stdio", "-g", "none"])
        theirs = re.search(r"Total Lost Samples: ([0-9]+)", text)
        report.result("perf report finds the same number of lost records",
                      "" if theirs and theirs[1] == reported[1] else f"{theirs and theirs[0]}, "
                      f"not {reported[1]}")
    report.result("a stopped recorder reports what it lost",
                  "" if reported and noted and reported[1] == noted[1] and int(reported[1]) > 0 else
                  f"{message}\n{noted and noted[0]}")


FORKS = """
i=0
while [ $i -lt 1000 ]; do
    (exec true)
    i=$((i + 1))
done
"""


def check_many_children(report, folder):
    path = record(folder, "forks.data", "-F", "2999", "sh", "-c", FORKS)
    text = stoke("script", "-q", "-G", "-F", "comm,pid", path).splitlines()
    pids = {line.split()[-1] for line in text}
    named = collections.Counter(line.split()[0] for line in text)
    other = {name: n for name, n in named.items() if name not in ("sh", "true")}
    report.result(f"1000 children: samples of {len(pids)} processes, all with names",
                  "" if len(pids) > 200 and not other else f"{len(pids)}: {other}")
    unknown = sum(n for stack, n in stacks(path).items()
                  if all(f.startswith("[") for f in stack[1:]))
    total = sum(stacks(path).values())
    report.result("1000 children: their functions are named",
                  "" if unknown <= 0.02 * total else f"{unknown} of {total} are not")


def main():
    report = tap.Tap()
    folder = os.environ.get("STOKE_TRUTH_FOLDER") or tempfile.mkdtemp(prefix="stoke-record-")
    os.makedirs(folder, exist_ok=True)
    has_perf = shutil.which("perf") is not None
    try:
        if not shutil.which("cc"):
            report.skip("record", "no compiler")
            report.done()
        status, _, err = tap.run([tap.STOKE, "record", "-q", "-o", "try.data", "true"],
                                 cwd=folder)
        if status != 0:
            report.skip("record", err.decode().splitlines()[0])
            report.done()
        build(folder)
        check_shares(report, folder, "fp", "fp", ["-g", "fp"], 60, True)
        check_shares(report, folder, "dwarf", "plain", ["-g", "dwarf,65024"], DEEP, True)
        check_shares(report, folder, "auto", "fp", [], 60, True)
        check_chosen(report, folder)
        check_counted(report, folder)
        check_shares(report, folder, "dwarf, dumps in the file", "plain",
                     ["-g", "dwarf,32768", "--keep-stacks"], 60, True)
        if has_perf:
            for name in ("fp", "dwarf", "bpf"):
                if os.path.exists(os.path.join(folder, name + ".data")):
                    compare_with_perf(report, name, os.path.join(folder, name + ".data"))
            compare_shares_with_perf(report, folder)
        check_growing(report, folder, has_perf)
        check_kills(report, folder, has_perf)
        check_hotspot(report, folder)
        check_lost(report, folder)
        check_many_children(report, folder)
    finally:
        if "STOKE_TRUTH_FOLDER" not in os.environ:
            shutil.rmtree(folder)
    report.done()


if __name__ == "__main__":
    main()
