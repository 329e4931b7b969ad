#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of a recording, as perf record --switch-output writes them, give the same result as one
file with all records: the same stacks with the same names, events and counts. Processes of another
recording are not mixed with those of this one."""

import collections
import os
import random
import re
import shutil
import sys
import tempfile

from perf import make_perf_data as make
import tap

PERF = shutil.which("perf")
SEEDS = range(12)
EVENTS = ["cycles", "context-switches"]
MAPPED = ["/usr/bin/a", "/usr/bin/b", "/usr/lib/c.so", "/usr/lib/d.so"]


class Scene:
    """Records of processes that fork, exec, map files and run."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rec = make.Recording([
            make.Attr(0, 0, ids=(11, 12), name="cycles"),
            make.Attr(1, 3, ids=(21,), name="context-switches")])
        self.time, self.pids = 1000, [100]
        rec = self.rec
        rec.kernel(1, rec.pack("iiQQQ", -1, 0, make.KERNEL, 0xc00000, make.KERNEL)
                   + rec.text("[kernel.kallsyms]_text"), misc=make.KERNEL_MODE, ident=0)
        rec.comm(100, 100, "first")
        rec.mmap2(100, 0x400000, 0x10000, 0, "/usr/bin/first")

    def fork(self):
        parent, pid = self.random.choice(self.pids), 100 + len(self.pids)
        self.rec.task(7, pid, parent, pid, parent, self.time)
        self.pids.append(pid)

    def execute(self):
        pid = self.random.choice(self.pids)
        self.rec.comm(pid, pid, f"name{self.random.randrange(9)}", self.time, execs=True)
        self.rec.mmap2(pid, 0x400000, 0x10000, 0, self.random.choice(MAPPED), time=self.time)

    def map(self):
        self.rec.mmap2(self.random.choice(self.pids),
                       0x7f0000000000 + 0x100000 * self.random.randrange(4), 0x100000, 0,
                       self.random.choice(MAPPED), time=self.time)

    def symbol(self):
        rec, number = self.rec, self.random.randrange(4)
        rec.kernel(17, rec.pack("QIHH", make.MODULE + 0x1000 * number, 0x1000, 1, 0)
                   + rec.text(f"bpf_prog_{number}"), time=self.time)

    def run(self):
        pick = self.random.choice
        code = [0x400000 + 16 * self.random.randrange(99), 0x7f0000000010 + 0x100000 *
                self.random.randrange(4)]
        chain = [make.MARK_KERNEL, make.KERNEL + 16, make.MODULE + 0x1000 *
                 self.random.randrange(5) + 8, make.MARK_USER, *code]
        self.rec.sample(self.time, chain[1], chain, pid=pick(self.pids), misc=make.KERNEL_MODE,
                        attr=pick(self.rec.attrs), period=self.random.randrange(1, 99))

    def records(self):
        for _ in range(400):
            self.time += 10
            self.random.choices([self.fork, self.execute, self.map, self.symbol, self.run],
                                [1, 2, 3, 1, 20])[0]()
        return self.rec.records


def counters():
    """A group whose counters are read with each sample: a part begins with the counts before it."""
    group = {"sample_type": make.USUAL | make.READ, "read_format": 4 | 8}
    rec = make.Recording([make.Attr(0, 0, ids=(5,), name="cycles", **group),
                          make.Attr(1, 3, ids=(6,), name="context-switches", **group)])
    rec.comm(100, 100, "groups")
    for i in range(50):
        rec.sample(1000 + i, 0x401000, [make.MARK_USER, 0x401000], extra={
            make.READ: rec.words([2, 100 + i * i, 5, 50 + i, 6])})
    return rec, rec.records


def folded(folder, *files):
    """By event: the stacks and their weights."""
    out = {}
    for event in EVENTS:
        status, text, err = tap.run([tap.STOKE, "fold", "-q", "--pid", "--symfs", ".",
                                     "--kallsyms", "/dev/null", "--event", event, *files],
                                    cwd=folder)
        if status:
            return err.decode()
        sums = collections.Counter()
        for line in text.decode().splitlines():
            stack, _, weight = line.rpartition(" ")
            sums[stack] += int(weight)
        out[event] = sums
    return out


