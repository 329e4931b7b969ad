#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record --off-cpu compared with a program that measures its waits (record/waits.c), and
with perf, which reads the same file."""

import collections
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import tap

SOURCE = os.path.join(tap.SOURCE_ROOT, "tests", "record", "waits.c")
WAYS = ("in_sleep", "in_futex", "in_pipe", "in_disk", "in_run")
REASONS = {"in_sleep": "[sleep]", "in_futex": "[lock]", "in_pipe": "[io]",
           "in_disk": "[io]", "in_run": "[preempted]"}
WITHIN = 0.02
LEAST = 4e6  # ns of tolerance at start and end, of a few hundred million


def waited(text):
    """{function: ns}, as the program prints it."""
    found = collections.Counter()
    for line in text.splitlines():
        name, ns = line.split()
        found[name] += int(ns)
    return found


def stacks(path, *words):
    found = collections.Counter()
    text = tap.output([tap.STOKE, "fold", "-q", "--event", "off-cpu", *words, path])
    for line in text.splitlines():
        stack, _, ns = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(ns)
    return found


def of_function(found, name):
    return {s: n for s, n in found.items() if name in s}


def is_near(got, expected):
    return abs(got - expected) <= max(WITHIN * expected, LEAST)


def wrong_times(found, truth):
    wrong = []
    for name in WAYS:
        got = sum(of_function(found, name).values())
        if not is_near(got, truth[name]):
            wrong.append(f"{name}: {got / 1e6:.3f} ms, it says {truth[name] / 1e6:.3f}")
    return wrong


def record(folder, name, *words):
    path = os.path.join(folder, name + ".data")
    message = tap.output([tap.STOKE, "record", "-q", "-o", path, *words, "./waits", "20", "20",
                   "file"], cwd=folder)
    return path, waited(message)


def check_times(report, folder, name, *words):
    """Up to six times: on a busy machine, a thread may lose its CPU between a wait and its
    clock, or the recorder may not keep up with the rings."""
    for attempt in range(6):
        path, truth = record(folder, name, *words)
        found = stacks(path)
        wrong = wrong_times(found, truth)
        if not wrong:
            break
        print(f"# {name}, {attempt + 1}: {'; '.join(wrong)}")
    report.result(f"{name}: {sum(truth.values()) / 1e6:.0f} ms of waits are within 2%",
                  "\n".join(wrong))
    return path, found


def check_reasons(report, name, found):
    wrong = []
    for way, reason in REASONS.items():
        # a thread that works may be preempted, for as long as others want to run
        all_of_it = {s: n for s, n in of_function(found, way).items()
                     if "[preempted]" not in s or reason == "[preempted]"}
        known = sum(n for s, n in all_of_it.items() if reason in s)
        if not known or known < 0.9 * sum(all_of_it.values()):
            wrong.append(f"{way}: {reason} {known} of {sum(all_of_it.values())}: "
                         f"{collections.Counter(s[-1] for s in all_of_it)}")
    report.result(f"{name}: the reasons are known", "\n".join(wrong))


def unsampled_idle(folder):
    """CPUs whose idle task perf cannot sample either. Some kernels count its events but give no
    samples; then wakers in the idle task are unknown."""
    if not shutil.which("perf"):
        return set()
    path = os.path.join(folder, "idle.data")
    tap.output(["perf", "record", "-q", "-a", "-e", "sched:sched_switch", "-o", path, "sleep", "1"])
    seen = collections.defaultdict(set)
    for line in tap.output(["perf", "script", "-G", "-F", "tid,cpu", "-i", path]).splitlines():
        tid, cpu = line.split()[:2]
        seen[cpu].add(tid)
    return {cpu for cpu, tids in seen.items() if "0" not in tids}


def check_wakers(report, folder):
    """The thread that ends a wait for a futex or a pipe; an interrupt ends a sleep."""
    path, found = check_times(report, folder, "wakers", "--wakers")
    for way, waker in (("in_futex", "wakes_futex_[w]"), ("in_pipe", "fills_pipe_[w]"),
                       ("in_sleep", "[interrupt]_[w]")):
        all_of_it = {s: n for s, n in of_function(found, way).items()
                     if "[preempted]" not in s}
        known = sum(n for s, n in all_of_it.items() if waker in s and "--" in s)
        is_known = known >= 0.9 * sum(all_of_it.values())
        unsampled = set() if is_known or way != "in_sleep" else unsampled_idle(folder)
        if unsampled:
            report.skip(f"wakers: {way}", "the kernel gives no samples of the idle "
                        f"task of {', '.join(sorted(unsampled))}")
        else:
            report.result(f"wakers: {way}: {waker}", "" if is_known else
                          f"{known} of {sum(all_of_it.values())}")


PERF_LINE = re.compile(r"^(.*?) +(\d+) +([0-9.]+): +(\d+) +(\S+):")


def check_perf(report, path):
    """perf script finds the same waits, with the same length."""
    text = tap.output(["perf", "script", "-G", "-F", "comm,tid,time,period,event", "-i", path])
    theirs = collections.Counter()
    for line in text.splitlines():
        m = PERF_LINE.match(line.strip())
        if m and m[5] == "off-cpu":
            theirs[int(m[2])] += int(m[4])
    total = sum(stacks(path).values())
    report.result("perf script has the same waits",
                  "" if total and sum(theirs.values()) == total else
                  f"{sum(theirs.values())} ns, not {total}")


def ids_of_events(path):
    """How many ids of counters a recording has for each event."""
    with open(path, "rb") as file:
        data = file.read()
    attr_size, attrs, attrs_size = struct.unpack_from("<3Q", data, 16)
    return [struct.unpack_from("<Q", data, attrs + end - 8)[0] // 8
            for end in range(attr_size, attrs_size + 1, attr_size)]


def check_ids(report, path):
    """perf refuses a file with a record whose counter it does not know. A full ring writes one in
    the name of any counter of its CPU."""
    cpus, ids = os.cpu_count(), ids_of_events(path)
    report.result(f"each event has the ids of its counters on {cpus} CPUs",
                  "" if min(ids) >= cpus else f"{ids} ids")


def check_axis(report, path):
    """Samples and waits have one time axis: a thread never runs and waits at the same time."""
    text = tap.output([tap.STOKE, "script", "-q", "-G", "-F", "tid,time,period,event", path])
    waits, samples, both = collections.defaultdict(list), [], 0
    for line in text.splitlines():
        tid, at, period, event = line.split()
        end = round(float(at.rstrip(":")) * 1e9)
        if event == "off-cpu:":
            waits[int(tid)].append((end - int(period), end))
        else:
            samples.append((int(tid), end))
    for tid, at in samples:
        both += any(b + 2000 < at < e - 2000 for b, e in waits[tid])
    overlaps = sum(1 for of in waits.values() for a, b in zip(sorted(of), sorted(of)[1:])
                   if b[0] + 2000 < a[1])
    report.result(f"none of {len(samples)} samples is of a waiting thread",
                  "" if samples and not both and not overlaps else
                  f"{both} are; {overlaps} waits overlap")


def check_still_waiting(report, folder):
    """The wait of a thread that has not returned lasts until the end of the recording; a thread
    that has ended does not wait."""
    path = os.path.join(folder, "still.data")
    shell = subprocess.Popen(["sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.1; done; "
                              "sleep 0.1; exec sleep 100", path])
    try:
        began = time.monotonic()
        tap.output([tap.STOKE, "record", "-q", "--off-cpu", "-o", path, "-p", str(shell.pid),
                "--duration", "2"])
        took = (time.monotonic() - began) * 1e9
    finally:
        shell.kill()
        shell.wait()
    threads = tap.output([tap.STOKE, "script", "-q", "-G", "-F", "tid,period,event", path])
    by_thread = collections.Counter()
    for line in threads.splitlines():
        tid, period, event = line.split()
        by_thread[int(tid)] += int(period) if event == "off-cpu:" else 0
    shell_waits = by_thread.pop(shell.pid, 0)
    # each lives for 0.1 s, and for as long as it waits for a CPU; if ends were missed, all that
    # ended would have waited for more than a second
    long = {tid: ns for tid, ns in by_thread.items() if ns > 1e9}
    report.result("a wait lasts until the end of the recording, unless the thread has ended",
                  "" if 1.2e9 < shell_waits < took and len(long) < 3 else
                  f"{shell_waits / 1e9} s of {took / 1e9}; {long}")


# Each line from the test makes 300 waits on one CPU: as many dumps as half a ring has room for.
BURSTS = """import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for line in sys.stdin:
    for i in range(300):
        time.sleep(1e-4)
    print("done", flush=True)
