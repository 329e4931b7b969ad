#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Go programs without symbols and DWARF: the result of Go's own table equals the DWARF of the same
program before it was stripped. go_program.py generates tables of Go versions that are not
installed.

go_table.py NAMES LINES ROWS: the programs of tests/symbol and tests/unwind."""

import bisect
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import go_program
import tap

NAMES, LINES, ROWS = sys.argv[1:4]
SHOWN = 6
STEP = 7  # bytes between the addresses that are compared
EXPECTED = 0.999  # Go's DWARF leaves out what methods of embedded types are inlined into
DAMAGES = 150
RULES_DIFFER = 64  # bytes: after the last assembly instruction that changes the stack pointer

SOURCE = """package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type tree struct {
	left, right *tree
	key         int
}

func less(a, b int) bool { return a < b }

func (t *tree) insert(key int) *tree {
	if t == nil {
		return &tree{key: key}
	}
	if less(key, t.key) {
		t.left = t.left.insert(key)
	} else {
		t.right = t.right.insert(key)
	}
	return t
}

func apply[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

//go:noinline
func work(n int) int {
	var root *tree
	for i := 0; i < n; i++ {
		root = root.insert(i * 7919 % 10007)
	}
	sizes := apply(strings.Fields("a bc def"), func(s string) int { return len(s) })
	sort.Slice(sizes, func(i, j int) bool { return less(sizes[j], sizes[i]) })
	return sizes[0] + root.key
}

func main() {
	sum := 0
	for i := 0; i < 1500; i++ {
		sum += work(2000)
	}
	fmt.Fprintln(os.Stderr, sum)
}
"""

# name, flags of go build, architecture; "llvm-strip" strips what go build made, and leaves
# the sections with wrong names
BUILDS = [("executable", [], "amd64"), ("position independent", ["-buildmode=pie"], "amd64"),
          ("linked by ld", ["-ldflags=-linkmode=external"], "amd64"),
          ("position independent, linked by ld",
           ["-buildmode=pie", "-ldflags=-linkmode=external"], "amd64"),
          ("AArch64", [], "arm64"), ("AArch64, by llvm-strip", [], "arm64"),
          ("by llvm-strip", [], "amd64"),
          ("paths trimmed", ["-trimpath"], "amd64")]


def output(args, text=None):
    done = subprocess.run(args, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args)}: {done.stderr[-400:]}")
    return done.stdout


def symbols(path):
    rows = (row.split(" ", 2) for row in output([NAMES, "symtab", path]).splitlines())
    return [(int(a, 16), int(b, 16), name) for a, b, name in rows]


def frames(path, addresses, *options):
    """{address: [function, location, ...]}"""
    text = "".join(f"{a:x}\n" for a in addresses)
    parts = re.split(r"(?m)^0x([0-9a-f]+)\n", output([LINES, *options, path], text))[1:]
    return {int(a, 16): tuple(plain(line) for line in body.splitlines())
            for a, body in zip(parts[::2], parts[1::2])}


def plain(line):
    """Names of the table have no type arguments, its paths no folder of the compiler."""
    return re.sub(r"\[.*\]", "[...]", line.removeprefix("./"))


def stack_rules(path):
    """The rules of call frame information by address: starts, rules."""
    points, end = {}, None
    for line in output([ROWS, "debug", path]).splitlines():
        if line.startswith("left out"):
            continue
        if line[0] == "@":
            if end is not None:
                points.setdefault(end, None)
            end = int(line.split()[3], 16)
            continue
        start, rule = line.split(" ", 1)
        points[int(start, 16)] = rule.replace(" 31=v+0", "")
    points.setdefault(end, None)
    starts = sorted(points)
    return starts, [points[start] for start in starts]


def at(table, address):
    i = bisect.bisect_right(table[0], address) - 1
    return table[1][i] if i >= 0 else None


# --- Comparing -------------------------------------------------------------------------

def check_names(report, name, full, bare):
    expected = {}
    for row in output(["nm", full]).splitlines():
        field = row.split(None, 2)
        if len(field) == 3 and field[1] in "tT":
            expected.setdefault(int(field[0], 16), set()).add(
                re.sub(r"\[.*\]", "[...]", field[2].removesuffix(".abi0")))
    found = [s for s in symbols(bare) if "." in s[2][1:] and not s[2].endswith("@plt")]
    wrong = [f"{a:x} {n}: {expected.get(a)}" for a, _, n in found
             if a in expected and n not in expected[a]]
    few = len(found) < 1000 or len([s for s in found if s[0] in expected]) < 0.99 * len(found)
    report.result(f"{name}: {len(found)} functions as nm has them",
                  "\n".join(wrong[:SHOWN]) or ("too few" if few else ""))
    return [s for s in found if s[0] in expected]


def check_frames(report, name, full, bare, found):
    addresses = [a for start, end, _ in found for a in range(start, end, STEP)]
    expected = frames(full, addresses)
    ours = frames(bare, addresses, "-g")
    known = [a for a in addresses if expected[a][0] != "??"]
    wrong = [a for a in known if ours[a] != expected[a]]
    inlined = sum(len(ours[a]) > 2 for a in known)
    share = 1 - len(wrong) / max(1, len(known))
    why = "".join(f"{a:x}\n  DWARF {expected[a]}\n  table {ours[a]}\n" for a in wrong[:SHOWN])
    report.result(f"{name}: {len(known)} addresses, {inlined} inlined, {100 * share:.2f}% "
                  "as DWARF has them", "" if share > EXPECTED and inlined > 1000 else why)


def check_rules(report, name, full, bare):
    """Go's linker sets sizes one byte smaller, and does not mark uncalled functions."""
    expected, ours = stack_rules(full), stack_rules(bare)
    points = sorted(set(expected[0]) | set(ours[0]))
    compared, differ, wrong = 0, 0, []
    for start, end in zip(points, points[1:]):
        want, got = at(expected, start), at(ours, start)
        top = got and re.search(r"(16|30)=u", got)
        if want is None or end - start == 1 or top:
            continue
        compared += end - start
        if want != got:
            differ += end - start
            wrong.append(f"{start:x}-{end:x} DWARF {want} table {got}")
    report.result(f"{name}: rules of {compared} bytes of code as DWARF has them",
                  "\n".join(wrong[:SHOWN]) if differ > RULES_DIFFER or compared < 100000
                  else "")


def build(folder, number, flags, machine):
    """A program and its stripped twin, whose code is the same."""
    source = os.path.join(folder, "main.go")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    env = dict(os.environ, GO111MODULE="off", GOARCH=machine, GOFLAGS="",
               CGO_ENABLED="1" if machine == "amd64" else "0")
    env.setdefault("HOME", folder)
    paths = []
    for way, more in (("full", ""), ("bare", "-s -w")):
        path = os.path.join(folder, f"{way}-{number}")
        given = [f for f in flags if not f.startswith("-ldflags=")]
        linker = " ".join([f[9:] for f in flags if f.startswith("-ldflags=")] + [more])
        done = subprocess.run(["go", "build", *given, f"-ldflags={linker}", "-o", path, source],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, cwd=folder)
        if done.returncode:
            raise RuntimeError(done.stdout.strip()[-200:].replace("\n", " "))
        paths.append(path)
    return paths


def same_code(full, bare):
    """Whether the code has the same addresses; without DWARF the linker may change them."""
    ranges = [re.search(r" \.text .*", output(["readelf", "-SW", path]))[0]
             for path in (full, bare)]
    return ranges[0] == ranges[1]


def check_build(report, folder, number, build_of):
    name, flags, machine = build_of
    try:
        full, bare = build(folder, number, flags, machine)
    except RuntimeError as error:
        report.skip(name, str(error))
        return
    if name.endswith("llvm-strip"):
        if not shutil.which("llvm-strip"):
            report.skip(name, "llvm-strip is missing")
            return
        bare = full + "-stripped"
        output(["llvm-strip", "-o", bare, full])
    elif machine == "amd64":  # then the code is the same, also if the linker was ld
        bare = full + "-stripped"
        output(["strip", "-o", bare, full])
    elif not same_code(full, bare):
        report.skip(name, "the linker has changed the addresses of the code")
        return
    found = check_names(report, name, full, bare)
    check_frames(report, name, full, bare, found)
    check_rules(report, name, full, bare)


# --- The command line ------------------------------------------------------------------

def check_recording(report, folder):
    """Stacks, names and source lines of a stripped program: as recorded, and with stacks from
    dumps."""
    bare = os.path.join(folder, "bare-0")
    for how in ("fp", "dwarf"):
        data = os.path.join(folder, how + ".data")
        name = f"a stripped program recorded with -g {how}"
        done = subprocess.run([tap.STOKE, "record", "-q", "-F", "2999", "-g", how, "-o", data,
                               bare], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode:
            report.skip(name, done.stderr.strip()[-100:].replace("\n", " "))
            continue
        folded = output([tap.STOKE, "fold", data])
        stacks = [line for line in folded.splitlines() if "main.(*tree).insert" in line]
        whole = [line for line in stacks if "runtime.main;main.main;main.work;" in line]
        weights = [sum(int(line.rpartition(" ")[2]) for line in lines) for lines in (whole, stacks)]
        report.result(f"{name}: {len(stacks)} stacks, {weights[0]} of {weights[1]} are whole",
                      "" if stacks and weights[0] >= 0.9 * weights[1] else folded[:2000])
        listed = output([tap.STOKE, "annotate", "main.(*tree).insert", data])
        report.result(f"{name}: source lines", "" if "if less(key, t.key) {" in listed else
                      listed[:2000])


# --- Tables that are made --------------------------------------------------------------

EXPECTED_FRAMES = {
    0x401000: ("main.main", "/src/main.go:10"),
    0x40101d: ("main.main", "/src/main.go:12"),
    0x401030: ("main.helper", "/src/help.go:33", "main.main", "/src/main.go:12"),
    0x401050: ("main.(*T).work", "/src/main.go:41"),
    0x401065: ("runtime.goexit", "/src/main.go:7"),
    0x401070: ("??", "??:0")}


def expected_frames(version, address):
    expected = EXPECTED_FRAMES[address]
    if version == "1.2" and len(expected) > 2:  # whose tree is not read
        return ("main.main", expected[1])
    return expected


def check_versions(report, folder):
    for version in go_program.VERSIONS:
        path = os.path.join(folder, version)
        with open(path, "wb") as file:
            file.write(go_program.program(version))
        got = frames(path, EXPECTED_FRAMES, "-g")
        expected = {a: expected_frames(version, a) for a in EXPECTED_FRAMES}
        names = [name for _, _, name in symbols(path)]
        same = got == expected and names == ["main.main", "main.(*T).work", "runtime.goexit"]
        report.result(f"a table of Go {version}", "" if same else f"{got}\n{names}")
        rules = stack_rules(path)
        found = [at(rules, a) for a in (0x401000, 0x401020, 0x40103e, 0x401068)]
        last = "7+8 16=c-8" if version == "1.2" else "7+8 16=u"
        report.result(f"rules of the stack of Go {version}", "" if found == [
            "7+8 16=c-8", "7+40 16=c-8", "7+8 16=c-8", last] else str(found))


def check_damage(report, folder):
    """Bytes that are wrong, and files that end early, are no crash."""
    chance = random.Random(5)
    wrong = []
    path = os.path.join(folder, "damaged")
    text = "".join(f"{a:x}\n" for a in EXPECTED_FRAMES)
    for number in range(DAMAGES):
        image = bytearray(go_program.program(chance.choice(go_program.VERSIONS)))
        for _ in range(chance.randrange(1, 6)):
            image[chance.randrange(64, len(image))] = chance.choice((0, 1, 127, 128, 255))
        with open(path, "wb") as file:
            file.write(image[:chance.randrange(64, len(image))] if number % 4 == 0 else image)
        for command in ([NAMES, "symtab", path], [LINES, "-g", path], [ROWS, "debug", path]):
            done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=tap.TIMEOUT, check=False)
            if done.returncode not in (0, 1, 2):
                wrong.append(f"{number}: {command[1]} {done.returncode} {done.stderr[-300:]}")
    report.result(f"{DAMAGES} damaged tables", "\n".join(wrong[:SHOWN]))


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        check_versions(report, folder)
        check_damage(report, folder)
        missing = [p for p in ("go", "nm", "strip", "readelf") if not shutil.which(p)]
        if missing:
            report.skip("programs", missing[0] + " is missing")
            report.done()
        for number, build_of in enumerate(BUILDS):
            check_build(report, folder, number, build_of)
        check_recording(report, folder)
    report.done()


main()
