# SPDX-License-Identifier: Apache-2.0
"""ELF files with a table of functions as the linkers of several versions of Go write it,
without symbols and DWARF: go_program.py FOLDER writes one of each version."""

import struct
import sys

TEXT, TABLE, DATA, TREES = 0x401000, 0x402000, 0x404000, 0x405000
MAGIC = {"1.2": 0xfffffffb, "1.16": 0xfffffffa, "1.18": 0xfffffff0, "1.20": 0xfffffff1,
         "1.26": 0xfffffff1}
VERSIONS = list(MAGIC)
NAMES = ["main.main", "main.helper", "main.(*T).work", "runtime.goexit"]
FILES = ["/src/main.go", "/src/help.go"]

# name, size, flags, then values as (end, value): bytes of stack, files, lines, inlined call
FUNCTIONS = [
    (0, 64, 0, [(4, 0), (60, 32), (64, 0)], [(32, 0), (64, 1)],
     [(28, 10), (32, 12), (64, 33)], [(32, -1), (64, 0)]),
    (2, 32, 0, [(32, 0)], [(32, 0)], [(16, 40), (32, 41)], []),
    (3, 16, 1, [(16, 0)], [(16, 0)], [(16, 7)], []),
]
CALLER = 30  # where main.helper is called: offset in main.main


