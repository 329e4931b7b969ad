#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goroutines: a Go program in which each function has one caller (guest/goroutines.go) runs in
qemu-riscv64, in several threads; its goroutines move between these. Each instruction of its
functions must be below the right callers, and none is lost."""

import bisect
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import oracle       # noqa: E402
import qemu_trace   # noqa: E402
from guests import ENVIRONMENT, PLUGIN, guest, missing, run   # noqa: E402

STARTED = "go doneAfter"  # names of the wrapper that the go statement generates
CHAINS = {
    "produces": ["produces"], "consumes": ["consumes"], "yields": ["yields"],
    "deepens": ["deepens"] * 101, "locks": ["locks"], "collects": ["collects"],
    "waits": ["waits"], "catches": ["catches", "panics", "panics", "panics", "panics"],
}


def build(folder):
    program = os.path.join(folder, "goroutines")
    subprocess.run(["go", "build", "-o", program, guest("goroutines.go")], cwd=folder,
                   env={"PATH": os.environ["PATH"], "HOME": folder, "GOARCH": "riscv64",
                        "GOOS": "linux", "CGO_ENABLED": "0", "GO111MODULE": "off",
                        "GOFLAGS": "-p=1", "GOCACHE": os.path.join(folder, "cache")},
                   check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return program


def functions_of(program):
    """(start, end, name) of the program's own functions."""
    found = []
    for line in oracle.tool("nm", "-S", program).splitlines():
        match = re.fullmatch(r"(\w+) (\w+) [tT] (main\.\w.*)", line)
        if match:
            start = int(match[1], 16)
            found.append((start, start + int(match[2], 16), match[3]))
    return sorted(found)


def count_own(functions, trace):
    """The instructions of the program's own functions, in all threads."""
    starts = [start for start, _, _ in functions]
    counted = collections.Counter()
    for runs in trace.runs.values():
        executions = collections.Counter()
        for block, first, count, times in runs:
            if block:
                executions[block.id, first, count] += times
        for (number, first, count), times in executions.items():
            for pc, _ in trace.blocks[number].instructions[first:first + count]:
                at = bisect.bisect_right(starts, pc) - 1
                if at >= 0 and pc < functions[at][1]:
                    counted[functions[at][2]] += times
    return counted


def own_frames(stack):
    """The root, and frames of the program, with the names in the test."""
    names = []
    for frame in stack.split(";")[1:]:
        match = re.fullmatch(r"main\.(.+)", frame)
        if match and re.fullmatch(r"main\.(func|gowrap)\d+", match[1]):
            names.append("closure")
        elif match:
            names.append(match[1])
    if names and names[-1] == "closure" and len(names) == 1:
        return [STARTED]
    return names


def is_right(root, names):
    """Whether the calls between frames of the program are those of the source."""
    if root == "runtime.main":
        rest = names[1:] if names[:1] == ["main"] else None
        known = ("yields", "spin", "catches")
    else:
        starts = names[:2] == ["closure", "doneAfter"]
        if names in ([STARTED], ["closure", "doneAfter"],
                     ["closure", "doneAfter", "doneAfter.func1"],
                     ["closure", "doneAfter", "closure"]):
            return True
        rest = names[3:] if starts and names[2:3] == ["closure"] else None
        known = tuple(CHAINS)
    if rest is None or rest and rest[0] not in known:
        return False
    if rest[:1] == ["catches"]:
        return is_panic(rest)
    if rest[-1:] == ["spin"]:
        chain = rest[:-1]
        return not chain or chain == CHAINS.get(chain[0])
    return not rest or rest == CHAINS[rest[0]][:len(rest)]


def is_panic(rest):
    """catches and its callees; the deferred call runs above the panic."""
    deferred = [name for name in rest if name not in ("catches", "panics")]
    calls = rest[:len(rest) - len(deferred)]
    return (calls == CHAINS["catches"][:len(calls)] and
            deferred == ["catches.func1", "recovers", "spin"][:len(deferred)])


# A signal can switch a stack without an instruction that shows it, in one run of ten: one run of
# this many is exact.
RUNS = 8


def record(report, name, folder, program):
    """Runs the program, checks the counts, and returns the instructions below wrong callers, and
    the instructions below the program's functions; None if the run failed."""
    trace_path = os.path.join(folder, "trace")
    printed = run(["qemu-riscv64", "-plugin", f"{PLUGIN},out={trace_path}", program], folder)
    status, out, err = tap.run([tap.STOKE, "trace", "-q", trace_path, "--dwarf", program,
                                "--no-inline"])
    if status or printed != b"caught true\n":
        report.not_ok(name, f"{status} {err.decode()} {printed}")
        return None
    trace = qemu_trace.read(trace_path)
    expected = count_own(functions_of(program), trace)
    got, wrong, total, below = collections.Counter(), collections.Counter(), 0, 0
    for line in out.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        stack = re.sub(r"\.abi0\b", "", stack)
        names, leaf = own_frames(stack), stack.split(";")[-1]
        total += int(count)
        if leaf.startswith("main."):
            got[leaf] += int(count)
        below += int(count) if names else 0
        if names and not is_right(stack.split(";")[1], names):
            wrong[stack] += int(count)
    own = sum(expected.values())
    report.result(f"{name}: all of {trace.count()} instructions, {len(trace.runs)} threads",
                  "" if total == trace.count() else f"{total} are in a stack")
    report.result(f"{name}: {own} instructions of its own functions",
                  "" if got == expected and own > 100000 else
                  f"missing {expected - got}, wrong {got - expected}")
    return wrong, below


def check(report, name, folder, program):
    said = f"{name}: the callers are right"
    for _ in range(RUNS):
        recorded = record(report, name, folder, program)
        if not recorded:
            return
        wrong, below = recorded
        share = 100 * (1 - sum(wrong.values()) / below)
        print(f"# {name}: {share:.2f}% below the right callers")
        if not wrong:
            break
    report.result(said, "\n".join(f"{count} {stack[:300]}"
                                  for stack, count in wrong.most_common(6)))


def main():
    report = tap.Tap()
    why = missing() or ("" if shutil.which("go") else "no golang-go")
    if why:
        report.skip("goroutines", why)
        return report.done()
    with tempfile.TemporaryDirectory(prefix="stoke-go-") as folder:
        try:
            program = build(folder)
        except subprocess.CalledProcessError as problem:
            report.not_ok("goroutines", problem.stderr.decode())
            return report.done()
        ENVIRONMENT["GOMAXPROCS"] = "4"
        check(report, "goroutines", folder, program)
        ENVIRONMENT["GOMAXPROCS"] = "1"
        check(report, "goroutines, one at a time", folder, program)
        ENVIRONMENT["GODEBUG"] = "asyncpreemptoff=1"
        check(report, "goroutines, no signals", folder, program)
    return report.done()


if __name__ == "__main__":
    main()
