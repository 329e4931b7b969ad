#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `stoke callgraph --total callratios` with the pictures of gprof2dot in the corpus: the
cases of callgraph-cases.tsv. The same functions with the same lines in their boxes, and the same
calls with the same shares and counts.

call_graph_cases.py [PART-OF-A-NAME...] runs only the cases with matching names."""

import csv
import os
import re
import sys

import tap

CASES = os.path.join(tap.CORPUS, "callgraph-cases.tsv")
ITEM = re.compile(r'^\t("(?:[^"\\]|\\.)*"|\w+)(?: -> ("(?:[^"\\]|\\.)*"|\w+))? '
                  r'\[(?:.*?, )?label="((?:[^"\\]|\\.)*)"')
LARGEST = 0.1  # difference of two shares in percent; gprof2dot divides what callgrind rounded

# Cases without numbers of calls: gprof2dot writes 0, or the number of samples.
UNCOUNTED = ("hprof/jdbc.hprof", "json/cycle.json", "json/memtrail.leaked.json")

# Of gprof2dot's items, those that are not the same, and why.
TRACE = ("trace",), ("intersect_objects",)
DIFFERENT = {
    # gprof2dot estimates the times of calls by those of the callee; the file states them
    "axe/r000hs_gprof_cc.axe": {
        TRACE, (("shader",), TRACE[1]), (("grid_intersect",), ("grid_intersect",)),
        (("shade_reflection",), ("trace",))},  # this one has no time in the file
}

# gprof2dot merges functions of the same name in two modules, into the first one.
MERGED = "callgrind/xapian.callgrind"
MERGED_LARGEST, MERGED_COUNTS = 0.7, 0.001

# gprof2dot ignores periods, and names functions without a name by their addresses.
UNNAMED = "perf/issue28.perf"

# gprof2dot writes FILE:LINE:NAME, and ~:0: before functions that are not Python's.
PYTHON = re.compile(r"(.*?):(\d+):(.*)", re.DOTALL)

# Refused with a message: it has no costs. gprof2dot draws an empty graph.
EMPTY = "callgrind/empty.callgrind"


def key_and_values(label):
    """The words of a label, and its shares and numbers of calls."""
    lines = [line.strip() for line in label.replace("&amp;", "&").split("\\n")]
    value = re.compile("^\\(?([\\d.]+)(%|\u00d7)\\)?$")
    found = [value.match(line) for line in lines]
    return ([line for line, match in zip(lines, found) if not match],
            [(match[2], float(match[1])) for match in found if match])


def graph(text):
    """The values of functions by name, and of calls by the names of both."""
    names, functions, calls = {}, {}, {}
    lines = [match for match in map(ITEM.match, text.splitlines())
             if match and match[1] not in ("graph", "node", "edge")]
    for match in lines:
        words, values = key_and_values(match[3])
        if not match[2]:
            names[match[1]] = tuple(words)
            functions[tuple(words)] = values
    for match in lines:
        if match[2]:
            calls[names[match[1]], names[match[2]]] = key_and_values(match[3])[1]
    return functions, calls


def renamed(items, rename):
    """The items with other names of functions; None omits."""
    found = {}
    for key, values in items.items():
        names = [rename(name) for name in (key if isinstance(key[0], tuple) else (key,))]
        if None not in names:
            found[names[0] if len(names) == 1 else tuple(names)] = values
    return found


def python_name(words):
    """("posixpath:140:basename",) as "basename", with the line."""
    match = PYTHON.fullmatch(words[-1])
    if not match:
        match = re.fullmatch(r"(?P<name>.*) \((?P<file>.*?)(?:\.py)?:(?P<line>\d+)\)", words[-1])
        return ((os.path.basename(match["file"]), match["line"], match["name"]) if match
                else words[-1:])
    return match.groups() if match[1] != "~" else (match[3],)


def comparable(name, items):
    """The functions or calls, without what is known to differ."""
    if name == MERGED:
        return renamed(items, lambda words: words[-1:])
    if name == UNNAMED:
        return renamed(items, lambda words: None if "[unknown]" in words else words)
    if name.startswith("pstats/"):
        return renamed(items, python_name)
    return {key: values for key, values in items.items() if key not in DIFFERENT.get(name, ())}


def difference(want, got, merged):
    """The first item that differs, or None."""
    largest = MERGED_LARGEST if merged else LARGEST
    if want.keys() != got.keys():
        return f"only one has {sorted(want.keys() ^ got.keys())[:3]}"
    for key, values in want.items():
        if [kind for kind, _ in values] != [kind for kind, _ in got[key]] or any(
                abs(a - b) > (largest if kind == "%" else b * MERGED_COUNTS if merged else 0)
                for (kind, a), (_, b) in zip(values, got[key])):
            return f"{key}: {values}, not {got[key]}"
    return None


def without_counts(items):
    return {key: [value for value in values if value[0] != "\u00d7"]
            for key, values in items.items()}


def check(name, expected):
    status, out, err = tap.run([tap.STOKE, "callgraph", "-q", "--total", "callratios",
                                *(["--count-samples"] if name.endswith(UNNAMED) else []),
                                os.path.join(tap.CORPUS, name)])
    name = name.removeprefix("gprof2dot/")
    if name == EMPTY:
        refused = status == 1 and b"no stacks found in this callgrind input" in err
        return None if refused else "it is not refused"
    if status:
        return err.decode("utf-8", "replace")
    with open(os.path.join(tap.CORPUS, expected), encoding="utf-8") as file:
        expect = graph(file.read())
    got = graph(out.decode("utf-8", "replace"))
    if name.endswith(UNCOUNTED):
        expect = [without_counts(items) for items in expect]
    expect, got = ([comparable(name, items) for items in each] for each in (expect, got))
    return (difference(expect[0], got[0], name == MERGED) or
            difference(expect[1], got[1], name == MERGED))


def main():
    report = tap.Tap()
    if not os.path.exists(CASES):
        report.skip("call graphs of gprof2dot", "no corpus")
        report.done()
    with open(CASES, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        name = row["input"].removeprefix("gprof2dot/")
        if not any(part in name for part in sys.argv[1:] or [""]):
            continue
        report.result(name, check(row["input"], row["expected (default options)"]) or "")
    report.done()


main()
