#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record --heap: CPU time and allocations of one run, on one clock. heap.py PROGRAM. Prints TAP."""

import collections
import math
import os
import shutil
import subprocess
import sys
import tempfile

import cpython
import tap

PROGRAM = os.path.abspath(sys.argv[1])
LIBRARY = os.path.join(os.environ["STOKE_BUILD"], "src", "agents", "heap", "libstoke_heap.so")
REPORT = tap.Tap()
MEAN = 512 * 1024


def folded(path, *options, empty=None):
    """{stack: weight}; none if stoke refuses with the message `empty`."""
    status, out, err = tap.run([tap.STOKE, "fold", "-q", *options, path])
    assert status == 0 or (empty and empty in err.decode()), err.decode()
    rows = collections.Counter()
    for line in out.decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        rows[tuple(stack.split(";"))] += float(weight)
    return rows


def below(rows, function):
    return sum(weight for stack, weight in rows.items() if function in stack)


def is_estimate(got, blocks):
    """Of a Poisson sample of {size: number}: the variance is the sum of n s^2 (1 - p) / p. Beyond 6.5 sigma
    is 1 in 10^10."""
    variance = sum(n * s * s * math.exp(-s / MEAN) / (1 - math.exp(-s / MEAN)) for s, n in blocks.items())
    return abs(got - sum(n * s for s, n in blocks.items())) <= 6.5 * math.sqrt(variance)


def check_one_clock(folder):
    path = os.path.join(folder, "both.stoke")
    status, out, err = tap.run([tap.STOKE, "record", "--heap", "-F", "999", "-o", path, PROGRAM])
    first, second = out.decode().split()
    why = "" if status == 9 else f"exit status {status} {err.decode()}\n"
    why += "" if os.listdir(folder) == ["both.stoke"] else f"left: {os.listdir(folder)}\n"
    allocated = folded(path, "--event", "allocated")
    leaked = folded(path, "--event", "leaked")
    inside = folded(path, "--event", "allocated", "--time", f"{first},{second}")
    if not is_estimate(below(allocated, "allocate"), {1000000: 400, 2000000: 50}):
        why += f"allocated: {allocated}\n"
    if not is_estimate(below(leaked, "allocate"), {2000000: 50}):
        why += f"leaked: {leaked}\n"
    if below(inside, "allocate") != below(allocated, "allocate"):
        why += f"from {first} to {second}: {inside}, in all {allocated}\n"
    cpu = folded(path)
    # allocating can take less than the time between two samples
    during = folded(path, "--time", f"{first},{second}", empty="all weights are zero")
    if below(cpu, "burn") == 0 or below(during, "burn") > 0.1 * below(cpu, "burn"):
        why += f"CPU time: {cpu}, from {first} to {second}: {during}\n"
    REPORT.result("CPU time and allocations, on one clock", why)
    status, out, err = tap.run([tap.STOKE, "info", path])
    REPORT.result("one thread has both", "" if out.decode().count("  tid ") == 1 else out.decode())


def check_full(folder):
    path = os.path.join(folder, "full.stoke")
    status, _, err = tap.run([tap.STOKE, "record", "--heap", "--full", "-F", "999", "-o", path, PROGRAM])
    why = "" if status == 9 else f"exit status {status} {err.decode()}\n"
    for event, expected in [("allocated", 500000000), ("leaked", 100000000), ("allocations", 450),
                            ("temporary", 400)]:
        got = below(folded(path, "--event", event), "allocate")
        why += "" if got == expected else f"{event}: {got}, not {expected}\n"
    why += "" if below(folded(path), "burn") > 0 else "no CPU time\n"
    REPORT.result("--full: CPU time and every allocation", why)


def check_static(folder):
    """A program that cannot load the recorder of the heap: its CPU time is recorded, with a message."""
    compiler = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    program, path = os.path.join(folder, "static"), os.path.join(folder, "static.stoke")
    source = os.path.join(tap.SOURCE_ROOT, "tests", "record", "heap.c")
    if not compiler or subprocess.run([compiler, "-O1", "-static", source, "-o", program], check=False,
                                      stderr=subprocess.DEVNULL).returncode != 0:
        REPORT.skip("a static program", "no C compiler, or no static C library")
        return
    status, _, err = tap.run([tap.STOKE, "record", "--heap", "-F", "999", "-o", path, program])
    why = "" if status == 9 and b"did not load the recorder" in err else f"{status} {err.decode()}"
    why += "" if below(folded(path), "burn") > 0 else "no CPU time\n"
    REPORT.result("a static program", why)


def check_python(folder):
    """Small objects of CPython are not allocated by malloc: a message says so, unless they are."""
    python = next(iter(sorted(cpython.installed())), None)
    if not python:
        REPORT.skip("small objects of Python", "no CPython is installed")
        return
    why, path = "", os.path.join(folder, "python.stoke")
    for allocator, expected in [(None, True), ("pymalloc", True), ("malloc", False)]:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONMALLOC"}
        env.update({"PYTHONMALLOC": allocator} if allocator else {})
        status, _, err = tap.run([tap.STOKE, "heap", "--full", "-o", path, python, "-c",
                                  "all = [str(i) * 5 for i in range(20000)]"], env=env)
        if status or (b"PYTHONMALLOC=malloc" in err) != expected:
            why += f"{allocator}: status {status}, {err.decode()}\n"
        count = sum(folded(path, "--event", "allocations").values())
        if (count >= 20000) == expected:
            why += f"{allocator}: {count} allocations\n"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONMALLOC"}
    # Some hundred times the mean distance of samples: a sample is certain.
    program = "all = [bytes(1 << 20) for i in range(64)]"
    for allocator in ({}, {"PYTHONMALLOC": "malloc"}):
        status, _, err = tap.run([tap.STOKE, "record", "--heap", "-o", path, python, "-c", program],
                                 env={**env, **allocator})
        if status or (b"PYTHONMALLOC=malloc" in err) != (not allocator):
            why += f"record --heap, {allocator}: status {status}, {err.decode()}\n"
    REPORT.result("small objects of Python", why)


def check_refused(folder):
    for words, message in [(["-o", "x.data", "true"], b"which x.data is not"),
                           (["-o", "x.svg", "true"], b"which x.svg is not"),
                           (["--full", "true"], b"--full is for --heap"),
                           (["-p", str(os.getpid())], b"--heap needs a command"),
                           (["./absent"], b"cannot run './absent'")]:
        heap = [] if "--full" in words else ["--heap"]
        status, _, err = tap.run([tap.STOKE, "record", *heap, *words], cwd=folder)
        left = [name for name in os.listdir(folder) if "heap" in name]
        why = "" if status in (1, 2) and message in err and not left else f"{status} {err.decode()} {left}"
        REPORT.result(f"refused: {' '.join(words[:2])}", why)


def main():
    if not os.path.exists(LIBRARY):
        REPORT.skip("stoke record --heap", "libstoke_heap.so is not built here")
        REPORT.done()
    with tempfile.TemporaryDirectory() as folder:
        check_one_clock(folder)
        check_full(folder)
        check_static(folder)
        check_python(folder)
        check_refused(folder)
    REPORT.done()


main()
