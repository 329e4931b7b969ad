#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke heap on programs whose allocations are known: --full is right to the byte, samples are
within their interval, and programs behave as without it. heap_truth.py PROGRAM. Prints TAP."""

import collections
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

import tap

PROGRAM = os.path.abspath(sys.argv[1])
LIBRARY = os.path.join(os.environ["STOKE_BUILD"], "src", "agents", "heap", "libstoke_heap.so")
REPORT = tap.Tap()


def folded(path, event, *options):
    """{stack as a tuple: weight}"""
    status, out, err = tap.run([tap.STOKE, "fold", "-q", "--event", event, *options, path])
    assert status == 0, err.decode()
    rows = collections.Counter()
    for line in out.decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        rows[tuple(stack.split(";"))] += float(weight)
    return rows


def below(rows, function):
    return sum(weight for stack, weight in rows.items() if function in stack)


def record(folder, case, *options, program=PROGRAM):
    path = os.path.join(folder, "heap.stoke")
    status, _, err = tap.run([tap.STOKE, "heap", *options, "-o", path, "--", program, case])
    return status, err.decode(), path


# case: [(event, function, bytes or count)]
FULL = {
    "leaks": [("leaked", "leaks", 7000), ("allocations", "leak", 8), ("leaked", "construct", 17)],
    "peak": [("peak", "peak", 1000000), ("leaked", "peak", 0), ("allocations", "peak", 100)],
    "temporary": [("temporary", "temporary", 50), ("allocated", "temporary", 800)],
    "chain": [("leaked", "chain", 1000), ("allocated", "chain", 5510), ("allocations", "chain", 11)],
    "aligned": [("allocated", "aligned", 301 + 640 + 302 + 303 + 300 + 310), ("leaked", "aligned", 1855)],
    "across": [("leaked", "produce", 5000), ("peak", "produce", 10000)],
    "later": [("leaked", "give", 0), ("allocations", "give", 4000), ("leaked", "give_again", 20 * 5 * 41),
              ("allocations", "give_again", 4000), ("freed", "give", 20 * 200 * 40),
              ("freed", "give_again", 20 * 195 * 41)],
    "threads": [("allocations", "storm", 40004), ("leaked", "storm", 20),
                ("allocated", "storm", 4 * (100 * 5050) + 20)],
    "many_threads": [("leaked", "one_leak", 1800), ("allocations", "one_leak", 600)],
    "forks": [("leaked", "forks", 5000 + 3 * 111), ("leaked", "in_child", 333), ("leaked", "leaks", 7000)],
    "recurse": [("leaked", "recurse", 999)],
    "closes": [("allocations", "storm", 40004)],
    "signals": [("leaked", "on_signal", 1000), ("allocations", "signals", 20)],
    "deeper": [("leaked", "deep", 20 * 999), ("allocations", "leak", 21)],
    "vforks": [("leaked", "vforks", 200), ("leaked", "leaks", 20 * 7000)],
    "crowd": [("allocations", "storm", 200 * 201), ("leaked", "run_beside", 1000)],
}


def check_full(folder, case, expected):
    status, err, path = record(folder, case, "--full")
    why = "" if status == 7 else f"exit status {status}: {err}"
    why += "lost records: " + err if "lost" in err else ""
    for event, function, value in expected:
        rows = folded(path, event)
        # an event without any weight is not in the profile
        got = below(rows, function)
        if got != value:
            why += f"{event} of {function}: {got}, not {value}\n" + \
                "\n".join(f"{';'.join(s)} {w}" for s, w in rows.items()) + "\n"
    REPORT.result(f"{case}: right to the byte", why)


def check_prologues(folder):
    """Handlers that interrupt functions at any instruction: every stack is whole, from main on."""
    path = os.path.join(folder, "heap.stoke")
    status, out, err = tap.run([tap.STOKE, "heap", "--full", "-o", path, "--", PROGRAM, "prologues"])
    leaked = folded(path, "leaked")
    ticks = int(out or 0)
    why = "" if status == 7 and ticks >= 500 else f"{status} {err.decode()}"
    counted = below(leaked, "on_tick")
    is_lossy = b"did not fit" in err  # a collector without a CPU: the summary reports the loss
    if counted > 30 * ticks or (counted < 30 * ticks and not is_lossy):
        why += f"on_tick: {counted}, not {30 * ticks}\n"
    why += "".join(f"not from main: {';'.join(s)}\n" for s in leaked if "on_tick" in s and "main" not in s)
    REPORT.result("prologues: handlers interrupt them, stacks are whole", why)


# Libraries of the same size whose functions have frames of other sizes.
LOADED = """
#include <stdlib.h>
static void *volatile sink;
__attribute__((noinline)) static void *NAME(size_t size) { volatile char room[ROOM]; room[0] = 1;
  sink = malloc(size); return (void *)((char *)sink + room[0] - 1); }
