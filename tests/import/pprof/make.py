#!/usr/bin/env python3
"""Writes the fixtures of this folder that no tool writes: small pprof files, made field by field. Only cpu.in was written
by a Go program."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def packed(field, *values):
    return message(field, *map(varint, values))


class Strings:
    def __init__(self):
        self.items = [b""]

    def __call__(self, text):
        text = text if isinstance(text, bytes) else text.encode()
        if text not in self.items:
            self.items.append(text)
        return self.items.index(text)

    def table(self):
        return b"".join(message(6, item) for item in self.items)


def sample_type(s, name, unit, field=1):
    return message(field, number(1, s(name)), number(2, s(unit)))


def function(s, ident, name, file="", field=2):
    return message(5, number(1, ident), number(field, s(name)), number(4, s(file)))


def location(ident, mapping, address, *lines):
    return message(4, number(1, ident), number(2, mapping), number(3, address),
                   *(message(4, number(1, f), number(2, line)) for f, line in lines))


def label(s, key, text=None, num=None):
    return message(3, number(1, s(key)),
                   number(2, s(text)) if text is not None else number(3, num))


def heap():
    """A heap profile: two types with a default, frames to drop with exceptions, a thread's labels, an inlined function, the
    kernel, an address without a name."""
    s = Strings()
    return b"".join([
        sample_type(s, "objects", "count"), sample_type(s, "space", "kilobytes"),
        message(2, packed(1, 4, 3, 2, 1), packed(2, 2, 8), label(s, "thread", "main"),
                label(s, "pid", num=12), label(s, "tid", "13")),
        message(2, number(1, 5), number(1, 1), number(2, 1), number(2, 4),
                label(s, "bytes", num=4096)),
        message(2, packed(1, 6, 1), packed(2, 3, 0)),
        message(2, packed(1, 4, 3), packed(2, 1, 1)),
        message(2, packed(2, 5, 5)),
        message(3, number(1, 1), number(5, s("/bin/server")), number(6, s("00ff"))),
        message(3, number(1, 2), number(5, s("[kernel.kallsyms]"))),
        location(1, 1, 0x1000, (1, 10)), location(2, 1, 0x2000, (3, 7), (2, 20)),
        location(3, 1, 0x3000, (4, 0)), location(4, 0, 0, (5, 0)),
        location(5, 2, 0xffff0000, (6, 0)), location(6, 1, 0x6000),
        function(s, 1, "main", "main.cc"), function(s, 2, "serve", "serve.cc"),
        function(s, 3, "parse<int>(char const*)", "parse.h"),
        function(s, 4, "operator new[](unsigned long)"), function(s, 5, "tc_malloc"),
        function(s, 6, "_page_fault", field=3),
        number(7, s(r"(__)?libc_malloc|tc_.*|operator new(\[\])?")),
        number(8, s("tc_keep.*")), number(14, s("space")),
        number(9, 1600000000 * 10**9), number(10, 2 * 10**9),
        sample_type(s, "space", "bytes", field=11), number(12, 524288),
        number(13, s("host: box")), number(13, s("command: server --port 80")),
        s.table()])


def awkward():
    """All possible faults, in a file with otherwise valid data."""
    s = Strings()
    s("a\x1b[31m;\n<script>")
    s(b"not utf-8: \xff\xfe")
    return b"".join([
        sample_type(s, "x", "count"), sample_type(s, "x", "seconds"),
        sample_type(s, "x", "seconds"), sample_type(s, "far", "count"),
        message(2, packed(1, 1, 2), packed(2, 1, 2, 3, 4)),
        message(2, packed(1, 2), packed(2, -5, 0, 0, 1)),
        message(2, packed(1, 99, 2), packed(2, 7)),
        message(2, packed(1, 1, 2), packed(2, 1, 2, 3, 4, 5, 6)),
        message(2, packed(1, 2), packed(2, 2**63 - 1, 0, 0, 0)),
        message(2, message(1, b"\x02\x80"), packed(2, 1, 0, 0, 0)),
        message(2, b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
        message(3, number(1, 1), number(5, 999999)), message(3, number(1, 1)),
        location(1, 7, 5, (1, 2**40), (77, 0)), location(2, 1, 0, (2, -1)),
        location(2, 1, 0, (1, 0)), location(3, 1, 9, *[(1, 0)] * 300),
        function(s, 1, "a\x1b[31m;\n<script>"), function(s, 2, b"not utf-8: \xff\xfe"),
        message(5, number(1, 3), number(2, 2**64 - 1)),
        message(2, packed(1, 3), packed(2, 1, 1, 1, 1)),
        number(7, s("(unclosed")), number(500, 1), message(400, b"xyz"),
        s.table()])


def write(name, content):
    with open(os.path.join(HERE, name + ".in"), "wb") as file:
        file.write(content)


def main():
    write("heap", heap())
    write("awkward", awkward())
    write("cut", heap()[:-20])
    s = Strings()
    write("broken", sample_type(s, "cpu", "nanoseconds") + b"\x12\xff\xff\xff\xff\x0fx")
    write("empty", sample_type(s, "cpu", "nanoseconds") + s.table())


main()
