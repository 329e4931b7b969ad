#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the recordings of tests/import/perf-data: small files of all kinds, including those that
are hard to record (the other byte order, guests, deferred chains, lost samples, a killed recorder,
damage).

make_perf_data.py [FOLDER]   writes them to FOLDER (default: tests/import/perf-data)"""

import os
import struct
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Bits of sample_type.
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW = (
    1 << i for i in range(11))
BRANCH_STACK, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER = (
    1 << i for i in range(11, 17))
TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT = (
    1 << i for i in range(17, 25))

USUAL = IP | TID | TIME | CPU | PERIOD | CALLCHAIN | IDENTIFIER

# Bits of the flags.
FREQ, SAMPLE_ID_ALL = 1 << 10, 1 << 18

KERNEL_MODE, USER_MODE, GUEST_KERNEL, GUEST_USER = 1, 2, 4, 5
MARK_KERNEL, MARK_USER, MARK_DEFERRED = 2**64 - 128, 2**64 - 512, 2**64 - 640
MARK_GUEST_KERNEL, MARK_GUEST_USER = 2**64 - 2176, 2**64 - 2560

KERNEL = 0xffffffff81000000
MODULE = 0xffffffffc0000000


class Attr:
    """An event, as requested from the kernel."""

    def __init__(self, kind, config, sample_type=USUAL, ids=(1,), name="", period=999,
                 flags=FREQ | SAMPLE_ID_ALL, read_format=0, branches=0, regs=0, stack=0,
                 regs_intr=0, size=112):
        self.__dict__.update(locals())


class Recording:
    """Records in one byte order; file() and pipe() combine them."""

    def __init__(self, attrs, big=False):
        self.attrs, self.end, self.records = attrs, ">" if big else "<", []
        self.big = big

    def pack(self, form, *values):
        return struct.pack(self.end + form, *values)

    def words(self, values):
        return self.pack(f"{len(values)}Q", *values)

    def text(self, text):
        """A name in a record: ended by a zero, filled up to a multiple of 8."""
        raw = text.encode() + b"\0"
        return raw + b"\0" * (-len(raw) % 8)

    def record(self, kind, body=b"", misc=0):
        return self.pack("IHH", kind, misc, len(body) + 8) + body

    def add(self, kind, body=b"", misc=0, payload=b""):
        self.records.append(self.record(kind, body, misc) + payload)

    def trailer(self, attr, pid=0, tid=0, time=0, cpu=0, ident=None):
        """The fields after a record that is not a sample."""
        kind, out = attr.sample_type, b""
        ident = (attr.ids or [0])[0] if ident is None else ident
        if not attr.flags & SAMPLE_ID_ALL:
            return out
        if kind & TID:
            out += self.pack("II", pid, tid)
        if kind & TIME:
            out += self.pack("Q", time)
        if kind & ID:
            out += self.pack("Q", ident)
        if kind & STREAM_ID:
            out += self.pack("Q", ident)
        if kind & CPU:
            out += self.pack("II", cpu, 0)
        if kind & IDENTIFIER:
            out += self.pack("Q", ident)
        return out

    def kernel(self, kind, body, pid=0, tid=0, time=0, misc=0, ident=None):
        self.add(kind, body + self.trailer(self.attrs[0], pid, tid, time, ident=ident),
                 misc)

    def mmap(self, pid, start, size, offset, path, misc=USER_MODE, time=0):
        body = self.pack("iiQQQ", pid, pid, start, size, offset) + self.text(path)
        self.kernel(1, body, pid, pid, time, misc)

    def mmap2(self, pid, start, size, offset, path, prot=5, build_id=b"", inode=7, time=0,
              marked=False):
        """`marked`: the record claims a build ID and has none."""
        body = self.pack("iiQQQ", pid, pid, start, size, offset)
        if build_id:
            body += self.pack("BBH", len(build_id), 0, 0) + build_id.ljust(20, b"\0")
        else:
            body += self.pack("IIQQ", 8, 1, inode, 0)
        body += self.pack("II", prot, 2) + self.text(path)
        self.kernel(10, body, pid, pid, time,
                    USER_MODE | (1 << 14 if build_id or marked else 0))

    def comm(self, pid, tid, name, time=0, execs=False):
        self.kernel(3, self.pack("II", pid, tid) + self.text(name), pid, tid, time,
                    1 << 13 if execs else 0)

    def task(self, kind, pid, parent, tid, parent_tid, time, misc=0):
        self.kernel(kind, self.pack("IIIIQ", pid, parent, tid, parent_tid, time), pid, tid,
                    time, misc)

    def sample(self, time, ip, chain=(), pid=100, tid=None, cpu=0, period=1000, misc=USER_MODE,
               attr=None, extra=None):
        """`extra`: by sample_type bit, the bytes of a part."""
        attr, out, extra = attr or self.attrs[0], b"", extra or {}
        tid = pid if tid is None else tid
        parts = [
            (IDENTIFIER, lambda: self.pack("Q", attr.ids[0])),
            (IP, lambda: self.pack("Q", ip)),
            (TID, lambda: self.pack("II", pid, tid)),
            (TIME, lambda: self.pack("Q", time)),
            (ADDR, lambda: self.pack("Q", 0xadd)),
            (ID, lambda: self.pack("Q", attr.ids[0])),
            (STREAM_ID, lambda: self.pack("Q", attr.ids[0])),
            (CPU, lambda: self.pack("II", cpu, 0)),
            (PERIOD, lambda: self.pack("Q", period)),
            (READ, None),
            (CALLCHAIN, lambda: self.words([len(chain), *chain])),
            (RAW, lambda: self.pack("I", 12) + b"raw data\0\0\0\0"),
            (BRANCH_STACK, None), (REGS_USER, None), (STACK_USER, None),
            (WEIGHT, lambda: self.pack("Q", 9)), (WEIGHT_STRUCT, lambda: self.pack("Q", 9)),
            (DATA_SRC, lambda: self.pack("Q", 10)),
            (TRANSACTION, lambda: self.pack("Q", 11)),
            (REGS_INTR, None),
            (PHYS_ADDR, lambda: self.pack("Q", 12)),
            (CGROUP, lambda: self.pack("Q", 13)),
            (DATA_PAGE, lambda: self.pack("Q", 4096)),
            (CODE_PAGE, lambda: self.pack("Q", 8192)),
            (AUX, None),
        ]
        for bit, make in parts:
            if attr.sample_type & bit:
                out += extra[bit] if bit in extra else make()
        self.add(9, out, misc)

    def round(self):
        self.add(68)

    # --- Combination ------------------------------------------------------------------

    def attr(self, attr):
        flags = attr.flags
        if self.big:
            flags = int(f"{flags:064b}"[::-1], 2)
        raw = self.pack("IIQQQQQIIQQQQIiQIHHI", attr.kind, attr.size, attr.config, attr.period,
                        attr.sample_type, attr.read_format, flags, 1, 0, 0, 0, attr.branches,
                        attr.regs, attr.stack, 0, attr.regs_intr, 0, 0, 0, 0)
        return raw.ljust(attr.size, b"\0")[:attr.size]

    def string(self, text):
        raw = text.encode() + b"\0"
        raw += b"\0" * (-len(raw) % 64)
        return self.pack("I", len(raw)) + raw

    def event_desc(self):
        out = self.pack("II", len(self.attrs), self.attrs[0].size)
        for attr in self.attrs:
            out += self.attr(attr) + self.pack("I", len(attr.ids)) + self.string(attr.name)
            out += self.words(attr.ids)
        return out

    def build_id(self, path, build_id, pid=-1):
        body = self.pack("i", pid) + build_id.ljust(20, b"\0")
        body += self.pack("BBH", len(build_id), 0, 0) + self.text(path)
        return self.record(0, body, 1 << 15)

    def features(self):
        words = ["perf", "record", "-g", "--", "the program"]
        command = self.pack("I", len(words)) + b"".join(map(self.string, words))
        return {
            2: self.build_id("/usr/bin/prog", bytes(range(20))),
            3: self.string("box"),
            4: self.string("6.1.0"),
            5: self.string("6.1.1"),
            6: self.string("x86_64"),
            7: self.pack("II", 4, 2),
            8: self.string("A processor"),
            11: command,
            12: self.event_desc(),
            21: self.pack("QQ", 1, 2),
            27: self.pack("IIIII", 1, 1, 1, 1, 1 << 20),
        }

    def file(self, features=None, finished=True, attr_size=None, bits_of_32=False):
        features = self.features() if features is None else features
        ids, ranges = b"", []
        for attr in self.attrs:
            ranges.append((104 + len(ids), 8 * len(attr.ids)))
            ids += self.words(attr.ids)
        attrs_at = 104 + len(ids)
        attrs = b"".join(self.attr(attr) + self.pack("QQ", *range_)
                         for attr, range_ in zip(self.attrs, ranges))
        data = b"".join(self.records)
        data_at = attrs_at + len(attrs)
        bits = sum(1 << number for number in features)
        words = [bits, 0, 0, 0]
        if bits_of_32:
            words[0] = bits >> 32 | (bits & 0xffffffff) << 32
        size = attr_size or self.attrs[0].size + 16
        head = (b"2ELIFREP" if self.big else b"PERFILE2") + self.pack(
            "QQQQQQQQ", 104, size, attrs_at, len(attrs), data_at,
            len(data) if finished else 0, 0, 0) + self.words(words)
        table, content = b"", b""
        at = data_at + len(data) + 16 * len(features)
        for _, part in sorted(features.items()):
            table += self.pack("QQ", at + len(content), len(part))
            content += part
        return head + ids + attrs + data + (table + content if finished else b"")

    def pipe(self, names=True):
        out = (b"2ELIFREP" if self.big else b"PERFILE2") + self.pack("Q", 16)
        for attr in self.attrs:
            out += self.record(64, self.attr(attr) + self.words(attr.ids))
        if names:
            for number, part in self.features().items():
                if number != 2:
                    out += self.record(80, self.pack("Q", number) + part)
        return out + b"".join(self.records)


def zstd(data, cuts):
    """The data as a zstd frame of blocks that are not compressed, in pieces."""
    pieces, at = [], 0
    for i, cut in enumerate([*cuts, len(data)]):
        block = data[at:cut]
        head = b"\x28\xb5\x2f\xfd\0\x50" if i == 0 else b""
        last = 1 if cut == len(data) else 0
        pieces.append(head + struct.pack("<I", len(block) << 3 | last)[:3] + block)
        at = cut
    return pieces


def usual(big=False, **more):
    """Two events, two processes, and the records at the start of a recording."""
    rec = Recording([
        Attr(0, 0, ids=(11, 12), name="cycles", **more),
        Attr(1, 3, ids=(21, 22), name="context-switches", period=1, flags=SAMPLE_ID_ALL,
             **more),
    ], big)
    rec.kernel(1, rec.pack("iiQQQ", -1, 0, KERNEL, 0xc00000, KERNEL)
               + rec.text("[kernel.kallsyms]_text"), misc=KERNEL_MODE, ident=0)
    rec.kernel(1, rec.pack("iiQQQ", -1, 0, MODULE, 0x8000, 0)
               + rec.text("/lib/modules/6.1/kernel/fs/my-fs.ko.xz"), misc=KERNEL_MODE, ident=0)
    rec.comm(100, 100, "prog")
    rec.mmap2(100, 0x400000, 0x10000, 0, "/usr/bin/prog")
    rec.mmap2(100, 0x7f0000000000, 0x200000, 0x1000, "/usr/lib/libc.so.6",
              build_id=b"\xab" * 20)
    rec.mmap2(100, 0x7f0000400000, 0x10000, 0, "//anon")
    rec.mmap2(100, 0x7ffff0000000, 0x1000, 0, "[vdso]")
    return rec


def fill(rec, odd=False):
    """Samples out of order over two rounds, and all other kinds of records; with `odd`, also those
    that perf 6.1 cannot read. Without them, its output is compared."""
    user = [MARK_USER, 0x401000, 0x402010]
    rec.sample(3000, 0x401000, user)
    rec.sample(2000, KERNEL + 16, [MARK_KERNEL, KERNEL + 16, MODULE + 32, *user], cpu=1,
               misc=KERNEL_MODE)
    rec.round()
    rec.task(7, 200, 100, 200, 100, 2500)
    rec.sample(2600, 0x401000, user, pid=200)
    rec.comm(200, 200, "child", 2700, execs=True)
    # Still the old program's registers, in a system call of the new one.
    rec.sample(2750, KERNEL + 16, [MARK_KERNEL, KERNEL + 16, *user], pid=200,
               misc=KERNEL_MODE)
    rec.mmap2(200, 0x400000, 0x1000, 0, "/usr/bin/child", time=2800)
    rec.sample(2900, 0x400100, [MARK_USER, 0x400100, 0x402000], pid=200)
    rec.round()
    # A thread, a map over another, a JIT's code, code that is mapped nowhere.
    rec.task(7, 100, 100, 101, 100, 3100)
    rec.comm(100, 101, "worker bee", 3150)
    rec.mmap2(100, 0x401000, 0x1000, 0, "/tmp/new.so (deleted)", time=3200)
    rec.sample(3300, 0x401010, [MARK_USER, 0x401010, 0x402010, 0x400800], tid=101)
    rec.sample(3400, 0x7f0000400100, [MARK_USER, 0x7f0000400100, 0x7f0000100000], tid=101)
    rec.sample(3500, 0x10, [MARK_USER, 0x10, 0x7ffff0000010], tid=101, period=5)
    rec.round()
    rec.sample(4000, KERNEL + 64, [MARK_KERNEL, KERNEL + 64, *user], attr=rec.attrs[1],
               misc=KERNEL_MODE)
    rec.kernel(2, rec.pack("QQ", 11, 7), time=4100)             # LOST
    rec.kernel(13, rec.pack("Q", 3), time=4200)                 # LOST_SAMPLES
    rec.kernel(5, rec.pack("QQQ", 4300, 11, 11), time=4300)     # THROTTLE
    rec.kernel(6, rec.pack("QQQ", 4400, 11, 11), time=4400)     # UNTHROTTLE
    if odd:
        rec.kernel(8, rec.pack("IIQ", 100, 100, 77), time=4400)     # READ
    rec.kernel(11, rec.pack("QQQ", 0, 64, 0), time=4400)        # AUX
    rec.kernel(12, rec.pack("II", 100, 100), time=4400)         # ITRACE_START
    rec.kernel(14, b"", time=4400, misc=1 << 13)                # SWITCH
    rec.kernel(15, rec.pack("II", 0, 0), time=4400)             # SWITCH_CPU_WIDE
    rec.kernel(16, rec.pack("IIQQQ", 100, 100, 1, 3, 4), time=4400)  # NAMESPACES
    rec.kernel(17, rec.pack("QIHH", MODULE + 0x100000, 0x100, 1, 0)
               + rec.text("bpf_prog_0123_hook"), time=4410)     # KSYMBOL
    rec.kernel(18, rec.pack("HHIQ", 1, 0, 5, 0), time=4420)     # BPF_EVENT
    rec.kernel(19, rec.pack("Q", 6) + rec.text("/a.slice"), time=4420)  # CGROUP
    rec.kernel(20, rec.pack("QHH", KERNEL, 5, 5) + b"old..new.." + b"\0\0", time=4420)
    rec.kernel(21, rec.pack("Q", 1), time=4430)                 # AUX_OUTPUT_HW_ID
    rec.sample(4500, MODULE + 0x100010, [MARK_KERNEL, MODULE + 0x100010, KERNEL + 16],
               misc=KERNEL_MODE)
    if odd:
        rec.add(70, rec.pack("II", 1, 0))                           # AUXTRACE_INFO
        rec.add(71, rec.pack("QQQIIII", 24, 0, 0, 0, 0, 0, 0), payload=b"\x09\0\0\0" * 6)
    rec.add(69, rec.words([0]))                                 # ID_INDEX
    rec.add(82)                                                 # FINISHED_INIT
    rec.task(4, 200, 200, 200, 200, 4600)                       # EXIT
    rec.sample(4700, KERNEL + 16, [MARK_KERNEL, KERNEL + 16], pid=200, misc=KERNEL_MODE)
    rec.round()
    return rec


def waits():
    """What stoke record --wakers writes: waits, their wakers, and what ran."""
    with_word = {"sample_type": USUAL | RAW, "period": 1, "flags": SAMPLE_ID_ALL}
    rec = Recording([Attr(1, 0, ids=(11,), name="cpu-clock"),
                     Attr(1, 9, ids=(31,), name="off-cpu", **with_word),
                     Attr(1, 9, ids=(41,), name="waker", **with_word)])
    names = ("_text", "schedule", "do_nanosleep", "futex_wait", "pipe_read",
             "try_to_wake_up", "hrtimer_wakeup", "asm_sysvec_apic_timer_interrupt",
             "schedule_timeout", "exit_to_user_mode_loop")  # as waits.kallsyms has them
    code = {name: KERNEL + 0x100 * i for i, name in enumerate(names)}

    def wait(time, names, word=0, tid=None, period=1000000, event=1):
        tid = 100 if tid is None else tid
        chain = [MARK_KERNEL, *(code[name] + 16 for name in names), MARK_USER, 0x401000]
        rec.sample(time, chain[1], chain, tid=tid, period=period, misc=KERNEL_MODE,
                   attr=rec.attrs[event], extra={RAW: rec.pack("II", 4, word)})

    rec.kernel(1, rec.pack("iiQQQ", -1, 0, KERNEL, 0xc00000, KERNEL)
               + rec.text("[kernel.kallsyms]_text"), misc=KERNEL_MODE, ident=0)
    for tid, name in ((100, "sleeper"), (101, "worker"), (102, "giver")):
        rec.comm(100, tid, name)
    rec.mmap2(100, 0x400000, 0x10000, 0, "/usr/bin/prog")
    rec.sample(2000, 0x401000, [MARK_USER, 0x401000], period=250000)
    wait(2500, ["schedule", "do_nanosleep"])                    # slept; nobody woke it
    wait(2600, ["schedule", "pipe_read"], 2)                    # still there at the end
    wait(2700, ["schedule", "exit_to_user_mode_loop"], 1)       # preempted
    wait(2800, ["schedule", "schedule_timeout"])                # for an unknown reason
    wait(2900, ["try_to_wake_up"], 101, tid=102, event=2)       # by a thread
    wait(3000, ["schedule", "futex_wait"], tid=101)
    wait(3100, ["try_to_wake_up", "hrtimer_wakeup",             # by an interrupt
                "asm_sysvec_apic_timer_interrupt", "pipe_read"], 101, tid=102, event=2)
    wait(3200, ["schedule", "do_nanosleep"], tid=101)
    wait(3300, ["schedule", "do_nanosleep"], tid=101)           # its waker is used up
    wait(3400, ["try_to_wake_up"], 77, tid=102, event=2)        # of an unknown thread
    rec.sample(3500, 0x401000, [MARK_USER, 0x401000], tid=102, attr=rec.attrs[1],
               extra={RAW: rec.pack("I", 0) + b"\0" * 4})        # without a word
    rec.round()
    return rec


def compressed(kind):
    """The records in compressed ones, cut in the middle of a record."""
    rec = fill(usual())
    data = b"".join(rec.records[7:])
    out = Recording(rec.attrs)
    out.records = rec.records[:7]
    for piece in zstd(data, [300, 301, 900]):
        if kind == 81:
            out.add(81, piece)
        else:
            out.add(83, out.pack("Q", len(piece)) + piece + b"\0" * (-len(piece) % 8))
        out.add(69, out.words([0])) # not compressed, within a compressed record
    return out


def compressed_badly(tail):
    """Validly compressed records, and after them a part of these bytes."""
    rec = fill(usual())
    out = Recording(rec.attrs)
    out.records = rec.records[:7]
    block = b"".join(rec.records[7:-1])
    out.add(81, b"\x28\xb5\x2f\xfd\0\x50" + struct.pack("<I", len(block) << 3)[:3] + block)
    out.add(81, tail)
    return out


RESERVED = b"\x06\0\0" + bytes(40)  # a block of no kind
ZEROS = b"\x02\0\x10\0" * 700      # each 128 KiB


def guests():
    rec = usual()
    rec.kernel(1, rec.pack("iiQQQ", 900, 0, KERNEL, 0x1000, KERNEL)
               + rec.text("[guest.kernel.kallsyms.900]_text"), misc=GUEST_KERNEL, ident=0)
    rec.sample(10, KERNEL + 16, [MARK_GUEST_KERNEL, KERNEL + 16, MARK_GUEST_USER, 0x5000,
                                 MARK_KERNEL, KERNEL + 32, MARK_USER, 0x401000],
               misc=GUEST_KERNEL)
    rec.sample(20, 0x5000, [MARK_GUEST_USER, 0x5000], misc=GUEST_USER)
    rec.sample(30, 0x5000, [0x5000, 0x6000], misc=3)
    return rec


def deferred():
    rec = usual()
    for time, cookie in (10, 1), (20, 2), (30, 1), (40, 3):
        rec.sample(time, KERNEL + 16,
                   [MARK_KERNEL, KERNEL + 16, MARK_DEFERRED, cookie], misc=KERNEL_MODE)
    rec.sample(45, 0x401000, [MARK_USER, 0x401000])
    rec.kernel(22, rec.words([1, 3, MARK_USER, 0x401000, 0x402000]), 100, 100, 50)
    rec.kernel(22, rec.words([2, 2, MARK_USER, 0x7f0000000100]), 100, 100, 60)
    rec.kernel(22, rec.words([9, 2, MARK_USER, 0x7f0000000100]), 100, 100, 70)
    return rec


def cgroups():
    """Samples of control groups: two with names in records, one without a name, and one that is
    renamed; the last sample waits for its user chain."""
    rec = usual(sample_type=USUAL | CGROUP)
    for ident, path in (6, "/a.slice"), (7, "/b.slice/web.service"):
        rec.kernel(19, rec.pack("Q", ident) + rec.text(path), time=5)
    for time, ident in (10, 6), (20, 7), (30, 8), (40, 6):
        rec.sample(time, 0x401000, [MARK_USER, 0x401000],
                   extra={CGROUP: rec.pack("Q", ident)})
    rec.kernel(19, rec.pack("Q", 7) + rec.text("/c.slice"), time=45)
    rec.sample(50, 0x401000, [MARK_USER, 0x401000], extra={CGROUP: rec.pack("Q", 7)})
    rec.sample(60, KERNEL + 16, [MARK_KERNEL, KERNEL + 16, MARK_DEFERRED, 1],
               misc=KERNEL_MODE, extra={CGROUP: rec.pack("Q", 6)})
    rec.kernel(22, rec.words([1, 3, MARK_USER, 0x401000, 0x402000]), 100, 100, 70)
    return rec


def everything(big=False):
    """Every part of a sample at once, with a call record for the user part."""
    parts = (1 << 25) - 1 & ~WEIGHT_STRUCT
    rec = Recording([Attr(0, 0, sample_type=parts, ids=(5,), name="cycles", branches=1 << 11
                          | 1 << 17, regs=0xff0fff, stack=64, regs_intr=0x3, read_format=31)],
                    big)
    rec.comm(100, 100, "all parts")
    rec.mmap(100, 0x400000, 0x10000, 0, "/usr/bin/prog")
    extra = {
        READ: rec.words([2, 50, 40, 1, 5, 0, 2, 6, 0]),
        BRANCH_STACK: rec.words([2, 2**64 - 1, 0x401000, 0x402000, 0, 0x403000, 0x401000, 0]),
        REGS_USER: rec.words([2, *range(20)]),
        STACK_USER: rec.words([64, *range(8), 16]),
        REGS_INTR: rec.words([2, 1, 2]),
        AUX: rec.words([8, 1]),
    }
    chain = [MARK_KERNEL, KERNEL + 16, MARK_USER, 0x402000, 0x400010]
    rec.sample(10, KERNEL + 16, chain, extra=extra, misc=KERNEL_MODE)
    extra[BRANCH_STACK] = rec.words([0, 0])
    extra[REGS_USER] = rec.words([0])
    extra[STACK_USER] = rec.words([0])
    rec.sample(20, 0x402000, chain[2:], extra=extra)
    return rec


def dumps():
    """Stack dumps, which nobody unwinds here."""
    rec = Recording([Attr(1, 0, sample_type=USUAL | REGS_USER | STACK_USER, ids=(5,),
                          name="cpu-clock", regs=0xff0fff, stack=64)])
    rec.comm(100, 100, "dumps")
    rec.mmap(100, 0x400000, 0x10000, 0, "/usr/bin/prog")
    registers = [0] * 8 + [0x401000] + [0] * 11
    for i in range(3):
        extra = {REGS_USER: rec.words([2, *registers]),
                 STACK_USER: rec.words([64, *range(8), 16])}
        chain = [MARK_KERNEL, KERNEL + 16] if i else []
        rec.sample(10 + i, KERNEL if i else 0x401000, chain, extra=extra,
                   misc=KERNEL_MODE if i else USER_MODE)
    return rec


def plain():
    """As perf 3 recorded one event: no ids, no chains, no trailers of other records."""
    rec = Recording([Attr(0, 1, sample_type=IP | TID | TIME | PERIOD, ids=(), flags=FREQ,
                          size=64)])
    rec.comm(100, 100, "plain")
    rec.mmap(100, 0x400000, 0x10000, 0, "/usr/bin/prog")
    for i in range(4):
        rec.sample(40 - i, 0x400100 + i, period=10)
    return rec


def was_there():
    """A process that began before the recording has no map of its parent's."""
    rec = Recording([Attr(0, 0, name="cycles")])
    rec.comm(100, 100, "parent")
    rec.mmap2(100, 0x400000, 0x10000, 0, "/usr/bin/parent")
    rec.task(7, 200, 100, 200, 100, 0, misc=1 << 13)
    rec.comm(200, 200, "child")
    rec.mmap2(200, 0x55555000, 0x1000, 0, "/usr/bin/child")
    rec.sample(10, 0x55555010, [MARK_USER, 0x55555010, 0x400100], pid=200)
    rec.sample(20, 0x400100, [MARK_USER, 0x400100], pid=100)
    return rec