void *loaded(size_t size) { volatile char room[ROOM / 2]; room[0] = 1;
  return (char *)NAME(size) + room[0] - 1; }
"""


def check_loads(folder):
    compiler = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if not compiler:
        REPORT.skip("loads", "no C compiler")
        return
    libraries, names = [], []
    for number, room in enumerate((64, 640, 1600)):
        names.append(f"part_{number}")
        libraries.append(os.path.join(folder, f"lib{number}.so"))
        subprocess.run([compiler, "-O1", "-fPIC", "-shared", f"-DROOM={room}", f"-DNAME={names[-1]}", "-x", "c",
                        "-", "-o", libraries[-1]], check=True, input=LOADED.encode())
    path = os.path.join(folder, "heap.stoke")
    status, _, err = tap.run([tap.STOKE, "heap", "--full", "-o", path, "--", PROGRAM, "loads", *libraries])
    leaked, allocations = folded(path, "leaked"), folded(path, "allocations")
    why = "" if status == 7 else f"{status} {err.decode()}"
    for name in names:
        got = below(leaked, name), below(allocations, name)
        why += "" if got == (140, 2020) else f"{name}: {got}, not (140, 2020)\n"
    why += "".join(f"not from main: {';'.join(s)}\n" for s in leaked if "call_loaded" in s and "main" not in s)
    REPORT.result("loads: libraries at one address, one after the other", why)
    status, _, err = tap.run([tap.STOKE, "heap", "--full", "-o", path, "--", PROGRAM, "unloads", *libraries])
    REPORT.result("unloads: threads allocate while libraries are unloaded",
                  "" if status == 7 else f"{status} {err.decode()}")


def check_sampled(folder):
    """The estimates of a Poisson sample: the variance of n blocks of size s, each sampled
    with probability p, is n s^2 (1 - p) / p. Beyond 6.5 sigma is 1 in 10^10."""
    mean = 4096
    status, err, path = record(folder, "sizes", "--sample", str(mean), "--seed", "1")
    why = "" if status == 7 else f"exit status {status}: {err}"
    rows = {event: folded(path, event) for event in ("allocated", "allocations", "leaked")}
    for event, function, count, size, unit in [
            ("allocated", "small", 100000, 64, 64), ("allocations", "small", 100000, 64, 1),
            ("leaked", "small", 50000, 64, 64), ("allocated", "large", 2000, 8000, 8000)]:
        p = 1 - math.exp(-size / mean)
        bound = 6.5 * unit * math.sqrt(count * (1 - p) / p) + 1
        got = below(rows[event], function)
        if abs(got - count * unit) > bound:
            why += f"{event} of {function}: {got}, not {count * unit} +- {bound}\n"
    if below(rows["leaked"], "large"):
        why += "large: leaked\n"
    # an estimate is as precise as the number of samples, not as that of allocations
    kinds = [(100000, 64), (2000, 8000)]
    expected = sum(count * (1 - math.exp(-size / mean)) for count, size in kinds)
    info = json.loads(tap.run([tap.STOKE, "info", "--json", path])[1])
    samples = {event["name"]: event["samples"] for event in info["events"]}
    for event in ("allocated", "allocations"):
        if abs(samples[event] - expected) > 6.5 * math.sqrt(expected) + 20:
            why += f"{event}: {samples[event]} samples, not {expected:.0f}\n"
    if not 0 < samples["peak"] < samples["allocated"]:
        why += f"peak: {samples['peak']} samples\n"
    REPORT.result("sizes: samples are within their interval", why)


def check_moments(folder):
    """The live bytes at two times that the program prints, and at the end. A span begins with what
    was live before it; what was allocated counts only in its own span."""
    path = os.path.join(folder, "heap.stoke")
    status, out, err = tap.run([tap.STOKE, "heap", "--full", "-o", path, "--", PROGRAM, "moments"])
    times = out.decode().split()
    why = "" if status == 7 and len(times) == 2 else f"{status} {times} {err.decode()}"
    for event, span, expected in [] if why else [
            ("live", ["--end", times[0]], 3000), ("live", ["--end", times[1]], 1000), ("live", [], 0),
            ("live", ["--time", ",".join(times)], 1000), ("allocated", ["--end", times[0]], 3000),
            ("peak", ["--end", times[0]], 3000)]:
        got = below(folded(path, event, *span), "moments")
        why += "" if got == expected else f"{event} {span}: {got}, not {expected}\n"
    REPORT.result("moments: the live bytes over time", why)


def check_peak(folder, case, *options):
    """At the time of the peak, each stack's live bytes are its part of the peak."""
    status, err, path = record(folder, case, *options)
    why = "" if status == 7 else f"exit status {status}: {err}"
    times = tap.run([tap.STOKE, "script", "-q", "--ns", "--event", "peak", "-F", "time", path])[1].decode().split()
    seconds, _, fraction = times[0].rstrip(":").partition(".") if times else ("0", "", "0")
    at = f"{seconds}.{int(fraction) + 1:09}"  # a span does not include its end
    peak, live = folded(path, "peak"), folded(path, "live", "--end", at)
    why += "".join(f"{';'.join(s)}: peak {peak.get(s)}, live {live.get(s)}\n"
                   for s in peak.keys() | live.keys() if peak.get(s) != live.get(s))
    REPORT.result(f"{case} {' '.join(options)}: the live bytes at the peak", why or ("" if peak else "no peak"))


