#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JavaScript functions in recordings and in stoke stacks, against the truth: a program with known
shares (node_shares.js), and one whose threads print their stacks (node_victim.js)."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import tap
from interpreted import (WITHOUT_RIGHTS, can_drop_rights, check_process, may_trace, record, record_shares, stacks,
                         wrong_stacks)

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "node_shares.js")
VICTIM = os.path.join(HERE, "node_victim.js")
NODE = os.environ.get("STOKE_NODE", "node")
SHARES = {"takes50": 0.50, "takes30": 0.30, "takes15": 0.15, "取五": 0.05}
WORK, BELOW = "work", "below"
KNOWN = SHARES, WORK
DEPTH = 20
FILL = "x = (x * 31 + 7) & 0xffff; " * 60  # too large to be inlined: more than 460 bytes


def write_program(folder):
    path = os.path.join(folder, "node_shares.js")
    with open(PROGRAM, encoding="utf-8") as source, open(path, "w", encoding="utf-8") as program:
        program.write(re.sub(r"^( +)FILL$", lambda m: m[1] + FILL, source.read(), flags=re.MULTILINE))
    return path


def wrong_stack(stack):
    """Why the frames of a stack with work are not those of the program; or empty."""
    if stack.count(BELOW) != DEPTH + 1:
        return f"{stack.count(BELOW)} recursive calls"
    after = stack[len(stack) - stack[::-1].index(BELOW):]
    if not re.fullmatch(r"\(anonymous:\d+\)", after[0]):
        return f"{after} after the recursion"
    if after[1] != "rounds" or after[2] not in SHARES or after[3] != WORK:
        return f"{after} after the recursion"
    if any("InterpreterEntryTrampoline" in name for name in stack):
        return "the interpreter's loop is visible"
    return ""


FREED, FREED_MOST = "[code that was freed]", 0.1


def with_names(found):
    """The stacks whose names were read, and what is wrong if too many were not: a collection of
    garbage moves functions, and on a busy machine it can come before the recorder reads their names."""
    known = {stack: n for stack, n in found.items() if FREED not in stack}
    lost, total = sum(found.values()) - sum(known.values()), sum(found.values())
    return known, f"{lost} of {total} samples have code that was freed\n" if lost > FREED_MOST * total else ""


def check_shares(report, folder, program):
    data, found, wrong = record_shares("node", folder, KNOWN, "-F", "1999", NODE, program, "1", "2",
                                       str(DEPTH))
    report.result("shares of functions", wrong)
    known, lost = with_names(found)
    report.result("stacks of the recording", lost + wrong_stacks(known, WORK, wrong_stack, 0.01))
    names = {name for stack, _ in found.items() for name in stack if WORK in stack}
    report.result("functions of native code stay", "" if "Builtins_ArrayMap" in names or
                  any("JsonStringify" in name for name in names) else str(sorted(names))[-1500:])
    _, out, _ = tap.run([tap.STOKE, "info", data])
    line = re.search(r"^runtime +V8 [0-9.]+, process [0-9]+, offsets: symbols v8dbg_\*; samples: "
                     r"([0-9]+) with its functions, ([0-9]+) of them doubtful and 0 truncated, "
                     r"([0-9]+) torn, ([0-9]+) without$", out.decode(), re.MULTILINE)
    merged, doubtful, torn, _ = map(int, line.groups()) if line else (0, 0, 0, 0)
    total = sum(n for stack, n in found.items() if WORK in stack)
    report.result("stoke info", "" if merged >= 0.9 * total and
                  doubtful + torn <= 0.01 * merged + 1 else out.decode()[:800])


def check_summary(report, folder, program):
    """Code that V8 has compiled is in no file, but its functions are known."""
    status, _, err = tap.run([tap.STOKE, "record", "-F", "999", "-o", os.path.join(folder, "summary.data"),
                              NODE, program, "1", "2", str(DEPTH)])
    report.result("functions of compiled code are not unknown",
                  err.decode() if status or b"unknown code" in err else "")


