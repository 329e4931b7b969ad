#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke report --latency: of a program that works alone and then in two threads, the shares are
those of the time that it took, not those of the CPU time."""

import json
import os
import tempfile

import tap

RATE = 997
ALONE, EACH = 0.4, 0.8  # s of CPU time
LEAST, MOST = 0.7, 1.3  # of the expected times: a virtual machine does not always run


def fails(text):
    raise RuntimeError(text)


def build(folder):
    source = os.path.join(tap.SOURCE_ROOT, "tests", "record", "latency.c")
    status, _, err = tap.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o",
                              os.path.join(folder, "program"), source])
    return status == 0 or fails(err.decode("utf-8", "replace"))


def weights(path, *words):
    """{function: s}, callees included, of the program's samples."""
    status, out, err = tap.run([tap.STOKE, "report", "-q", "--json", "--only-comm", "program",
                                *words, path])
    if status != 0:
        fails(err.decode("utf-8", "replace"))
    event = json.loads(out)["events"][0]
    return {f["name"]: f["total"] / 1e9 for f in event["functions"]}


def faults(path, took):
    """Threads that run at the same time count once: the second part weighs at least as much as
    one thread ran, and at most as long as it took."""
    cpu, latency = weights(path), weights(path, "--latency")
    found = f"CPU {cpu.get('serial')}, {cpu.get('parallel')}; latency " \
            f"{latency.get('serial')}, {latency.get('parallel')}; took {took}"
    bounds = ((cpu, "serial", ALONE, ALONE), (cpu, "parallel", 2 * EACH, 2 * EACH),
              (latency, "serial", ALONE, ALONE),
              (latency, "parallel", EACH, min(took, 2 * EACH)))
    return found, [f"{name}: {table.get(name, 0):.3f} is not from {least} to {most}"
                   for table, name, least, most in bounds
                   if not LEAST * least <= table.get(name, 0) <= MOST * most]


def check(report, folder, name, *words):
    path = os.path.join(folder, "x.data")
    status, out, err = tap.run([tap.STOKE, "record", "-q", "-F", str(RATE), "-g", "fp", "-o", path,
                                *words, os.path.join(folder, "program"), str(ALONE), str(EACH)])
    if status != 0:
        report.skip(name, "nothing can be recorded: " + err.decode("utf-8", "replace")[:200])
        return
    found, wrong = faults(path, float(out.decode().split()[2]))
    report.result(f"{name}: {found}", "\n".join(wrong))


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        check(report, folder, "a program")
        check(report, folder, "the whole machine", "-a")
        check(report, folder, "a program, with waits", "--off-cpu")
    report.done()


main()
