#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares heap profiles of other tools with an independent reader.

massif: the totals of each snapshot with a tree, of each allocating function, and of the outermost
callers, for the files of the tests and the corpus, and for a program under valgrind if it is
installed. heaptrack: its events are replayed one by one."""

import collections
import glob
import os
import re
import shutil
import tempfile

import tap

ROW = re.compile(r"^( *)n(\d+): (\d+) (.*)$")
LOCATION = re.compile(r" \((?:in [^()]*(?:\([^()]*\)[^()]*)*|[^():]*:\d+)\)$")
OURS = os.path.join(tap.SOURCE_ROOT, "tests", "import")
OTHERS = {"extra heap", "stacks"}


def name_of(text):
    """The name of the function in the file; None if it has none."""
    if text.startswith("in "):
        return "[below the threshold]"
    name = LOCATION.sub("", text.split(": ", 1)[1])
    return None if name == "???" else name


class Moment:
    """Bytes by function: of those next to the root, and of the outermost."""

    def __init__(self):
        self.total = 0
        self.near, self.far = collections.Counter(), collections.Counter()

    def add_row(self, depth, callers, size, text):
        if depth == 1:
            self.near[name_of(text)] += size
        if depth and callers == 0:
            self.far[name_of(text)] += size


def moments(path):
    """{event: Moment} of those with a tree; of a file without any, the largest: the peak."""
    all_of_them = []
    found, now = {}, None
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        key, _, value = line.rstrip("\n").partition("=")
        row = ROW.match(line.rstrip("\n"))
        if key == "snapshot":
            now, number = Moment(), value
            all_of_them.append(now)
        elif key in ("mem_heap_B", "mem_heap_extra_B", "mem_stacks_B"):
            now.total += int(value)
        elif key == "heap_tree" and value != "empty":
            event = "peak" if value == "peak" else f"snapshot {number}"
            found[event] = now
        elif row:
            now.add_row(len(row[1]), int(row[2]), int(row[3]), row[4])
    if not found:
        found["peak"] = max(all_of_them, key=lambda moment: moment.total)
        found["peak"].near = found["peak"].far = None
    return found


def folded(path, event):
    """[(stack, bytes)]"""
    status, out, err = tap.run([tap.STOKE, "fold", "-q", "--keep-arguments", "--event", event,
                                path])
    if status:
        raise RuntimeError(err.decode())
    lines = out.decode("utf-8", "surrogateescape").splitlines()
    return [(stack.replace("_[i]", "").split(";"), int(size)) for stack, _, size in
            (line.rpartition(" ") for line in lines)]


def is_nameless(name):
    return name.startswith("[") and name != "[below the threshold]"


def compared(expected, stacks, end):
    got = collections.Counter()
    for stack, size in stacks:
        if not (len(stack) == 1 and stack[0].strip("[]") in OTHERS):
            got[None if is_nameless(stack[end]) else stack[end]] += size
    expected = +expected
    return [f"{name}: {got[name]}, not {expected[name]}" for name in got.keys() | expected.keys()
            if got[name] != expected[name]]


def check(report, path):
    wrong = []
    found = moments(path)
    for event, moment in found.items():
        if moment.total == 0:
            continue
        stacks = folded(path, event)
        total = sum(size for _, size in stacks)
        if total != moment.total:
            wrong.append(f"{event}: {total} bytes, not {moment.total}")
        ends = ((-1, moment.near), (0, moment.far)) if moment.near is not None else ()
        for end, expected in ends:
            wrong += [f"{event}: {line}" for line in compared(expected, stacks, end)]
    report.result(f"{os.path.basename(path)}: {len(found)} moments", "\n".join(wrong))


PROGRAM = r"""
#include <stdlib.h>
__attribute__((noinline)) void *thirty(void) { void *p = malloc(30000); return p; }
__attribute__((noinline)) void *seventy(void) { void *p = malloc(70000); return p; }
int main(void)
{
    void *volatile live[3] = {thirty(), seventy(), thirty()};
    for (int i = 0; i < 3; i++)
        free(live[i]);
    return 0;
}
"""


def check_here(report):
    """What valgrind's of this machine writes of a program that has 130,000 bytes."""
    if not shutil.which("valgrind") or not shutil.which("cc"):
        report.skip("a program run here", "no valgrind, or no compiler")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, program, out = (os.path.join(folder, name)
                                for name in ("heap.c", "heap", "massif.out"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for command in (["cc", "-O1", "-g", "-fno-optimize-sibling-calls", "-o", program,
                         source],
                        ["valgrind", "-q", "--tool=massif", f"--massif-out-file={out}",
                         program]):
            status, _, err = tap.run(command)
            if status:
                raise RuntimeError(err.decode())
        stacks = {tuple(stack): size for stack, size in folded(out, "peak")}
    sizes = {stack[-1]: size for stack, size in stacks.items() if stack[-2:-1] == ("main",)}
    report.result("a program run here: each function has what it allocated",
                  "" if sizes == {"thirty": 60000, "seventy": 70000} else str(stacks))


class Replay:
    """heaptrack's events: the number and the bytes of the allocations of each stack."""

    def __init__(self, path):
        self.sizes, self.stacks, self.changes = [], [], []
        addresses, calls = [()], [()]
        for line in open(path, encoding="utf-8"):
            words = line.split() or ["#"]
            if words[0] == "i":  # a module, and the functions' names
                addresses.append((words[2], *words[3::3]))
            elif words[0] == "t":
                calls.append((*calls[int(words[2], 16)], addresses[int(words[1], 16)]))
            elif words[0] == "a":
                self.sizes.append(int(words[1], 16))
                self.stacks.append(calls[int(words[2], 16)])
            elif words[0] in "+-":
                self.changes.append((words[0], int(words[1], 16)))

    def live(self, count):
        """The live memory after that number of changes: {allocation: bytes}"""
        live = collections.Counter()
        for what, number in self.changes[:count]:
            live[number] += self.sizes[number] if what == "+" else -self.sizes[number]
        return live

    def peak(self):
        now, most, at = 0, 0, 0
        for i, (what, number) in enumerate(self.changes):
            now += self.sizes[number] if what == "+" else -self.sizes[number]
            if now > most:
                most, at = now, i + 1
        return self.live(at)

    def values(self):
        """{event: {allocation: value}}"""
        made = [number for what, number in self.changes if what == "+"]
        pairs = zip(self.changes, self.changes[1:])
        return {"peak": self.peak(), "leaked": self.live(None),
                "allocated": sum((collections.Counter({n: self.sizes[n]}) for n in made),
                                 collections.Counter()),
                "allocations": collections.Counter(made),
                "temporary": collections.Counter(
                    a[1] for a, b in pairs if a[0] == "+" and b == ("-", a[1]))}

    def by_stack(self, values):
        """The sums of those with the same functions."""
        found = collections.Counter()
        for number, value in values.items():
            found[self.stacks[number]] += value
        return sorted(value for value in found.values() if value)


def check_heaptrack(report, path):
    replay, wrong = Replay(path), []
    for event, values in replay.values().items():
        expected = replay.by_stack(values)
        got = sorted(size for _, size in folded(path, event))
        if got != expected:
            wrong.append(f"{event}: {got}, not {expected}")
    report.result(f"heaptrack: {len(replay.changes)} events", "\n".join(wrong))


def main():
    report = tap.Tap()
    for name in ("pages", "plain", "stacks"):
        check(report, os.path.join(OURS, "massif", name + ".in"))
    theirs = sorted(glob.glob(os.path.join(tap.CORPUS, "massif", "massif.out.*")))
    if not theirs:
        report.skip("the corpus's files", "no corpus")
    for path in theirs:
        check(report, path)
    check_here(report)
    check_heaptrack(report, os.path.join(OURS, "heaptrack", "plain.in"))
    report.done()


main()
