#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/import/austin/mojo*.in: samples of a made-up program in all versions of Austin's
binary form (src/import/mojo.c).

make_mojo.py [FOLDER]: into another folder. The files are the same every time."""

import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
(METADATA, STACK, FRAME, INVALID, REF, KERNEL, GC, IDLE, TIME, MEMORY, STRING, STRING_REF, REPEAT,
 TASK_STACK, TASK_WAITER) = range(1, 16)


def number(value):
    rest = abs(value)
    out = [(rest & 0x3f) | (0x40 if value < 0 else 0)]
    rest >>= 6
    while rest:
        out[-1] |= 0x80
        out.append(rest & 0x7f)
        rest >>= 7
    return bytes(out)


def encode(kind, *values):
    return bytes([kind]) + b"".join(
        number(value) if isinstance(value, int) else value.encode() + b"\0" for value in values)


class Mojo:
    def __init__(self, version, mode):
        self.version, self.keys, self.frames = version, {}, {}
        self.data = b"MOJ" + number(version)
        self.put(METADATA, "austin", "4.0.0")
        self.put(METADATA, "mode", mode)

    def put(self, kind, *values):
        self.data += encode(kind, *values)

    def text(self, text):
        if self.version == 1:
            return text
        if text not in self.keys:
            self.keys[text] = len(self.keys) * 4099 + 2
            self.put(STRING, self.keys[text], text)
        return self.keys[text]

    def frame(self, file, function, line):
        location = (file, function, line)
        if location not in self.frames:
            self.frames[location] = len(self.frames) * 1000003 + 7
            names = self.text(file), self.text(function)
            more = (line, 1, 9) if self.version > 2 else ()
            self.put(FRAME, self.frames[location], *names, line, *more)
        return self.frames[location]

    def sample(self, thread, *frames, pid=4711):
        keys = [self.frame(*frame) for frame in frames]
        self.put(STACK, pid, *([0] if self.version > 2 else []), thread)
        for key in keys:
            self.put(REF, key)


MAIN, ADD, SUM = ("shop.py", "<module>", 11), ("shop.py", "add", 5), ("шоп.py", "сумма", 70000)


def times(version, mode="wall"):
    m = Mojo(version, mode)
    m.sample("7f5a", MAIN, ADD)
    m.put(TIME, 1012)
    m.sample("7f5a", MAIN, SUM)
    m.put(KERNEL, "schedule")
    m.put(TIME, 63)
    m.sample("7f5b", MAIN)
    m.put(INVALID)
    m.put(GC)
    m.put(TIME, 64)
    m.sample("7f5b")
    m.put(TIME, 1000)
    m.sample("7f5b", MAIN)  # without a value
    return m


def files():
    for version in (1, 2, 3):
        yield f"mojo-{version}", times(version).data
    m = times(4)
    m.sample("7f5a")
    m.put(REPEAT)
    m.put(TIME, 500)
    m.put(TASK_STACK, 77, 0)
    m.put(REF, m.frames[ADD])
    m.put(TASK_WAITER, 77, 78)
    m.sample("7f5b")
    m.put(REPEAT)
    m.put(REF, m.frames[ADD])
    m.put(TIME, 300)
    yield "mojo-4", m.data
    full = Mojo(3, "full")
    full.sample("1", MAIN, ADD)
    full.put(TIME, 100)
    full.put(MEMORY, 4096)
    full.sample("1", MAIN)
    full.put(TIME, 50)
    full.put(IDLE)
    full.put(MEMORY, -2**40 - 131)
    yield "mojo-full", full.data
    memory = Mojo(3, "memory")
    memory.sample("1", MAIN, ADD)
    memory.put(MEMORY, -131)
    memory.sample("1", MAIN, ADD)
    memory.put(MEMORY, 8192)
    yield "mojo-memory", memory.data
    yield "mojo-cpu", times(2, "cpu").data
    yield "mojo-cut", times(3).data[:-2]
    yield "mojo-unknown-event", times(3).data + b"\x63" + times(3).data[5:]
    yield "mojo-unknown-key", times(3).data + encode(STACK, 1, 0, "1") + encode(REF, 5) + \
        encode(FRAME, 9, 1, 2, 3, 3, 3, 3) + encode(REF, 9) + encode(TIME, 5)
    yield "mojo-newer", b"MOJ\x05" + times(4).data[4:]
    yield "mojo-long-number", b"MOJ\x03" + encode(STACK, 1, 0, "1") + b"\x09" + b"\xff" * 40


def main():
    folder = sys.argv[1] if sys.argv[1:] else os.path.join(TESTS, "import", "austin")
    os.makedirs(folder, exist_ok=True)
    for name, data in files():
        with open(os.path.join(folder, name + ".in"), "wb") as file:
            file.write(data)


main()