LIFETIMES = ["under 1 us", "1 to 10 us", "10 to 100 us", "100 us to 1 ms", "1 to 10 ms", "10 to 100 ms",
             "100 ms to 1 s", "1 to 10 s", "10 to 100 s", "100 s and more"]


def check_histograms(folder):
    """What was released, by size and by lifetime. A short life ends before all of them have ended."""
    path = os.path.join(folder, "heap.stoke")
    status, out, err = tap.run([tap.STOKE, "heap", "--full", "-o", path, "--", PROGRAM, "histograms"])
    why = "" if status == 7 and out.strip().isdigit() else f"{status} {out} {err.decode()}"

    def classes(key, event):
        rows = folded(path, event, "--focus", "^histograms$", "--by", "label:" + key)
        return {stack[0]: weight for stack, weight in rows.items()}
    sizes = {} if why else classes("size", "releases")
    expected = {"1 to 15 bytes": 6, "16 to 31 bytes": 10, "64 to 127 bytes": 14, "1 to 2 KiB": 4, "2 to 4 MiB": 2}
    why += "" if why or sizes == expected else f"releases by size: {sizes}\n"
    freed = {} if why else classes("size", "freed")
    expected = {"1 to 15 bytes": 90, "16 to 31 bytes": 160, "64 to 127 bytes": 1400, "1 to 2 KiB": 6000,
                "2 to 4 MiB": 6 << 20}
    why += "" if why or freed == expected else f"freed by size: {freed}\n"
    lives = {} if why else classes("lifetime", "releases")
    shorter = 0 if why else sum(1 for power in range(3, 12) if int(out) >= 10 ** power)
    short = sum(weight for name, weight in lives.items() if LIFETIMES.index(name) <= shorter)
    long = sum(weight for name, weight in lives.items() if LIFETIMES.index(name) >= 5)
    right = long == 18 and short == 18 if shorter < 5 else long + short >= 36
    why += "" if why or right else f"releases by lifetime: {lives}, short ones {out.decode()}\n"
    REPORT.result("histograms: what was released, by size and lifetime", why)


def check_killed(folder):
    status, err, path = record(folder, "killed", "--full")
    got = below(folded(path, "leaked"), "killed") if status == 137 else None
    REPORT.result("killed: what was recorded until then", "" if got == 12345 else f"{status} {got} {err}")


def check_collector_killed(folder):
    """The program continues when stoke is killed, and ends as without it."""
    command = f"echo $$ > pid; {PROGRAM} waits; echo $? > part; mv part status"
    for mode in (["--full"], ["--sample", "1000"]):
        for name in ("pid", "status", "go"):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        with subprocess.Popen([tap.STOKE, "heap", "-q", *mode, "sh", "-c", command], cwd=folder,
                              stderr=subprocess.DEVNULL) as stoke:
            while not os.path.exists(os.path.join(folder, "pid")):
                time.sleep(0.01)
            stoke.kill()
        with open(os.path.join(folder, "go"), "w", encoding="utf-8"):
            pass
        status = os.path.join(folder, "status")
        deadline = time.monotonic() + tap.TIMEOUT / 2
        while not os.path.exists(status) and time.monotonic() < deadline:
            time.sleep(0.01)
        text = ""
        if os.path.exists(status):
            with open(status, encoding="utf-8") as file:
                text = file.read()
        REPORT.result(f"stoke killed, {mode[0]}: the program continues", "" if text == "7\n" else repr(text))


