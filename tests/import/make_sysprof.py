#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/import/sysprof/*.in: captures with the frames that src/import/sysprof.c reads, of
made-up programs.

make_sysprof.py [FOLDER]: into another folder. The files are the same every time."""

import os
import struct
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNEL, USER = 2**64 - 128, 2**64 - 512  # markers between addresses
JIT = 0xE000000000000000
SYSCALL = 0xFFFFFFFF81000010


class Capture:
    def __init__(self, order="<"):
        self.order = order
        self.time = 1000
        version = 1 | (1 << 8 if order == "<" else 0) if order == "<" else 1 << 24
        self.data = struct.pack("<I", 0xFDCA975E) + self.pack(
            "I64sqq168s", version, b"2026-01-02T03:04:05Z", 500, 9000, b"")

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def frame(self, kind, body, pid=100, cpu=0):
        size = 24 + len(body)
        padding = -size % 8
        self.time += 100
        self.data += self.pack("HhiqBBHI", size + padding, cpu, pid, self.time, kind, 0, 0, 0)
        self.data += body + b"\0" * padding

    def chain(self, addresses):
        return self.pack(f"{len(addresses)}Q", *addresses)

    def sample(self, *addresses, tid=100, **of):
        self.frame(2, self.pack("HHi", len(addresses), 0, tid) + self.chain(addresses), **of)

    def map(self, start, end, path, **of):
        self.frame(3, self.pack("QQQQ", start, end, 0, 7) + path + b"\0", **of)

    def process(self, command, **of):
        self.frame(4, command + b"\0", **of)

    def fork(self, child, **of):
        self.frame(5, self.pack("i", child), **of)

    def exit(self, **of):
        self.frame(6, b"", **of)

    def jit(self, names, **of):
        body = b"".join(self.pack("Q", address) + name + b"\0" for address, name in names)
        self.frame(7, self.pack("I", len(names)) + body, **of)

    def allocation(self, size, *addresses, tid=100, **of):
        self.frame(14, self.pack("QqiHH", 0x5000, size, tid, len(addresses), 0)
                   + self.chain(addresses), **of)

    def symbols(self, rows, parts=2):
        names, table = bytearray(32), b""

        def position(name):
            at = 32 * len(rows) + len(names)
            names.extend(name + b"\0")
            return at if name else 0
        for pid, first, last, name, tag in rows:
            table += self.pack("QQIIII", first, last, pid, position(name), position(tag), 0)
        table += bytes(names)
        size = len(table) // parts + 1
        for at in range(0, len(table), size):
            part = table[at:at + size]
            last = at + size >= len(table)
            self.frame(13, self.pack("HH256s", last, len(part), b"__symbols__") + part)


def program(order="<"):
    c = Capture(order)
    c.process(b"/usr/bin/gjs -m app.js")
    c.map(0x400000, 0x500000, b"/nonexistent/app")
    c.jit([(JIT + 1, b"render (app.js:3)"), (JIT + 2, b"50%/half")])
    c.frame(10, c.pack("q24s40s", 5, b"group", b"mark") + b"message\0")
    c.sample(KERNEL, SYSCALL, USER, 0x400100, 0x400200)
    c.sample(USER, JIT + 1, JIT + 2, 0x400210)
    c.sample(0x400100, tid=101)
    c.sample(0x400100, tid=0)
    c.sample()
    c.fork(200)
    c.sample(USER, 0x400200, pid=200, tid=200, cpu=1)
    c.sample(USER, 0x400100, 0x400201, pid=200, tid=200, cpu=1)
    c.exit(pid=200)
    c.process(b"idle", pid=300, cpu=-1)
    c.sample(USER, JIT + 1, pid=300, tid=300)  # of another process
    return c


SYMBOLS = [(100, 0x400100, 0x400100, b"leaf", b"libapp"),
           (100, 0x400200, 0x400210, b"ns::main(int)", b""),
           (100, SYSCALL, SYSCALL, b"do_syscall", b"Kernel"),
           (200, 0x400200, 0x400200, b"ns::main(int)", b"")]


def captures():
    for name, order in (("names", "<"), ("big-endian", ">")):
        c = program(order)
        c.symbols(SYMBOLS)
        yield name, c.data
    c = program()
    yield "unnamed", c.data
    c.symbols(SYMBOLS)
    yield "cut", c.data[:-700]
    yield "damaged", c.data[:1000] + b"\5\0" + c.data[1002:]
    c = Capture()
    c.allocation(64, USER, 0x400100, 0x400200)
    c.allocation(0, USER, 0x400100)
    c.allocation(-64, USER, 0x400100)
    c.allocation(4096, USER, 0x400100, 0x400200, tid=7)
    c.symbols(SYMBOLS, 1)
    yield "allocations", c.data
    c = Capture()
    c.process(b"/bin/odd")
    c.frame(2, c.pack("HHi", 5000, 0, 100) + c.chain([USER, 0x400100]))  # fewer than it says
    c.frame(3, c.pack("QQ", 1, 2))
    c.frame(7, c.pack("I", 2**32 - 1) + c.pack("Q", JIT) + b"endless")
    c.frame(200, b"unknown")
    c.sample(USER, JIT)
    c.symbols([(100, 0x400100, 0x400100, b"x" * 3000, b"../../etc")])
    yield "odd", c.data
    yield "header", c.data[:100]


def main():
    folder = sys.argv[1] if sys.argv[1:] else os.path.join(TESTS, "import", "sysprof")
    os.makedirs(folder, exist_ok=True)
    for name, data in captures():
        with open(os.path.join(folder, name + ".in"), "wb") as file:
            file.write(data)


main()
