#!/usr/bin/env python3
"""Traces of QEMU guests, and the stack of every instruction in them, against the truth.

The truth comes from the registers that QEMU logs (tests/trace/oracle.py): stoke has only
addresses and instructions. Each guest (tests/trace/guest) runs as it would for a user, and
all of its instructions must be under the right stack.

trace_truth.py [NAME...]   those guests only"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace")
sys.path.insert(0, HERE)
import oracle       # noqa: E402
import qemu_trace   # noqa: E402

GUEST = os.path.join(HERE, "guest")
BUILD = os.environ.get("STOKE_BUILD", os.path.join(tap.SOURCE_ROOT, "build"))
PLUGIN = os.path.join(BUILD, "tools", "qemu", "libstoke_qemu.so")
NEEDED = {"qemu-riscv64": "qemu-user", "qemu-system-riscv64": "qemu-system-misc",
          "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu",
          "riscv64-linux-gnu-g++": "g++-riscv64-linux-gnu"}
LOGGED = ["-singlestep", "-d", "nochain,cpu", "-D"]
MACHINE = ["qemu-system-riscv64", "-M", "virt", "-cpu", "rv64,sstc=off", "-nographic",
           "-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm"]
# Two runs of a guest are alike to the instruction.
SEED = ["-seed", "1"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def guest(*parts):
    return os.path.join(GUEST, *parts)


def compile(out, sources, *options):
    compiler = "g++" if any(s.endswith(".cc") for s in sources) else "gcc"
    subprocess.run(["riscv64-linux-gnu-" + compiler, "-g", "-fno-inline", "-o", out,
                    *options, *sources], check=True, stderr=subprocess.PIPE)
    return out


def compile_bare(out, sources, base=0x80000000):
    return compile(out, sources, "-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-pic",
                   "-march=rv64gc", "-mcmodel=medany", "-T", guest("bare.ld"),
                   f"-Wl,--build-id=none,--no-warn-rwx-segments,--defsym,base={base:#x}",
                   "-lgcc")


def run(args, folder):
    """What a guest prints; it must end well."""
    done = subprocess.run(args, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=tap.TIMEOUT)
    if done.returncode:
        raise RuntimeError(f"{args[0]} ended with {done.returncode}: {done.stderr!r}")
    return done.stdout


class Guest:
    """A run of QEMU: `command` with the guest's programs, `prints` what it prints."""

    def __init__(self, folder, command, programs, prints=None, switch=None, users=()):
        self.folder, self.command, self.prints = folder, command, prints
        self.programs, self.switch, self.users = programs, switch, users
        self.is_machine = command[0] == "qemu-system-riscv64"
        self.trace = os.path.join(folder, "trace")

    def record(self):
        """The trace, and a generator of (pc, stack) of the same instructions."""
        plugin = ["-plugin", f"{PLUGIN},out=trace"]
        log = os.path.join(self.folder, "log")
        if self.is_machine:  # an interrupt comes where a block ends: one run for both
            run(self._qemu(*plugin, *LOGGED, "log"), self.folder)
        else:
            printed = run(self._qemu(*plugin), self.folder)
            if self.prints not in printed.decode():
                raise RuntimeError(f"it printed {printed!r}")
            run(self._qemu(*LOGGED, "log"), self.folder)
        self.program = oracle.Program(*self.programs, *self.users)
        regions = self._regions()
        trace = qemu_trace.read(self.trace)
        self.pcs = [pc for _, pc, _ in trace.instructions(next(iter(trace.runs)))]
        file = oracle.Log(open(log, encoding="ascii"))
        if self.is_machine:
            return oracle.follow_machine(self.program, file, self.pcs, regions, self.switch)
        return oracle.follow(self.program, file, regions)

    def _qemu(self, *more):
        return [self.command[0], *SEED, *more, *self.command[1:]]

    def _regions(self):
        """Stacks are arrays of that name."""
        found = []
        for path in (*self.programs, *self.users):
            for line in oracle.tool("nm", "-S", path).splitlines():
                match = re.fullmatch(r"(\w+) (\w+) \S stack_of_\w+|(\w+) (\w+) \S stack_main",
                                     line)
                if match:
                    start, size = [int(part, 16) for part in match.groups() if part]
                    found.append((start, start + size))
        return found

    def as_tracerv(self):
        """The same as TracerV tells it: addresses alone."""
        path = os.path.join(self.folder, "TRACEFILE-C0")
        with open(path, "w", encoding="ascii") as file:
            file.write("# Clock Domain: baseClock, Relative Frequency: 1/1 of Base Clock\n")
            file.writelines(f"Cycle: {cycle:016d} I0: {pc & (1 << 40) - 1:016x}\n"
                            for cycle, pc in enumerate(self.pcs))
        return path

    def stoke(self, trace):
        """Folded lines of `stoke trace`."""
        args = [tap.STOKE, "trace", trace, "--no-inline", "--demangle", "no"]
        for path in self.programs:
            args += ["--dwarf", path]
        for path in self.users:
            args += ["--user", path]
        status, out, err = tap.run(args)
        if status != 0:
            raise RuntimeError(f"stoke trace: {status} {err.decode()}")
        return out.decode()


