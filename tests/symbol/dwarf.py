#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares src/symbol/dwarf.h with llvm-symbolizer and GNU addr2line: for every seventh byte of the
code of programs that are built here with all variants of compilers and linkers, and of the files
of the machine and the corpus with debug information.

dwarf.py LINES [FILE...]: LINES is the program of tests/symbol/lines.c. STOKE_DWARF_STEP
sets another step than 7.

The test compares complete chains: names, files and lines. Both tools also use names of the symbol
table, so it is removed before. At least 99.9% must be equal."""

import glob
import os
import re
import shutil
import struct
import sys
import tempfile
import zlib

import tap

LINES = sys.argv[1]
STEP = int(os.environ.get("STOKE_DWARF_STEP", "7"))
SOURCES = os.path.join(tap.SOURCE_ROOT, "tests", "symbol", "lines")
ADDRESSES_MAX = 60000
EXPECTED = 0.999
SHOWN = 5

# name, compiler, flags, tools run on the program afterwards
GCC, CLANG = ("gcc", "g++"), ("clang", "clang++")
BUILDS = [
    *((f"{cc[0]} DWARF {v}", cc, ["-O2", f"-gdwarf-{v}"], [])
      for cc in (GCC, CLANG) for v in (2, 3, 4, 5)),
    ("gcc -O0", GCC, ["-O0", "-g"], []),
    ("gcc -O3 static", GCC, ["-O3", "-g", "-static"], []),
    ("gcc -g1", GCC, ["-O2", "-g1"], []),
    ("clang -g1", CLANG, ["-O2", "-g1"], []),
    ("gcc 64-bit DWARF 5", GCC, ["-O2", "-gdwarf-5", "-gdwarf64"], []),
    ("gcc type units", GCC, ["-O2", "-gdwarf-4", "-fdebug-types-section"], []),
    ("gcc -gz", GCC, ["-O2", "-g", "-gz"], []),
    ("gcc -flto", GCC, ["-O2", "-g", "-flto"], []),
    ("clang -flto", CLANG, ["-O2", "-g", "-flto", "-fuse-ld=lld"], []),
    ("gcc dropped sections", GCC,
     ["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"], []),
    ("gcc dropped sections, DWARF 4", GCC,
     ["-O2", "-gdwarf-4", "-ffunction-sections", "-Wl,--gc-sections"], []),
    ("clang dropped sections, lld", CLANG,
     ["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections", "-fuse-ld=lld"], []),
    ("clang dropped sections, lld, DWARF 4", CLANG,
     ["-O2", "-gdwarf-4", "-ffunction-sections", "-Wl,--gc-sections", "-fuse-ld=lld"], []),
    ("clang folded functions, lld", CLANG,
     ["-O2", "-g", "-ffunction-sections", "-Wl,--icf=all", "-fuse-ld=lld"], []),
    ("gcc gold", GCC, ["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections",
                       "-fuse-ld=gold"], []),
    *((f"{cc[0]} split DWARF {v}", cc, ["-O2", f"-gdwarf-{v}", "-gsplit-dwarf"], [])
      for cc in (GCC, CLANG) for v in (4, 5)),
    ("gcc package, DWARF 4", GCC, ["-O2", "-gdwarf-4", "-gsplit-dwarf"], ["dwp"]),
    ("clang package, DWARF 5", CLANG, ["-O2", "-gdwarf-5", "-gsplit-dwarf"], ["llvm-dwp"]),
    ("clang split DWARF with inlining", CLANG,
     ["-O2", "-g", "-gsplit-dwarf", "-fsplit-dwarf-inlining"], []),
    ("gcc dwz", GCC, ["-O2", "-g"], ["dwz"]),
    ("gcc dwz, DWARF 4", GCC, ["-O2", "-gdwarf-4"], ["dwz"]),
    ("gcc dwz common file", GCC, ["-O2", "-g"], ["dwz-multi"]),
]


# --- What the tools say ----------------------------------------------------------------

def parse(text):
    """{address: ((function, "file:line"), ...)} of what addr2line -a -f -i prints."""
    found, frames, function = {}, None, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames = found.setdefault(int(line, 16), [])
            function = None
        elif frames is not None and line and function is None:
            function = line
        elif function is not None:
            line = re.sub(r" \(discriminator \d+\)$", "", line)
            frames.append((function, re.sub(r":\?$", ":0", line)))
            function = None
    return {address: tuple(frames) for address, frames in found.items()}


def ask(command, addresses, prefix):
    text = "".join(f"{prefix}{a:x}\n" for a in addresses)
    return parse(tap.output(command, input=text.encode()))


def code_of(path):
    """[(first address, end)] of the sections with code."""
    found = []
    for line in tap.output(["readelf", "-SW", path]).splitlines():
        match = re.match(r"^\s*\[\s*\d+\] (\.text\S*|\.elsewhere)\s+\w+\s+([0-9a-f]+) "
                         r"[0-9a-f]+ ([0-9a-f]+)", line)
        if match:
            start = int(match[2], 16)
            found.append((start, start + int(match[3], 16)))
    return found


def addresses_of(path):
    parts = code_of(path)
    step = max(STEP, sum(end - start for start, end in parts) // ADDRESSES_MAX)
    return [a for start, end in parts for a in range(start, end, step)]


def without_symbols(path, folder):
    """A copy in which symbol tables (and what refers to them) are just some bytes."""
    with open(path, "rb") as file:
        image = bytearray(file.read())
    big, wide = image[5] == 2, image[4] == 2
    order = ">" if big else "<"
    table, = struct.unpack_from(order + ("Q" if wide else "I"), image, 40 if wide else 32)
    size, count = struct.unpack_from(order + "HH", image, 58 if wide else 46)
    for at in range(table, table + size * count, size):
        if struct.unpack_from(order + "I", image, at + 4)[0] in (2, 4, 9, 11):
            struct.pack_into(order + "I", image, at + 4, 1)
    copy = os.path.join(folder, "bare-" + os.path.basename(path))
    with open(copy, "wb") as file:
        file.write(image)
    return copy


# --- Comparing -------------------------------------------------------------------------

def same_path(one, two):
    """Both tools print "a/../b" unchanged, but LLVM sometimes removes "./"."""
    clean = [re.sub(r"/(\./)+", "/", path) for path in (one, two)]
    return clean[0] == clean[1]


def same_name(ours, theirs):
    """Both tools omit the scope of a function without a linkage name."""
    return ours == theirs or ours.endswith("::" + theirs)


def same_chain(ours, theirs):
    return len(ours) == len(theirs) and all(
        same_name(a[0], b[0]) and same_path(a[1], b[1]) for a, b in zip(ours, theirs))


def compare(path, addresses, other, command, prefix="0x"):
    """Compares with one tool; a message, empty where all is well, and a summary."""
    ours = ask([LINES, *other, path], addresses, "")
    theirs = ask(command, addresses, prefix)
    named = [a for a in addresses if theirs.get(a, (("??", ""),))[0][0] != "??" or
             ours.get(a, (("??", ""),))[0][0] != "??"]
    wrong = [a for a in addresses if not same_chain(ours.get(a, ()), theirs.get(a, ()))]
    inlined = sum(len(ours[a]) > 1 for a in named if a in ours)
    share = 1 - len(wrong) / max(1, len(named))
    summary = f"{len(named)} addresses, {inlined} inlined, {100 * share:.2f}% equal"
    if not named or not inlined:
        return "nothing was compared", summary
    why = "".join(f"{a:x}\n  ours   {ours.get(a)}\n  theirs {theirs.get(a)}\n"
                  for a in wrong[:SHOWN])
    return (f"{summary}\n{why}" if share < EXPECTED else ""), summary


def check(report, name, path, folder, other=(), their_path=None, tool="llvm-addr2line"):
    """`their_path` is the file for the tool, if it is another one."""
    theirs = without_symbols(their_path or path, folder)
    ours = without_symbols(path, folder)
    command = [tool, "-a", "-f", "-i", "-e", theirs]
    why, summary = compare(ours, addresses_of(path), other, command)
    report.result(f"{name}, {tool}: {summary}", why)


# --- Programs built here ---------------------------------------------------------------

def build(compilers, flags, folder):
    """Builds the program in the folder, as relative paths do; its path."""
    cc, cxx = compilers
    for name in ("one.cpp", "two.c", "two.h"):
        shutil.copy(os.path.join(SOURCES, name), folder)
    tap.output([cc, *flags, "-c", "two.c", "-o", "two.o"], cwd=folder)
    tap.output([cxx, *flags, "-std=c++17", "-c", "./one.cpp", "-o", "one.o"], cwd=folder)
    tap.output([cxx, *flags, "-o", "program", "one.o", "two.o"], cwd=folder)
    return os.path.join(folder, "program")


def check_dwz_multi(report, name, path, folder):
    """Two programs whose common entries dwz moves to a third file. The expected output is that of
    the tools for the program before dwz."""
    before, second = path + "-before", path + "-second"
    common = os.path.join(folder, "common.debug")
    shutil.copy(path, before)
    shutil.copy(path, second)
    tap.output(["dwz", "-m", common, path, second], cwd=folder)
    if ".gnu_debugaltlink" in tap.output(["readelf", "-SW", path]):
        check(report, name, path, folder, ["-a", common], before)
    else:
        report.not_ok(name, "dwz made no common file")


def check_package(report, name, path, folder, tool):
    """The data in the package, without .dwo files, equals the data that llvm reads from the .dwo
    files."""
    addresses = addresses_of(path)
    bare = without_symbols(path, folder)
    command = ["llvm-addr2line", "-a", "-f", "-i", "-e", bare]
    theirs = ask(command, addresses, "0x")
    package = os.path.join(folder, "program.dwp")
    tap.output([tool, "-e", path, "-o", package], cwd=folder)
    for dwo in glob.glob(os.path.join(folder, "*.dwo")):
        os.remove(dwo)
    ours = ask([LINES, "-p", package, bare], addresses, "")
    wrong = [a for a in addresses if not same_chain(ours.get(a, ()), theirs.get(a, ()))]
    inlined = sum(len(frames) > 1 for frames in ours.values())
    report.result(f"{name}: {inlined} inlined", "" if inlined and not wrong else
                  f"{len(wrong)} differ" + "".join(
                      f"\n{a:x} {ours[a]} {theirs[a]}" for a in wrong[:SHOWN]))


def check_build(report, name, compilers, flags, tools):
    needed = [compilers[1], *(tool.removesuffix("-multi") for tool in tools)]
    missing = [p for p in needed if not shutil.which(p)]
    if missing:
        report.skip(name, missing[0] + " is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = build(compilers, flags, folder)
        except RuntimeError as error:
            report.skip(name, str(error).replace("\n", " ")[-200:])
            return
        if "dwz-multi" in tools:
            check_dwz_multi(report, name, path, folder)
            return
        if "dwp" in tools or "llvm-dwp" in tools:
            check_package(report, name, path, folder, tools[0])
            return
        if "dwz" in tools:
            tap.output(["dwz", path])
        check(report, name, path, folder)
        if name in ("gcc DWARF 2", "gcc DWARF 4", "gcc DWARF 5"):
            check(report, name, path, folder, tool="addr2line")


def check_rust(report):
    if not shutil.which("rustc"):
        report.skip("rustc", "rustc is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "three")
        tap.output(["rustc", "-g", "-O", "-o", path, os.path.join(SOURCES, "three.rs")])
        check(report, "rustc", path, folder)


def check_names(report, flags):
    """Inlined functions of named.cpp have the same names as in the symbol table, except parameters
    and results."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for way in ("noinline", "always_inline"):
            paths[way] = os.path.join(folder, way)
            tap.output(["g++", "-std=c++17", "-O1", *flags, "-Wno-attributes", f"-DWAY={way}",
                    "-o", paths[way], os.path.join(SOURCES, "named.cpp")])
        symbols = re.findall(r"(?m)^\w+ t (_Z.*)$", tap.output(["nm", paths["noinline"]]))
        listed = tap.output(["c++filt", "-p"], input="\n".join(symbols).encode())
        expected = {re.sub(r"^auto ", "", name) for name in listed.splitlines()}
        path = without_symbols(paths["always_inline"], folder)
        found = ask([LINES, path], addresses_of(path), "")
        names = {name for chain in found.values() for name, _ in chain
                 if not name.startswith("_") and chain[-1][0] != name}
        report.result(f"{' '.join(flags)}: names of {len(expected)} functions without linkage",
                      "" if len(expected) > 20 and names == expected else
                      f"ours {sorted(names - expected)}\ntheirs {sorted(expected - names)}")


