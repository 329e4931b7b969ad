#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads DWARF sections of 1 MB that are made to need as much time and memory as possible: units that
share long data, nested lists, depth. Each must finish in 64 MB, and in a time that a slow machine has
with a sanitizer, too: the test is for work that grows with the square of the size.

dwarf_hostile.py LINES: LINES is the program of tests/symbol/lines.c."""

import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

import tap

LINES = sys.argv[1]
SIZE = 1 << 20
CPU_SECONDS = 20
MEMORY = 64 << 20
ADDRESSES = "".join(f"{0x1000 + 7 * i:x}\n" for i in range(9000)).encode()


def u32(number):
    return struct.pack("<I", number)


def u64(number):
    return struct.pack("<Q", number)


def unit(entries, abbrev=0):
    body = struct.pack("<HIB", 4, abbrev, 8) + entries
    return u32(len(body)) + body


def program(operations):
    head = b"\1\1\1\xfb\x0e\x0a\0\1\1\1\1\0\0\0\1\0a\0\0\0\0\0"
    body = struct.pack("<H", 4) + u32(len(head)) + head + operations
    return u32(len(body)) + body


CODE = u64(0x1000) + u32(0x10000)  # low_pc, high_pc
LOW_HIGH = b"\x11\x01\x12\x06"
# 1: unit, 2: function, 3: inlined call
ABBREV = (b"\1\x11\1" + LOW_HIGH + b"\0\0\2\x2e\1" + LOW_HIGH + b"\0\0\3\x1d\1" + LOW_HIGH +
          b"\0\0\0")
# The same with code by range list in 3, and 4, a function with one; neither has children
LISTS = (b"\1\x11\1" + LOW_HIGH + b"\0\0\2\x2e\1" + LOW_HIGH +
         b"\0\0\3\x1d\0\x55\x17\0\0\4\x2e\0\x55\x17\0\0\0")
LIST = b"".join(u64(16 + i) + u64(17 + i) for i in range(SIZE // 32)) + u64(0) + u64(0)
WITH_LINES = b"\1\x11\0" + LOW_HIGH + b"\x10\x17\0\0\0"
NAMED = (b"\1\x11\1" + LOW_HIGH + b"\0\0\2\x2e\1" + LOW_HIGH + b"\x03\x0e\0\0\3\x1d\1" +
         LOW_HIGH + b"\x03\x0e\0\0\0")
BEGIN, END = b"\0\x09\x02" + u64(0x1000) + b"\1", b"\0\1\1"

CASES = {
    "units whose tables of abbreviations overlap": {
        "info": b"".join(unit(b"\1", 7 * i) for i in range(SIZE // 12)),
        "abbrev": b"".join(bytes([i % 100 + 2]) + b"\x24\0\x0b\x0b\0\0"
                           for i in range(SIZE // 6))},
    "inlined calls within each other": {
        "info": unit(b"\1" + CODE + b"\2" + CODE + (b"\3" + CODE) * (SIZE // 13)),
        "abbrev": ABBREV},
    "inlined calls beside each other": {
        "info": unit(b"\1" + CODE + b"\2" + CODE + (b"\3" + CODE + b"\0") * (SIZE // 14)),
        "abbrev": ABBREV},
    "functions at one address": {
        "info": unit(b"\1" + CODE + (b"\2" + CODE + b"\0") * (SIZE // 14)),
        "abbrev": ABBREV},
    "units at one address": {
        "info": b"".join(unit(b"\1" + CODE) for _ in range(SIZE // 24)), "abbrev": ABBREV},
    "inlined calls that share a long list": {
        "info": unit(b"\1" + CODE + b"\2" + CODE + (b"\3" + u32(0)) * (SIZE // 5)),
        "abbrev": LISTS, "ranges": LIST},
    "functions that share a long list": {
        "info": unit(b"\1" + CODE + (b"\4" + u32(0)) * (SIZE // 5)),
        "abbrev": LISTS, "ranges": LIST},
    "a line program without rows": {
        "info": unit(b"\1" + CODE + u32(0)), "abbrev": WITH_LINES,
        "line": program(BEGIN + b"\6" * SIZE + b"\2\x7f\1" + END)},
    "rows that go back and forth": {
        "info": unit(b"\1" + CODE + u32(0)), "abbrev": WITH_LINES,
        "line": program(BEGIN + (b"\2\x10\1\2\xf0" + b"\xff" * 8 + b"\1\1") * (SIZE // 15) +
                        END)},
    "line programs within others": {
        "info": b"".join(unit(b"\1" + u64(0x1000 + 16 * i) + u32(16) + u32(27 * i))
                         for i in range(SIZE // 28)),
        "abbrev": WITH_LINES,
        "line": (u32(SIZE) + struct.pack("<H", 4) + u32(16) +
                 b"\1\1\1\xfb\x0e\x0a\0\1\1\1\1\0\0\0\1\0\0") * (SIZE // 27)},
    "names of a megabyte": {
        "info": unit(b"\1" + CODE + b"\2" + CODE + u32(0) + (b"\3" + CODE + u32(0)) * 1000),
        "abbrev": NAMED, "str": b"a" * SIZE + b"\0"},
}


def make(folder, sections):
    base, made = os.path.join(folder, "base.o"), os.path.join(folder, "made.o")
    with open(os.path.join(folder, "base.s"), "w", encoding="ascii"):
        pass
    subprocess.run(["as", "-o", base, os.path.join(folder, "base.s")], check=True)
    command = ["objcopy"]
    for name, data in sections.items():
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        command += ["--add-section", f".debug_{name}={path}"]
    subprocess.run([*command, base, made], check=True)
    return made


def held(text):
    """The megabytes of memory that the reader reports."""
    return float(text.split(",")[-1].split()[0])


def check(report, name, path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status, out, err = tap.run([LINES, "-q", path], input=ADDRESSES)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status != 0:
        report.not_ok(name, f"status {status}\n" + err.decode("utf-8", "replace")[-2000:])
        return
    megabytes = held(out.decode().splitlines()[-1])
    why = "" if seconds < CPU_SECONDS and megabytes * 1e6 < MEMORY else "too much"
    report.result(f"{name}: {seconds:.2f} s, {megabytes:.1f} MB held", why)


def main():
    report = tap.Tap()
    missing = [tool for tool in ("as", "objcopy") if not shutil.which(tool)]
    for name, sections in CASES.items():
        if missing:
            report.skip(name, missing[0] + " is missing")
            continue
        with tempfile.TemporaryDirectory() as folder:
            check(report, name, make(folder, sections))
    report.done()


main()
