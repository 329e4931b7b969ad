#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares src/unwind with other tools: all rows of this machine's binaries with readelf; stacks of
small programs, built in several ways and recorded here, with libdwfl and `perf script`.

unwind.py ROWS COMPARE [FILE...]: the programs of tests/unwind/rows.c and compare.c; COMPARE is
empty without libdw. A FILE can be a recording."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

ROWS, COMPARE = sys.argv[1:3]
VICTIM = os.path.join(tap.SOURCE_ROOT, "tests", "unwind", "victim.cc")
WRONG_SHOWN = 10

# DWARF's numbers of x86-64's registers, as readelf calls them.
NUMBERS = {name: number for number, name in enumerate(
    "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra".split())}
ARM_NUMBERS = {f"x{i}": i for i in range(31)} | {"sp": 31, "ra": 30}

FDE = re.compile(r"^([0-9a-f]{8}) \S+ \S+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)$")
ENTRY = re.compile(r"^[0-9a-f]{8} \S+ \S+ (FDE|CIE|ZERO)")
ROW = re.compile(r"^[0-9a-f]{16} ")
CFA = re.compile(r"^(\w+)([+-]\d+)$")


def lines_of(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, errors="replace")
    yield from process.stdout
    if process.wait() != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")


def readelf_rule(column, rule, numbers):
    """A rule in our words; empty where nothing is said."""
    if rule == "u":
        return ""
    if rule in ("s", "exp", "vexp") or rule[0] in "cv":
        return f"{numbers[column]}={rule}"
    return f"{numbers[column]}={rule}"


def readelf_row(columns, fields, numbers):
    match = CFA.match(fields[1])
    cfa = f"{numbers[match[1]]}{match[2]}" if match else fields[1]
    rules = (readelf_rule(c, r, numbers) for c, r in zip(columns, fields[2:])
             if c in numbers)  # not those of vectors
    return f"{int(fields[0], 16):x} {' '.join([cfa, *filter(None, rules)])}"


def readelf_fdes(path, section, numbers):
    """(offset, start, end, rows): rows only where the FDE's program says something.

    readelf prints a row when the program moves on, so one that moves by nothing gives two
    for one address: the last counts. It also prints rows for what lies at the end."""
    offset = columns = rows = None
    expected = False
    for line in lines_of("readelf", "--debug-dump=frames-interp,no-follow-links", "-W", path):
        if line.startswith("Contents of the "):
            expected = line.startswith(f"Contents of the {section} ")
        if not expected or not line.strip():
            continue
        match = FDE.match(line)
        if match:
            if offset is not None:
                yield offset, start, end, rows
            offset, start, end = (int(match[i], 16) for i in (1, 2, 3))
            rows = {}
        elif ENTRY.match(line):
            if offset is not None:
                yield offset, start, end, rows
            offset = None
        elif line.startswith("   LOC"):
            columns = line.split()[2:]
        elif offset is not None and ROW.match(line):
            fields = re.sub(r"(r\d+) \(\w+\)", r"\1", line).split()
            at = int(fields[0], 16)
            if at < end:
                rows[at] = readelf_row(columns, fields, numbers)
    if offset is not None:
        yield offset, start, end, rows


def our_fdes(path, kind):
    """The same from our reader; undefined is omitted: in the output of readelf it is the same as
    no rule."""
    head = None
    for line in lines_of(ROWS, kind, path):
        if line.startswith("@"):
            if head:
                yield *head, rows
            head = [int(word, 16) for word in line.split()[1:]]
            rows = {}
        elif head and line[0] != "l":
            rest = re.sub(r" \d+=u\b", "", line.rstrip("\n"))
            rows[int(line.split()[0], 16)] = rest
    if head:
        yield *head, rows


def compare(path, section, kind, numbers):
    """(what is wrong, FDEs, rows)"""
    wrong, fdes, count = [], 0, 0
    theirs = {fde[0]: fde for fde in readelf_fdes(path, section, numbers)}
    for offset, start, end, rows in our_fdes(path, kind):
        fdes += 1
        their = theirs.pop(offset, None)
        if not their or their[1:3] != (start, end):
            wrong.append(f"FDE {offset:x}: {start:x}..{end:x}, readelf: {their and their[1:3]}")
            continue
        their_rows = their[3]
        count += len(rows)
        if their_rows and their_rows != rows:
            at = min(a for a in rows.keys() | their_rows.keys()
                     if rows.get(a) != their_rows.get(a))
            wrong.append(f"FDE {offset:x} at {at:x}: {rows.get(at)!r}, "
                         f"readelf: {their_rows.get(at)!r}")
        if not their_rows and len(rows) != 1:
            wrong.append(f"FDE {offset:x}: rows that readelf has not")
    wrong += [f"FDE {offset:x} is missing" for offset, fde in theirs.items()
              if fde[1] < fde[2]]
    return wrong, fdes, count