def check_targets(report):
    """Other byte orders and sizes, linked without a library."""
    for target in ("powerpc64", "powerpc64le", "i386", "aarch64", "mips"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, target)
            shutil.copy(os.path.join(SOURCES, "two.h"), folder)
            with open(os.path.join(folder, "bare.c"), "w") as file:
                file.write('#include "two.h"\nint _start(int n)\n{\n'
                           "    return average(n, n * 3) + clamp(n, 2, 9);\n}\n"
                           "int second(int n)\n{\n    return clamp(n, 0, n * n);\n}\n")
            try:
                tap.output(["clang", f"--target={target}-linux-gnu", "-O2", "-g", "-nostdlib",
                        "-fuse-ld=lld", "-o", path, "bare.c"], cwd=folder)
            except (RuntimeError, FileNotFoundError) as error:
                report.skip(target, str(error).replace("\n", " ")[-200:])
                continue
            check(report, target, path, folder)


# --- Files that are there --------------------------------------------------------------

def machine_files():
    """Debug files of Debian packages: of the C library, and of libstdc++."""
    found = glob.glob("/usr/lib/debug/.build-id/*/*.debug")
    found.sort(key=os.path.getsize, reverse=True)
    return found[:2] + glob.glob("/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6.*.*[0-9]")


def check_file(report, path):
    with tempfile.TemporaryDirectory() as folder:
        check(report, os.path.basename(path), path, folder)


