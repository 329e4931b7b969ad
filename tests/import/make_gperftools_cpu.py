#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/import/gperftools-cpu/*.in: CPU profiles of a made-up program with words of both
widths in both byte orders (src/import/gperftools_cpu.c).

make_gperftools_cpu.py [FOLDER]: into another folder. The files are the same every time."""

import os
import struct
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAPS = b"""55d669a6e000-55d669a6f000 r--p 00000000 fe:00 10953071    /usr/bin/made-up
55d669a6f000-55d669a70000 r-xp 00001000 fe:00 10953071    /usr/bin/made-up
7f8148a63000-7f8148a64000 r-xp 0000f000 00:00 333498      /usr/lib/libmade-up.so.8
7f8148b83000-7f8148b88000 rw-p 00000000 00:00 0
7ffe0a77f000-7ffe0a7a0000 rw-p 00000000 00:00 0           [stack]
"""
SHORT_MAPS = b"08048000-08049000 r-xp 00000000 fe:00 1    /usr/bin/made-up-32\n"
PROGRAM, LIBRARY = 0x55d669a6f000, 0x7f8148a63000
STACKS = [
    (1, [PROGRAM + 0x10, PROGRAM + 0x100]),
    # A leaf is an instruction: that at the start of a map is in it. A caller there is not.
    (20, [LIBRARY, PROGRAM + 0x1000]),
    (300, [LIBRARY, LIBRARY]),  # the handler found the leaf twice
    (4000, [PROGRAM, PROGRAM, PROGRAM + 0x100]),
    (50000, [0xdead0000, PROGRAM + 0x100]),
    (1, [PROGRAM + 0x10, PROGRAM + 0x100]),  # written again
]
SHORT_STACKS = [(2, [0x8048010, 0x8048100]), (3, [0x8048020])]


def profile(letter, stacks, maps, period=4000, header=(), end=True):
    words = [0, 3 + len(header), 0, period, 0, *header]
    for count, addresses in stacks:
        words += [count, len(addresses), *addresses]
    words += [0, 1, 0] if end else []
    return b"".join(struct.pack(letter, word) for word in words) + maps


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TESTS, "import",
                                                                 "gperftools-cpu")
    os.makedirs(folder, exist_ok=True)
    whole = profile("<Q", STACKS, MAPS)
    files = {
        "little-64": whole,
        "big-64": profile(">Q", STACKS, MAPS),
        "little-32": profile("<I", SHORT_STACKS, SHORT_MAPS),
        "big-32": profile(">I", SHORT_STACKS, SHORT_MAPS, header=(7, 8)),
        "no-maps": profile("<Q", STACKS, b""),
        "odd-maps": profile("<Q", STACKS, b"build=/usr\nno map\n" + MAPS),
        "empty": profile("<Q", [], MAPS),
        "cut": whole[:8 * 20 + 3],
        "cut-end": profile("<Q", STACKS, b"", end=False),
        "long-stack": profile("<Q", STACKS + [(9, [])], b"", end=False) +
                      struct.pack("<QQQ", 1, 1 << 63, PROGRAM),
        "large-count": profile("<Q", [(1 << 63, [PROGRAM]), (5, [PROGRAM])], MAPS),
        "no-addresses": profile("<Q", [(7, [])], MAPS),
    }
    for name, data in files.items():
        with open(os.path.join(folder, name + ".in"), "wb") as file:
            file.write(data)


main()
