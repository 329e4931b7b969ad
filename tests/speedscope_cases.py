#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of other tools, read by stoke and by speedscope: the rows of speedscope-cases.tsv
in the corpus.

What stoke makes of a file is taken from its export to speedscope's format: a profile for
each event and thread, the stacks in order. Stacks, and every function's self and total, must
be those that speedscope's importer found, but for what differs on purpose:
 - speedscope puts an event's arguments behind its name, so that calls of one function are
   many; stoke leaves them out;
 - an event without a name is "(unnamed)" there and unknown here;
 - it refuses a file whose frames are not all closed; stoke closes them, and says so;
 - it shows one sample type of a pprof file; stoke keeps all, that one first;
 - it makes inlined functions ordinary ones; stoke marks them with _[i];
 - times with nothing on the stack are stacks without a frame there, and no samples here;
   what V8 calls (idle) is such a time there, and an idle frame here;
 - of V8's heap profiles it takes lines, which count from 0, as if they counted from 1, and
   has a frame (root), which is no function;
 - "(c++) " and " (module)" are parts of names there; here kind and module are columns;
 - it leaves out the frames of Firefox that have no place, or one in Firefox itself; stoke
   keeps them, as they are what ran;
 - it puts all of Papyrus' stacks, which run side by side, on one;
 - it takes perf's period for nothing: a sample weighs 1 there (and here, when asked to);
 - of pmcstat's call graphs it leaves out what the tool prints no further callers of;
 - of a flight recording it makes two profiles, one with native calls among the others and
   one without; in stoke's they are an event of their own; methods stand behind a colon
   there, and behind a dot here;
 - it makes up the own weight of Instruments' functions where the file tells another one.
Of Instruments' archive there is no list; what is in it is taken out of it here once more,
in another way: by plistlib, zipfile and zlib.

