#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that are not valid UTF-8, in every string of a pprof profile, through every exporter
and every JSON and CSV output: formats of text are valid UTF-8, and the others lose no byte.
Prints TAP."""

import json
import os
import random
import re
import sys
import tempfile
import xml.dom.minidom
import xml.parsers.expat

from codec.protobuf import field, number
from tap import SOURCE_ROOT, STOKE, Tap, crashed, run

SEED = 7
PROFILES = 6
# formats that take names as they are
BYTES = {"callgrind", "firesim", "folded", "stoke"}
LOSSLESS = BYTES - {"firesim"}  # no importer reads the same stacks from it
JSON = {"d3", "firefox", "speedscope"}
# complete, truncated and overlong characters, surrogates, code points above U+10FFFF
PIECES = [b"f", b"\xc3\xa9", b"\xf0\x9f\x94\xa5", b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xc0\xaf",
          b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x94", b"\xfe\xfe", b"<", b"&", b'"', b"\\"]


def names(chance, count):
    found = set()
    while len(found) < count:
        found.add(b"n" + b"".join(chance.choices(PIECES, k=chance.randint(1, 6))))
    return sorted(found)


def pprof(chance):
    texts = [b"", b"thread", *names(chance, 40)]
    functions = range(1, 12)  # their names are texts 4 to 14

    def other():
        return chance.randrange(15, len(texts))

    out = field(1, field(1, 2) + field(2, 3))
    out += field(3, field(1, 1) + field(5, other()) + field(6, other()))
    for i in functions:
        out += field(5, field(1, i) + field(2, 3 + i) + field(4, other()))
        out += field(4, field(1, i) + field(2, 1) + field(3, 4096 * i) +
                     field(4, field(1, i) + field(2, i)))
    for _ in range(20):
        stack = b"".join(number(chance.choice(functions)) for _ in range(chance.randint(1, 5)))
        out += field(2, field(1, stack) + field(2, b"\x05") +
                     field(3, field(1, other()) + field(2, other())) +
                     field(3, field(1, other()) + field(3, 7) + field(4, other())) +
                     field(3, field(1, 1) + field(2, other())))
    for text in [*texts, b"host: " + texts[5], b"command: " + texts[6]]:
        out += field(6, text)
    return out + field(13, number(len(texts)) + number(len(texts) + 1))


def exporters():
    with open(os.path.join(SOURCE_ROOT, "src", "export", "exporters.def"),
              encoding="ascii") as f:
        return re.findall(r"^EXPORTER\((\w+)\)", f.read(), re.M)


def protobuf_strings(data):
    """The entries of a pprof file's string table."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        size = varint()
        if tag & 7 == 2:
            if tag >> 3 == 6:
                found.append(data[at:at + size])
            at += size
    return found


def invalid(name, out):
    """Why the output is not valid; empty where it is."""
    try:
        if name == "pprof":
            for text in protobuf_strings(out):
                text.decode()
        elif name in JSON:
            json.loads(out.decode())
        elif name == "svg":
            xml.dom.minidom.parseString(out)
        elif name not in BYTES:
            out.decode()
    except (ValueError, xml.parsers.expat.ExpatError) as fault:
        return f"{type(fault).__name__}: {fault}"
    return ""


def folded(path):
    return sorted(run([STOKE, "fold", path])[1].splitlines())


def functions_of(lines):
    return {name for line in lines for name in line.rsplit(b" ", 1)[0].split(b";")}


def lost(name, source, out, folder):
    """Which stacks differ when the output is read; of callgrind, which of their functions are not in
    the file: what is read has no functions without a cost of their own in cycles."""
    path = os.path.join(folder, "out." + name)
    with open(path, "wb") as f:
        f.write(out)
    before, after = folded(source), folded(path)
    if name == "callgrind":
        thread = {line.split(b";")[0] for line in before}
        before = functions_of(before) - thread
        after = set(re.findall(rb"^c?fn=\(\d+\) (.*?)(?:'2)?$", out, re.MULTILINE))
    differs = sorted(set(before) ^ set(after))
    return f"{len(differs)} differ, such as {differs[0]}" if differs or not before else ""


def check(name, source, folder):
    title = os.path.join(folder.encode(), b"title-\xff\xc3")  # an SVG contains its name
    if os.path.islink(title):
        os.remove(title)
    os.symlink(source, title)
    more = ["--no-gzip"] if name == "pprof" else []
    status, out, err = run([STOKE, "convert", "--to", name, *more, title, "-o", "-"])
    if name == "html" and b"without its viewer" in err:
        return None
    why = crashed(status) or (err.decode(errors="replace") if status else "")
    return why or invalid(name, out) or (lost(name, source, out, folder)
                                         if name in LOSSLESS else "")


def commands(source):
    yield "report --json", ["report", "--json", source], json.loads
    yield "report --csv", ["report", "--csv", source], bytes.decode
    yield "info --json", ["info", "--json", source], json.loads
    yield "diff --json", ["diff", "--json", source, source], json.loads


def main():
    tap, chance = Tap(), random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for i in range(PROFILES):
            sources.append(os.path.join(folder, f"{i}.pb"))
            with open(sources[i], "wb") as f:
                f.write(pprof(chance))
        for name in exporters():
            if name == "massif":  # tests/import/heap.py
                tap.skip(name, "the profiles have no event in bytes")
                continue
            why = [check(name, source, folder) for source in sources]
            if None in why:
                tap.skip(name, "no viewer in this build")
            else:
                tap.result(name, next(filter(None, why), ""))
        for name, command, parse in commands(sources[0]):
            status, out, err = run([STOKE, *command])
            why = crashed(status) or ("" if out else err.decode(errors="replace"))
            try:
                parse(out.decode().encode() if parse is bytes.decode else out.decode())
            except ValueError as fault:
                why = why or f"{type(fault).__name__}: {fault}"
            tap.result(name, why)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