class Names:
    """Functions under the least of their names. Two that share a name are one: nothing
    that is printed tells them apart."""

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


def wanted_stacks(names, steps, guest):
    stacks, pcs = collections.Counter(), []
    for pc, stack in steps:
        stacks[stack] += 1
        pcs.append(pc)
    if pcs != guest.pcs:
        raise RuntimeError(f"the trace has {len(guest.pcs)} instructions, and the log "
                           f"{len(pcs)}, or others")
    merged = collections.Counter()
    for stack, count in stacks.items():
        merged[tuple(map(names.of_start, stack))] += count
    return merged


def got_stacks(names, folded, guest):
    """What stoke says. The first frame of a machine's stacks names the task. Code that is
    in no file and called something is not known to the truth."""
    stacks = collections.Counter()
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        frames = stack.split(";")
        if guest.switch:
            frames = frames[1:]
        if len(frames) > 1 and frames[0] == "[firmware]":
            frames = frames[1:]
        stacks[tuple(map(names.of_text, frames))] += int(count)
    return stacks


def report_difference(wanted, got):
    total, wrong = sum(wanted.values()), sum((wanted - got).values())
    if not wrong and wanted == got:
        return ""
    lines = [f"{wrong} of {total} instructions are under a wrong stack"]
    for title, stacks in (("missing", wanted - got), ("wrong", got - wanted)):
        for stack, count in stacks.most_common(8):
            lines.append(f"{title}: {count} {';'.join(stack)}"[:400])
    return "\n".join(lines)


def user(name, sources, prints, *options):
    def make(folder):
        program = compile(os.path.join(folder, name), [guest(s) for s in sources],
                          "-static", *options)
        return Guest(folder, ["qemu-riscv64", program], [program], prints)
    return make


def bare(folder):
    program = compile_bare(os.path.join(folder, "bare"), [guest("bare.S"), guest("bare.c")])
    return Guest(folder, [*MACHINE, "-bios", "none", "-kernel", program], [program])


def machine(folder):
    def made(name, base, *sources):
        return compile_bare(os.path.join(folder, name),
                            [guest("machine", s) for s in sources], base)
    firmware = made("firmware", 0x80000000, "firmware.S")
    kernel = made("kernel", 0x80200000, "kernel.S", "kernel.c")
    users = [made("alpha", 0x80400000, "user.S", "alpha.c"),
             made("beta", 0x80500000, "user.S", "beta.c")]
    loaders = [word for path in users for word in ("-device", f"loader,file={path}")]
    return Guest(folder, [*MACHINE, "-bios", firmware, "-kernel", kernel, *loaders],
                 [kernel, firmware], switch="__switch_to", users=users)


GUESTS = {
    "bare metal: ecall, faults, nested traps, timer": bare,
    "firmware, kernel, tasks, user programs": machine,
    "C: calls, tail calls, longjmp, signals, -O2": user("calls", ["calls.c"], "calls", "-O2"),
    "the same, -O0": user("calls", ["calls.c"], "calls", "-O0"),
    "the same, -Os -msave-restore":
        user("calls", ["calls.c"], "calls", "-Os", "-msave-restore"),
    "C++: exceptions, -O2":
        user("exceptions", ["exceptions.cc"], "exceptions", "-O2"),
}


FORMS = {"QEMU trace": lambda case: case.trace, "TracerV text": Guest.as_tracerv}


def check(report, name, make):
    with tempfile.TemporaryDirectory(prefix="stoke-truth-") as folder:
        try:
            case = make(folder)
            steps = case.record()
            names = Names(case.program)
            wanted = wanted_stacks(names, steps, case)
        except (RuntimeError, qemu_trace.Broken) as problem:
            report.not_ok(name, str(problem))
            return
        for form, trace in FORMS.items():
            try:
                got = got_stacks(names, case.stoke(trace(case)), case)
                why = report_difference(wanted, got)
            except RuntimeError as problem:
                why = str(problem)
            report.result(f"{name}; {form}: {sum(wanted.values())} instructions", why)


def main():
    report = tap.Tap()
    missing = sorted({package for tool, package in NEEDED.items()
                      if not shutil.which(tool)})
    wanted = sys.argv[1:]
    for name, make in GUESTS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        if missing:
            report.skip(name, f"no {' '.join(missing)}")
            continue
        check(report, name, make)
    report.done()


main()