def shown(wrong, count):
    if count == 0:
        return "nothing was compared"
    return "\n".join(wrong[:WRONG_SHOWN] + [f"{len(wrong)} in all"] if wrong else [])


def binaries():
    found = ["/usr/lib/x86_64-linux-gnu/libc.so.6",
             "/lib64/ld-linux-x86-64.so.2",
             "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
             "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
             "/usr/lib/x86_64-linux-gnu/libzstd.so.1",
             shutil.which("perf"), shutil.which("python3"),
             *glob.glob("/usr/lib/gcc/x86_64-linux-gnu/*/libgcc_s.so.1")]
    return [path for path in found if path and os.path.exists(path)]


def check_rows(report, path, name=None, section=".eh_frame", numbers=NUMBERS):
    kind = "debug" if section == ".debug_frame" else "eh"
    wrong, fdes, rows = compare(path, section, kind, numbers)
    report.result(f"{name or path}: {rows} rows of {fdes} FDEs as readelf's",
                  shown(wrong, rows))


SOURCE = """
extern int elsewhere(void *, ...);
int leaf(int n) { return n * 7; }
int one(int n) { return elsewhere(&n) + leaf(n); }
int many(int a, int b, int c, int d)
{
    int x = elsewhere(0, a), y = elsewhere(&x, b), z = elsewhere(&y, c);
    return x + y + z + a * b + c * d + elsewhere(&z);
}
int large(int n) { char bytes[100000]; elsewhere(bytes); return bytes[n]; }
int variable(int n) { char bytes[n]; elsewhere(bytes); return bytes[n / 2]; }
double floats(double a)
{
    double x = elsewhere(&x), y = elsewhere(&y), z = elsewhere(&z);
    return a * x + y * z + elsewhere(0);
}
"""

DEBUG_FRAME = ["-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
               "-fno-exceptions"]
ARM = ["clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-O2"]

# Sections that this machine's own binaries have not.
MADE = [
    (["gcc", "-O2", *DEBUG_FRAME], ".debug_frame", NUMBERS),
    (["clang", "-O2", "-gdwarf-5", *DEBUG_FRAME], ".debug_frame", NUMBERS),
    (["gcc", "-O2", "-gdwarf64", "-gdwarf-4", *DEBUG_FRAME], ".debug_frame", NUMBERS),
    (["gcc", "-O2", "-gz", *DEBUG_FRAME], ".debug_frame", NUMBERS),
    (ARM, ".eh_frame", ARM_NUMBERS),
    ([*ARM, "-mbranch-protection=pac-ret+leaf"], ".eh_frame", ARM_NUMBERS),
    ([*ARM, "-O0"], ".eh_frame", ARM_NUMBERS),
    ([*ARM, "-fomit-frame-pointer"], ".eh_frame", ARM_NUMBERS),
    ([*ARM, *DEBUG_FRAME], ".debug_frame", ARM_NUMBERS),
]


def check_made(report):
    for build, section, numbers in MADE:
        name = f"{' '.join(build)}, {section}"
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "made.so")
            if not shutil.which(build[0]):
                report.skip(name, "no " + build[0])
                continue
            status, _, err = tap.run([*build, "-nostdlib", "-shared", "-fPIC", "-x", "c",
                                      "-", "-o", made], input=SOURCE.encode())
            if status != 0:
                why = err.decode().split("\n")[0]
                report.skip(name, f"it cannot be built: {why}")
                continue
            check_rows(report, made, name, section, numbers)
            check_table(report, made, name)


def check_table(report, path, name=None):
    status, out, err = tap.run([ROWS, "table", path])
    said = out.decode().splitlines()
    report.result(f"{name or path}: the table: {said[0] if said else ''}",
                  (out + err).decode() or "it crashed" if status != 0 else "")


# --- Stacks -------------------------------------------------------------------------