speedscope_cases.py [PART-OF-A-NAME...] runs only the rows whose name has such a part."""

import csv
import itertools
import json
import os
import plistlib
import re
import struct
import sys
import zipfile
import zlib

import tap

CASES = os.path.join(tap.CORPUS, "speedscope-cases.tsv")
SCALE = {"none": 1, "bytes": 1, "nanoseconds": 1, "microseconds": 1e3,
         "milliseconds": 1e6, "seconds": 1e9}
OPTIONS = {"perf-script-txt": ["--count-samples"],
           "instruments-deep-copy-txt": ["--keep-arguments"]}

# Files whose stacks have no order: what adds up is compared.
UNORDERED = {"jfr", "callgrind", "ghc-prof-json", "v8-heapprofile", "pmcstat-callgraph", "folded",
             "instruments-deep-copy-txt"}
SEVERAL_EVENTS = {"callgrind", "ghc-prof-json"}

# What speedscope refuses, or reads otherwise, and what is in it.
READ = {
    "speedscope/speedscope/invalid/incomplete-trace.json": [[(("A",), 100)]],
    "speedscope/papyrus/script.log": [
        [(("abc_example_quest..exampleFunction1",), 1000e6),
         (("abc_example_quest..exampleFunction2",), 50e6)],
        [(("abc_example_quest..exampleFunction5",), 1000e6),
         (("abc_example_quest..exampleFunction1",), 50e6)],
        [(("abc_example_quest..exampleFunction6",), 250e6)]],
}

# What a file says that speedscope has otherwise: of this stack, in the unit that it has.
OWN_WEIGHT = {("instruments-deep-copy-txt", "start;main;delta()"): 846}


def merged(stacks):
    """Neighbours with the same stack made one; what has no weight or no frame left out."""
    groups = itertools.groupby((s for s in stacks if s[0] and s[1]), key=lambda s: s[0])
    return [(stack, sum(weight for _, weight in group)) for stack, group in groups]


def added_up(stacks):
    table = {}
    for stack, weight in stacks:
        table[stack] = table.get(stack, 0) + weight
    return sorted(table.items())


def self_and_total(stacks):
    """By function; recursion counts once."""
    table = {}
    for stack, weight in stacks:
        for name in set(stack):
            table.setdefault(name, [0, 0])[1] += weight
        table[stack[-1]][0] += weight
    return table


def near(a, b):
    """Weights that went through seconds or milliseconds as binary fractions."""
    return abs(a - b) <= max(1e-6 * max(abs(a), abs(b)), 2)


def alike(got, wanted):
    return (len(got) == len(wanted) and
            all(g[0] == w[0] and near(g[1], w[1]) for g, w in zip(got, wanted)))


def normal_name(name, row):
    name = re.sub(r" \{.*\}$", "", name)
    if row["format"] == "v8-heapprofile":
        name = re.sub(r"(\(anonymous .*:)(\d+)\)$",
                      lambda m: f"{m[1]}{int(m[2]) + 1})", name)
    if row["format"] == "perf-script-txt":
        name = re.sub(r" \(\S+\)$", "", name).replace("???", "[unknown]")
    if row["format"] == "jfr":
        name = name.replace(":", ".")
    if row["format"].startswith("v8-prof"):
        name = re.sub(r"^\(c\+\+\) ", "", name)
    return "[unknown]" if name == "(unnamed)" else name


def wanted_profiles(row, expected):
    if row["input"] in READ:
        return READ[row["input"]]
    profiles = []
    for profile in expected["profiles"]:
        scale = SCALE[profile["unit"]]
        stacks = [(tuple(normal_name(n, row) for n in stack.split(";") if n),
                   OWN_WEIGHT.get((row["format"], stack), weight) * scale)
                  for stack, weight in profile["stacks"]]
        if row["format"] == "v8-heapprofile":
            stacks = [(stack[1:], weight) for stack, weight in stacks]
        profiles.append(merged(stacks))
    return profiles


def wanted_table(row, profile):
    """What speedscope says of each function: functions of one name are one."""
    scale, table = SCALE[profile["unit"]], {}
    for frame in profile["frames"]:
        name = normal_name(frame["name"], row)
        if name == "(root)" or not frame["total"]:
            continue
        table.setdefault(name, []).append([frame["self"] * scale, frame["total"] * scale])
    return table


def same_table(got, table):
    """Totals of several functions of one name overlap where they call each other."""
    mine = self_and_total(got)
    return set(mine) == set(table) and all(
        near(mine[n][0], sum(f[0] for f in table[n])) and
        (len(table[n]) > 1 or near(mine[n][1], table[n][0][1])) for n in mine)


def is_kept(frame, row):
    if frame["name"] == "(idle)":
        return False
    return not row["format"].startswith("gecko") or \
        frame.get("file", "").startswith("http")


def got_profiles(text, row):
    document = json.loads(text)
    frames = document["shared"]["frames"]
    names = [re.sub(r"_\[i\]$", "", f["name"]) if is_kept(f, row) else None for f in frames]
    profiles = []
    for profile in document["profiles"]:
        scale = SCALE[profile["unit"]]
        profiles.append((profile["stoke"]["event"], merged(
            (tuple(names[i] for i in stack if names[i] is not None), weight * scale)
            for stack, weight in zip(profile["samples"], profile["weights"]))))
    if row["format"] == "jfr":
        cpu, native = ([s for event, stacks in profiles if event == name for s in stacks]
                       for name in ("cpu", "native"))
        return [cpu, cpu + native]
    return [stacks for event, stacks in profiles
            if row["format"] in SEVERAL_EVENTS or event == profiles[0][0]]


def check(row):
    path = os.path.join(tap.CORPUS, row["input"])
    status, out, err = tap.run([tap.STOKE, "convert", *OPTIONS.get(row["format"], []), "--to",
                                "speedscope", path])
    if status != 0:
        return f"exit status {status}\n{err.decode('utf-8', 'replace')[-2000:]}"
    with open(os.path.join(tap.CORPUS, row["expected"]), encoding="utf-8") as file:
        expected = json.load(file)
    got, wanted = got_profiles(out, row), wanted_profiles(row, expected)
    if row["format"] == "pmcstat-callgraph":
        got = [[s for s in profile if s[0] in dict(wanted[0])] for profile in got]
    if row["format"] in UNORDERED:
        got, wanted = list(map(added_up, got)), list(map(added_up, wanted))
    if len(got) != len(wanted) or not all(map(alike, got, wanted)):
        return f"stacks: wanted {wanted}\ngot {got}"[:3000]
    if "error" in expected:
        return "" if b"never closed" in err else "nothing is said of what was repaired"
    if row["input"] in READ or row["format"] in ("pmcstat-callgraph",
                                              "instruments-deep-copy-txt"):
        return ""
    for profile, theirs in zip(got, expected["profiles"]):
        table = wanted_table(row, theirs)
        if not same_table(profile, table):
            return f"functions: wanted {table}\ngot {self_and_total(profile)}"[:3000]
    return ""


def trace_file(archive, path):
    """A file of the archive, whose files may be packed once more."""
    content = archive.read(next(name for name in archive.namelist() if name.endswith(path)
                                and not name.startswith("__MACOSX")))
    try:
        return zlib.decompress(content)
    except zlib.error:
        return content


def trace_names(archive):
    """By address."""
    objects = plistlib.loads(trace_file(archive, "form.template"))["$objects"]
    names = {}
    for symbol in objects:
        if not isinstance(symbol, dict) or "$class" not in symbol or \
                objects[symbol["$class"].data]["$classname"] != "PFTSymbolData":
            continue
        name = objects[symbol["$0"].data]
        if name == "$null":
            owner = objects[symbol["$2"].data]
            name = "[unknown]" if owner == "$null" else f"[{objects[owner['$0'].data]}]"
        for i in range(symbol["$4"]):
            names.setdefault(symbol[f"${5 + 2 * i}"], name)
    return names


def trace_stacks(archive, core, store):
    index, data, table = (trace_file(archive, core + part) for part in (
        "uniquing/arrayUniquer/integeruniquer.index", "uniquing/arrayUniquer/integeruniquer.data",
        store + "/bulkstore"))
    names = trace_names(archive)
    arrays = []
    for low, high in struct.iter_unpack("<II", index[40:]):
        count, = struct.unpack_from("<I", data, low + (high << 20))
        arrays.append(struct.unpack_from(f"<{count}Q", data, low + (high << 20) + 4))

    def frames(number):
        if number in names:
            return [names[number]]
        return [frame for inner in arrays[number & 0xffffffff] for frame in frames(inner)]

    begin, size = struct.unpack_from("<II", table, 12)
    rows = itertools.takewhile(lambda row: any(row[:9]), (
        table[at:at + size] for at in range(begin, len(table), size)))
    return sorted(";".join(reversed(frames(struct.unpack("<I", row[-4:])[0]))) for row in rows)


def archive_of_instruments(row):
    path = os.path.join(tap.CORPUS, row["input"])
    with zipfile.ZipFile(path) as archive:
        wanted = trace_stacks(archive, "corespace/run2/core/", "stores/indexed-store-15")
    status, out, err = tap.run([tap.STOKE, "fold", path])
    lines = [line.rpartition(" ") for line in out.decode().splitlines()]
    got = sorted(stack for stack, _, count in lines for _ in range(int(count)))
    if status or got != wanted or len(got) != 113:
        differ = [pair for pair in zip(got, wanted) if pair[0] != pair[1]]
        return f"exit status {status}: {err.decode()}\n{len(got)}, {len(wanted)}\n{differ[:2]}"
    return ""


def main():
    report = tap.Tap()
    if not os.path.exists(CASES):
        report.skip("speedscope-cases", "no corpus")
        report.done()
    with open(CASES, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = [row for row in rows
            if len(sys.argv) < 2 or any(part in row["input"] for part in sys.argv[1:])]
    for row in rows:
        if not row["expected"]:
            report.result(row["format"] + " " + row["input"], archive_of_instruments(row))
    for row, why in tap.in_parallel(check, [row for row in rows if row["expected"]]):
        report.result(row["format"] + " " + row["input"], why)
    report.done()


main()
