#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/import/instruments-trace/*.in, and a seed of names for the fuzzer: archives as Instruments makes them, with
everything in them that a profile is read from (src/import/instruments_trace.c), of two
runs of a made-up program.

make_instruments_trace.py [FOLDER]: into another folder. The files are the same every time."""

import os
import plistlib
import struct
import sys
import zipfile
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCHEMA = """<schema name="%s" topology="%s">
    <column engineeringName="Sample Time" mnemonic="time"></column>
    <column engineeringName="Thread" mnemonic="thread"></column>
%s</schema>
"""
COLUMNS = ["process", "core", "thread-state", "weight", "stack"]
UID = plistlib.UID


class Archive:
    """What NSKeyedArchiver writes: objects in a row, named by their numbers."""

    def __init__(self):
        self.objects = ["$null"]
        self.classes = {}

    def add(self, value):
        self.objects.append(value)
        return UID(len(self.objects) - 1)

    def of_class(self, name, fields):
        if name not in self.classes:
            self.classes[name] = self.add({"$classname": name, "$classes": [name, "NSObject"]})
        return self.add({**fields, "$class": self.classes[name]})

    def dictionary(self, pairs):
        return self.of_class("NSDictionary", {"NS.keys": [self.add(k) for k, _ in pairs],
                                              "NS.objects": [v for _, v in pairs]})

    def numbered(self, name, values):
        return self.of_class(name, {f"${i}": v for i, v in enumerate(values)})

    def write(self, top, how=plistlib.FMT_BINARY):
        return plistlib.dumps({"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": top,
                               "$objects": self.objects}, fmt=how, sort_keys=False)


def symbols(a, owners, table):
    """table: (name, file, owner, {address: line})."""
    made = []
    for name, file, owner, lines in table:
        numbers = [part for pair in lines.items() for part in pair]
        start = min(lines, default=0)
        made.append(a.numbered("PFTSymbolData", [
            a.of_class("NSString", {"NS.string": name}) if name and ord(name[0]) > 0x7f
            else a.add(name) if name else UID(0), a.add(file) if file else UID(0), owners[owner], 12345,
            len(lines), *numbers, start, 64, a.of_class("NSArray", {"NS.objects": []})]))
    return a.numbered("PFTPersistentSymbols",
                      [9, UID(0), UID(0), UID(0), len(made), UID(0), *made])


def template(runs, version=2.1):
    """runs: {number: {pid: table}}."""
    a = Archive()
    owners = {name: a.of_class("PFTOwnerData", {
        "$0": a.add(os.path.basename(name)), "$1": a.add(name), "$2": 1, "$3": 1, "$4": 1,
        "uuid": a.add(bytes(range(16)))}) for name in ("/usr/bin/demo", "/usr/lib/libSystem.dylib")}
    data = []
    for number, processes in runs.items():
        by_pid = [len(processes)]
        for pid, table in processes.items():
            by_pid += [a.add(pid), symbols(a, owners, table)]
        run = a.dictionary([("startTime", a.add(1)),
                            ("symbolsByPid", a.numbered("XRIntKeyedDictionary", by_pid))])
        data.append((number, run))
    numbers = a.of_class("NSMutableArray", {"NS.objects": [a.add(n) for n in runs]})
    lists = a.numbered("XRRunListData", [numbers, a.dictionary(data), a.add(2)])
    return a.write({"com.apple.xray.owner.template.version": version,
                    "$1": a.add("com.apple.xray.instrument-type.coresampler2"),
                    "com.apple.xray.run.data": lists})


def arrays(rows):
    """The two files of the numbers' arrays."""
    head = struct.pack("<IIQQ", 0x01234567, 0x000a337e, 1, 1) + struct.pack("<II", 1 << 20, 1 << 20)
    index, data = head[:32] + bytes(8), head[:24] + bytes(8)
    for row in rows:
        index += struct.pack("<II", len(data) & 0xfffff, len(data) >> 20)
        data += struct.pack("<I", len(row)) + b"".join(struct.pack("<Q", n) for n in row)
    return index, data + bytes(64)


def table(rows, size=33):
    """rows: (time, thread, core, weight, stack)."""
    out = struct.pack("<5I", 0x12340a0a, 3, 0x28, 0x100, size).ljust(0x100, b"\0")
    for time, thread, core, weight, stack in rows:
        out += (time | thread << 50).to_bytes(9, "little")
        out += struct.pack("<IIIQI", 0, core, 4, weight, stack).rjust(size - 9, b"\0")
    return out + bytes(4 * size)


def schema(name="time-profile", columns=COLUMNS, topology="XRT50_C22_TypeID"):
    return (SCHEMA % (name, topology, "".join(f'    <column mnemonic="{c}"></column>\n' for c in columns))).encode()


