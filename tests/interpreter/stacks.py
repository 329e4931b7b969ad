#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke stacks against the truth: each CPython on this machine runs victim.py, which reports its own
stacks; a C program has a known stack."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import cpython
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
VICTIM = os.path.join(HERE, "victim.py")
ARRIVE = 120  # seconds until all threads of the program wait, also on a busy machine
LEAVES = [r"recursion$", r"wait$", r"inner$", r"wait$", r"__getattr__$", r"made$"]
ROOTS = ("_bootstrap", "Thread._bootstrap")


def may_trace():
    """Whether this user may trace a process that is not a child of the tracer: containers and
    kernel.yama.ptrace_scope may deny it, to root too."""
    with subprocess.Popen(["sleep", str(tap.TIMEOUT)]) as process:
        _, _, err = tap.run([tap.STOKE, "stacks", str(process.pid)])
        process.kill()
    return b"cannot attach" not in err and b"not accessible" not in err


def stacks(pid, *options):
    status, out, err = tap.run([tap.STOKE, "stacks", "--json", *options, str(pid)])
    if status != 0:
        raise RuntimeError(f"status {status}: {err.decode()}")
    return json.loads(out)


class Victim:
    def __init__(self, python):
        self.process = subprocess.Popen([python, VICTIM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=tap.TIMEOUT)


def waits(truth):
    """Whether all threads have arrived where they wait."""
    return all(stack and re.search(leaf, stack[0][0])
               for (_, stack), leaf in zip(truth["waiting"], LEAVES))


def interpreted(thread):
    return [[f["function"], f.get("file"), f.get("line")] for f in thread["frames"]
            if f["kind"] == "interpreted"]


def compare(truth, got, with_native):
    """The stacks of the waiting threads are equal; those of the others are complete."""
    faults = []
    threads = {thread["tid"]: thread for thread in got["threads"]}
    for tid, expected in truth["waiting"]:
        thread = threads[tid]
        frames = interpreted(thread)
        if frames != expected:
            wrong = [pair for pair in zip(frames, expected) if pair[0] != pair[1]]
            faults.append(f"thread {tid}: {len(frames)} frames, not {len(expected)}; {wrong[:2]}")
        if thread.get("doubt"):
            faults.append(f"thread {tid}: {thread['doubt']}")
        if with_native and thread["frames"][0]["kind"] == "interpreted":
            faults.append(f"thread {tid}: no native frames of the wait")
        if any("EvalFrameDefault" in f["function"] for f in thread["frames"]):
            faults.append(f"thread {tid}: frames of the loop are visible")
    for tid in truth["computing"]:
        frames = interpreted(threads[tid])
        if not threads[tid].get("doubt") and (not frames or frames[-1][0] not in ROOTS):
            faults.append(f"computing thread {tid}: {frames}")
    holders = [t["tid"] for t in got["threads"] if t["holds_gil"]]
    if set(holders) & {tid for tid, _ in truth["waiting"]}:
        faults.append(f"waiting threads hold the GIL: {holders}")
    return faults


def check_version(got, version):
    runtime = got.get("runtime")
    if not runtime:
        return [f"no runtime was found: {got.get('refused')}"]
    wrong = not runtime["version"].startswith("%d.%d" % version)
    source = "debug offsets" if version >= (3, 13) else "table for %d.%d" % version
    wrong |= not runtime["offsets"].startswith(source)
    return [str(runtime)] if wrong else []


def check_python(python, version):
    victim = Victim(python)
    faults = ["the threads do not arrive"]
    try:
        end = time.monotonic() + ARRIVE
        while time.monotonic() < end:
            before = victim.ask()
            if not waits(before):
                time.sleep(0.01)
                continue
            both, alone = stacks(victim.process.pid), stacks(victim.process.pid, "--native", "no")
            if victim.ask() != before:
                continue  # a thread had still to reach its wait
            faults = check_version(both, version) + compare(before, both, True)
            faults += compare(before, alone, False)
            break
    except (RuntimeError, OSError, ValueError) as error:
        faults = [str(error)]
    status = victim.end()
    if status != 0:
        faults.append(f"the program ended with {status}")
    return "\n".join(faults)


def check_killed(python):
    """If stoke is killed at any moment, the program continues."""
    victim = Victim(python)
    victim.ask()
    for step in range(10):
        with subprocess.Popen([tap.STOKE, "stacks", str(victim.process.pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as stoke:
            try:
                stoke.wait(timeout=step * 0.01)
            except subprocess.TimeoutExpired:
                stoke.kill()
    answered = len(victim.ask()["waiting"]) == len(LEAVES)
    status = victim.end()
    return "" if answered and status == 0 else f"answered: {answered}, status {status}"


def check_native(folder):
    program = os.path.join(folder, "known")
    subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", program, os.path.join(HERE, "known.c")],
                   check=True)
    faults = []
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as known:
        known.stdout.readline()
        end, got = time.monotonic() + ARRIVE, {"threads": []}
        while time.monotonic() < end:  # both threads may not wait yet
            got = stacks(known.pid)
            if len(got["threads"]) == 2 and all(t.get("system_call") == "read" for t in got["threads"]):
                break
        names = [[f["function"] for f in t["frames"]] for t in got["threads"]]
        for stack, last in zip(names, ("main", "start")):
            if not re.search(f" inner middle outer {last} ", " ".join(stack) + " "):
                faults.append(f"{last}: {stack}")
        if len(names) != 2 or any("doubt" in t for t in got["threads"]):
            faults.append(str(got))
        faults += check_gdb(known.pid, names)
        folded = os.path.join(folder, "known.folded")
        tap.run([tap.STOKE, "stacks", "-o", folded, str(known.pid)])
        with open(folded, encoding="utf-8") as file:
            if "outer;middle;inner" not in file.read():
                faults.append("the folded stacks lack functions")
        known.stdin.close()
    return "\n".join(faults)


def check_gdb(pid, names):
    """gdb lists the same functions of the program."""
    if not shutil.which("gdb"):
        return []
    _, out, _ = tap.run(["gdb", "-nx", "-p", str(pid), "-batch", "-ex", "thread apply all bt"])
    text = out.decode("utf-8", "replace")
    listed = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(inner|middle|outer|main|start) \(", text,
                        re.MULTILINE)
    own = [name for stack in reversed(names) for name in stack
           if name in ("inner", "middle", "outer", "main", "start")]
    return [] if not listed or listed == own else [f"gdb: {listed}, stoke: {own}"]


def main():
    report = tap.Tap()
    if not may_trace():
        report.skip("stacks", "no right to trace processes")
        report.done()
    found = cpython.installed()
    for path, version in sorted(found.items()):
        name = f"stacks of Python {version[0]}.{version[1]} ({path})"
        if (3, 8) <= version <= (3, 14):
            report.result(name, check_python(path, version))
    if not found:
        report.skip("stacks of Python", "no CPython is installed")
    else:
        report.result("a killed stoke leaves the program unharmed", check_killed(sorted(found)[-1]))
    if not shutil.which("cc"):
        report.skip("stacks of a C program", "no compiler")
    else:
        with tempfile.TemporaryDirectory() as folder:
            report.result("stacks of a C program", check_native(folder))
    report.done()


main()
