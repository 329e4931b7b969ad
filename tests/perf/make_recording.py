#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/fuzz/recording: one small recording and all files that it refers to, for the tests
that damage one of them.

  perf.data   stack dumps of a program, code of a perf map and of a jitdump
  big.data    the same, as a machine of the other byte order writes it: dumps are not swapped
  prog        the program, without debug information but with a link to
  prog.debug  its debug file
  perf.map, jit.dump   of two processes; their ids are larger than any of a real system

The program is compiled and recorded here, so the files differ between runs: run this only to
change their content. Needs gcc, objcopy, strip and perf."""

import os
import struct
import subprocess
import sys
import tempfile

import make_perf_data as made

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(TESTS, "fuzz", "recording")
MAPPED, DUMPED = 4300000, 4300001  # the kernel's largest is 4194304
JIT = 0x7f5500000000
REGISTERS = 0xff0fff
SAMPLES = 6

SOURCE = r"""
static volatile unsigned sink;
static inline __attribute__((always_inline)) void mix(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink = sink * 31 + i;
}
static __attribute__((noinline)) unsigned leaf(unsigned n)
{
    mix(n * 100);
    return sink + n;
}
static __attribute__((noinline)) unsigned deep(unsigned depth)
{
    unsigned here = leaf(depth), below = depth ? deep(depth - 1) : 0;
    sink += below;
    return here + below;
}
__attribute__((noreturn, used)) void begin(void)
{
    for (unsigned i = 0; i < 20000; i++)
        sink += deep(i % 6);
    __asm__ volatile("syscall" ::"a"(60), "D"(0));
    __builtin_unreachable();
}
__asm__(".globl _start\n.type _start,@function\n_start: .cfi_startproc\n"
        ".cfi_undefined rip\ncall begin\n.cfi_endproc\n.size _start,.-_start\n");
"""


def run(folder, *command):
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def build(folder):
    with open(os.path.join(folder, "prog.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    run(folder, "gcc", "-O2", "-g", "-static", "-nostdlib", "-fno-stack-protector",
        "-fasynchronous-unwind-tables", "-Wl,--build-id", "-o", "prog", "prog.c")
    run(folder, "perf", "record", "-q", "-F", "9999", "-e", "cpu-clock:u", "-o", "data",
        "--call-graph", "dwarf,512", "./prog")
    run(folder, "objcopy", "--only-keep-debug", "prog", "prog.debug")
    run(folder, "strip", "prog")
    run(folder, "objcopy", "--add-gnu-debuglink=prog.debug", "prog")


def records_of(raw):
    """(type, body) of each record of a file of one event."""
    at, size = struct.unpack_from("<QQ", raw, 40)
    end = at + size
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", raw, at)
        yield kind, raw[at + 8:at + size]
        at += size


def parts_of(body, kind, mask):
    """(registers, dump) of a sample of that sample_type, which has no parts but those that
    have a fixed size, the chain, and these. A sample of the kernel has no registers."""
    at = 8 * (kind & (made.READ - 1 | made.ID | made.CPU | made.PERIOD | made.STREAM_ID
                      | made.IDENTIFIER)).bit_count()
    if kind & made.CALLCHAIN:
        at += 8 + 8 * struct.unpack_from("<Q", body, at)[0]
    if not struct.unpack_from("<Q", body, at)[0]:
        return None, None
    end = at + 8 + 8 * mask.bit_count()
    return body[at:end], body[end:]


def recorded(folder):
    """The maps of the program's code, and samples of these depths."""
    with open(os.path.join(folder, "data"), "rb") as file:
        raw = file.read()
    attr, = struct.unpack_from("<Q", raw, 24)
    sample_type, = struct.unpack_from("<Q", raw, attr + 24)
    mask, = struct.unpack_from("<Q", raw, attr + 80)
    assert mask == REGISTERS, hex(mask)
    maps, samples = [], {}
    for kind, body in records_of(raw):
        if kind == 10 and b"/prog\0" in body:
            maps.append(struct.unpack_from("<QQQ", body, 8))
        elif kind == 9:
            registers, dump = parts_of(body, sample_type, mask)
            if registers:
                stack_pointer = registers[64:72]
                samples.setdefault(stack_pointer, (registers, dump))
    return maps, list(samples.values())[:SAMPLES]


def in_order(rec, raw):
    """Words of this machine in the recording's order."""
    return rec.words(struct.unpack(f"<{len(raw) // 8}Q", raw))


def recording(maps, samples, big):
    kind = made.USUAL | made.REGS_USER | made.STACK_USER
    rec = made.Recording([made.Attr(1, 0, sample_type=kind, ids=(5,), name="cpu-clock",
                                    regs=REGISTERS, stack=512)],
                         big)
    rec.comm(100, 100, "prog")
    for start, size, offset in maps:
        rec.mmap2(100, start, size, offset, "/bin/prog")
    nothing = {made.REGS_USER: rec.words([0]), made.STACK_USER: rec.words([0])}
    for i, (registers, dump) in enumerate(samples):
        rec.sample(10 + i, struct.unpack_from("<Q", registers, 72)[0], [],
                   extra={made.REGS_USER: in_order(rec, registers),
                          made.STACK_USER: in_order(rec, dump[:8]) + dump[8:-8]
                          + in_order(rec, dump[-8:])})
    for pid in MAPPED, DUMPED:
        rec.comm(pid, pid, "jit")
        rec.mmap2(pid, JIT, 0x10000, 0, "//anon", inode=0)
        if pid == DUMPED:
            rec.mmap2(pid, JIT - 0x1000, 0x1000, 0, f"/tmp/jit-{pid}.dump")
        for i in range(2):
            rec.sample(30 + i, JIT + 0x10, [made.MARK_USER, JIT + 0x10, JIT + 0x105],
                       pid=pid, extra=nothing)
    rec.round()
    features = {number: part for number, part in rec.features().items() if number in (3, 4, 6)}
    return rec.file(features)


def jitdump():
    def record(kind, time, body):
        return struct.pack("<IIQ", kind, 16 + len(body), time) + body

    def load(time, at, code, name, index):
        return record(0, time, struct.pack("<IIQQQQ", DUMPED, DUMPED, at, at, len(code), index)
                      + name.encode() + b"\0" + code)

    def lines(time, at, file):
        return record(2, time, struct.pack("<QQ", at, 1) + struct.pack("<QII", at, 7, 0)
                      + file.encode() + b"\0")

    return struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, DUMPED, 1, 0) + \
        lines(2, JIT, "first.js") + load(3, JIT, b"\x90" * 64, "jitted", 1) + \
        load(4, JIT + 0x100, b"\x90" * 32, "caller", 2) + \
        record(1, 5, struct.pack("<IIQQQQQ", DUMPED, DUMPED, 0, JIT + 0x100, JIT + 0x200,
                                 32, 2)) + record(3, 6, b"")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        contents = {name: open(os.path.join(folder, name), "rb").read()
                    for name in ("prog", "prog.debug")}
        contents["perf.data"] = recording(*recorded(folder), False)
        contents["big.data"] = recording(*recorded(folder), True)
    contents["jit.dump"] = jitdump()
    contents["perf.map"] = f"{JIT:x} 40 mapped\n{JIT + 0x100:x} 20 caller\n".encode()
    for name, content in contents.items():
        with open(os.path.join(FOLDER, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    sys.exit(main())
