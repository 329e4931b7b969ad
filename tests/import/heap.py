#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares heap profiles of other tools with an independent reader.

massif: the totals of each snapshot with a tree, of each allocating function, and of the outermost
callers, for the files of the tests and the corpus, and for a program under valgrind if it is
installed. heaptrack: its events are replayed one by one. jemalloc, tcmalloc: the bytes of a
program with known allocations, by function, if the allocators are installed. Reports of leaks: the
sums that they state.

What stoke writes as massif's format has the same peak as its input, and ms_print reads it."""

import collections
import glob
import os
import re
import shutil
import subprocess
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


ALLOCATING = """
#include <stdlib.h>
void *keep[4000];
int used;
__attribute__((noinline)) void few(void)
{
    for (int i = 0; i < 3; i++)
        keep[used++] = malloc(1 << 20);
}
__attribute__((noinline)) void many(void)
{
    for (int i = 0; i < 1000; i++)
        keep[used++] = malloc(100);
}
__attribute__((noinline)) void freed(void)
{
    for (int i = 0; i < 50; i++) {
        void *volatile p = malloc(5000);
        free(p);
    }
}
int main(void)
{
    few();
    many();
    freed();
    return 0;
}
"""

# Every allocation is recorded. The file, the variable that says where to write, and the bytes that
# each function allocated; jemalloc counts the sizes of its classes.
ALLOCATORS = {
    "jemalloc": ("libjemalloc.so.2", "MALLOC_CONF",
                 "prof:true,prof_final:true,prof_accum:true,lg_prof_sample:0,prof_prefix:",
                 {"few": 3 << 20, "many": 112_000, "freed": 256_000}),
    "tcmalloc": ("libtcmalloc.so.4", "HEAPPROFILE", "",
                 {"few": 3 << 20, "many": 100_000, "freed": 250_000}),
}


def library(name):
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":") + glob.glob("/usr/lib/*-linux-gnu")
    paths = [os.path.join(folder, name) for folder in folders if folder]
    return next((path for path in paths if os.path.exists(path)), None)


def by_function(path, event, names):
    found = collections.Counter()
    for stack, size in folded(path, event):
        found[stack[-1]] += size
    return {name: found[name] for name in names if found[name]}


def check_allocator(report, folder, name):
    file, variable, value, allocated = ALLOCATORS[name]
    path = library(file)
    if not path:
        report.skip(name, f"no {file}")
        return
    prefix = os.path.join(folder, "heap")
    subprocess.run([os.path.join(folder, "program")], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL,
                   env={**os.environ, variable: value + prefix, "LD_PRELOAD": path})
    profiles = glob.glob(prefix + "*")
    if not profiles:
        report.skip(name, f"{file} is built without profiles")
        return
    in_use = {function: allocated[function] for function in ("few", "many")}
    wrong = []
    for event, expected in (("inuse_space", in_use), ("alloc_space", allocated)):
        got = by_function(profiles[0], event, allocated)
        if got != expected:
            wrong.append(f"{event}: {got}, not {expected}")
    report.result(f"{name}: bytes by function", "\n".join(wrong))


def check_allocators(report):
    if not shutil.which("cc"):
        report.skip("allocators", "no cc")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "program.c"), os.path.join(folder, "program")
        with open(source, "w", encoding="utf-8") as out:
            out.write(ALLOCATING)
        subprocess.run(["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", program, source],
                       check=True)
        for name in ALLOCATORS:
            with tempfile.TemporaryDirectory(dir=folder) as own:
                os.link(program, os.path.join(own, "program"))
                check_allocator(report, own, name)


def written_wrong(written, source):
    """What is wrong with a file in massif's format that stoke wrote of the source."""
    peak = moments(written)["peak"]
    sums = collections.Counter()
    for stack, size in folded(source, "peak"):
        if stack[0].strip("[]") not in OTHERS:
            sums[stack[-1]] += size
    least = sums.total() * 0.01  # massif's threshold
    expected = {name: size for name, size in sums.items()
                if size >= least and not is_nameless(name)}
    near = {name: size for name, size in peak.near.items() if name in expected}
    if near != expected:
        return f"{near}, not {expected}"
    if not shutil.which("ms_print"):
        return ""
    status, out, err = tap.run(["ms_print", written])
    if status or err or b"(peak)" not in out:
        return f"ms_print: {status} {err.decode()}"
    return ""


def check_written(report, name):
    source = os.path.join(OURS, name + ".in")
    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "out.massif")
        status, _, err = tap.run([tap.STOKE, "convert", "-q", "--srcline", "--keep-arguments",
                                  source, "-o", written])
        report.result(f"{name} as massif",
                      err.decode() if status else written_wrong(written, source))


STATED_SUM = re.compile(r"(?:(definitely|indirectly|possibly) lost: ([0-9,]+) bytes|"
                        r"SUMMARY: \w+: (\d+) byte\(s\) leaked)")


def check_leaks(report):
    """Whether records of indirect leaks are there or not, the sum is that of all leaks."""
    for name in ("memcheck", "direct", "sanitizer"):
        path = os.path.join(OURS, "leaks", name + ".in")
        text = open(path, encoding="utf-8").read()
        stated = sum(int((match[2] or match[3]).replace(",", "")) for match in STATED_SUM.finditer(text))
        got = sum(size for _, size in folded(path, "leaked"))
        report.result(f"leaks/{name}: the stated sum", "" if got == stated else f"{got}, not {stated}")


def main():
    report = tap.Tap()
    check_leaks(report)
    for name in ("pages", "plain", "stacks"):
        check(report, os.path.join(OURS, "massif", name + ".in"))
    theirs = sorted(glob.glob(os.path.join(tap.CORPUS, "massif", "massif.out.*")))
    if not theirs:
        report.skip("the corpus's files", "no corpus")
    for path in theirs:
        check(report, path)
    check_here(report)
    check_heaptrack(report, os.path.join(OURS, "heaptrack", "plain.in"))
    for name in ("massif/plain", "massif/stacks", "heaptrack/plain"):
        check_written(report, name)
    check_allocators(report)
    report.done()


main()
