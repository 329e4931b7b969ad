#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record --off-cpu held against a program that knows how long it waits
(record/waits.c), and against perf, which reads the same file."""

import collections
import os
import re
import shutil
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
LEAST = 4e6  # ns that may be missing or too much of a few hundred million: of the ends


def output(args, **more):
    status, out, err = tap.run(args, **more)
    if status != 0:
        raise RuntimeError(f"{' '.join(args)}: status {status}: "
                           f"{err.decode('utf-8', 'replace')[-600:]}")
    return out.decode("utf-8", "surrogateescape")


def waited(text):
    """{function: ns}, as the program says."""
    found = collections.Counter()
    for line in text.splitlines():
        name, ns = line.split()
        found[name] += int(ns)
    return found


def stacks(path, *words):
    found = collections.Counter()
    text = output([tap.STOKE, "fold", "-q", "--event", "off-cpu", *words, path])
    for line in text.splitlines():
        stack, _, ns = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(ns)
    return found


def of_function(found, name):
    return {s: n for s, n in found.items() if name in s}


def is_near(got, wanted):
    return abs(got - wanted) <= max(WITHIN * wanted, LEAST)


def wrong_times(found, truth):
    wrong = []
    for name in WAYS:
        got = sum(of_function(found, name).values())
        if not is_near(got, truth[name]):
            wrong.append(f"{name}: {got / 1e6:.3f} ms, it says {truth[name] / 1e6:.3f}")
    return wrong


def record(folder, name, *words):
    path = os.path.join(folder, name + ".data")
    said = output([tap.STOKE, "record", "-q", "-o", path, *words, "./waits", "20", "20",
                   "file"], cwd=folder)
    return path, waited(said)


def check_times(report, folder, name, *words):
    """Up to three times: the machine may be too busy to keep up with the rings."""
    for attempt in range(3):
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
        all_of_it = of_function(found, way)
        told = sum(n for s, n in all_of_it.items() if reason in s)
        # a thread that is woken up while others run may be preempted besides
        if told < 0.9 * sum(all_of_it.values()):
            wrong.append(f"{way}: {reason} {told} of {sum(all_of_it.values())}: "
                         f"{collections.Counter(s[-1] for s in all_of_it)}")
    report.result(f"{name}: the reasons are told", "\n".join(wrong))


def unsampled_idle(folder):
    """The CPUs whose idle task is never sampled, by perf's word. Kernels have been seen that
    count its events and hand out none; who wakes up others from there cannot be known."""
    if not shutil.which("perf"):
        return set()
    path = os.path.join(folder, "idle.data")
    output(["perf", "record", "-q", "-a", "-e", "sched:sched_switch", "-o", path, "sleep", "1"])
    seen = collections.defaultdict(set)
    for line in output(["perf", "script", "-G", "-F", "tid,cpu", "-i", path]).splitlines():
        tid, cpu = line.split()[:2]
        seen[cpu].add(tid)
    return {cpu for cpu, tids in seen.items() if "0" not in tids}


def check_wakers(report, folder):
    """Who ends a wait for a futex or a pipe; what ends a sleep is an interrupt."""
    path, found = check_times(report, folder, "wakers", "--wakers")
    for way, waker in (("in_futex", "wakes_futex_[w]"), ("in_pipe", "fills_pipe_[w]"),
                       ("in_sleep", "[interrupt]_[w]")):
        all_of_it = {s: n for s, n in of_function(found, way).items()
                     if "[preempted]" not in s}
        told = sum(n for s, n in all_of_it.items() if waker in s and "--" in s)
        is_told = told >= 0.9 * sum(all_of_it.values())
        unsampled = set() if is_told or way != "in_sleep" else unsampled_idle(folder)
        if unsampled:
            report.skip(f"wakers: {way}", "the kernel hands out no samples of the idle "
                        f"task of {', '.join(sorted(unsampled))}")
        else:
            report.result(f"wakers: {way}: {waker}", "" if is_told else
                          f"{told} of {sum(all_of_it.values())}")


PERF_LINE = re.compile(r"^(.*?) +(\d+) +([0-9.]+): +(\d+) +(\S+):")


def check_perf(report, path):
    """perf script finds the same waits, with the same length."""
    text = output(["perf", "script", "-G", "-F", "comm,tid,time,period,event", "-i", path])
    theirs = collections.Counter()
    for line in text.splitlines():
        m = PERF_LINE.match(line.strip())
        if m and m[5] == "off-cpu":
            theirs[int(m[2])] += int(m[4])
    total = sum(stacks(path).values())
    report.result("perf script has the same waits",
                  "" if total and sum(theirs.values()) == total else
                  f"{sum(theirs.values())} ns, not {total}")


def check_axis(report, path):
    """On and off the CPU have one time axis: at no time is a thread both."""
    text = output([tap.STOKE, "script", "-q", "-G", "-F", "tid,time,period,event", path])
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
    report.result(f"of {len(samples)} samples none is of a thread that waits",
                  "" if samples and not both and not overlaps else
                  f"{both} are; {overlaps} waits overlap")


def check_still_away(report, folder):
    """Who has not come back when the recording ends waits until then, and who has ended
    does not wait at all."""
    path = os.path.join(folder, "still.data")
    shell = subprocess.Popen(["sh", "-c", "for i in 1 2 3 4 5 6; do sleep 0.1; done; "
                              "exec sleep 100"])
    try:
        time.sleep(0.1)
        output([tap.STOKE, "record", "-q", "--off-cpu", "-o", path, "-p", str(shell.pid),
                "--duration", "2"])
    finally:
        shell.kill()
        shell.wait()
    threads = output([tap.STOKE, "script", "-q", "-G", "-F", "tid,period,event", path])
    by_thread = collections.Counter()
    for line in threads.splitlines():
        tid, period, event = line.split()
        by_thread[int(tid)] += int(period) if event == "off-cpu:" else 0
    shell_waits = by_thread.pop(shell.pid, 0)
    long = {tid: ns for tid, ns in by_thread.items() if ns > 0.3e9}
    report.result("a thread that is still away waits until the end, one that ended does not",
                  "" if 1.2e9 < shell_waits < 2.05e9 and not long else
                  f"{shell_waits / 1e9} s; {long}")


def main():
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
        output(["cc", "-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o",
                os.path.join(folder, "waits"), SOURCE])
        if os.geteuid() != 0:
            report.skip("off_cpu", "not root: stacks of waits may not be had")
            report.done()
        for name, words in (("fp", ["-g", "fp"]), ("dwarf", ["-g", "dwarf"]), ("auto", [])):
            path, found = check_times(report, folder, name, "-F", "999", "--off-cpu", *words)
            check_reasons(report, name, found)
        check_axis(report, path)
        if shutil.which("perf"):
            check_perf(report, path)
        if os.path.exists("/sys/kernel/tracing/events/sched/sched_waking/id"):
            check_wakers(report, folder)
        check_still_away(report, folder)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
