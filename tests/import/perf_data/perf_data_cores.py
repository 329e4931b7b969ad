#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads recordings of many samples with one thread and with several: the result is the same, down
to the IDs. The recordings are generated and contain all changes that occur between samples:
processes that fork, exec and map, new kernel functions, deferred chains; as a file, through a
pipe, and compressed."""

import os
import random
import struct
import tempfile

from perf import make_perf_data as made
import tap

CORES = (2, 3, 4, 7, 16)
SAMPLES = 9000  # several batches
SEGMENT = 0x400000
COMMANDS = (["fold"], ["fold", "--srcline", "--tid"], ["script"], ["report", "--json"],
            ["convert", "--no-gzip", "--to", "pprof", "-o", "-"])


def code_of(path):
    """(address, size) of the program's code, mapped at the offsets of its file."""
    with open(path, "rb") as file:
        raw = file.read()
    at, = struct.unpack_from("<Q", raw, 32)
    size, count = struct.unpack_from("<HH", raw, 54)
    for i in range(count):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", raw, at + i * size)
        if kind == 1 and flags & 1:
            return SEGMENT + offset, length
    raise ValueError(path + " has no code")


class Crowd:
    """Processes with random, but reproducible actions."""

    def __init__(self, dumps):
        self.random = random.Random(1)
        kind = made.USUAL | (made.REGS_USER | made.STACK_USER if dumps else 0)
        self.rec = made.Recording([
            made.Attr(0, i, sample_type=kind, ids=(10 + i,), name=name,
                      regs=0xff0fff if dumps else 0, stack=256 if dumps else 0)
            for i, name in enumerate(["cycles", "instructions", "cache-misses"])])
        self.dumps, self.time, self.pids, self.cookie = dumps, 1000, [100], 0
        self.code, self.size = code_of(tap.STOKE)
        self.rec.kernel(1, self.rec.pack("iiQQQ", -1, 0, made.KERNEL, 0xc00000, made.KERNEL)
                        + self.rec.text("[kernel.kallsyms]_text"), misc=made.KERNEL_MODE,
                        ident=0)
        self.rec.comm(100, 100, "crowd")
        self.map(100)

    def address(self):
        at = self.random.choice([self.code, 0x7f0000000000, made.KERNEL & 2**47 - 1])
        return at + self.random.randrange(min(self.size, 4096)) * 16

    def map(self, pid):
        self.rec.mmap2(pid, SEGMENT, 0x40000000, 0, tap.STOKE, time=self.time)
        self.rec.mmap2(pid, 0x7f0000000000 + self.random.randrange(64) * 4096, 0x20000, 0,
                       f"/nowhere/lib{self.random.randrange(40)}.so", time=self.time)

    def change(self):
        """What happens between samples."""
        pid, what = self.random.choice(self.pids), self.random.randrange(6)
        if what == 0 and len(self.pids) < 200:
            self.pids.append(self.pids[-1] + 1)
            self.rec.task(7, self.pids[-1], pid, self.pids[-1], pid, self.time)
        elif what == 1:
            self.rec.comm(pid, pid, f"program {self.random.randrange(9)}", self.time, True)
            self.map(pid)
        elif what == 2:
            at = made.MODULE + self.random.randrange(64) * 256
            self.rec.kernel(17, self.rec.pack("QIHH", at, 256, 1, 0)
                            + self.rec.text(f"bpf_{at:x}"), time=self.time)
        elif what == 3:
            self.rec.round()
        else:
            self.map(pid)

    def sample(self):
        pid, attr = self.random.choice(self.pids), self.random.choice(self.rec.attrs)
        depth, extra = self.random.randrange(1, 12), {}
        user = [made.MARK_USER, *(self.address() for _ in range(depth))]
        kernel = [made.MARK_KERNEL, made.KERNEL + self.random.randrange(64) * 16,
                  made.MODULE + self.random.randrange(64) * 64]
        in_kernel = self.random.randrange(3) == 0
        chain = kernel * in_kernel + user
        if self.dumps:
            stack = 0x7ffe00000000
            words = [self.random.choice([self.address(), stack + i * 8, i])
                     for i in range(32)]
            registers = [stack] * 8 + [self.address()] + [1] * 11
            extra = {made.REGS_USER: self.rec.words([2, *registers]),
                     made.STACK_USER: self.rec.words([256, *words, 8 * depth])}
            chain = kernel * in_kernel + user * (self.random.randrange(9) == 0)
        elif in_kernel and self.random.randrange(40) == 0:
            self.cookie += 1
            chain = [*kernel, made.MARK_DEFERRED, self.cookie]
        back = self.random.randrange(900)
        self.rec.sample(self.time - back, chain[1] if chain else 0, chain, pid=pid, attr=attr,
                        misc=made.KERNEL_MODE if in_kernel else made.USER_MODE, extra=extra,
                        period=self.random.randrange(1, 2000))
        if made.MARK_DEFERRED in chain and self.random.randrange(9):
            self.rec.kernel(22, self.rec.words([self.cookie, len(user), *user]), pid, pid,
                            self.time + 5)

    def record(self):
        for _ in range(SAMPLES):
            self.time += 10
            self.sample()
            if self.random.randrange(12) == 0:
                self.change()
        self.rec.round()
        return self.rec


def packed(rec):
    """Its samples in compressed records."""
    data, out = b"".join(rec.records[3:]), made.Recording(rec.attrs)
    out.records = rec.records[:3]
    for at in range(0, len(data), 30000):
        for piece in made.zstd(data[at:at + 30000], []):
            out.add(81, piece)
    return out


def outputs(args, **more):
    status, out, err = tap.run([tap.STOKE, *args], **more)
    return out if status == 0 else b"status %d: " % (status or -1) + err


def check(report, name, raw, folder):
    path = os.path.join(folder, "recording.data")
    env = dict(os.environ, XDG_CACHE_HOME=folder)
    with open(path, "wb") as file:
        file.write(raw)
    for number, command in enumerate(COMMANDS):
        one = outputs([*command, "-q", "-j1", path], env=env)
        why = "" if len(one) > 10000 else one.decode(errors="replace")[:200]
        # Each recording is read with all numbers of threads, each command has some of them.
        turn = [CORES[(number + i) % len(CORES)] for i in range(3)]
        for cores in turn[:2]:
            if outputs([*command, "-q", f"-j{cores}", path], env=env) != one:
                why += f"-j{cores} gives something else than -j1\n"
        # a pipe is read through a window that moves
        if command[0] != "script" and \
                outputs([*command, "-q", f"-j{turn[2]}", "-"], input=raw, env=env) != one:
            why += f"-j{turn[2]} of a pipe gives something else than -j1\n"
        report.result(f"{name}: {' '.join(command)}", why)


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        for dumps, name in (False, "chains"), (True, "dumps"):
            rec = Crowd(dumps).record()
            check(report, name, rec.file(), folder)
            check(report, name + ", without a header", rec.pipe(), folder)
            check(report, name + ", compressed", packed(rec).file(), folder)
    report.done()


main()
