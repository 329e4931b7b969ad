#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ruby functions in recordings and in stoke stacks, against the truth: programs with known shares
(ruby_shares.rb) and with known stacks (ruby_victim.rb)."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import tap
from interpreted import check_outside, check_process, may_trace, record, record_shares, stacks, wrong_stacks

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "ruby_shares.rb")
VICTIM = os.path.join(HERE, "ruby_victim.rb")
SHARES = {"Object#takes_50": 0.50, "Object#takes_30": 0.30, "Object#takes_15": 0.15,
          "Object#takes_5": 0.05}
WORK, BELOW = "Object#work", "Object#below"
KNOWN = SHARES, WORK
DEPTH = 30
ARRIVE = 120  # seconds until all threads of the program wait, also on a busy machine


def wrong_stack(stack):
    """Why the frames of a stack with work are not those of the program; or empty."""
    if stack.count(BELOW) != DEPTH + 1:
        return f"{stack.count(BELOW)} recursive calls"
    after = stack[len(stack) - stack[::-1].index(BELOW):]
    if after[:1] != ("Object#rounds",) or after[1] not in SHARES or after[2] != WORK:
        return f"{after} after the recursion"
    if any("vm_exec" in name for name in stack):
        return "the interpreter's loop is visible"
    if len(after) > 3 and after[3] != "Integer#times":
        return f"{after}: no Integer#times"
    return ""


def check_shares(report, folder):
    data, found, wrong = record_shares("ruby", folder, KNOWN, "-F", "1999", "ruby", PROGRAM, "0.7",
                                       "3", str(DEPTH))
    report.result("shares of functions", wrong)
    report.result("stacks of the recording", wrong_stacks(found, WORK, wrong_stack, 0.03))
    total = sum(found.values())
    _, out, _ = tap.run([tap.STOKE, "info", data])
    line = re.search(r"^runtime +Ruby 3\.1\.[0-9]+, process [0-9]+, offsets: table for 3\.1; samples: "
                     r"([0-9]+) with its functions, ([0-9]+) of them doubtful and 0 truncated, "
                     r"([0-9]+) torn, ([0-9]+) without$", out.decode(), re.MULTILINE)
    merged, doubtful, torn, _ = map(int, line.groups()) if line else (0, 0, 0, 0)
    report.result("stoke info", "" if 0.5 * total <= merged <= total and
                  doubtful + torn <= 0.03 * merged + 1 else out.decode()[:800])


def check_running(report, folder):
    with subprocess.Popen(["ruby", PROGRAM, "100000", "2", str(DEPTH)],
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        check_process(report, "ruby", folder, process.pid, lambda stack: BELOW in stack)
        process.kill()


def check_only(report, folder):
    data, failed = record("python", folder, "ruby", PROGRAM, "0.1", "1", "1")
    found = stacks(data)
    report.result("--interpreters python reads no Ruby", failed or
                  ("" if not any(WORK in stack for stack in found) else str(found)))


# --- stoke stacks -------------------------------------------------------------------------------


def truth_of(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def same_frame(got, expected):
    """A method has its class before its name. One of native code has no file; Ruby gives it that
    of its caller."""
    label, path, line, native = expected
    if native:
        return re.split("[#.]", got["function"])[-1] == label and "file" not in got
    name = {"make": "Counter.make", "recursion": "Object#recursion", "fiber": "Object#fiber",
            "long": "Object#long", "initialize": "Counter#initialize",
            "method_missing": "Counter#method_missing"}.get(label, label)
    return [got["function"], got.get("file"), got.get("line")] == [name, path, line]


def compare(truth, got):
    faults = []
    threads = {thread["tid"]: thread for thread in got["threads"]}
    for tid, expected in truth:
        frames = [f for f in threads[tid]["frames"] if f["kind"] == "interpreted"]
        wrong = [(f, e) for f, e in zip(frames, expected) if not same_frame(f, e)]
        if len(frames) != len(expected) or wrong:
            faults.append(f"{len(frames)} frames, not {len(expected)}; {wrong[:2]}")
        if threads[tid].get("doubt"):
            faults.append(threads[tid]["doubt"])
    return faults


def check_victim(report):
    faults = ["the threads do not arrive"]
    with subprocess.Popen(["ruby", VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        end = time.monotonic() + ARRIVE
        while time.monotonic() < end:
            before = truth_of(process)
            status, out, err = tap.run([tap.STOKE, "stacks", "--json", str(process.pid)])
            _, alone, _ = tap.run([tap.STOKE, "stacks", "--json", "--native", "no", str(process.pid)])
            if status != 0:
                faults = [err.decode()]
                break
            if before["waits"] and truth_of(process) == before:
                faults = compare(before["stacks"], json.loads(out))
                faults += compare(before["stacks"], json.loads(alone))
                break
            time.sleep(0.01)
        process.stdin.close()
        status = process.wait(timeout=tap.TIMEOUT)
    report.result("stoke stacks", "\n".join(faults) or ("" if status == 0 else f"status {status}"))


def version():
    status, out, _ = tap.run(["ruby", "-e", "print RUBY_ENGINE, ' ', RUBY_VERSION"])
    return out.decode() if status == 0 else ""


def main():
    report = tap.Tap()
    if not shutil.which("ruby") or not version().startswith("ruby 3.1."):
        report.skip("ruby", "needs Ruby 3.1")
        report.done()
    folder = tempfile.mkdtemp(prefix="stoke-ruby-", dir=os.environ.get("STOKE_BUILD"))
    try:
        if may_trace():
            check_victim(report)
        else:
            report.skip("stoke stacks", "no right to trace processes")
        check_outside(report, "ruby", folder, KNOWN, wrong_stack, "ruby", PROGRAM, "0.7", "3", str(DEPTH))
        data, _ = record("ruby", folder, "ruby", PROGRAM, "0.2", "1", "1")
        if b"read from outside" in tap.run([tap.STOKE, "info", data])[1]:
            report.skip("Ruby by eBPF", "eBPF is not possible")
            report.done()
        check_shares(report, folder)
        check_running(report, folder)
        check_only(report, folder)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