def check_threads(report, path):
    """Several threads on one file give the same results as one thread."""
    text = "".join(f"{a:x}\n" for a in addresses_of(path)).encode()
    one, three = (tap.output([LINES, "-j", count, path], input=text) for count in "13")
    report.result("three threads on " + os.path.basename(path),
                  "" if one == three and "\n" in one else "they differ")


def check_corpus(report):
    """perfparser's binaries; one is compressed by zlib after its length."""
    corpus = os.path.join(tap.CORPUS, "perfdata", "perfparser")
    packed = os.path.join(corpus, "vector_static_gcc", "vector_static_gcc_v9.1.0.zlib")
    if not os.path.exists(packed):
        report.skip("corpus", "no corpus")
        return
    check_file(report, os.path.join(corpus, "cpp-inlining", "cpp-inlining"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vector_static_gcc")
        with open(packed, "rb") as source, open(path, "wb") as file:
            file.write(zlib.decompress(source.read()[4:]))
        check_file(report, path)


def check_rows(report):
    """All rows of a line table, in order, as llvm-dwarfdump has them."""
    with tempfile.TemporaryDirectory() as folder:
        path = build(GCC, ["-O2", "-g"], folder)
        listed = tap.output(["llvm-dwarfdump", "--debug-line", path])
        expected = {}  # the last row of each address counts
        for line in listed.splitlines():
            match = re.match(r"^(0x[0-9a-f]{16})\s+(\d+)\s+(\d+)\s+(.*)$", line)
            if match and "end_sequence" not in match[4]:
                expected.setdefault(int(match[1], 16), set()).add((match[2], match[3]))
        rows = [row.split() for row in tap.output(
            [LINES, "-r", path],
            input="".join(f"{a:x} {b:x}\n" for a, b in code_of(path)).encode()).splitlines()]
        wrong = [row for row in rows if tuple(row[1:3]) not in expected.get(int(row[0], 16), ())]
        why = ""
        if wrong or len(rows) < sum(len(rows) for rows in expected.values()) * 0.9:
            why = f"{len(wrong)} of {len(rows)} are not llvm's\n{wrong[:SHOWN]}"
        report.result(f"{len(rows)} rows", why)


def main():
    report = tap.Tap()
    missing = [p for p in ("llvm-addr2line", "readelf", "gcc", "g++") if not shutil.which(p)]
    if missing:
        report.skip("all", missing[0] + " is missing")
        report.done()
    for path in sys.argv[2:]:
        check_file(report, path)
    if sys.argv[2:]:
        report.done()
    for name, compilers, flags, tools in BUILDS:
        check_build(report, name, compilers, flags, tools)
    for flags in (["-gdwarf-4"], ["-gdwarf-5"], ["-gdwarf-5", "-gsplit-dwarf"],
                  ["-gdwarf-5", "-gdwarf64"]):
        check_names(report, flags)
    check_rust(report)
    check_targets(report)
    check_rows(report)
    files = machine_files()
    for path in files:
        check_file(report, path)
    if files:
        check_threads(report, files[0])
    else:
        report.skip("debug files", "there are none: libc6-dbg is missing")
    check_corpus(report)
    report.done()


main()
