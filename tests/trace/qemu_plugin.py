#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libstoke_qemu.so: every instruction is in the trace, in all guests and for all ends of them. The
reference is a plugin that sees each instruction (tests/trace/every.c).

qemu_plugin.py EVERY.so"""

import array
import collections
import os
import signal
import subprocess
import sys
import tempfile
import time

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import guests       # noqa: E402
import qemu_trace   # noqa: E402

EVERY = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
KILLED = 1
ENOUGH = 1 << 16  # bytes of the trace of a guest in a loop
ECALL = b"\x73\0\0\0"


class Lab:
    """A folder with the guests, in which QEMU runs."""

    def __init__(self, folder):
        self.folder = folder
        self.process = guests.compile(self.path("process"), ["process.c"], "-O2", "-static",
                                      "-pthread")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, options="out=trace", every=False):
        """(status, output, messages)"""
        plugins = ["-plugin", f"{guests.PLUGIN},{options}"]
        if every:
            plugins += ["-plugin", EVERY]
        environment = {**guests.ENVIRONMENT, "EVERY_INSTRUCTION": self.path("every")}
        done = subprocess.run([command[0], *guests.SEED, *plugins, *command[1:]],
                              cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=tap.TIMEOUT)
        return done.returncode, done.stdout, done.stderr.decode()

    def user(self, *arguments, options="out=trace"):
        """The same, of a user program whose output is text."""
        status, out, err = self.run(["qemu-riscv64", self.process, *arguments], options)
        return status, out.decode(), err

    def trace(self, name="trace", cut=False):
        return qemu_trace.read(self.path(name), cut)

    def every(self):
        """{cpu: addresses}, from the other plugin."""
        words = array.array("Q")
        with open(self.path("every"), "rb") as file:
            words.frombytes(file.read())
        addresses = {}
        for address, cpu in zip(words[0::2], words[1::2]):
            addresses.setdefault(cpu, []).append(address)
        return addresses


def addresses_of(trace):
    """{cpu: addresses}, of all its threads in sequence."""
    found = {}
    for cpu, thread in trace.runs:
        found.setdefault(cpu, []).extend(
            address for _, address, _ in trace.instructions((cpu, thread)))
    return found


def unequal(expected, got, what):
    return "" if expected == got else f"{what}: {expected!r:.200} expected, {got!r:.200} got"


def all_of(*problems):
    return "\n".join(problem for problem in problems if problem)


def compare_with_every(lab, command):
    status, _, err = lab.run(command, every=True)
    if status != 0:
        return f"status {status}, {err}"
    trace, every = lab.trace(), lab.every()
    got = addresses_of(trace)
    problems = [unequal(sorted(every), sorted(got), "cpus"),
                unequal((0, trace.count()), trace.end, "the end")]
    for cpu, expected in every.items():
        differs = next((i for i, pair in enumerate(zip(expected, got[cpu]))
                        if pair[0] != pair[1]), None)
        if expected != got[cpu]:
            problems.append(f"cpu {cpu}: {len(expected)} instructions expected, {len(got[cpu])} "
                            f"got, the first that differs is number {differs}")
    return all_of(*problems)


def check_every(lab, report):
    made = {
        "a user program": ["qemu-riscv64", lab.process],
        "threads": ["qemu-riscv64", lab.process, "threads"],
        "signals, faults": ["qemu-riscv64", guests.compile(
            lab.path("calls"), ["calls.c"], "-O2", "-static")],
        "dynamic, exceptions": ["qemu-riscv64", "-L", guests.SYSROOT, guests.compile(
            lab.path("exceptions"), ["exceptions.cc"], "-O2")],
        "bare metal": guests.bare(lab.folder).command,
        "a machine": guests.machine(lab.folder).command,
    }
    for name, command in made.items():
        report.result(f"every instruction: {name}", compare_with_every(lab, command))
    return made


def check_maps(lab, report, command):
    """The bytes of a block are in the file of its map."""
    lab.run(command)
    trace, problems, files = lab.trace(), [], {}
    for block in trace.blocks.values():
        if not block.map:
            problems.append(f"block {block.id} is of no file")
            continue
        start, end, offset, path = trace.maps[block.map]
        if path not in files:
            with open(path, "rb") as file:
                files[path] = file.read()
        for address, code in block.instructions:
            at = address - start + offset
            if not start <= address < end or files[path][at:at + len(code)] != code:
                problems.append(f"{address:#x} of {path}")
    expected = {"ld-linux-riscv64-lp64d.so.1", "libc.so.6", "exceptions"}
    missing = expected - {os.path.basename(path) for path in files}
    report.result(f"maps: {len(trace.blocks)} blocks of {len(files)} files",
                  all_of(*problems[:5], f"{missing} missing" if missing else ""))


def check_ends(lab, report):
    cases = {  # argument: (status, flags of the end, the last instruction)
        "": (0, 0, ECALL), "leave": (3, 0, ECALL), "missing": (0, 0, ECALL),
        "close": (0, 0, ECALL), "execute": (0, 0, ECALL),
        "abort": (-signal.SIGABRT, KILLED, ECALL),
        "fault": (-signal.SIGSEGV, KILLED, None),
    }
    for argument, (expected, flags, last) in cases.items():
        status, _, err = lab.user(argument)
        trace = lab.trace()
        *_, (_, _, code) = trace.instructions(next(iter(trace.runs)))
        report.result(f"the end: '{argument}'", all_of(
            unequal(expected, status, "status"), unequal("", err, "messages"),
            unequal(flags, trace.end and trace.end[0], "flags of the end"),
            unequal(last or code, code, "the last instruction")))
    for number in (signal.SIGINT, signal.SIGKILL):
        report.result(f"the end: {number.name}", ended_by(lab, number))


def ended_by(lab, number):
    guest = subprocess.Popen(
        ["qemu-riscv64", "-plugin", f"{guests.PLUGIN},out=trace", lab.process, "forever"],
        cwd=lab.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    guest.stdout.readline()
    size, until = 0, time.monotonic() + tap.TIMEOUT / 2
    while size < ENOUGH and time.monotonic() < until and guest.poll() is None:
        time.sleep(0.01)
        size = os.path.getsize(lab.path("trace"))
    guest.send_signal(number)
    guest.communicate()  # also when the writer ends: it has standard error open
    trace = lab.trace()
    return all_of(unequal(-number, guest.returncode, "status"),
                  unequal(KILLED, trace.end and trace.end[0], "flags of the end"),
                  "" if trace.count() > 10000 else
                  f"{trace.count()} instructions only, {size} bytes before the signal")


def check_processes(lab, report):
    status, out, err = lab.user("fork")
    child = [name for name in os.listdir(lab.folder) if name.startswith("trace.")]
    problem = unequal((0, "forks 1\n", ""), (status, out, err), "the guest")
    if not problem and len(child) == 1:
        parent, forked = lab.trace(), lab.trace(child[0])
        (before, *_), = [runs[:1] for runs in forked.runs.values()]
        problem = all_of(
            unequal(parent.process, forked.parent, "the parent's id"),
            unequal(0, parent.parent, "the parent's own parent"),
            "" if before[0] is None and 0 < before[2] < parent.count()
            else f"no gap at the beginning of the child: {before}",
            unequal((0, forked.count()), forked.end, "the child's end"))
    report.result("a fork has a trace of its own", problem or
                  unequal(1, len(child), "traces of children"))
    status, out, err = lab.user("fork", options="out=/dev/null")
    report.result("... where there is a file", all_of(
        unequal((0, "forks 1\n"), (status, out), "the guest"),
        "" if "is not traced" in err else f"said: {err!r}"))
    report.result("files have the numbers that they would have",
                  unequal((0, "opens 3\n", ""), lab.user("open"), "the guest"))
    lab.user("threads")
    names = sorted(lab.trace().names.values())
    report.result("names of threads",
                  unequal(["process"] * 4 + ["worker"] * 9, names, "names"))


def check_outputs(lab, report):
    lab.user()
    expected = addresses_of(lab.trace())
    status, out, err = lab.run(["qemu-riscv64", lab.process], "out=-")
    report.result("out=-", all_of(
        unequal((0, "done\n"), (status, err), "the guest, on standard error"),
        unequal(expected, addresses_of(qemu_trace.Trace(out)), "the trace")))
    report.result("a FIFO, while the guest runs", live(lab))
    status, out, err = lab.user(options="out=/dev/full")
    report.result("a full disk is reported, and the guest continues", all_of(
        unequal((0, "done\n"), (status, out), "the guest"),
        "" if "No space left" in err and "the trace ends here" in err else repr(err)))


def live(lab):
    """A trace can be read while its guest runs in a loop."""
    fifo = lab.path("fifo")
    os.mkfifo(fifo)
    guest = subprocess.Popen(
        ["qemu-riscv64", "-plugin", f"{guests.PLUGIN},out={fifo}", lab.process, "forever"],
        cwd=lab.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seen = 0
    with open(fifo, "rb") as file:
        until = time.monotonic() + tap.TIMEOUT / 2
        while time.monotonic() < until and seen < ENOUGH:
            seen += len(file.read1(1 << 16))
        guest.send_signal(signal.SIGTERM)
        while file.read1(1 << 16):
            pass
    guest.communicate()
    return "" if seen >= ENOUGH else f"only {seen} bytes came"


def check_options(lab, report):
    cases = {
        "selector=0": "where to write is missing",
        "out=/nonexistent/x": "No such file",
        "out=trace,selector=4": "selector=4 is none",
        "out=trace,selector=2": "needs a start",
        "out=trace,selector=2,start=xyz": "not a hexadecimal number",
        "out=trace,selector=1,start=ff": "not a decimal number",
        "out=trace,speed=1": "there is no option 'speed=1'",
    }
    for options, expected in cases.items():
        status, out, err = lab.user(options=options)
        report.result(f"refused: {options}", all_of(
            unequal((1, ""), (status, out), "status and output"),
            "" if "stoke_qemu: " in err and expected in err else repr(err)))


def triggered(instructions, selector, start, end):
    """TracerV's trigger with its register: earlier cycles decide whether the instructions of a
    cycle are traced."""
    shown, on = [], False
    for cycle, (address, code) in enumerate(instructions):
        instruction = int.from_bytes(code, "little")
        if on or selector == 0:
            shown.append((cycle, address))
        if selector == 1:
            on = start <= cycle <= end
            continue
        if selector == 2:
            starts, ends = address == start, address == end
        else:
            starts = (start ^ instruction) & start >> 32 == 0
            ends = (end ^ instruction) & end >> 32 == 0
        on = True if starts else False if ends else on
    return shown


def folded(lab, *args):
    """The output of stoke for a trace: status and folded stacks."""
    status, out, _ = tap.run([tap.STOKE, "trace", "-q", *args], cwd=lab.folder)
    return status, out


def counted(text):
    stacks = collections.Counter()
    for line in text.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[stack] += int(count)
    return stacks


def compare_triggers(hardware, software, everything):
    """A trigger in software excludes instructions, but uses their calls: selected instructions
    have the same stacks as in the whole trace. A hardware trigger does not have the callers from
    before its start, so only the totals of functions are equal."""
    stacks = [counted(text) for _, text in (hardware, software, everything)]
    functions = []
    for one in stacks[:2]:
        leaves = collections.Counter()
        for stack, count in one.items():
            leaves[stack.rsplit(";", 1)[-1]] += count
        functions.append(leaves)
    return all_of(unequal(hardware[0], software[0], "status in software"),
                  unequal(*functions, "functions in software"),
                  unequal({}, dict(stacks[1] - stacks[2]), "stacks of the whole trace"))


def check_triggers(lab, report, calls):
    lab.run(calls, "out=all")
    trace = lab.trace("all")
    thread = next(iter(trace.runs))
    everything = [(address, code) for _, address, code in trace.instructions(thread)]
    fib, main = guests.symbol(calls[-1], "fib"), guests.symbol(calls[-1], "main")
    ret = guests.symbol(calls[-1], "tail_last")
    never = (1 << 64) - 1
    whole = folded(lab, "all")
    cases = [(1, "100", "200", 100, 200), (1, "0", "0", 0, 0), (1, "26000", "-1", 26000, never),
             (1, "7", "3", 7, 3), (2, f"{main:x}", "-1", main, -1),
             (2, f"{fib:x}", f"{ret:x}", fib, ret), (2, f"{ret:x}", f"0x{fib:x}", ret, fib),
             (2, "1234", "-1", 0x1234, -1),
             (3, "ffffffff00008082", "ffffffff00000073", 0xffffffff00008082,
              0xffffffff00000073),  # from a ret to an ecall
             (3, "0000007f00000073", "0000e00300008000", 0x7f00000073, 0xe00300008000)]
    for selector, start, end, start_number, end_number in cases:
        name = f"selector={selector},start={start},end={end}"
        status, _, err = lab.run(calls, f"out=trace,{name}")
        trace = lab.trace()
        got = [(n, address) for runs in trace.runs
               for n, address, _ in trace.instructions(runs)]
        expected = triggered(everything, selector, start_number, end_number)
        differs = next((i for i, pair in enumerate(zip(expected, got)) if pair[0] != pair[1]),
                       None)
        report.result(f"trigger {name}: {len(expected)} instructions", all_of(
            unequal((0, ""), (status, err), "the guest"),
            unequal((0, len(expected)), trace.end, "the end"),
            compare_triggers(folded(lab, "trace"),
                             folded(lab, "all", "--selector", str(selector), "--start",
                                    start, "--end", end), whole),
            "" if expected == got else f"{len(got)} got, number {differs} differs"))


def main():
    report = tap.Tap()
    why = guests.missing()
    if why or not EVERY:
        report.skip("the plugin for QEMU", why or "no plugin to compare with")
        report.done()
    with tempfile.TemporaryDirectory(prefix="stoke-qemu-") as folder:
        lab = Lab(folder)
        made = check_every(lab, report)
        check_maps(lab, report, made["dynamic, exceptions"])
        check_ends(lab, report)
        check_processes(lab, report)
        check_outputs(lab, report)
        check_options(lab, report)
        check_triggers(lab, report, made["signals, faults"])
    report.done()


main()
