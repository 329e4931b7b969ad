#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HPROF text:

  gprof2dot  self and total shares of the functions in its expected graph
  sums       random tables: counts are exact; times are within the rounding of their shares, and
             their sum is the stated total
  truncated  the rows that are there are read, and the status is 1"""

import collections
import os
import random
import re
import sys
import tempfile

import tap

CORPUS = os.path.join(tap.CORPUS, "gprof2dot")
PLAIN = os.path.join(tap.SOURCE_ROOT, "tests", "import", "hprof", "plain.in")
NODE = re.compile(r'^\t"([^"]+)" \[.*label="[^"]*\\n([\d.]+)%\\n\(([\d.]+)%\)')
HEAD = "JAVA PROFILE 1.0.1, created Mon May  6 12:00:00 2024\n\n--------\n\n"
ROUNDED = 0.00501  # of percent with two decimals
results = tap.Tap()


def fold(path, *more):
    return tap.run([tap.STOKE, "fold", *more, path])


def stacks_of(out):
    for line in out.decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        yield stack.split(";"), float(weight)


def shares(out):
    """By function: total and self weight in percent, as gprof2dot prints them."""
    totals, selves, whole = collections.Counter(), collections.Counter(), 0
    for stack, weight in stacks_of(out):
        selves[stack[-1]] += weight
        whole += weight
        for name in set(stack):
            totals[name] += weight
    return {name: (100 * totals[name] / whole, 100 * selves[name] / whole) for name in totals}


def counted(path):
    """The same, by a reader that knows only this file's forms."""
    traces, totals, selves, whole = {}, collections.Counter(), collections.Counter(), 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("TRACE "):
                trace = traces[line[6:].rstrip(":\n")] = []
            elif line.startswith("\t") and traces:
                trace.append(line.strip().split("(")[0])
            elif re.match(r" *\d+ +[\d.]+% ", line):
                count, stack = int(line.split()[3]), traces[line.split()[4]]
                whole += count
                selves[stack[0]] += count
                for name in set(stack):
                    totals[name] += count
    return {name: (100 * totals[name] / whole, 100 * selves[name] / whole) for name in totals}


def gprof2dot_graph():
    """The traces of this file have at most 16 frames. gprof2dot estimates a total by ratios of
    calls, and so adds the callers that are missing there: its totals of 20 functions are those of
    the traces, and the others are higher."""
    path, expected = os.path.join(CORPUS, "hprof", "jdbc.hprof"), {}
    with open(os.path.join(CORPUS, "expected", "hprof.jdbc.dot"), encoding="utf-8") as file:
        for line in file:
            match = NODE.match(line)
            if match:
                expected[match[1]] = (float(match[2]), float(match[3]))
    status, out, err = fold(path)
    got = shares(out)
    if status or err or got != counted(path) or sum(w for _, w in stacks_of(out)) != 3362:
        return f"status {status}, or other shares than the file's\n{err.decode()}"
    wrong = [name for name, (total, self) in expected.items()
             if abs(got[name][1] - self) > ROUNDED or got[name][0] > total + ROUNDED]
    equal = [name for name, (total, _) in expected.items() if abs(got[name][0] - total) <= ROUNDED]
    return f"wrong: {wrong}, equal: {equal}" if wrong or len(equal) != 20 else ""


def random_table(r):
    """Times in ms with fractions, as the agent measures them: (text, times, counts, total)."""
    times = sorted((r.expovariate(1 / 50) for _ in range(r.randint(1, 300))), reverse=True)
    total = sum(times)
    counts = [r.randint(1, 9999) for _ in times]
    text, accum = [HEAD], 0
    for i in range(len(times)):
        text.append(f"TRACE {i + 1}:\n\ta.F{i}.run(F{i}.java:{i + 1})\n\ta.Main.main(Main.java:1)\n")
    text.append(f"CPU TIME (ms) BEGIN (total = {round(total)}) Mon May  6 12:00:00 2024\n"
                "rank   self  accum   count trace method\n")
    for i, (time, count) in enumerate(zip(times, counts)):
        accum += time
        text.append(f"{i + 1:4} {100 * time / total:5.2f}% {100 * accum / total:5.2f}% {count:7} "
                    f"{i + 1:5} a.F{i}.run\n")
    text.append("CPU TIME (ms) END\n")
    return "".join(text), [time / total for time in times], counts, round(total)


def sums(folder):
    path = os.path.join(folder, "java.hprof.txt")
    for seed in range(40):
        text, times, counts, total = random_table(random.Random(seed))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        status, out, err = fold(path, "--event", "cpu-time")
        got = {stack[-1]: weight / 1e6 / total for stack, weight in stacks_of(out)}
        wrong = [i for i, time in enumerate(times)
                 if abs(got.get(f"a.F{i}.run", 0) - time) > 0.00010001]
        calls = {stack[-1]: weight for stack, weight in stacks_of(fold(path, "--event", "calls")[1])}
        if status or err or wrong or abs(sum(got.values()) - 1) > 1e-9:
            return f"seed {seed}: {wrong}, sum {sum(got.values())}\n{err.decode()}"
        if calls != {f"a.F{i}.run": count for i, count in enumerate(counts)}:
            return f"seed {seed}: other counts of calls"
    return ""


def truncated(folder):
    with open(PLAIN, "rb") as file:
        content = file.read().rstrip()
    path = os.path.join(folder, "java.hprof.txt")
    table = content.index(b"CPU SAMPLES BEGIN")
    first_row = content.index(b"   2 30.00%")
    for end in range(60, len(content), 3):
        with open(path, "wb") as file:
            file.write(content[:end])
        status, out, err = fold(path)
        if status != 1 or (end < table and out) or (end >= first_row and not out):
            return f"{end} bytes: status {status}, {len(out)} bytes of output\n{err.decode()}"
    return ""


def main():
    if os.path.isdir(CORPUS):
        results.result("gprof2dot: jdbc", gprof2dot_graph())
    else:
        results.skip("gprof2dot: jdbc", "skipped: no corpus")
    with tempfile.TemporaryDirectory() as folder:
        results.result("sums: 40 tables of times", sums(folder))
        results.result("truncated", truncated(folder))
    results.done()


main()