def marked():
    """The kernel marks all maps as having build IDs when another recorder requests these."""
    rec = Recording([Attr(0, 0, name="cycles")])
    rec.comm(100, 100, "prog")
    rec.mmap2(100, 0x400000, 0x10000, 0, "/usr/bin/prog", marked=True)
    rec.mmap2(100, 0x500000, 0x10000, 0, "/usr/bin/other", build_id=b"\xcd" * 20)
    rec.sample(10, 0x400100, [MARK_USER, 0x400100, 0x500100])
    return rec


def corrupted():
    """Damage of several kinds; intact records between must be read."""
    rec = usual()
    good = [MARK_USER, 0x401000]
    rec.sample(10, 0x401000, good)
    rec.records.append(b"\0" * 48)                       # a record of size 0
    rec.sample(20, 0x401000, good)
    rec.sample(25, 0x401000, good)
    rec.add(9, rec.words([11, 0x401000]))                # a sample that is cut
    rec.sample(30, 0x401000, good)
    rec.records.append(rec.pack("IHH", 9, 2, 33) + b"x" * 40)  # a size that cannot be
    rec.sample(40, 0x401000, good)
    rec.sample(45, 0x401000, good)
    bad = rec.pack("QQIIQIIQ", 11, 0x401000, 100, 100, 50, 0, 0, 1) + rec.words([99, 1])
    rec.add(9, bad, USER_MODE)                           # a chain longer than its sample
    rec.add(40, b"from the future.")                     # a type that is not known
    unknown = Attr(0, 0, ids=(99,))
    rec.sample(60, 0x401000, good, attr=unknown)         # of no event
    rec.sample(70, 0x401000, good)
    return rec