# How the victim is built: each makes other prologues, stubs, and frame pointers.
BUILDS = [
    ["g++", "-O2"],
    ["g++", "-O0"],
    ["g++", "-O2", "-fno-omit-frame-pointer"],
    ["g++", "-O3", "-fno-plt", "-mno-red-zone", "-Wl,-z,now"],
    ["g++", "-O2", "-static"],
    ["clang++", "-O2"],
    ["clang++", "-O1", "-fno-omit-frame-pointer"],
]


def perf_stacks(path):
    """{time: addresses}: what perf makes of the user's part of each stack."""
    status, out, err = tap.run(["perf", "script", "-i", path, "--no-inline", "--ns", "-F",
                                "time,ip"])
    if status != 0:
        raise RuntimeError(err.decode())
    stacks = {}
    for block in out.decode().split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        time = head.strip().rstrip(":").replace(".", "")
        if time.isdigit():
            addresses = [line.strip() for line in lines]
            stacks[int(time)] = [a for a in addresses if not a.startswith("ffffffff")]
    return stacks


def contains(ours, theirs):
    """Whether all of theirs are among ours, in their order."""
    rest = iter(ours)
    return all(address in rest for address in theirs)


BAD_RULE = "3"  # enum unwind_end
RARE = 2  # stacks: a busy machine gives the program few samples


def compare_perf(path):
    """(what is wrong, samples): frames of perf's that are missing. We may have more (see
    compare.c), but not less, unless it is said that a rule was bad."""
    theirs = perf_stacks(path)
    wrong, count = [], 0
    status, out, err = tap.run([COMPARE, "offsets", path])
    for line in out.decode().splitlines():
        time, end, *ours = line.split()
        their = theirs.get(int(time))
        if not their:  # two at one time, or a dump that perf gave up at once
            continue
        count += 1
        if end == BAD_RULE and len(their) == len(ours) + 1:  # perf shows what it read
            their.pop()
        if not contains(ours, their) and not (len(ours) == 1 and end == BAD_RULE):
            wrong.append(f"at {time}: {' '.join(ours)}\n  perf: {' '.join(their)}")
    allowed = RARE + count // 1000
    if status == 0 and count > RARE and len(wrong) <= allowed:
        for line in "\n".join(wrong).splitlines():
            print("#", line)
        return "", count
    return shown(wrong, count) + err.decode(), count


def check_recording(report, name, path):
    status, out, err = tap.run([COMPARE, "same", path])
    lines = (out + err).decode().splitlines()
    report.result(f"{name}: {lines[-1] if lines else ''}",
                  "\n".join(lines[-4 * WRONG_SHOWN:]) if status != 0 or not lines else "")
    wrong, count = compare_perf(path)
    report.result(f"{name}: {count} stacks are those of perf script", wrong)


def record(folder, build):
    """A recording of the victim; None where it cannot be made."""
    program, data = os.path.join(folder, "victim"), os.path.join(folder, "perf.data")
    status, _, err = tap.run([*build, "-pthread", VICTIM, "-o", program])
    if status != 0:
        return None, "it cannot be built: " + err.decode().split("\n")[0]
    status, _, err = tap.run(["perf", "record", "-q", "-F", "1999", "--call-graph",
                              "dwarf,32768", "-o", data, program, "600"])
    if status != 0 or not os.path.exists(data):
        return None, "perf cannot record: " + err.decode().strip().split("\n")[-1]
    return data, ""


def check_stacks(report):
    for build in BUILDS:
        name = " ".join(build)
        missing = [tool for tool in (build[0], "perf") if not shutil.which(tool)]
        if not COMPARE or missing:
            report.skip(name, f"no {missing[0]}" if missing else "no libdw-dev")
            continue
        with tempfile.TemporaryDirectory() as folder:
            data, why = record(folder, build)
            if data:
                check_recording(report, name, data)
            else:
                report.skip(name, why)


def is_recording(path):
    with open(path, "rb") as file:
        return file.read(8) == b"PERFILE2"


def main():
    report = tap.Tap()
    paths = sys.argv[3:] or binaries()
    if not shutil.which("readelf"):
        report.skip("rows", "there is no readelf (package binutils)")
        paths = []
    for path in paths:
        if is_recording(path):
            check_recording(report, path, path)
            continue
        check_rows(report, path)
        check_table(report, path)
    if not sys.argv[3:]:
        if shutil.which("readelf"):
            check_made(report)
        check_stacks(report)
    report.done()


main()
