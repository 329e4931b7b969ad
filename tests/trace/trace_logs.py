#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""32-bit programs, logs that expand compressed instructions, and guests that crash.

A program without a library runs in qemu-riscv32. The test writes its trace in the form of each log
that stoke reads, and each log must give the stacks of the trace."""

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
import qemu_trace   # noqa: E402
from guests import PLUGIN, guest, missing   # noqa: E402

NOP = 0x13
RV32 = ["-march=rv32imac", "-mabi=ilp32", "-ffreestanding", "-nostdlib", "-Wl,-melf32lriscv"]
RV64 = ["-march=rv64imac", "-mabi=lp64", "-ffreestanding", "-nostdlib"]


def bits_of(value, *ranges):
    """The bits (high, low) of a value, concatenated."""
    out = 0
    for high, low in ranges:
        out = out << (high - low + 1) | value >> low & (1 << (high - low + 1)) - 1
    return out


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def jal(register, offset):
    offset &= (1 << 21) - 1
    return (bits_of(offset, (20, 20), (10, 1), (11, 11), (19, 12)) << 12 | register << 7 |
            0x6F)


def branch(kind, register, offset):
    offset &= (1 << 13) - 1
    return (bits_of(offset, (12, 12), (10, 5)) << 25 | register << 15 | kind << 12 |
            bits_of(offset, (4, 1), (11, 11)) << 7 | 0x63)


def expand(word, is_32):
    """The 4-byte form of a compressed instruction, with the parts that matter for control flow."""
    form = word & 0xE003
    register = word >> 7 & 31
    if form == 0xA001 or (form == 0x2001 and is_32):
        offset = sum(bits_of(word, (at, at)) << to for at, to in
                     ((12, 11), (11, 4), (10, 9), (9, 8), (8, 10), (7, 6), (6, 7), (5, 3),
                      (4, 2), (3, 1), (2, 5)))
        return jal(1 if form == 0x2001 else 0, signed(offset, 12))
    if form in (0xC001, 0xE001):
        offset = sum(bits_of(word, (at, at)) << to for at, to in
                     ((12, 8), (11, 4), (10, 3), (6, 7), (5, 6), (4, 2), (3, 1), (2, 5)))
        return branch(form == 0xE001, 8 + (word >> 7 & 7), signed(offset, 9))
    if form == 0x8002 and word >> 2 & 31 == 0 and register:
        links = word >> 12 & 1
        return register << 15 | links << 7 | 0x67
    return NOP


def digits(word):
    return f"{word:08x}" if word & 3 == 3 else f"{word:04x}"


LOGS = {
    "Spike": lambda n, pc, word, _: f"core   0: 3 0x{pc:08x} (0x{digits(word)})\n",
    "Ibex": lambda n, pc, word, _:
        f"{20 * n:15d}\t{n:10d}\t{pc:08x}\t{digits(word)}\tc.nop\t\n",
    "CV32E40P": lambda n, pc, word, _:
        f"{20 * n:10d}ns {n:15d} {pc:08x} {digits(word)} {'c.nop':36s}\n",
    "RI5CY, expanded": lambda n, pc, word, is_32:
        f"{20 * n:20d} {n:15d} {pc:08x} "
        f"{word if word & 3 == 3 else expand(word, is_32):08x} {'nop':36s}\n",
    "CVA6, expanded": lambda n, pc, word, is_32:
        f"{2 * n:8d}ns {n:8d} M {pc:016x} 0 "
        f"{word if word & 3 == 3 else expand(word, is_32):08x} {'nop':36s}\n",
    "NEORV32": lambda n, pc, word, _: f"{n} {n} 0x{pc:x} 0x{word:08x} U nop\n",
    "BOOM": lambda n, pc, word, _: f"3 0x{pc:010x} (0x{word:08x}) x 5 0x0000000000000001\n",
    "Rocket": lambda n, pc, word, _:
        f"C0: {n:10d} [1] pc=[{pc:08x}] W[r10=1][1] R[r 2=0] R[r 0=0] inst=[{word:08x}] "
        f"DASM({word:08x})\n",
    "RVVI": lambda n, pc, word, _: f"{20 * n:20d} |{n:12d} | {pc:08x} | {word:08x}\n",
    "words missing": lambda n, pc, word, _: f"core   0: 3 0x{pc:08x} (0x00000000)\n",
}


# Differences between versions and transports of the same log.
VARIANTS = {
    "line ends of DOS": lambda lines: [line.replace("\n", "\r\n") for line in lines],
    "empty lines": lambda lines: [line + "\n" for line in lines],
    "capital digits": lambda lines: [re.sub(r"[0-9a-f]{8,}", lambda m: m[0].upper(), line)
                                     for line in lines],
    "wide columns": lambda lines: [re.sub(r"(?<=\S) (?=\S)", "   ", line) for line in lines],
    "output between lines": lambda lines: [line + ("Hello, world\n" if n % 50 == 0 else "")
                                           for n, line in enumerate(lines)],
    "a last line without an end": lambda lines: [*lines[:-1], lines[-1].rstrip("\n")],
}

# Logs that name the hart: the line of hart 1.
HARTS = {
    "Spike": lambda line: line.replace("core   0:", "core   1:"),
    "Rocket": lambda line: line.replace("C0:", "C1:"),
}


def fold(trace, *options):
    done = subprocess.run([tap.STOKE, "trace", "-q", trace, *options], check=True,
                          stdout=subprocess.PIPE, text=True)
    stacks = collections.Counter()
    for line in done.stdout.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[stack] += int(count)
    return stacks


def build(folder, options, source):
    program = os.path.join(folder, "program")
    subprocess.run(["riscv64-linux-gnu-gcc", "-O2", "-g", "-static", "-fno-pic",
                    *options, "-o", program, source], check=True)
    return program


def qemu(command, folder):
    trace = os.path.join(folder, "trace")
    status = subprocess.run([command[0], "-plugin", f"{PLUGIN},out={trace}",
                             *command[1:]], stderr=subprocess.DEVNULL, check=False)
    return trace, status.returncode


def check_width(report, folder, name, emulator, options):
    program = build(folder, options, guest("small.c"))
    trace, _ = qemu([emulator, program], folder)
    read = qemu_trace.read(trace)
    steps = [(pc, int.from_bytes(code, "little")) for _, pc, code
             in read.instructions(next(iter(read.runs)))]
    expected = fold(trace)
    deep = "_start;begin;run;fib;fib;fib;fib;fib;fib;fib;fib;fib;fib"
    report.result(f"{name}: the stacks of the trace",
                  "" if deep in expected and sum(expected.values()) == len(steps)
                  else f"{expected}")
    for log, line in LOGS.items():
        path = os.path.join(folder, "log")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(line(n, pc, word, bool(read.flags & 2))
                            for n, (pc, word) in enumerate(steps))
        got = fold(path, "--dwarf", program)
        report.result(f"{name}: {log}", "" if got == expected else
                      f"missing {expected - got}, wrong {got - expected}")


def write_log(folder, lines):
    path = os.path.join(folder, "log")
    with open(path, "w", encoding="ascii", newline="") as file:
        file.writelines(lines)
    return path


def check_variants(report, folder):
    """Each log in each of its variants gives the same stacks."""
    program = build(folder, RV64, guest("small.c"))
    trace, _ = qemu(["qemu-riscv64", program], folder)
    read = qemu_trace.read(trace)
    steps = [(pc, int.from_bytes(code, "little")) for _, pc, code
             in read.instructions(next(iter(read.runs)))]
    expected = fold(trace)
    for log in ("Spike", "Ibex", "CV32E40P", "NEORV32", "BOOM", "Rocket", "RVVI"):
        lines = [LOGS[log](n, pc, word, False) for n, (pc, word) in enumerate(steps)]
        wrong = []
        for variant, change in VARIANTS.items():
            got = fold(write_log(folder, change(lines)), "--dwarf", program)
            if got != expected:
                wrong.append(f"{variant}: {sum(got.values())} of {len(steps)}, "
                             f"missing {expected - got}, wrong {got - expected}"[:400])
        report.result(f"{log}: variants", "\n".join(wrong))
    for log, other in HARTS.items():
        lines = [LOGS[log](n, pc, word, False) for n, (pc, word) in enumerate(steps)]
        got = collections.Counter()
        both = write_log(folder, [line + other(line) for line in lines])
        for stack, count in fold(both, "--dwarf", program).items():
            got[stack.split(";", 1)[1]] += count
        twice = collections.Counter({stack: 2 * count for stack, count in expected.items()})
        report.result(f"{log}: two harts", "" if got == twice else
                      f"missing {twice - got}, wrong {got - twice}"[:800])


def check_crash(report, folder):
    """The trace is read immediately after the crash of the guest: it is complete."""
    program = build(folder, [], guest("crash.c"))
    trace, status = qemu(["qemu-riscv64", program, "1500"], folder)
    at_once = sum(fold(trace).values())
    with open(trace, "rb") as file:
        whole = qemu_trace.Trace(file.read(), cut=True)
    counted = whole.count()
    report.result("a guest that crashed is read to its end",
                  "" if status != 0 and at_once == counted and whole.end else
                  f"status {status}: {at_once} of {counted} instructions")


def check_running(report, folder):
    """The trace of a running guest is read up to the current instruction, without waiting for its
    end."""
    program = build(folder, [], guest("crash.c"))
    trace = os.path.join(folder, "trace")
    running = subprocess.Popen(["qemu-riscv64", "-plugin", f"{PLUGIN},out={trace}", program,
                                "1000000000"], stderr=subprocess.DEVNULL)
    try:
        while not os.path.exists(trace) or os.path.getsize(trace) < 1 << 16:
            if running.poll() is not None:
                break
        done = subprocess.run([tap.STOKE, "trace", trace], capture_output=True, text=True,
                              check=False)
        runs = running.poll() is None
    finally:
        running.kill()
        running.wait()
    noted = "the guest still runs" in done.stderr
    report.result("a guest that runs is read up to where it is",
                  "" if runs and noted and done.returncode == 0 and "work" in done.stdout
                  else f"{done.returncode}, {runs}: {done.stderr}")


def main():
    report = tap.Tap()
    why = missing() or ("" if shutil.which("qemu-riscv32") else "no qemu-user")
    if why:
        report.skip("logs of programs of 32 bits", why)
        return report.done()
    for check, args in ((check_width, ("32 bits", "qemu-riscv32", RV32)),
                        (check_width, ("64 bits", "qemu-riscv64", RV64)),
                        (check_variants, ()), (check_crash, ()), (check_running, ())):
        with tempfile.TemporaryDirectory(prefix="stoke-logs-") as folder:
            check(report, folder, *args)
    return report.done()


if __name__ == "__main__":
    main()