"""


def burst(load):
    load.stdin.write(b"go\n")
    load.stdin.flush()
    load.stdout.readline()


def check_limited_dumps(report, folder):
    """A ring that is more than half full: dumps are shorter from then on, and each wait before,
    during and after that is in the recording once."""
    path = os.path.join(folder, "limited.data")
    load = subprocess.Popen([sys.executable, "-c", BURSTS], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    recorder = subprocess.Popen([tap.STOKE, "record", "-a", "--off-cpu", "-g", "auto", "-o", path],
                                stderr=subprocess.PIPE)
    try:
        while not os.path.exists(path):
            time.sleep(0.01)
        burst(load)
        recorder.send_signal(signal.SIGSTOP)
        burst(load)
        recorder.send_signal(signal.SIGCONT)
        for _ in range(3):
            time.sleep(0.1)
            burst(load)
    finally:
        recorder.send_signal(signal.SIGCONT)
        recorder.send_signal(signal.SIGINT)
        message = recorder.communicate()[1].decode()
        load.kill()
        load.wait()
    waits = tap.output([tap.STOKE, "script", "-q", "-G", "--event", "off-cpu", "--pid",
                        str(load.pid), "-F", "tid,time", path]).splitlines()
    sleeps = len(waits)
    fault = "" if "were limited to 4096 bytes" in message else "no limit is reported; "
    if "were lost" not in message and not 1500 <= sleeps < 1600:
        fault += f"{sleeps} waits"
    if len(set(waits)) < sleeps:
        fault += f"{sleeps - len(set(waits))} waits are in it twice"
    report.result(f"a ring that is nearly full: shorter dumps, {sleeps} waits of 1500 and a few",
                  fault and fault + message)


def mount_tracefs():
    """Runs this test again with a tracefs of its own, if the machine has none mounted."""
    mount = "mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec \"$@\""
    if os.geteuid() == 0 and shutil.which("unshare") and "TRACEFS_TRIED" not in os.environ and \
            not os.path.exists("/sys/kernel/tracing/events"):
        os.environ["TRACEFS_TRIED"] = "1"
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", mount, "sh", sys.executable,
                              *sys.argv])


def main():
    mount_tracefs()
    report = tap.Tap()
    folder = tempfile.mkdtemp(prefix="stoke-off-cpu-", dir=os.environ.get("STOKE_BUILD"))
    try:
        if not shutil.which("cc"):
            report.skip("off_cpu", "no compiler")
            report.done()
        status, _, err = tap.run([tap.STOKE, "record", "-q", "--off-cpu", "-o", "try.data",
                                  "true"], cwd=folder)
        if status != 0:
            report.skip("off_cpu", err.decode().splitlines()[0])
            report.done()
        tap.output(["cc", "-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o",
                os.path.join(folder, "waits"), SOURCE])
        if os.geteuid() != 0:
            report.skip("off_cpu", "not root: stacks of waits are not available")
            report.done()
        for name, words in (("fp", ["-g", "fp"]), ("dwarf", ["-g", "dwarf"]), ("auto", [])):
            path, found = check_times(report, folder, name, "-F", "999", "--off-cpu", *words)
            check_reasons(report, name, found)
        check_axis(report, path)
        check_ids(report, path)
        if shutil.which("perf"):
            check_perf(report, path)
        if os.path.exists("/sys/kernel/tracing/events/sched/sched_waking/id"):
            check_wakers(report, folder)
        check_still_waiting(report, folder)
        check_limited_dumps(report, folder)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