def check_running(report, folder, program):
    with subprocess.Popen([NODE, program, "100000", "1", str(DEPTH)],
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        check_process(report, "node", folder, process.pid, lambda stack: BELOW in stack, least=0.8)
        process.kill()


def check_only(report, folder, program):
    data, failed = record("python", folder, NODE, program, "0.1", "1", "1")
    found = stacks(data)
    report.result("--interpreters python reads no JavaScript", failed or
                  ("" if not any(WORK in stack for stack in found) else str(found)))


def check_outside(report, folder, program):
    """Without the rights for eBPF, the frames are in the recorded part of the stack; functions are
    read from the process."""
    name = "without eBPF"
    if not can_drop_rights(report, name):
        return
    data, found, wrong = record_shares("node", folder, KNOWN, "-F", "999", NODE, program, "0.7", "2",
                                       str(DEPTH), before=WITHOUT_RIGHTS)
    report.result(f"{name}: shares of functions", wrong)
    report.result(f"{name}: stacks", wrong_stacks(found, WORK, wrong_stack, 0.01))
    _, out, _ = tap.run([tap.STOKE, "info", data])
    report.result(f"{name}: stoke info", "" if re.search(
        r"^runtime +V8 [0-9.]+, .* read from outside: ", out.decode(), re.MULTILINE)
        else out.decode()[:800])


# --- stoke stacks -------------------------------------------------------------------------------


def frame_of(line):
    """(function, file, line) of a line of V8's stack; None: a function without a file, which stoke
    shows as a native one."""
    line = line.strip().removeprefix("at ")
    match = re.fullmatch(r"(?:(.*) \()?(?:file://)?(/.*|node:.*):(\d+):\d+\)?", line)
    if not match:
        return None
    name = re.sub(r" \[as .*\]", "", (match[1] or "").removeprefix("async ").removeprefix("new "))
    return name.split(".")[-1], match[2], int(match[3])


def same_frame(got, expected):
    name, path, line = expected
    name_fits = got["function"] == name or (
        name in ("", "<anonymous>") and got["function"].startswith("(")) or name == "get value"
    return name_fits and [got.get("file"), got.get("line")] == [path, line]


def compare(truth, got):
    faults = []
    expected = [frame for frame in map(frame_of, truth) if frame and frame[1] == VICTIM]
    for thread in got["threads"]:
        frames = [f for f in thread["frames"] if f.get("file") == VICTIM]
        if len(frames) >= len(expected) and all(map(same_frame, frames, expected)):
            return [thread["doubt"]] if thread.get("doubt") else []
        if frames:
            faults.append(f"{[(f['function'], f.get('line')) for f in frames]}, not {expected}")
    return faults or ["no thread has the functions"]


def check_victim(report):
    with subprocess.Popen([NODE, VICTIM], stdout=subprocess.PIPE, text=True) as process:
        truth = [json.loads(process.stdout.readline()) for _ in range(2)]
        status, out, err = tap.run([tap.STOKE, "stacks", "--json", str(process.pid)])
        process.kill()
    faults = [err.decode()] if status else []
    for thread in truth if not status else []:
        faults += compare(thread["stack"], json.loads(out))
    report.result("stoke stacks", "\n".join(faults))


def version():
    if not shutil.which(NODE):
        return 0
    _, out, _ = tap.run([NODE, "-p", "parseInt(process.versions.node)"])
    return int(out or 0)


def main():
    report = tap.Tap()
    if version() not in (16, 18, 20, 22, 24):
        report.skip("node", "needs node 16, 18, 20, 22 or 24")
        report.done()
    folder = tempfile.mkdtemp(prefix="stoke-node-", dir=os.environ.get("STOKE_BUILD"))
    program = write_program(folder)
    try:
        if may_trace():
            check_victim(report)
        else:
            report.skip("stoke stacks", "no right to trace processes")
        check_outside(report, folder, program)
        data, _ = record("node", folder, NODE, program, "0.2", "1", "1")
        if b"read from outside" in tap.run([tap.STOKE, "info", data])[1]:
            report.skip("JavaScript by eBPF", "eBPF is not possible")
            report.done()
        check_shares(report, folder, program)
        check_summary(report, folder, program)
        check_running(report, folder, program)
        check_only(report, folder, program)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
