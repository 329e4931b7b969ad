#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gprof's and OProfile's text: the sums of random call graphs, files that end early, and the pictures
of gprof2dot.

sums       the time and the calls that end in a function are those of its row, exactly
cut        what is before the end is read, and the status is 1 if a block is open
gprof2dot  shares of functions and calls, and the counts of calls, are those of its call graphs"""

import collections
import os
import random
import re
import tempfile

import tap

RULE = "-----------------------------------------------"
HEADER = "index % time    self  children    called     name"
CASES = os.path.join(tap.CORPUS, "gprof2dot")
SHARE = re.compile(r"^\(?([\d.]+)%\)?$")
COUNT = re.compile("^(\\d+)\u00d7$")
results = tap.Tap()


def folded(path, event, *more):
    """The stacks and weights of an event."""
    status, out, err = tap.run([tap.STOKE, "fold", "-q", "--event", event, *more, path])
    if status:
        return status, [], err.decode("utf-8", "replace")
    rows = [line.rpartition(" ") for line in out.decode("utf-8", "replace").splitlines()]
    return status, [(stack.split(";"), float(weight)) for stack, _, weight in rows], ""


def sums(rows, key):
    out = collections.defaultdict(float)
    for stack, weight in rows:
        for item in key(stack):
            out[item] += weight
    return {item: weight for item, weight in out.items() if weight}


# --- Random call graphs --------------------------------------------------------------------

class Graph:
    """Functions with their self time in 0.01 seconds, and calls with their counts."""

    def __init__(self, r):
        self.size = r.randint(2, 30)
        self.self = [r.choice((0, r.randint(1, 400))) for _ in range(self.size)]
        self.self[0] = 1
        self.calls = collections.Counter()
        for _ in range(r.randint(1, 3 * self.size)):
            caller, callee = r.randrange(self.size), r.randrange(self.size)
            if r.random() < 0.8:
                caller, callee = min(caller, callee), max(caller, callee)
            self.calls[caller, callee] += r.randint(1, 1000)

    def reaches(self):
        """By function, those that it reaches."""
        out = [{i} for i in range(self.size)]
        changed = True
        while changed:
            changed = False
            for caller, callee in self.calls:
                before = len(out[caller])
                out[caller] |= out[callee]
                changed |= len(out[caller]) > before
        return out

    def text(self):
        reaches = self.reaches()
        inner = lambda a, b: a in reaches[b] and b in reaches[a]
        lines = [f"granularity: each sample hit covers 2 byte(s) for 1.00% of "
                 f"{sum(self.self) / 100:.2f} seconds", "", HEADER]
        for f in range(self.size):
            entered = {g: sum(n for (a, b), n in self.calls.items() if inner(b, g) and not inner(a, g))
                       for g in range(self.size)}
            row = lambda g, n, cycle: (" " * 35 + f"{n}" if cycle else
                                       f"{'':16}0.00    0.00  {n:>6}/{entered[g]}") + f"      f{g} [{g + 1}]"
            block = [row(f, n, inner(a, f)).replace(f"f{f} [{f + 1}]", f"f{a} [{a + 1}]")
                     for (a, b), n in self.calls.items() if b == f]
            others = sum(n for (a, b), n in self.calls.items() if b == f and a != f)
            again = self.calls[f, f]
            called = f"{others}+{again}" if again else f"{others}" if others else ""
            block.append(f"[{f + 1}]   10.0 {self.self[f] / 100:7.2f}    0.00 {called:>7}      f{f} [{f + 1}]")
            block += [row(b, n, inner(b, f)) for (a, b), n in self.calls.items() if a == f]
            lines += [*block, RULE]
        return "\n".join(lines) + "\n"

    def oprofile(self):
        """The same by opreport: samples instead of times and counts."""
        row = lambda g, n, indent="", end="": f"{indent}{n:<8} 1.0000  app  f{g}{end}"
        lines = ["samples  %        image name  symbol name", 40 * "-"]
        for f in range(self.size):
            lines += [row(a, n, "  ") for (a, b), n in self.calls.items() if b == f != a]
            lines.append(row(f, self.self[f]))
            lines += [row(b, n, "  ") for (a, b), n in self.calls.items() if a == f]
            lines += [row(f, self.self[f], "  ", " [self]"), 40 * "-"]
        return "\n".join(lines) + "\n"


def check_graph(path, graph):
    status, rows, err = folded(path, "time")
    expected = {f"f{i}": time * 1e7 for i, time in enumerate(graph.self) if time}
    if status or sums(rows, lambda stack: stack[-1:]) != expected:
        return f"self times: status {status}: {err}\nexpected {expected}\ngot {rows}"
    if any(len(set(stack)) < len(stack) for stack, _ in rows):
        return "a function is twice in a stack"
    if not graph.calls:
        return ""
    status, rows, err = folded(path, "calls")
    expected = {(f"f{a}", f"f{b}"): n for (a, b), n in graph.calls.items() if n}
    got = sums(rows, lambda stack: [tuple(stack[-2:])])
    return "" if got == expected else f"calls: status {status}: {err}\nexpected {expected}\ngot {got}"


def random_graphs(folder):
    path = os.path.join(folder, "graph.gprof")
    for seed in range(60):
        graph = Graph(random.Random(seed))
        with open(path, "w", encoding="utf-8") as file:
            file.write(graph.text())
        why = check_graph(path, graph)
        _, _, err = tap.run([tap.STOKE, "fold", path])
        if not why and b"warning" in err:
            why = err.decode()
        if why:
            results.not_ok(f"sums: seed {seed}", f"{why}\n{graph.text()}")
            return
    results.ok("sums: 60 call graphs")


def random_samples(folder):
    path = os.path.join(folder, "graph.oprofile")
    for seed in range(30):
        graph = Graph(random.Random(seed))
        with open(path, "w", encoding="utf-8") as file:
            file.write(graph.oprofile())
        status, rows, err = folded(path, "samples")
        expected = {f"f{i}": samples for i, samples in enumerate(graph.self) if samples}
        if status or sums(rows, lambda stack: stack[-1:]) != expected:
            results.not_ok(f"sums: opreport, seed {seed}", f"{err}\nexpected {expected}\ngot {rows}")
            return
    results.ok("sums: 30 call graphs of opreport")


def cut_files(folder):
    path = os.path.join(folder, "cut.gprof")
    lines = Graph(random.Random(1)).text().splitlines(keepends=True)
    why = ""
    for count in range(5, len(lines)):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines[:count])
        status, out, err = tap.run([tap.STOKE, "fold", path])
        is_open = lines[count - 1].strip() != RULE
        if tap.crashed(status) or (out and is_open != (status == 1 and b"ends inside" in err)):
            why = f"{count} lines: status {status}: {err.decode()}"
            break
    results.result("cut: every line", why)


# --- gprof2dot --------------------------------------------------------------------------------

def drawn(path):
    """The functions and calls of gprof2dot's picture: (shares, count) by name or pair of names."""
    names, items = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            found = re.match(r'\t(\d+)(?: -> (\d+))? \[.*\blabel="([^"]*)"', line)
            if not found:
                continue
            parts = found[3].split("\\n")
            shares = [float(SHARE.match(part)[1]) for part in parts if SHARE.match(part)]
            counts = [int(COUNT.match(part)[1]) for part in parts if COUNT.match(part)]
            if not found[2]:
                names[found[1]] = "".join(part for part in parts
                                          if not SHARE.match(part) and not COUNT.match(part))
            items[found[1], found[2]] = shares, counts
    return {(names[a], b and names[b]): item for (a, b), item in items.items()}


