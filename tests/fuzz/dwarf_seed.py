#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes an input for fuzz_dwarf of an ELF file, and of its .dwo: dwarf_seed.py FLAGS ELF
[DWO] > OUT. The files tests/fuzz/corpus/*.dwarf were made so, of programs of a few
lines."""

import re
import subprocess
import sys

NAMES = ("info", "abbrev", "line", "line_str", "str", "str_offsets", "addr", "ranges",
         "rnglists")


def sections(path):
    with open(path, "rb") as file:
        image = file.read()
    listed = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    parts = {}
    for line in listed.splitlines():
        match = re.match(r"^\s*\[\s*\d+\] \.debug_(\w+)(?:\.dwo)?\s+\w+\s+[0-9a-f]+ "
                         r"([0-9a-f]+) ([0-9a-f]+)", line)
        if match:
            parts[match[1]] = image[int(match[2], 16):][:int(match[3], 16)]
    found = [parts.get(name, b"") for name in NAMES]
    return b"".join(len(part).to_bytes(2, "little") for part in found) + b"".join(found)


sys.stdout.buffer.write(b"DW" + bytes([int(sys.argv[1])]) +
                        b"".join(sections(path) for path in sys.argv[2:]))