def uleb(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def values(runs):
    out, last, at = b"", -1, 0
    for end, value in runs:
        change = value - last
        out += uleb(change * 2 if change >= 0 else -change * 2 - 1) + uleb(end - at)
        last, at = value, end
    return out + b"\0"


class Texts:
    """Pieces in sequence, by offset."""

    def __init__(self, begin=b""):
        self.bytes = begin

    def add(self, piece, align=1):
        self.bytes += bytes(-len(self.bytes) % align)
        self.bytes += piece
        return len(self.bytes) - len(piece)


def tree(version, names):
    if version in ("1.20", "1.26"):
        return struct.pack("<BxxxIII", 0, names[1], CALLER, 1)
    return struct.pack("<hBxIIII", -1, 0, 0, 12, names[1], CALLER)


def function(version, f, start, names, pool):
    """The table's data of a function. `pool` gives the offset of a table of values."""
    name, _, flags, *runs = f
    stack, file, line, inlined = (pool(r) if r else 0 for r in runs)
    new = version not in ("1.2", "1.16")
    out = struct.pack("<I" if new else "<Q", start if new else TEXT + start)
    out += struct.pack("<IIIIIII", names[name], 0, 0, stack, file, line, 3)
    out += b"" if version == "1.2" else struct.pack("<I", 0)
    out += struct.pack("<I", 1) if version in ("1.20", "1.26") else b""
    out += bytes([0, flags, 0, 4]) + struct.pack("<III", 0, 0, inlined)
    none = (1 << 32) - 1 if new else 0
    has = (0 if new else TREES) if inlined else none
    if new:
        return out + struct.pack("<IIII", none, none, none, has)
    return out + bytes(-len(out) % 8) + struct.pack("<QQQQ", 0, 0, 0, has)


def old_table():
    """Of Go 1.2 to 1.15: all offsets count from the beginning."""
    head = struct.pack("<IHBBQ", MAGIC["1.2"], 0, 1, 8, len(FUNCTIONS))
    t = Texts(head + bytes(16 * len(FUNCTIONS) + 12))
    names = [t.add(name.encode() + b"\0") for name in NAMES]
    listed, start = b"", 0
    for f in FUNCTIONS:
        # A number of a file is an index beyond their count.
        f = (*f[:4], [(end, number + 1) for end, number in f[4]], *f[5:])
        runs = {tuple(r): t.add(values(r)) for r in f[3:] if r}
        known = function("1.2", f, start, names, lambda r, runs=runs: runs[tuple(r)])
        listed += struct.pack("<QQ", TEXT + start, t.add(known, 8))
        start += f[1]
    paths = [t.add(path.encode() + b"\0") for path in FILES]
    files = t.add(struct.pack("<III", 2, *paths), 4)
    listed += struct.pack("<QI", TEXT + start, files)
    return head + listed + t.bytes[len(head) + len(listed):], None, names


def new_table(version):
    """The same, and the offsets of its parts."""
    new = version != "1.16"
    names, files, pool = Texts(), Texts(), Texts(b"\0")
    name_at = [names.add(name.encode() + b"\0") for name in NAMES]
    units = struct.pack("<II", *(files.add(path.encode() + b"\0") for path in FILES))
    field = "<I" if new else "<Q"
    size = struct.calcsize(field) * (2 * len(FUNCTIONS) + 1)
    known, listed, start = Texts(bytes(size)), b"", 0
    for f in FUNCTIONS:
        at = known.add(function(version, f, start, name_at,
                                lambda r: pool.add(values(r))), 8)
        listed += struct.pack(field, start if new else TEXT + start)
        listed += struct.pack(field, at)
        start += f[1]
    listed += struct.pack(field, start if new else TEXT + start)
    parts = [names.bytes, units, files.bytes, pool.bytes, listed + known.bytes[size:]]
    offset, offsets = 8 + 8 * (8 if new else 7), []
    for i, part in enumerate(parts):
        part += bytes(-len(part) % 8)
        parts[i] = part
        offsets.append(offset)
        offset += len(part)
    text = [] if not new else [0 if version == "1.26" else TEXT]
    head = struct.pack("<IHBB", MAGIC[version], 0, 1, 8)
    head += struct.pack(f"<{2 + len(text) + 5}Q", len(FUNCTIONS), len(FILES), *text, *offsets)
    return head + b"".join(parts), offsets, name_at


def module_data(version, table, offsets):
    """The runtime's header of the program; in Go 1.26 with the end of the table."""
    words = [0] * 48
    words[0] = TABLE
    for i, offset in enumerate(offsets):
        words[1 + 3 * i] = TABLE + offset
    words[20] = words[22] = TEXT
    words[38 if version == "1.18" else 40] = TREES
    if version == "1.26":
        words[40], words[43], words[44] = 0, TABLE + table - 32, TABLE + table
    return struct.pack("<48Q", *words)


def elf(sections):
    """(name, flags, address, bytes) each in a segment of its own."""
    count = len(sections)
    texts, body = Texts(b"\0"), Texts(bytes(64 + 56 * count))
    names = [texts.add(name.encode() + b"\0") for name, *_ in sections]
    end = texts.add(b".shstrtab\0")
    segments, headers = b"", bytes(64)
    for (_, flags, address, content), name in zip(sections, names):
        at = body.add(content, 16)
        segments += struct.pack("<IIQQQQQQ", 1, 5 if flags & 4 else 6, at, address, address,
                                len(content), len(content), 16)
        headers += struct.pack("<IIQQQQIIQQ", name, 1, flags, address, at, len(content), 0,
                               0, 16, 0)
    at = body.add(texts.bytes)
    headers += struct.pack("<IIQQQQIIQQ", end, 3, 0, 0, at, len(texts.bytes), 0, 0, 1, 0)
    at = body.add(headers, 8)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, TEXT, 64, at, 0, 64, 56, count, 64, count + 2, count + 1)
    return head + segments + body.bytes[64 + 56 * count:]


def program(version):
    table, offsets, names = old_table() if version == "1.2" else new_table(version)
    calls = tree(version, names)
    if version == "1.26":  # its trees are in the table, before its end
        table += bytes(-len(table) % 16) + calls.ljust(32, b"\0")
    sections = [(".text", 6, TEXT, b"\xcc" * sum(f[1] for f in FUNCTIONS)),
                (".gopclntab", 2, TABLE, table)]
    if version in ("1.18", "1.20", "1.26"):
        sections.append((".noptrdata", 3, DATA, module_data(version, len(table), offsets)))
    if version != "1.26":
        sections.append((".rodata", 2, TREES, calls))
    return elf(sections)


def main():
    for version in VERSIONS:
        with open(f"{sys.argv[1]}/go-{version}.elf", "wb") as file:
            file.write(program(version))


if __name__ == "__main__":
    main()