def run_files(number, rows, numbers, **how):
    core = f"corespace/run{number}/core/"
    index, data = arrays(numbers)
    return {core + "stores/indexed-store-0/schema.xml": schema("tick", []),
            core + "stores/indexed-store-0/bulkstore": b"not of interest",
            core + "stores/indexed-store-7/schema.xml": schema(**how),
            core + "stores/indexed-store-7/bulkstore": table(rows),
            core + "uniquing/arrayUniquer/integeruniquer.index": index,
            core + "uniquing/arrayUniquer/integeruniquer.data": data}


def write(path, files, packed=True, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            if packed and not name.endswith("form.template"):
                content = zlib.compress(content, 9)
            info = zipfile.ZipInfo("demo.trace/" + name, (2026, 1, 1, 0, 0, 0))
            info.compress_type = method
            archive.writestr(info, content)
        archive.writestr(zipfile.ZipInfo("__MACOSX/demo.trace/._form.template", (2026, 1, 1, 0, 0, 0)), b"note")


MAIN, WORK, DEEP, ODD, SYSTEM, NOBODY = (0x100000f00 + 0x100 * i for i in range(6))
DEMO = [("main", "/src/demo.c", "/usr/bin/demo", {MAIN: 12, MAIN + 8: 13}),
        ("work(int)", "/src/demo.c", "/usr/bin/demo", {WORK: 30}),
        ("deep", None, "/usr/bin/demo", {DEEP: 0}),
        ("größe ✓", None, "/usr/bin/demo", {ODD: 0}),
        (None, None, "/usr/lib/libSystem.dylib", {SYSTEM: 0})]
OTHER = [("other_main", None, "/usr/bin/demo", {MAIN: 0})]
# 0: the process; 1, 2: threads; 3, 4: pieces of stacks; 5 to 9: stacks, leaf first; the
# upper half of a number that names an array is no part of the name
NUMBERS = [[501, 13], [7001, 0], [7002, 0], [WORK, MAIN], [DEEP, WORK], [4, 3], [3], [SYSTEM, MAIN + 8],
           [NOBODY, ODD, 0x2800000003], [DEEP] * 40 + [3], [502, 13], [8001, 10], [MAIN]]
ROWS = [(1000000, 1, 0, 1000000, 5), (2000000, 1, 1, 1000000, 6), (3000000, 2, 0, 1000000, 7),
        (4000000, 1, 0, 2000000, 5), (5000000, 2, 3, 1000000, 8), (6000000, 1, 0, 1000000, 9),
        (7000000, 11, 0, 1000000, 12)]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TESTS, "import", "instruments-trace")
    one = {"form.template": template({1: {501: DEMO, 502: OTHER}}), **run_files(1, ROWS, NUMBERS)}
    write(os.path.join(folder, "one-run.in"), one)
    write(os.path.join(folder, "stored.in"), one, packed=False, method=zipfile.ZIP_STORED)
    write(os.path.join(folder, "two-runs.in"),
          {"form.template": template({1: {501: DEMO}, 2: {501: OTHER}}),
           **run_files(1, ROWS[:2], NUMBERS), **run_files(2, ROWS[6:], NUMBERS)})
    # columns that are not known, no names, a version that is not known
    write(os.path.join(folder, "no-names.in"),
          {"form.template": template({}), **run_files(1, ROWS[:3], NUMBERS)})
    write(os.path.join(folder, "newer.in"),
          {"form.template": template({1: {501: DEMO}}, 4.5),
           **run_files(1, ROWS, NUMBERS, columns=COLUMNS + ["more"])})
    write(os.path.join(folder, "other-instrument.in"),
          {"form.template": template({1: {501: DEMO}}), **run_files(1, ROWS, NUMBERS, name="signposts")})
    # arrays that contain themselves and each other, and invalid numbers
    loop = [[501, 13], [7001, 0], [2, 2], [3, 4], [3, 3, WORK], [99, MAIN]]
    rows = [(1, 1, 0, 1, n) for n in (2, 3, 4, 5, 77)]
    write(os.path.join(folder, "loops.in"),
          {"form.template": template({1: {501: DEMO}}), **run_files(1, rows, loop)})
    with open(os.path.join(TESTS, "fuzz", "corpus", "names.plist"), "wb") as file:
        file.write(one["form.template"])
    damaged = dict(one)
    damaged["corespace/run1/core/uniquing/arrayUniquer/integeruniquer.index"] = b"short"
    write(os.path.join(folder, "no-arrays.in"), damaged)
    with open(os.path.join(folder, "one-run.in"), "rb") as file:
        whole = file.read()
    with open(os.path.join(folder, "cut.in"), "wb") as file:
        file.write(whole[:len(whole) // 2])


main()