def tracepoints():
    """A tracepoint weighs its period, which perf script does not print, also if that is 0; its
    fields are a raw part."""
    rec = Recording([Attr(2, 316, ids=(21, 22), name="sched:sched_switch", period=1,
                          flags=SAMPLE_ID_ALL, sample_type=USUAL | RAW)])
    rec.comm(100, 100, "traced")
    rec.sample(10, 0x401000, [MARK_USER, 0x401000], period=5)
    rec.sample(20, 0x401000, [MARK_USER, 0x401000], period=0)
    return rec


FORMAT = """name: waited
ID: 316
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:char comm[8];	offset:8;	size:8;	signed:0;
	field:int pid;	offset:16;	size:4;	signed:1;
	field:long state;	offset:24;	size:8;	signed:1;

print fmt: "comm=%s pid=%d state=%s", REC->comm, REC->pid, REC->state ? __print_flags(""" \
    """REC->state, "|", { 1, "S" }, { 2, "D" }) : "R"
"""


def formatted():
    """A tracepoint whose format the recording has: (the recording, its tracing data)."""
    rec = Recording([Attr(2, 316, ids=(21,), name="sched:waited", period=1,
                          flags=SAMPLE_ID_ALL, sample_type=USUAL | RAW)])
    other = FORMAT.replace("316", "317").replace("comm=", "another=")
    texts = b"".join(rec.pack("Q", len(text)) + text.encode() for text in (other, FORMAT))
    tracing = b"\x17\x08\x44tracing0.5\0" + rec.pack("BBI", rec.big, 8, 4096) + \
        b"header_page\0" + rec.pack("Q", 4) + b"page" + b"header_event\0" + \
        rec.pack("Q", 5) + b"event" + rec.pack("IQ", 1, 3) + b"own" + rec.pack("I", 1) + \
        b"sched\0" + rec.pack("I", 2) + texts + rec.pack("II", 0, 0)
    rec.comm(100, 100, "traced")
    for i, state in enumerate((0, 1, 3, 9)):
        raw = rec.pack("HBBi", 316, 0, 0, 100) + b"prog\0\0\0\0" + \
            rec.pack("iiQ", -i, 0, state) + b"\0\0\0\0"
        rec.sample(10 + i, 0x401000, [MARK_USER, 0x401000],
                   extra={RAW: rec.pack("I", len(raw)) + raw})
    return rec, tracing


