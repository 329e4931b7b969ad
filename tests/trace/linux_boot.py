#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Linux that boots under QEMU, runs two programs with the same addresses, and switches off: all
its instructions are in a stack, no stack becomes empty, and both programs have their names.

Debian 12 has no package with a kernel for riscv64. tests/trace/build_linux builds one;
STOKE_RISCV_LINUX=FOLDER is its folder."""

import collections
import os
import re
import subprocess
import sys
import tempfile

import tap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import guests   # noqa: E402

KERNEL = os.environ.get("STOKE_RISCV_LINUX", "")
PROGRAMS = ("init", "alpha", "beta")
# Functions at which a stack of the kernel or of a program may begin. start_kernel is a tail call.
ROOTS = {"_start", "ret_from_fork", "ret_from_kernel_thread", "ret_from_exception", "kthread",
         "kthreadd", "kernel_init", "_start_kernel", "start_kernel", "[firmware]"}
# Functions at which a second hart begins.
ROOTS |= {"secondary_start_sbi", "smp_callin"}
# Of two harts, this share of instructions is in a stack that begins in one of these.
SHARE_OF_TWO = 0.99
# The code through which kernel_init leaves the kernel when it becomes a program: it is in no
# stack, and has this many instructions.
WAY_OUT = "handle_exception", 100


def make_initrd(folder):
    paths = [guests.compile(os.path.join(folder, name), [name + ".c"], "-O2", "-static")
             for name in PROGRAMS]
    with open(os.path.join(folder, "list"), "w", encoding="ascii") as file:
        file.write("dir /dev 0755 0 0\nnod /dev/console 0600 0 0 c 5 1\n")
        for path in paths:
            file.write(f"file /{os.path.basename(path)} {path} 0755 0 0\n")
    with open(os.path.join(folder, "initrd"), "wb") as out:
        subprocess.run([os.path.join(KERNEL, "gen_init_cpio"), file.name], stdout=out,
                       check=True)
    return paths


def boot(folder, harts=1):
    """Two harts run at the same time: no clock counts their instructions."""
    machine = guests.MACHINE[:guests.MACHINE.index("-icount")] if harts > 1 else guests.MACHINE
    return guests.run(
        [*machine, *guests.SEED, "-smp", str(harts), "-m", "128M",
         "-kernel", os.path.join(KERNEL, "Image"), "-initrd", "initrd",
         "-append", "console=hvc0 earlycon=sbi",
         "-plugin", f"{guests.PLUGIN},out=trace"], folder).decode()


def stacks_of(folder, programs):
    args = [tap.STOKE, "trace", "trace", "--no-inline",
            "--dwarf", os.path.join(KERNEL, "vmlinux")]
    for path in programs:
        args += ["--user", path]
    status, out, err = tap.run(args, cwd=folder)
    if status != 0:
        raise RuntimeError(err.decode())
    stacks = {}
    for line in out.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] = int(count)
    return stacks, err.decode()


def check_roots(stacks):
    roots = collections.Counter()
    for stack, count in stacks.items():
        roots[stack[1]] += count
    wrong = {root: n for root, n in roots.items() if root not in ROOTS and
             not (root == WAY_OUT[0] and n <= WAY_OUT[1])}
    return f"stacks begin with {wrong}" if wrong else ""


def check_two_harts(folder, programs):
    """Tasks continue, and are forked, on another hart than the one before."""
    console = boot(folder, 2)
    if "init: 0 failed" not in console:
        return console[-500:]
    stacks, _ = stacks_of(folder, programs)
    total = sum(stacks.values())
    right = sum(count for stack, count in stacks.items() if stack[1] in ROOTS)
    return "" if right >= SHARE_OF_TWO * total else f"{right} of {total} begin in {ROOTS}"


def check_program(stacks, function, main="main"):
    """All instructions are below the program's own main, in one task with the name of the program."""
    tasks = {stack[0] for stack in stacks if function in stack}
    strange = [stack for stack in stacks if function in stack and main not in stack]
    if tasks != {function.split("_")[0]}:
        return f"{function} is in the tasks {sorted(tasks)}"
    return f"{function} without {main}: {strange[0]}" if strange else ""


def main():
    report = tap.Tap()
    why = guests.missing()
    if not why and not os.path.exists(os.path.join(KERNEL, "vmlinux")):
        why = ("no kernel: Debian 12 packages none for riscv64; see tests/trace/build_linux. "
               "tests/trace_truth has a machine of firmware, kernel and two programs")
    if why:
        report.skip("Linux under QEMU", why)
        report.done()
    with tempfile.TemporaryDirectory(prefix="stoke-linux-") as folder:
        programs = make_initrd(folder)
        console = boot(folder)
        report.result("it boots, and its programs end well",
                      "" if "init: 0 failed" in console else console[-500:])
        total = guests.qemu_trace.read(os.path.join(folder, "trace")).count()
        stacks, err = stacks_of(folder, programs)
        counted = sum(stacks.values())
        report.result(f"all of {total} instructions are in a stack",
                      "" if counted == total else f"{counted} are")
        report.result("no stack is emptied", check_roots(stacks))
        report.result("no return without a call", "\n".join(
            re.findall(r".*return to where no call.*", err)))
        for function in ("alpha_fib", "beta_digits", "beta_add"):
            report.result(f"user program: {function}", check_program(stacks, function))
        report.result("two harts", check_two_harts(folder, programs))
    report.done()


if __name__ == "__main__":
    main()
