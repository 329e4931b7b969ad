#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the program and the plugin for QEMU have the hardening flags of the build:
hardening.py. Prints TAP."""

import os
import re
import struct
import sys

from tap import Tap

BUILD = os.environ["STOKE_BUILD"]
PT_DYNAMIC, PT_LOAD, PT_TLS = 2, 1, 7
PT_STACK, PT_RELRO = 0x6474E551, 0x6474E552
DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_FLAGS, DT_FLAGS_1, DT_BIND_NOW = 5, 6, 10, 30, 0x6FFFFFFB, 24
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 8, 1, 0x08000000
ENDBR64 = b"\xf3\x0f\x1e\xfa"


class Elf:
    """Program headers, the dynamic section and the names in .dynstr of a 64-bit file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        assert self.bytes[:5] == b"\x7fELF\x02", path
        self.kind, self.machine = struct.unpack_from("<HH", self.bytes, 16)
        self.entry, at = struct.unpack_from("<QQ", self.bytes, 24)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        self.heads = [struct.unpack_from("<IIQQQQQQ", self.bytes, at + i * size)
                      for i in range(count)]
        self.dynamic = {}
        for head in self.of(PT_DYNAMIC):
            for off in range(head[2], head[2] + head[5], 16):
                tag, value = struct.unpack_from("<QQ", self.bytes, off)
                if tag == 0:
                    break
                self.dynamic[tag] = value
        strings = self.at(self.dynamic[DT_STRTAB])
        self.names = self.bytes[strings:strings + self.dynamic[DT_STRSZ]].split(b"\0")

    def of(self, kind):
        return [head for head in self.heads if head[0] == kind]

    def at(self, address):
        for head in self.of(PT_LOAD):
            if head[3] <= address < head[3] + head[5]:
                return address - head[3] + head[2]
        raise ValueError(hex(address))

    def code(self):
        return b"".join(self.bytes[h[2]:h[2] + h[5]] for h in self.of(PT_LOAD) if h[1] & 1)


def ranges(elf):
    """Data that is written only at the start is read-only afterwards: RELRO covers the dynamic
    section and the global offset table."""
    relro, dynamic = elf.of(PT_RELRO), elf.of(PT_DYNAMIC)
    return bool(relro) and relro[0][3] <= dynamic[0][3] < relro[0][3] + relro[0][6]


def options():
    """The options of the build, as meson keeps them for the compiler."""
    with open(os.path.join(BUILD, "build.ninja"), encoding="utf-8") as file:
        return file.read()


def main():
    tap = Tap()
    build = options()
    sanitized, optimized = "-fsanitize=" in build, re.search(r" -O[123s]\b", build)
    files = {"stoke": os.environ["STOKE"],
             "libstoke_qemu.so": os.path.join(BUILD, "src", "agents", "qemu", "libstoke_qemu.so"),
             "libstoke_heap.so": os.path.join(BUILD, "src", "agents", "heap", "libstoke_heap.so"),
             "libstoke_heap_attach.so": os.path.join(BUILD, "src", "agents", "heap", "libstoke_heap_attach.so")}
    for name, path in files.items():
        if not os.path.exists(path):
            tap.skip(name, "it is not built here")
            continue
        elf = Elf(path)
        flags, more = elf.dynamic.get(DT_FLAGS, 0), elf.dynamic.get(DT_FLAGS_1, 0)
        stack = elf.of(PT_STACK)
        tap.result(f"{name}: a stack that is not executable", "" if stack and not stack[0][1] & 1 else "it is not")
        tap.result(f"{name}: nothing is writable and executable", "" if not [h for h in elf.of(PT_LOAD) if h[1] & 3 == 3] else "it is not")
        tap.result(f"{name}: RELRO", "" if ranges(elf) else "it is not")
        tap.result(f"{name}: all symbols are bound at the start", "" if flags & DF_BIND_NOW or more & DF_1_NOW or DT_BIND_NOW in elf.dynamic else "it is not")
        tap.result(f"{name}: it may lie anywhere", "" if elf.kind == 3 and (name != "stoke" or more & DF_1_PIE) else "it is not")
        tap.result(f"{name}: stack protector", "" if b"__stack_chk_fail" in elf.names else "it is not")
        if sanitized or not optimized:
            tap.skip(f"{name}: _FORTIFY_SOURCE", "not with sanitizers or without -O")
        else:
            # few calls of the library have a buffer of known size
            checked = name != "stoke" or [n for n in elf.names if re.fullmatch(rb"__\w+_chk", n)]
            tap.result(f"{name}: _FORTIFY_SOURCE", "" if checked else "it is not")
        if elf.machine != 62:
            tap.skip(f"{name}: landing pads (CET)", "not x86-64")
        else:
            tap.result(f"{name}: landing pads (CET)", "" if elf.code().count(ENDBR64) >= (10 if "heap" in name else 50) else "it is not")
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
