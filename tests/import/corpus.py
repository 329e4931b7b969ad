#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares stoke fold with the tools whose test inputs are in the corpus: the rows of
fold-cases.tsv. The rules of the corpus apply: outputs of FlameGraph have no quote characters, and
a row can compare sets of lines.

corpus.py [PART-OF-A-NAME...] runs only the rows with matching names."""

import csv
import os
import sys

import tap

CASES = os.path.join(tap.CORPUS, "fold-cases.tsv")

# Rows that need other options than `stoke fold --format FORMAT`, and these options.
COMMANDS = {
    "recursive": ["fold", "--collapse-recursion"],
    "diff-folded": ["diff", "--folded"],
}

# Wrong lines of an expected file, by number, with the right weight. If a sample report has a stack
# in several rows (one per call site: 4, 2 and 2 samples), the expected file has the samples of the
# last row, and loses the others.
CORRECTED = {
    "inferno/collapse-sample/results/sample-default.txt": {2: b"14", 11: b"8"},
}


def corrected(text, path):
    lines = text.split(b"\n")
    for number, weight in CORRECTED.get(path, {}).items():
        stack = lines[number - 1].rpartition(b" ")[0]
        lines[number - 1] = stack + b" " + weight
    return b"\n".join(lines)


def without_quotes(text):
    return text.replace(b"'", b"").replace(b'"', b"")


def normal(text, row):
    if row["expected"].startswith("flamegraph/"):
        text = without_quotes(text)
    if row["compare"] == "sorted-lines":
        text = b"".join(sorted(text.splitlines(keepends=True)))
    return text


def row_name(row):
    return " ".join(filter(None, (row["format"], row["input"], row["flags"])))


def check(row):
    inputs = [os.path.join(tap.CORPUS, name) for name in row["input"].split(",")]
    command = COMMANDS.get(row["format"], ["fold"])
    flags = row["flags"].split()
    status, out, err = tap.run([tap.STOKE, *command, *flags, *inputs])
    if status != 0:
        return f"exit status {status}\n{err.decode('utf-8', 'replace')[-2000:]}"
    with open(os.path.join(tap.CORPUS, row["expected"]), "rb") as file:
        reference = corrected(file.read(), row["expected"])
    if not reference.endswith(b"\n"): # one expected file was saved without its last line end
        reference += b"\n"
    return tap.difference(normal(reference, row), normal(out, row))


def main():
    report = tap.Tap()
    if not os.path.exists(CASES):
        report.skip("fold-cases", "skipped: no corpus")
        report.done()
    with open(CASES, newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = [row for row in rows
            if len(sys.argv) < 2 or any(part in row_name(row) for part in sys.argv[1:])]
    for row, why in tap.in_parallel(check, rows):
        report.result(row_name(row), why)
    report.done()


main()