def check_preload(folder):
    """LD_PRELOAD of the user remains."""
    env = dict(os.environ, LD_PRELOAD="libc.so.6")
    status, out, err = tap.run([tap.STOKE, "heap", "-o", os.path.join(folder, "p.stoke"), "sh", "-c",
                                "echo $LD_PRELOAD"], env=env)
    why = "" if status == 0 and out.endswith(b"libstoke_heap.so:libc.so.6\n") else repr((status, out, err))
    REPORT.result("LD_PRELOAD: what was set remains", why)


def massif_peak(folder, case):
    """The largest mem_heap_B of massif's snapshots."""
    out = os.path.join(folder, "massif.out")
    status, _, err = tap.run(["valgrind", "--tool=massif", "--peak-inaccuracy=0.0",
                              f"--massif-out-file={out}", PROGRAM, case])
    if status != 7:
        return None, err.decode()
    with open(out, encoding="utf-8") as file:
        return max(int(line.split("=")[1]) for line in file if line.startswith("mem_heap_B=")), ""


def check_massif(folder):
    if not shutil.which("valgrind"):
        REPORT.skip("massif", "no valgrind")
        return
    for case in ("leaks", "peak", "recurse"):
        expected, err = massif_peak(folder, case)
        _, _, path = record(folder, case, "--full")
        got = sum(folded(path, "peak").values())
        REPORT.result(f"{case}: the peak is massif's",
                      "" if got == expected else f"{got}, massif: {expected} {err}")


def check_xtree(folder):
    """What memcheck counts with --xtree-memory=full, and what stoke writes in that format."""
    if not shutil.which("valgrind"):
        REPORT.skip("xtree", "no valgrind")
        return
    theirs, ours = os.path.join(folder, "theirs.kcg"), os.path.join(folder, "ours.kcg")
    for case in ("leaks", "peak", "recurse", "temporary"):
        status, _, err = tap.run(["valgrind", "--tool=memcheck", "--xtree-memory=full",
                                  f"--xtree-memory-file={theirs}", PROGRAM, case])
        why = "" if status == 7 else err.decode()
        _, _, path = record(folder, case, "--full")
        status, _, err = tap.run([tap.STOKE, "convert", path, "-o", ours])
        why += "" if status == 0 else err.decode()
        for event in ("allocated", "allocations") + (() if why else ("live",)):
            files = [] if why else [folded(file, event) for file in (theirs, ours, path)]
            sums = [sum(rows.values()) for rows in files]
            if len(set(sums)) > 1:
                why += f"{event}: {sums}\n"
        REPORT.result(f"{case}: totals are memcheck's, also of the file that stoke writes", why)


NEWS = """
struct thing { thing(); ~thing(); int *part; };
__attribute__((noinline)) thing::thing() : part(new int[10]) {}
__attribute__((noinline)) thing::~thing() { delete[] part; }
void *volatile sink;
__attribute__((noinline)) void arrays() { thing *all = new thing[5]; sink = all; delete[] all; sink = 0; }
__attribute__((noinline)) void wide() { struct alignas(128) big { char c[256]; }; sink = new big; sink = 0; }
int main() { arrays(); wide(); return 7; }
"""


def check_cxx(folder):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        REPORT.skip("C++ arrays", "no C++ compiler")
        return
    program = os.path.join(folder, "news")
    subprocess.run([compiler, "-std=c++17", "-O1", "-x", "c++", "-", "-o", program], check=True, input=NEWS.encode())
    status, err, path = record(folder, "", "--full", program=program)
    allocations, leaked = folded(path, "allocations"), folded(path, "leaked")
    got = (status, below(allocations, "arrays"), below(folded(path, "allocated"), "thing::thing"),
           below(leaked, "arrays"), below(leaked, "wide"))
    REPORT.result("C++ arrays", "" if got == (7, 6, 200, 0, 256) else f"{got} {err} {allocations}")


def main():
    if not os.path.exists(LIBRARY):
        REPORT.skip("stoke heap", "libstoke_heap.so is not built here")
        REPORT.done()
    with tempfile.TemporaryDirectory() as folder:
        for case, expected in FULL.items():
            check_full(folder, case, expected)
        check_prologues(folder)
        check_loads(folder)
        check_sampled(folder)
        check_moments(folder)
        for case, *options in (["moments", "--full"], ["sizes", "--full"], ["crowd", "--full"],
                               ["sizes", "--sample", "4096", "--seed", "1"]):
            check_peak(folder, case, *options)
        check_histograms(folder)
        check_killed(folder)
        check_collector_killed(folder)
        check_preload(folder)
        check_cxx(folder)
        check_massif(folder)
        check_xtree(folder)
    REPORT.done()


main()
