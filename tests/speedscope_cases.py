#!/usr/bin/env python3
"""Profiles of other tools, read by stoke and by speedscope: the rows of speedscope-cases.tsv
in the corpus whose format is speedscope's own, pprof or Chrome's trace events.

What stoke makes of a file is taken from its export to speedscope's format: a profile for
each thread, the stacks in order. Stacks, and every function's self and total, must be those
that speedscope's importer found, but for what differs on purpose:
 - speedscope puts an event's arguments behind its name, so that calls of one function are
   many; stoke leaves them out;
 - an event without a name is "(unnamed)" there and unknown here;
 - it refuses a file whose frames are not all closed; stoke closes them, and says so;
 - it shows one sample type of a pprof file; stoke keeps all, that one first;
 - it makes inlined functions ordinary ones; stoke marks them with _[i].

speedscope_cases.py [PART-OF-A-NAME...] runs only the rows whose name has such a part."""

import csv
import itertools
import json
import os
import re
import sys

import tap

CASES = os.path.join(tap.CORPUS, "speedscope-cases.tsv")
FORMATS = {"speedscope-json": "speedscope", "pprof-proto": "pprof",
           "trace-event-json": "trace-event"}
SCALE = {"none": 1, "bytes": 1, "nanoseconds": 1, "microseconds": 1e3,
         "milliseconds": 1e6, "seconds": 1e9}

# What speedscope refuses, and what is in it.
REFUSED = {"speedscope/speedscope/invalid/incomplete-trace.json": [[(("A",), 100)]]}


def merged(stacks):
    """Neighbours with the same stack made one; what has no weight left out."""
    groups = itertools.groupby((s for s in stacks if s[1]), key=lambda s: s[0])
    return [(stack, sum(weight for _, weight in group)) for stack, group in groups]


def self_and_total(stacks):
    """By function; recursion counts once."""
    table = {}
    for stack, weight in stacks:
        for name in set(stack):
            table.setdefault(name, [0, 0])[1] += weight
        if stack:
            table[stack[-1]][0] += weight
    return table


def normal_name(name):
    name = re.sub(r" \{.*\}$", "", name)
    return "[unknown]" if name == "(unnamed)" else name


def wanted_profiles(row, expected):
    if "error" in expected:
        return REFUSED[row["input"]], None
    profiles, tables = [], []
    for profile in expected["profiles"]:
        scale = SCALE[profile["unit"]]
        profiles.append(merged((tuple(map(normal_name, stack.split(";"))), weight * scale)
                               for stack, weight in profile["stacks"]))
        tables.append({normal_name(f["name"]): [f["self"] * scale, f["total"] * scale]
                       for f in profile["frames"]})
    return profiles, tables


def got_profiles(text):
    document = json.loads(text)
    names = [re.sub(r"_\[i\]$", "", f["name"]) for f in document["shared"]["frames"]]
    first = document["profiles"][0]["stoke"]["event"]
    return [merged((tuple(names[i] for i in stack), weight)
                   for stack, weight in zip(profile["samples"], profile["weights"]))
            for profile in document["profiles"] if profile["stoke"]["event"] == first]


def check(row):
    path = os.path.join(tap.CORPUS, row["input"])
    status, out, err = tap.run([tap.STOKE, "convert", "--to", "speedscope", path])
    if status != 0:
        return f"exit status {status}\n{err.decode('utf-8', 'replace')[-2000:]}"
    with open(os.path.join(tap.CORPUS, row["expected"]), encoding="utf-8") as file:
        wanted, tables = wanted_profiles(row, json.load(file))
    got = got_profiles(out)
    if got != wanted:
        return f"stacks: wanted {wanted}\ngot {got}"[:3000]
    for profile, table in zip(got, tables or []):
        if self_and_total(profile) != {n: t for n, t in table.items() if t[1]}:
            return f"functions: wanted {table}\ngot {self_and_total(profile)}"[:3000]
    if tables is None and b"never closed" not in err:
        return "nothing is said of what was repaired"
    return ""


def main():
    report = tap.Tap()
    if not os.path.exists(CASES):
        report.skip("speedscope-cases", "no corpus")
        report.done()
    with open(CASES, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                if row["format"] in FORMATS]
    rows = [row for row in rows
            if len(sys.argv) < 2 or any(part in row["input"] for part in sys.argv[1:])]
    for row, why in tap.in_parallel(check, rows):
        report.result(FORMATS[row["format"]] + " " + row["input"], why)
    report.done()


main()
