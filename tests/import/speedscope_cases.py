#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of other tools, read by stoke and by speedscope: the rows of speedscope-cases.tsv
in the corpus.

stoke's result for a file is taken from its export to speedscope's format: a profile for
each event and thread, the stacks in order. Stacks, and every function's self and total, must
equal those of speedscope's importer, with these intended differences:
 - speedscope appends an event's arguments to its name, so that calls of one function become
   several functions; stoke removes them;
 - an event without a name is "(unnamed)" there and unknown here;
 - speedscope rejects a file with unclosed frames; stoke closes them, with a warning;
 - speedscope shows one sample type of a pprof file; stoke has all, that one first;
 - speedscope treats inlined functions as ordinary ones; stoke marks them;
 - times without a stack are stacks without a frame there, and no samples here; V8's (idle) is
   such a time there, and an idle frame here;
 - in V8's heap profiles, speedscope reads lines, which count from 0, as if they counted from 1,
   and has a frame (root), which is not a function;
 - "(c++) " and " (module)" are parts of names there; here kind and module are columns;
 - speedscope omits Firefox frames that have no location, or one in Firefox itself; stoke
   includes them;
 - speedscope puts all of Papyrus' concurrent stacks on one;
 - speedscope ignores perf's period: a sample has weight 1 there (and here, if requested);
 - in pmcstat's call graphs, speedscope omits functions without printed callers;
 - speedscope makes two profiles of a flight recording, one with native calls and one without;
   in stoke they are a separate event; methods follow a colon there, and a dot here;
 - speedscope computes the self weight of Instruments' functions even if the file states
   another one.
There is no expected result for Instruments' archive; this test extracts the data of the
archive independently, with plistlib, zipfile and zlib.

speedscope_cases.py [PART-OF-A-NAME...] runs only the rows whose name contains the part."""

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

# Files whose stacks have no order: compared by sums.
UNORDERED = {"jfr", "callgrind", "ghc-prof-json", "v8-heapprofile", "pmcstat-callgraph", "folded",
             "instruments-deep-copy-txt"}
SEVERAL_EVENTS = {"callgrind", "ghc-prof-json"}

# Files that speedscope rejects or reads differently, and their contents.
READ = {
    # costs of calls that add up to more than the self cost of the callee
    "speedscope/callgrind/callgrind.cfn-reset.log": [
        [(("alpha",), 10), (("alpha", "beta"), 10), (("alpha", "delta"), 10),
         (("alpha", "delta", "gamma"), 5), (("alpha", "gamma"), 5)]],
    "speedscope/speedscope/invalid/incomplete-trace.json": [[(("A",), 100)]],
    "speedscope/papyrus/script.log": [
        [(("abc_example_quest..exampleFunction1",), 1000e6),
         (("abc_example_quest..exampleFunction2",), 50e6)],
        [(("abc_example_quest..exampleFunction5",), 1000e6),
         (("abc_example_quest..exampleFunction1",), 50e6)],
        [(("abc_example_quest..exampleFunction6",), 250e6)]],
}

# Values of a file that speedscope has differently: for this stack, in its unit.
OWN_WEIGHT = {("instruments-deep-copy-txt", "start;main;delta()"): 846}


def merged(stacks):
    """Merges consecutive samples with the same stack; removes those without weight or frames."""
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
    """Weights that were converted to seconds or milliseconds as binary fractions."""
    return abs(a - b) <= max(1e-6 * max(abs(a), abs(b)), 2)


def alike(got, reference):
    return (len(got) == len(reference) and
            all(g[0] == w[0] and near(g[1], w[1]) for g, w in zip(got, reference)))


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


def reference_profiles(row, expected):
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


def expected_table(row, profile):
    """speedscope's values per function: functions with the same name are one."""
    scale, table = SCALE[profile["unit"]], {}
    for frame in profile["frames"]:
        name = normal_name(frame["name"], row)
        if name == "(root)" or not frame["total"]:
            continue
        table.setdefault(name, []).append([frame["self"] * scale, frame["total"] * scale])
    return table


def same_table(got, table):
    """Totals of several functions with the same name overlap if they call each other."""
    mine = self_and_total(got)
    return set(mine) == set(table) and all(
        near(mine[n][0], sum(f[0] for f in table[n])) and
        (len(table[n]) > 1 or near(mine[n][1], table[n][0][1])) for n in mine)


def is_shown(frame, row):
    if frame["name"] == "(idle)":
        return False
    return not row["format"].startswith("gecko") or \
        frame.get("file", "").startswith("http")


def got_profiles(text, row):
    document = json.loads(text)
    frames = document["shared"]["frames"]
    names = [re.sub(r"_\[i\]$", "", f["name"]) if is_shown(f, row) else None for f in frames]
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
    got, reference = got_profiles(out, row), reference_profiles(row, expected)
    if row["format"] == "pmcstat-callgraph":
        got = [[s for s in profile if s[0] in dict(reference[0])] for profile in got]
    if row["format"] in UNORDERED:
        got, reference = list(map(added_up, got)), list(map(added_up, reference))
    if len(got) != len(reference) or not all(map(alike, got, reference)):
        return f"stacks: reference {reference}\ngot {got}"[:3000]
    if "error" in expected:
        return "" if b"never closed" in err else "nothing is said of what was repaired"
    if row["input"] in READ or row["format"] in ("pmcstat-callgraph",
                                              "instruments-deep-copy-txt"):
        return ""
    for profile, theirs in zip(got, expected["profiles"]):
        table = expected_table(row, theirs)
        if not same_table(profile, table):
            return f"functions: reference {table}\ngot {self_and_total(profile)}"[:3000]
    return ""


def trace_file(archive, path):
    """A file of the archive; its files may be compressed again."""
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
        reference = trace_stacks(archive, "corespace/run2/core/", "stores/indexed-store-15")
    status, out, err = tap.run([tap.STOKE, "fold", path])
    lines = [line.rpartition(" ") for line in out.decode().splitlines()]
    got = sorted(stack for stack, _, count in lines for _ in range(int(count)))
    if status or got != reference or len(got) != 113:
        differ = [pair for pair in zip(got, reference) if pair[0] != pair[1]]
        return f"exit status {status}: {err.decode()}\n{len(got)}, {len(reference)}\n{differ[:2]}"
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