def write(folder, name, rec, records):
    rec.records = records
    with open(os.path.join(folder, name), "wb") as file:
        file.write(rec.file())
    return name


def check_parts(rec, records, seed, folder):
    pick = random.Random(seed)
    cuts = sorted(pick.sample(range(1, len(records)), pick.randrange(1, 6)))
    parts = [write(folder, f"part{i}", rec, records[begin:end])
             for i, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(records)]))]
    whole, got = folded(folder, write(folder, "whole", rec, records)), folded(folder, *parts)
    if isinstance(whole, str) or isinstance(got, str):
        return f"{whole if isinstance(whole, str) else got}"
    return "" if got == whole else f"cut at {cuts}: {difference(whole, got)}"


def difference(whole, got):
    lines = []
    for event in EVENTS:
        for stack in sorted({*whole[event], *got[event]}):
            if whole[event][stack] != got[event][stack]:
                lines.append(f"{event}: {stack} {got[event][stack]}, not {whole[event][stack]}")
    return "\n".join(lines[:10])


def check_others(folder):
    """A file with other events is another recording; its processes have the same ids."""
    scene = Scene(1)
    write(folder, "one", scene.rec, scene.records())
    other = make.Recording([make.Attr(0, 0, ids=(77,), name="cycles"),
                            make.Attr(1, 3, ids=(78,), name="context-switches")])
    for attr in other.attrs:
        other.sample(5000, 0x400100, [make.MARK_USER, 0x400100], pid=100, attr=attr)
    write(folder, "other", other, other.records)
    alone, both = folded(folder, "other"), folded(folder, "one", "other")
    lost = [stack for stack in alone["cycles"] if stack not in both["cycles"]]
    return f"{lost} became another stack" if lost else ""


def check_recorded(folder):
    """What perf writes here: with all parts, as little is unknown as in one file."""
    load = ["sh", "-c", "for i in 1 2 3 4 5 6; do gzip -9 </usr/bin/perf >/dev/null & "
            "ls -lR /usr/lib >/dev/null; wait; done"]
    status, _, _ = tap.run([PERF, "record", "-F", "499", "--switch-output=1s", "-o",
                            os.path.join(folder, "p"), "-g", "-e", "cpu-clock", "--", *load])
    files = sorted(name for name in os.listdir(folder) if re.fullmatch(r"p\.\d+", name))
    if status or len(files) < 2:
        return None
    status, text, err = tap.run([tap.STOKE, "fold", "-q", *files], cwd=folder)
    leaves, examples = collections.Counter(), []
    for line in text.decode("utf-8", "replace").splitlines():
        stack, _, weight = line.rpartition(" ")
        # lost records can be names of threads
        unknown = stack.count(";") == 1 and stack.endswith("[unknown]") or \
            re.match(r":\d+;", stack)
        leaves[bool(unknown)] += int(weight)
        examples += [line] * bool(unknown)
    share = leaves[True] / max(1, sum(leaves.values()))
    return "" if status == 0 and leaves[False] and share < 0.05 else \
        "\n".join([f"{share:.1%} unknown {err.decode()}", *examples[:5]])


def main():
    report = tap.Tap()
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            scene = Scene(seed)
            report.result(f"parts {seed}", check_parts(scene.rec, scene.records(), seed, folder))
            report.result(f"parts {seed}: counters", check_parts(*counters(), seed, folder))
    with tempfile.TemporaryDirectory() as folder:
        report.result("another recording", check_others(folder))
    with tempfile.TemporaryDirectory() as folder:
        why = check_recorded(folder) if PERF else None
        if why is None:
            report.skip("recorded", "perf record --switch-output does not work here")
        else:
            report.result("recorded", why)
    report.done()


main()