def formatted_file():
    rec, tracing = formatted()
    return rec.file({1: tracing, **rec.features()})


def formatted_pipe():
    rec, tracing = formatted()
    rec.records.insert(0, rec.record(66, rec.pack("I", len(tracing))) + tracing)
    return rec.pipe()


def groups():
    """A group of counters that is read with each sample of its first event: the difference of each
    count is the period of a sample of its own."""
    group = {"sample_type": USUAL | READ, "read_format": 4 | 8}
    rec = Recording([Attr(0, 0, ids=(5,), name="cycles", **group),
                     Attr(0, 1, ids=(6,), name="instructions", **group)])
    rec.comm(100, 100, "groups")
    for i, (cycles, instructions) in enumerate([(100, 50), (300, 50), (350, 90)]):
        rec.sample(10 + i, 0x401000, [MARK_USER, 0x401000], extra={
            READ: rec.words([2, cycles, 5, instructions, 6])})
    return rec


def unnamed():
    """Names that the recording does not hold."""
    rec = Recording([Attr(1, 0, ids=(1,), flags=FREQ | SAMPLE_ID_ALL | 1 << 5 | 1 << 6),
                     Attr(3, 0x10000, ids=(2,)), Attr(4, 0x1a8, ids=(3,))])
    rec.comm(100, 100, "names")
    for attr in rec.attrs:
        rec.sample(10, 0x401000, [MARK_USER, 0x401000], attr=attr)
    return rec


