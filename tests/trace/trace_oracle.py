#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The truth of trace_truth.py (oracle.py) on logs that are written here, with signals that arrive
before each instruction of a small program, which is executed here, too."""

import io
import os
import sys

import tap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import oracle       # noqa: E402

START, TRAMPOLINE, STACK = 0x10000, 0x40001000, 0x40800000
FRAME = 832  # bytes that Linux stores on the stack for a signal
CODE = {
    "main": ["c.addi x2,-16", "jal x1,{f}", "c.addi x2,16", "c.nop", "c.nop"],
    # Calls itself once; its stack pointer changes by each kind of addition.
    "f": ["c.addi16sp x2,-32", "c.sdsp x1,8(x2)", "c.beqz x10,{ends}", "c.li x10,0", "jal x1,{f}",
          "ends: sub x2,x2,x8", "c.add x2,x8", "addi x2,x9,-48", "c.ldsp x1,8(x2)",
          "c.addi16sp x2,32", "c.jr x1"],
    "handler": ["c.addi x2,-16", "c.nop", "c.addi x2,16", "c.jr x1"],
}


class Written(oracle.Program):
    """The instructions of CODE."""

    def __init__(self):
        super().__init__()
        labels, lines, at = {}, [], START
        for function, code in CODE.items():
            labels[function] = at
            for line in code:
                label, _, text = line.rpartition(": ")
                labels[label] = at
                lines.append((at, text))
                at += 2 if text.startswith("c.") else 4
        ends = {name: "%x" % address for name, address in labels.items()}
        self.code = {address: tuple((text.format(**ends) + " ").split(" ")[:2])
                     for address, text in lines}
        self.instructions = dict(self.code)  # which are decoded later
        self._gather([(labels[name], 0, name) for name in CODE])


class Run:
    """Executes the program. signals: by the number of an instruction, (signals that arrive at once
    before it, whether QEMU logs the instruction first, whether the instruction before it is
    executed again)."""

    def __init__(self, program, signals):
        self.program, self.signals = program, signals
        self.registers = {number: 0 for number in range(32)}
        self.registers.update({2: STACK, 8: 64, 10: 1})
        self.pc, self.before = program.start_of("main"), None
        self.memory, self.callers, self.interrupted = {}, [], []
        self.log, self.pcs, self.stacks = [], [], []

    def _record(self):
        fields = [("pc", self.pc), *((f"x{n}/t6" if n == 31 else f"x{n}/_", number)
                                     for n, number in self.registers.items())]
        self.log.append("".join(f" {name:8} {number:016x}\n" for name, number in fields))

    def _interrupt(self, count, is_logged, again):
        """A handler that has not begun when another one interrupts it is not in the stack. If
        rt_sigreturn is interrupted, only the last handler is above it."""
        if is_logged:
            self._record()
        if again:
            self.pc, self.registers, self.callers, self.interrupted = self.before
        above = self.callers + [self.program.function(self.pc)]
        first = self.callers if again else above
        callers = [self.callers, above, *[first] * (count - 1)]
        for index in range(count):
            self.interrupted.append((self.pc, dict(self.registers), callers[index]))
            self.registers[1] = TRAMPOLINE
            self.registers[2] = self.registers[2] - FRAME & ~15
            self.pc = self.program.start_of("handler")
        self.callers = callers[count]

    def _execute(self, name, operands):
        x = self.registers
        insn = self.program.at(self.pc)
        words = operands.split(",")
        after = self.pc + insn.size
        if name == "jal":
            x[1] = after
            self.callers = self.callers + [self.program.function(self.pc)]
            after = insn.target
        elif name == "c.jr":
            after = x[1]
            self.callers = self.callers[:-1] if after != TRAMPOLINE else self.callers
        elif name == "c.beqz":
            after = insn.target if x[10] == 0 else after
        elif name == "c.sdsp":
            self.memory[x[2] + 8] = x[1]
        elif name == "c.ldsp":
            x[1] = self.memory[x[2] + 8]
        elif name == "c.li":
            x[10] = 0
        elif name in ("c.addi", "c.addi16sp"):
            x[2] += int(words[1])
        elif name == "addi":
            x[2] = x[9] + int(words[2])
        elif name in ("sub", "c.add"):
            x[2] += x[8] if name == "c.add" else -x[8]
        x[9] = x[2] + 48
        self.pc = after

    def _step(self):
        self._record()
        self.pcs.append(self.pc)
        self.stacks.append((*self.callers, self.program.function(self.pc)))
        self.before = (self.pc, dict(self.registers), self.callers,
                       list(self.interrupted))
        if self.pc == TRAMPOLINE:
            self.registers[17] = oracle.RT_SIGRETURN
            self.pc += 4
        elif self.pc == TRAMPOLINE + 4:
            self.pc, registers, self.callers = self.interrupted.pop()
            self.registers = dict(registers)
        else:
            self._execute(*self.program.code[self.pc])

    def run(self):
        last = self.program.start_of("f") - 2
        while not self.pcs or self.pcs[-1] != last:
            self._step()
            if len(self.pcs) in self.signals and self.pcs[-1] != last:
                count, is_logged, again = self.signals[len(self.pcs)]
                self._interrupt(count, is_logged, again)
        return self


def wrong_in(program, signals):
    """Why the oracle's stacks are wrong; empty if they are right."""
    run = Run(program, signals).run()
    def read():
        return oracle.Log(io.StringIO("".join(run.log)))
    interrupted = oracle.interrupted_sigreturns(program, read(), run.pcs)
    found = list(oracle.follow(program, read(), (), run.pcs, False, interrupted))
    for number, (pc, stack) in enumerate(found):
        if stack != run.stacks[number]:
            return f"signals {signals}: instruction {number} at {pc:x}: {stack}, not " \
                   f"{run.stacks[number]}"
    return "" if len(found) == len(run.pcs) else f"signals {signals}: {len(found)} instructions"


def first_wrong(program, cases):
    return next(filter(None, (wrong_in(program, signals) for signals in cases)), "")


def main():
    report = tap.Tap()
    program = Written()
    count = len(Run(program, {}).run().pcs)
    handler = len(CODE["handler"]) + 2
    report.result(f"{count} instructions without a signal", wrong_in(program, {}))
    for at_once in (1, 2, 3):
        for is_logged in (False, True):
            report.result(f"{at_once} at once, {'' if is_logged else 'not '}logged before",
                          first_wrong(program, ({at: (at_once, is_logged, False)}
                                                for at in range(1, count))))
    report.result("a second signal", first_wrong(program, (
        {at: (1, a, False), then: (1, b, False)}
        for at in range(1, count) for then in range(at + 1, count + handler)
        for a in (False, True) for b in (False, True))))
    report.result("several signals at once in a handler and the code after it",
                  first_wrong(program, (
                      {at: (1, a, False), at + inside: (at_once, b, False)}
                      for at in range(1, count) for inside in range(1, handler + 1)
                      for at_once in (2, 3) for a in (False, True) for b in (False, True))))
    report.result("rt_sigreturn is called again", first_wrong(program, (
        {at: (1, a, False), at + handler: (at_once, False, True)}
        for at in range(1, count) for a in (False, True) for at_once in (1, 2, 3))))
    report.done()


main()