def check_drawn(path, expected):
    _, rows, _ = folded(path, "time") # none if all times are 0: then only the calls are compared
    _, called, err = folded(path, "calls")
    whole = sum(weight for _, weight in rows)
    if not called:
        return f"nothing was read: {err}"
    selfs = sums(rows, lambda stack: stack[-1:])
    totals = sums(rows, lambda stack: {(f, None) for f in stack} | set(zip(stack, stack[1:])))
    counts = sums(called, lambda stack: [tuple(stack[-2:])])
    for item, (shares, count) in drawn(expected).items():
        got = [100 * totals.get(item, 0) / whole, 100 * selfs.get(item[0], 0) / whole] if whole else []
        if any(abs(a - b) > 0.02 for a, b in zip(shares, got)):
            return f"{item}: {shares}, here {got}"
        if item[1] and count != [counts.get(item)]:
            return f"{item}: {count} calls, here {counts.get(item)}"
    return ""


def pictures():
    for case in ("cycle", "gnu1", "zeros"):
        name = f"gprof2dot: {case}"
        path = os.path.join(CASES, "prof", case + ".prof")
        if os.path.exists(path):
            results.result(name, check_drawn(path, os.path.join(CASES, "expected", f"prof.{case}.dot")))
        else:
            results.skip(name, "skipped: no corpus")


def main():
    with tempfile.TemporaryDirectory() as folder:
        random_graphs(folder)
        random_samples(folder)
        cut_files(folder)
    pictures()
    results.done()


main()
