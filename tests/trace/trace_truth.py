#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of QEMU guests: the stack of each instruction is compared with the truth.

The truth comes from the registers that QEMU logs (tests/trace/oracle.py): stoke has only addresses
and instructions. Each guest (tests/trace/guest) runs normally, and all its instructions must have
the right stack.

trace_truth.py [NAME...] only these guests"""

import collections
import os
import re
import sys
import tempfile

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import oracle       # noqa: E402
import qemu_trace   # noqa: E402
from guests import (PLUGIN, Guest, bare, compile, machine, missing, rtos, run,   # noqa: E402
                    user)

class Names:
    """Maps each function to the smallest of its names. Two functions that share a name are one:
    the output does not distinguish them."""

    def __init__(self, program):
        self.root = {}
        for names in program.names.values():
            first, *others = sorted(map(self._plain, names))
            for other in others:
                self.root[self._find(other)] = self._find(first)
        self.program = program

    @staticmethod
    def _plain(name):
        return re.sub(r"\.cold(\.\d+)?$", "", name).split("@")[0]

    def _find(self, name):
        while self.root.get(name, name) != name:
            name = self.root[name]
        return name

    def of_start(self, start):
        if start is None:
            return "?"
        return self._find(self._plain(next(iter(self.program.names[start]))))

    def of_text(self, text):
        return "?" if re.fullmatch(r"\[.*\]", text) else self._find(self._plain(text))


def without_repeats(stack):
    """Code outside all files is one frame, even if it calls itself."""
    frames = []
    for name in stack:
        if name != "?" or frames[-1:] != ["?"]:
            frames.append(name)
    return tuple(frames)


def expected_stacks(names, steps, guest):
    stacks, pcs = collections.Counter(), []
    for pc, stack in steps:
        stacks[stack] += 1
        pcs.append(pc)
    if pcs != guest.pcs:
        raise RuntimeError(f"the trace has {len(guest.pcs)} instructions, and the log "
                           f"{len(pcs)}, or others")
    merged = collections.Counter()
    for stack, count in stacks.items():
        merged[without_repeats(map(names.of_start, stack))] += count
    return merged


def got_stacks(names, folded, guest):
    """The output of stoke. The first frame of a machine's stacks is the task. The truth does not
    contain code outside all files that called a function."""
    stacks = collections.Counter()
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        frames = stack.split(";")
        if guest.switch or guest.switches and re.fullmatch(r"task_\d+", frames[0]):
            frames = frames[1:]
        if len(frames) > 1 and frames[0] == "[firmware]":
            frames = frames[1:]
        stacks[tuple(map(names.of_text, frames))] += int(count)
    return stacks


def report_difference(expected, got, share=1.0):
    total, wrong = sum(expected.values()), sum((expected - got).values())
    if sum(got.values()) == total and wrong <= total * (1 - share):
        return ""
    lines = [f"{wrong} of {total} instructions are under a wrong stack"]
    for title, stacks in (("missing", expected - got), ("wrong", got - expected)):
        for stack, count in stacks.most_common(8):
            lines.append(f"{title}: {count} {';'.join(stack)}"[:400])
    return "\n".join(lines)


# The unwinder searches the sorted table of .eh_frame_hdr. If the startup code of a static program
# registers .eh_frame, the unwinder sorts it first, which takes three times as many instructions as
# all the rest.
NOT_REGISTERED = ("-Wl,--eh-frame-hdr,--wrap=__register_frame_info,"
                  "--wrap=__deregister_frame_info")

GUESTS = {
    "bare metal: ecall, faults, nested traps, timer": bare,
    "firmware, kernel, tasks, user programs": machine,
    "C: calls, tail calls, longjmp, signals, -O2": user("calls", ["calls.c"], "calls", "-O2"),
    "the same, -O0": user("calls", ["calls.c"], "calls", "-O0"),
    "the same, -Os -msave-restore":
        user("calls", ["calls.c"], "calls", "-Os", "-msave-restore"),
    "C++: exceptions, -O2":
        user("exceptions", ["exceptions.cc"], "exceptions", "-O2", NOT_REGISTERED),
    "signals at any time": user("signals", ["signals.c"], "signals 1", "-O2", joint=True),
    "stacks that change: ucontext, registers in memory and on the stack, setjmp":
        user("switches", ["switches.c", "switches.S"], "switches", "-O2", switches=True,
             text=0.98),
    "a kernel that preempts: the task keeps its stack pointer": rtos(1),
    "a kernel that preempts: C code takes and returns it": rtos(2),
    "a kernel that preempts: registers in the task": rtos(3),
    "a kernel that preempts: C code copies the registers": rtos(4),
}


COMMITS = "Spike -l --log-commits"
FORMS = {"QEMU trace": lambda case: case.trace, "TracerV text": Guest.as_tracerv,
         "Spike -l": Guest.as_spike, COMMITS: Guest.as_spike_commits,
         "columns": Guest.as_columns, "Rocket": Guest.as_rocket,
         "execlog": Guest.as_execlog}


def has_contexts(form, case):
    """The form contains the target of each stack switch."""
    return form == "QEMU trace" or form == COMMITS and case.stack_addresses()


def check(report, name, make):
    with tempfile.TemporaryDirectory(prefix="stoke-truth-") as folder:
        try:
            case = make(folder)
            steps = case.record()
            names = Names(case.program)
            expected = expected_stacks(names, steps, case)
        except (RuntimeError, qemu_trace.Broken) as problem:
            report.not_ok(name, str(problem))
            return
        for form, trace in FORMS.items():
            try:
                got = got_stacks(names, case.stoke(trace(case)), case)
                share = 1.0 if has_contexts(form, case) else case.text
                why = report_difference(expected, got, share)
            except RuntimeError as problem:
                why = str(problem)
            report.result(f"{name}; {form}: {sum(expected.values())} instructions", why)


def without_inlined(folded):
    stacks = collections.Counter()
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[";".join(f for f in stack.split(";") if not f.endswith("_[i]"))] += int(count)
    return stacks


def check_inlined(report):
    """Inlined functions begin and end within blocks: without their frames the stacks are those of
    a run without inlining, and there are no repairs."""
    with tempfile.TemporaryDirectory(prefix="stoke-truth-") as folder:
        program, trace = os.path.join(folder, "walks"), os.path.join(folder, "trace")
        source = os.path.join(tap.SOURCE_ROOT, "bench", "guest.c")
        try:
            run(["riscv64-linux-gnu-gcc", "-O2", "-g", "-static", "-o", program, source],
                folder)
            run(["qemu-riscv64", "-plugin", f"{PLUGIN},out={trace}", program, "1"], folder)
            read = [tap.STOKE, "trace", trace, "--dwarf", program]
            _, inlined, said = tap.run(read)
            _, plain, _ = tap.run([*read, "--no-inline"])
        except RuntimeError as problem:
            report.not_ok("inlined functions", str(problem))
            return
    expected, got = without_inlined(plain.decode()), without_inlined(inlined.decode())
    report.result(f"inlined functions: {sum(expected.values())} instructions",
                  report_difference(expected, got) or
                  ("" if b"put_[i]" in inlined else "nothing is inlined"))
    report.result("inlined functions: nothing is repaired",
                  said.decode() if b"repaired" in said else "")


def check_stripped(report):
    """Without symbols, functions have the address of a call target as name: all stacks consist of
    such addresses, and few instructions are in no function."""
    with tempfile.TemporaryDirectory(prefix="stoke-truth-") as folder:
        trace = os.path.join(folder, "trace")
        try:
            program = compile(os.path.join(folder, "calls"), ["calls.c"], "-O2", "-static")
            starts = {int(line.split()[0], 16) for line in oracle.tool("nm", program).splitlines()
                      if re.match(r"[0-9a-f]+ [tTwWi] ", line)}
            run(["qemu-riscv64", "-plugin", f"{PLUGIN},out={trace}", program], folder)
            run(["riscv64-linux-gnu-strip", program], folder)
            _, out, _ = tap.run([tap.STOKE, "trace", "-q", trace, "--dwarf", program])
        except RuntimeError as problem:
            report.not_ok("a stripped program", str(problem))
            return
    total = named = 0
    wrong = set()
    for line in out.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        frames = [re.fullmatch(r"calls\+0x([0-9a-f]+)", f) for f in stack.split(";")]
        wrong.update(f[0] for f in frames if f and int(f[1], 16) not in starts)
        total += int(count)
        named += int(count) if all(frames) else 0
    why = f"no functions: {sorted(wrong)[:8]}" if wrong else ""
    why = why or ("" if named > 0.95 * total > 1000 else f"{named} of {total} have names")
    report.result(f"a stripped program: {total} instructions", why)


def check_links(report):
    """Calls of several instructions, with each way to compute the address."""
    for options in (["-static"], ["-static", "-fno-pic"],
                    ["-static", "-fno-pic", "-march=rv64g"]):
        with tempfile.TemporaryDirectory(prefix="stoke-truth-") as folder:
            program, trace = os.path.join(folder, "links"), os.path.join(folder, "trace")
            compile(program, ["links.S"], "-nostdlib", *options)
            run(["qemu-riscv64", "-plugin", f"{PLUGIN},out={trace}", program], folder)
            _, out, said = tap.run([tap.STOKE, "trace", trace, "--dwarf", program])
        why = "" if out == b"_start 37\n_start;f 12\n" else out.decode()
        report.result(f"calls of several instructions, {' '.join(options)}",
                      why or said.decode())


def main():
    report = tap.Tap()
    why = missing()
    expected = sys.argv[1:]
    for name, make in GUESTS.items():
        if expected and not any(word in name for word in expected):
            continue
        if why:
            report.skip(name, why)
            continue
        check(report, name, make)
    if not why and not expected:
        check_inlined(report)
    if not why and (not expected or "links" in expected):
        check_links(report)
    if not why and (not expected or "stripped" in expected):
        check_stripped(report)
    report.done()


main()
