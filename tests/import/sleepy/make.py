#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of this folder: captures as the versions of Very Sleepy save them, of a made-up program."""

import io
import os
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))

STATS = "Filename: C:\\work\\demo.exe\r\nDuration: 0.500000\r\nDate: Thu Jan  1 12:00:00 2026\r\nSamples: 50\r\n"
SYMBOLS = ('sym0 "demo" "main" "C:\\work\\demo.cpp" 10\r\nsym1 "demo" "Shape::area(int)" "C:\\work\\shape.cpp" 20\r\n'
           'sym2 "ntdll" "RtlUserThreadStart" "[unknown]" 0\r\nsym3 "ntdll" "[77F01234]" "" 0\r\n')
STACKS = "0.100001 sym0 sym2\r\n0.250000 sym1 sym0 sym2\r\n0.000009 sym3 sym1 sym0 sym2\r\n"

# From version 0.90 on: a symbol for each address; names are not always in quotes.
ADDRESSES = ('0x401000 "demo" main "C:\\work\\demo.cpp" 10\n0x401008 "demo" main "C:\\work\\demo.cpp" 12\n'
             '0x402000 "demo" `anonymous namespace\'::run "C:\\work\\my shapes.cpp" 20\n'
             '0x77f01234 "ntdll" [77F01234] "" 0\n')
ADDRESS_STACKS = "0.100000 0x401000 0x77f01234\n0.200000 0x402000 0x401008 0x77f01234\n"
THREAD_SYMBOLS = ADDRESSES.replace(" main ", ' "main" ').replace(" `anonymous namespace'::run ", ' "operator "" _km" ')
THREAD_STACKS = (" 0x401000 0x77f01234\n 4711 0.050000 4712 0.025000\n 0x402000 0x401008 0x77f01234\n"
                 " 4711 0.100000\n")


class Stream(io.RawIOBase):
    """Without seeking, the sizes of a file of a zip follow its data."""

    def __init__(self):
        self.bytes = b""

    def writable(self):
        return True

    def write(self, data):
        self.bytes += bytes(data)
        return len(data)


def capture(files, method=zipfile.ZIP_DEFLATED, out=None):
    out = out or io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, (2026, 1, 1, 12, 0, 0))
            info.compress_type = method
            archive.writestr(info, text)
    return out.bytes if isinstance(out, Stream) else out.getvalue()


def files(version, symbols, stacks, total, **more):
    return {**more, "Stats.txt": STATS, "Symbols.txt": symbols, "IPCounts.txt": total + "\r\n",
            "Callstacks.txt": stacks, f"Version {version} required": version + "\r\n"}


def cases():
    old = files("0.82", SYMBOLS, STACKS, "0.350010")
    yield "symbols", capture(old)
    yield "addresses", capture(files("0.90", ADDRESSES, ADDRESS_STACKS, "0.300000"))
    yield "lines", capture(files("0.90", ADDRESSES, ADDRESS_STACKS, "0.300000"))
    threads = {**files("0.91", THREAD_SYMBOLS, THREAD_STACKS, "0.175000"), "Threads.txt": "4711 main\n"}
    yield "threads", capture({"minidump.dmp": b"MDMP" + bytes(300), **threads})
    yield "stored", capture({name.lower(): text for name, text in old.items()}, zipfile.ZIP_STORED)
    yield "total", capture(files("0.82", SYMBOLS, STACKS, "0.500000"))
    awkward = (STACKS + "x sym0\n-1.0 sym0\n1e99 sym0\nnan sym0\n0.5 nothing\n0.500000 sym99 sym0\n0.250000\n"
               "0.000000 sym2\n\n 0x1 sym0\n 7 0.125 8\n 0x9\n")
    yield "awkward", capture(files("0.82", SYMBOLS + 'sym0 "demo" "again" "" 1\nsym5\nsym6 "a" "b" "c"\nsymx "a" "b" "c" 1\n'
                                   'sym7 "" "" "" 0\nsym8 a b c 5\n', awkward, "x"))
    yield "no-symbols", capture({"Callstacks.txt": ADDRESS_STACKS})
    yield "no-stacks", capture({"Stats.txt": STATS, "Symbols.txt": SYMBOLS})
    yield "empty", capture(files("0.82", SYMBOLS, "", "0.000000"))
    long = "".join(f"0.{i:06} " + "sym1 " * (i % 7) + "sym0\n" for i in range(1, 400))
    whole = capture(files("0.82", SYMBOLS, long, "0.079800"))
    yield "cut", whole[:len(whole) - 700]
    whole = capture(files("0.82", SYMBOLS, long, "0.079800"), out=Stream())
    yield "cut-stream", whole[:len(whole) - 700]
    yield "no-directory", capture(old)[:-300]
    damaged = bytearray(capture(old))
    damaged[damaged.rfind(b"Callstacks.txt", 0, len(damaged) // 2 + 200) + 20] ^= 0xff
    yield "damaged", bytes(damaged)
    yield "method", capture(old, zipfile.ZIP_BZIP2)


def main():
    for name, content in cases():
        with open(os.path.join(HERE, name + ".in"), "wb") as file:
            file.write(content)


main()
