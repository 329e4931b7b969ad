#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flips one bit anywhere in the records of a recording: stoke reports the offset of the damaged
record, and uses the samples before and after it. Damage in a field where all values are valid (an
address, a time) is not visible.

For recordings generated here (fixtures of tests/import/perf-data): files and pipes, both byte
orders, compressed ones; and impossible periods, which one flipped bit can create."""

import collections
import os
import random
import re
import struct
import sys
import tempfile

from perf import make_perf_data as make
import tap

FLIPS = 60
EVENT = "cycles"


def long_recording(big=False):
    rec = make.usual(big)
    for i in range(60):
        rec.sample(3000 + i * 10, 0x401000 + 16 * (i % 7),
                   [make.MARK_USER, 0x401000 + 16 * (i % 7), 0x402010])
        if i % 20 == 10:
            rec.round()
        if i % 15 == 5:
            rec.mmap2(100, 0x500000 + (i << 16), 0x1000, 0, "/usr/bin/more", time=3000 + i * 10)
            rec.comm(100, 100 + i, "thread", 3000 + i * 10)
    return rec


def records_of(data, order):
    """(offset, size, type) of each record."""
    at, end = 16, len(data)
    if struct.unpack_from(order + "Q", data, 8)[0] != 16:
        at, size = struct.unpack_from(order + "QQ", data, 40)
        end = at + size
    while at < end:
        kind, _, size = struct.unpack_from(order + "IHH", data, at)
        yield at, size, kind
        at += size


def fold(folder, data):
    path = os.path.join(folder, "flipped")
    with open(path, "wb") as file:
        file.write(data)
    status, out, err = tap.run([tap.STOKE, "fold", "--symfs", ".", "--kallsyms", "/dev/null",
                                "--event", EVENT, "--count-samples", path], cwd=folder)
    stacks = collections.Counter()
    for line in out.decode().splitlines():
        stack, _, count = line.rpartition(" ")
        stacks[stack] += int(count)
    return status, stacks, err.decode()


def flip(data, order, pick):
    """The data with one damaged header or sample; the offset of the record, and the damaged field."""
    found = [record for record in records_of(data, order) if record[2] in (9, 10, 3)]
    at, size, kind = pick.choice(found)
    field, first, length = pick.choice([("type", 0, 4), ("size", 6, 2), ("body", 8, size - 8)])
    if field == "body" and kind != 9:
        field, first, length = "size", 6, 2
    damaged = bytearray(data)
    damaged[at + first + pick.randrange(length)] ^= 1 << pick.randrange(8)
    return bytes(damaged), at, field


def check_flip(folder, data, order, seed, whole):
    damaged, at, field = flip(data, order, random.Random(seed))
    status, stacks, err = fold(folder, damaged)
    offsets = {int(offset) for offset in re.findall(r"byte (\d+):", err)}
    wrong = offsets - {at}
    # A damaged type may be that of a map, comm or fork: that changes stacks, not counts.
    found, expected = sum(stacks.values()), sum(whole.values())
    if status or wrong or not expected - 2 <= found <= expected:
        return (f"{field} of the record at {at}: status {status}, offsets {sorted(offsets)}, "
                f"{found} of {expected} samples\n{err}")
    if field == "size" and not offsets:
        return f"nothing is said of the size of the record at {at}"
    return ""


def check(name, data, order, folder):
    status, whole, err = fold(folder, data)
    if status:
        return err
    whys = (check_flip(folder, data, order, seed, whole) for seed in range(FLIPS))
    return "\n".join(why for why in whys if why)


def check_packed(folder):
    """In compressed recordings the offset is that of the compressed record."""
    rec = long_recording()
    plain = b"".join(rec.records)
    _, whole, _ = fold(folder, rec.file())
    cuts = [len(plain) // 4, len(plain) // 2]
    records = list(records_of(rec.file(), "<"))
    first = records[0][0]
    for seed in range(20):
        pick = random.Random(seed)
        at, size, _ = pick.choice([record for record in records if record[2] == 9])
        damaged = bytearray(plain)
        damaged[at - first + 7] ^= 1 << pick.randrange(3)
        rec.records = [rec.record(81, piece) for piece in make.zstd(bytes(damaged), cuts)]
        data = rec.file()
        packed = list(records_of(data, "<"))
        number = sum(at - first >= cut for cut in cuts)
        _, stacks, err = fold(folder, data)
        offsets = {int(offset) for offset in re.findall(r"byte (\d+):", err)}
        if offsets != {packed[number][0]} or sum(stacks.values()) < sum(whole.values()) - 2:
            return (f"damage in the compressed record at {packed[number][0]}, said of "
                    f"{offsets}; {sum(stacks.values())} of {sum(whole.values())} samples")
    return ""


def check_period(folder):
    """A flipped bit in the period of a clock: the sample gets the usual weight, and a warning."""
    rec = make.Recording([make.Attr(1, 0, ids=(1,), name="cpu-clock")])
    rec.comm(100, 100, "prog")
    for i in range(20):
        rec.sample(10**9 + i * 10**7, 0x401000, [make.MARK_USER, 0x401000],
                   period=10**7 ^ (1 << 56 if i == 7 else 0))
    path = os.path.join(folder, "period")
    with open(path, "wb") as file:
        file.write(rec.file())
    at = [record for record in records_of(rec.file(), "<") if record[2] == 9][7][0]
    status, out, err = tap.run([tap.STOKE, "fold", path])
    if status or not out.endswith(b" 200000000\n"):
        return f"status {status}: {out.decode()}"
    return "" if f"byte {at}: a sample has an impossible period" in err.decode() else err.decode()


def main():
    report = tap.Tap()
    cases = {"file": (long_recording().file(), "<"),
             "pipe": (long_recording().pipe(), "<"),
             "big-endian": (long_recording(True).file(), ">"),
             "big-endian pipe": (long_recording(True).pipe(), ">")}
    with tempfile.TemporaryDirectory() as folder:
        for name, (data, order) in cases.items():
            report.result(name, check(name, data, order, folder))
        report.result("compressed", check_packed(folder))
        report.result("impossible period", check_period(folder))
    report.done()


main()