def cases():
    whole = fill(usual()).file()
    yield "file", whole
    yield "all-records", fill(usual(), odd=True).file()
    yield "big-endian", fill(usual(True)).file()
    yield "big-endian-32", fill(usual(True)).file(bits_of_32=True)
    yield "attr-136", fill(usual(size=136)).file()
    yield "attr-96", fill(usual(size=96)).file()
    yield "pipe", fill(usual()).pipe()
    yield "pipe-big-endian", fill(usual(True)).pipe()
    yield "compressed", compressed(81).file()
    yield "compressed-2", compressed(83).file()
    yield "compressed-pipe", compressed(81).pipe()
    yield "compressed-damaged", compressed_badly(RESERVED).file()
    yield "compressed-bomb", compressed_badly(ZEROS).file()
    yield "killed", fill(usual()).file(finished=False)
    yield "truncated", whole[:len(whole) * 6 // 10]
    yield "guests", guests().file()
    yield "deferred", deferred().file()
    yield "cgroups", cgroups().file()
    yield "every-part", everything().file()
    yield "every-part-big-endian", everything(True).file()
    yield "dumps", dumps().file()
    yield "plain", plain().file(features={})
    yield "was-there", was_there().file()
    yield "marked", marked().file()
    yield "corrupted", corrupted().file()
    yield "names", unnamed().pipe(names=False)
    yield "tracepoints", tracepoints().file()
    yield "tracepoints-formatted", formatted_file()
    yield "tracepoints-formatted-pipe", formatted_pipe()
    yield "groups", groups().file()
    yield "waits", waits().file()
    yield "waits-on-cpu", waits().pipe()
    yield "version-1", b"PERFFILE" + whole[8:200]
    yield "no-events", whole[:24] + bytes(16) + whole[40:104]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TESTS, "import", "perf-data")
    os.makedirs(folder, exist_ok=True)
    for name, content in cases():
        with open(os.path.join(folder, name + ".in"), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
