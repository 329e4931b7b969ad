#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with known shares by function and line. All compilers build them, with all options that
affect symbols, debug information and unwind tables. The test checks the output of `stoke record`,
`fold`, `report`, `script` and `annotate`.

The truth is in the source: the marks @50, @20, @15, @10 and @5 in truth/matrix/program.* give the
shares of their lines. References: llvm-symbolizer on the program before the changes to its file,
objdump, and perf.

matrix.py [PART OF A NAME]...: only these programs. STOKE_MATRIX_FOLDER retains programs and
recordings."""

import collections
import contextlib
import errno
import functools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

SOURCES = os.path.join(tap.SOURCE_ROOT, "tests", "truth", "matrix")
FREQUENCY = "4999"
LEAST = 200  # samples
# Standard deviations. A run has some 500 shares; in fewer than one run of 10^6 a share exceeds
# this limit by chance.
SURE = 6.2
# Maximum share of wrong stacks: samples in the kernel, before main, in a prologue.
STRAY = 0.02
# First functions of stacks that are not the program's own, unless they contain its functions: the
# dynamic linker, and the start and the threads of the Go runtime. Their share depends on how loaded
# the machine is.
OTHER_STARTS = {"_dl_start", "_dl_start_user", "_rt0_amd64", "_rt0_amd64_linux",
                "runtime.rt0_go.abi0", "runtime.mcall", "runtime.systemstack.abi0",
                "runtime.mstart.abi0", "runtime.clone.abi0"}
# Stacks of a thrown exception, and those before the work of the program (in the kernel without a
# frame of the program, at the start of the language, or in the first calls of main): their share depends
# on how loaded the machine is.
THROWN = 0.1
BEGINNING = 0.3
# Frames of two stacks that perf ends elsewhere: the smallest recordings have some 1000 stacks.
RARE_FRAMES = 20
# Samples of a function outside the lines of its work: a page fault at its start takes as long as
# several samples on some machines. The functions that work have 80 samples or more.
RARE_SAMPLES = 20
SHOWN = 4
# No names of the kernel: writing /proc/kallsyms takes the kernel longer than stoke takes for one of
# these recordings.
NAMES = ["-q", "--kallsyms", "/dev/null"]

# Frames below the last `descend`, by the mark of the line with the samples.
TRUTH = {
    50: ("direct",),
    20: ("outer", "between"),
    15: ("far", "far_leaf"),
    10: ("outer", "between", "inner"),
    5: ("rare",),
}
CALLERS = ("descend", "descend", "descend")
WORKING = {*CALLERS, "spin", *(name for names in TRUTH.values() for name in names)}


class Build:
    """A program to build: its compiler, flags, changes to the file, and the available facts about
    its functions: "lines", "symbols" or nothing."""

    def __init__(self, name, source, cc, flags, after=(), *, known="lines", how="dwarf",
                 perf=True, code=True):
        self.name, self.source, self.cc, self.flags = name, source, cc, flags.split()
        self.after, self.known, self.how, self.perf, self.code = \
            after, known, how, perf, code
        self.for_c = {"g++": "gcc", "clang++": "clang"}.get(cc, cc)  # compiler of other.c

    def tools(self):
        linker = [f[len("-fuse-ld="):] for f in self.flags if f.startswith("-fuse-ld=")]
        return [self.cc, *("ld." + name for name in linker),
                *(step.__defaults__[0] for step in self.after)]


# --- What is done to the file ------------------------------------------------------------
# Each is called in the folder of `program`, and has the name of its tool as a default.

def run_in(folder, *args):
    tap.output(args, cwd=folder)


def strip_debug(folder, tool="strip"):
    run_in(folder, tool, "--strip-debug", "program")


def strip_all(folder, tool="strip"):
    run_in(folder, tool, "program")


def llvm_strip(folder, tool="llvm-strip"):
    run_in(folder, tool, "program")


def link_debug(folder, tool="objcopy"):
    run_in(folder, tool, "--only-keep-debug", "program", "program.debug")
    run_in(folder, tool, "--strip-all", "--add-gnu-debuglink=program.debug", "program")


def link_debug_llvm(folder, tool="llvm-objcopy"):
    link_debug(folder, tool)


def link_debug_elfutils(folder, tool="eu-strip"):
    os.mkdir(os.path.join(folder, ".debug"))
    run_in(folder, tool, "-g", "-f", ".debug/program.debug", "program")


def compress(kind):
    def step(folder, tool="objcopy"):
        run_in(folder, tool, f"--compress-debug-sections={kind}", "program")
    return step


def dwz(folder, tool="dwz"):
    run_in(folder, tool, "program")


def dwz_common(folder, tool="dwz"):
    shutil.copy(os.path.join(folder, "program"), os.path.join(folder, "second"))
    run_in(folder, tool, "-m", os.path.join(folder, "common.debug"), "program", "second")


def package(tool_name):
    def step(folder, tool=tool_name):
        run_in(folder, tool, "-e", "program", "-o", "program.dwp")
        shutil.copy(os.path.join(folder, "program.dwp"), os.path.join(folder, "before.dwp"))
        for name in os.listdir(folder):
            if name.endswith(".dwo"):
                os.remove(os.path.join(folder, name))
    return step


def mini_debug(folder, tool="xz"):
    """The symbol table in .gnu_debugdata, as in Fedora."""
    run_in(folder, "objcopy", "--only-keep-debug", "program", "mini")
    run_in(folder, "strip", "--strip-debug", "mini")
    run_in(folder, tool, "mini")
    run_in(folder, "objcopy", "--strip-all", "--add-section", ".gnu_debugdata=mini.xz",
           "program")


def no_sections(folder, tool="objcopy"):
    """A file without section headers."""
    run_in(folder, tool, "--strip-all", "program")
    with open(os.path.join(folder, "program"), "r+b") as file:
        file.seek(40)
        file.write(bytes(8))
        file.seek(60)
        file.write(bytes(4))


# --- The programs ------------------------------------------------------------------------

C, CPP = "program.c", "program.cpp"
LLD = "-fuse-ld=lld"
SPLIT = "-ffunction-sections -Wl,--gc-sections"

BUILDS = [
    *(Build(f"{cc} -O{level}", C, cc, f"-O{level} -g")
      for cc in ("gcc", "clang") for level in "0123"),
    *(Build(f"{cc} -O{level}", CPP, cc, f"-O{level} -g")
      for cc in ("g++", "clang++") for level in "0123"),
    *(Build(f"{cc} DWARF {v}", C, cc, f"-O2 -gdwarf-{v}")
      for cc in ("gcc", "clang") for v in (3, 4)),
    *(Build(f"{cc} DWARF 4", CPP, cc, "-O2 -gdwarf-4")
      for cc in ("g++", "clang++")),
    Build("gcc -flto", C, "gcc", "-O2 -g -flto"),
    Build("g++ -flto", CPP, "g++", "-O2 -g -flto"),
    Build("clang -flto=thin", C, "clang", f"-O2 -g -flto=thin {LLD}"),
    Build("clang++ -flto=thin", CPP, "clang++", f"-O2 -g -flto=thin {LLD}"),
    Build("clang -flto=full", C, "clang", f"-O3 -g -flto=full {LLD}"),
    *(Build(f"{cc} split DWARF {v}", C, cc, f"-O2 -gdwarf-{v} -gsplit-dwarf")
      for cc in ("gcc", "clang") for v in (4, 5)),
    Build("g++ split DWARF 5", CPP, "g++", "-O2 -gdwarf-5 -gsplit-dwarf"),
    Build("gcc dwp", C, "gcc", "-O2 -gdwarf-4 -gsplit-dwarf", [package("dwp")]),
    Build("clang llvm-dwp", C, "clang", "-O2 -gdwarf-5 -gsplit-dwarf", [package("llvm-dwp")]),
    Build("clang++ llvm-dwp", CPP, "clang++", "-O2 -gdwarf-5 -gsplit-dwarf",
          [package("llvm-dwp")]),
    Build("gcc dwz", C, "gcc", "-O2 -g", [dwz]),
    Build("g++ dwz -m", CPP, "g++", "-O2 -g", [dwz_common]),
    Build("gcc -gz", C, "gcc", "-O2 -g -gz"),
    Build("gcc zlib-gnu", C, "gcc", "-O2 -g", [compress("zlib-gnu")]),
    Build("g++ zstd", CPP, "g++", "-O2 -g", [compress("zstd")]),
    Build("gcc dropped sections", C, "gcc", f"-O2 -g {SPLIT}"),
    Build("clang dropped and folded", C, "clang", f"-O2 -g {SPLIT} {LLD} -Wl,--icf=all"),
    Build("gcc relative relocations", C, "gcc", "-O2 -g -Wl,-z,pack-relative-relocs"),
    Build("gcc -static", C, "gcc", "-O2 -g -static"),
    Build("g++ -static-pie", CPP, "g++", "-O2 -g -static-pie"),
    Build("gcc -no-pie", C, "gcc", "-O2 -g -no-pie"),
    Build("clang gold", C, "clang", "-O2 -g -fuse-ld=gold"),
    Build("gcc page size 2 MB", C, "gcc", "-O2 -g -Wl,-z,max-page-size=0x200000"),
    Build("gcc no separate code", C, "gcc", "-O2 -g -Wl,-z,noseparate-code"),
    Build("gcc -mcmodel=large", C, "gcc", "-O2 -g -mcmodel=large"),
    Build("gcc -g1", C, "gcc", "-O2 -g1"),
    Build("clang -gline-tables-only", CPP, "clang++", "-O2 -gline-tables-only"),
    Build("gcc type units", CPP, "g++", "-O2 -g -fdebug-types-section"),
    Build("gcc 64-bit DWARF", C, "gcc", "-O2 -gdwarf-5 -gdwarf64"),
    Build("gcc .debug_frame only", C, "gcc", "-O2 -g -fno-asynchronous-unwind-tables"),
    Build("clang block sections", C, "clang", f"-O2 -g -fbasic-block-sections=all {LLD}"),
    Build("gcc profile", C, "gcc", "-O2 -g PROFILE"),
    Build("g++ profile", CPP, "g++", "-O2 -g PROFILE"),
    Build("clang profile, split functions", C, "clang",
          f"-O2 -g {LLD} -fsplit-machine-functions PROFILE"),
    Build("gcc strip --strip-debug", C, "gcc", "-O2 -g", [strip_debug], known="symbols"),
    Build("gcc no -g", C, "gcc", "-O2", known="symbols"),
    Build("g++ no -g", CPP, "g++", "-O2", known="symbols"),
    Build("gcc strip", C, "gcc", "-O2 -g", [strip_all], known="nothing"),
    Build("clang llvm-strip", C, "clang", "-O2 -g", [llvm_strip], known="nothing"),
    Build("gcc no section headers", C, "gcc", "-O2 -g", [no_sections], known="nothing", code=False),
    Build("gcc .gnu_debuglink", C, "gcc", "-O2 -g", [link_debug]),
    Build("clang++ .gnu_debuglink", CPP, "clang++", "-O2 -g", [link_debug_llvm]),
    Build("gcc .gnu_debuglink, compressed", C, "gcc", "-O2 -g -gz", [link_debug]),
    Build("gcc .debug folder, eu-strip", C, "gcc", "-O2 -g", [link_debug_elfutils]),
    Build("gcc .gnu_debugdata", C, "gcc", "-O2 -g", [mini_debug], known="symbols", perf=False),
    Build("clang frame pointers", C, "clang", "-O2 -g -fno-omit-frame-pointer "
          "-mno-omit-leaf-frame-pointer", how="fp"),
    Build("g++ frame pointers", CPP, "g++", "-O2 -g -fno-omit-frame-pointer", how="auto"),
    Build("gcc no unwind tables", C, "gcc", "-O2 -g -fno-omit-frame-pointer -fno-unwind-tables "
          "-fno-asynchronous-unwind-tables"),
    Build("gcc no .eh_frame_hdr", C, "gcc", "-O2 -g -Wl,--no-eh-frame-hdr"),
    Build("gcc mold", C, "gcc", "-O2 -g -fuse-ld=mold"),
    Build("clang mold, zlib, folded", C, "clang", f"-O2 -g {SPLIT} -fuse-ld=mold -Wl,--icf=all "
          "-Wl,--compress-debug-sections=zlib"),
    Build("musl -static", C, "musl-gcc", "-O2 -g -static"),
    Build("tcc", C, "tcc", "-g -D__x86_64__", known="symbols", perf=False),
    Build("clang 32 bits", C, "clang", "-m32 -O2 -g -fno-omit-frame-pointer "
          "-mno-omit-leaf-frame-pointer", how="fp"),
    Build("rustc -O", "program.rs", "rustc", "-O -g"),
    Build("rustc", "program.rs", "rustc", "-O -C debuginfo=1 -C force-frame-pointers=no"),
    Build("gfortran -O2", "program.f90", "gfortran", "-O2 -g -fno-partial-inlining"),
    Build("gfortran -O0", "program.f90", "gfortran", "-O0 -g"),
    Build("go", "program.go", "go", ""),
    Build("go -ldflags=-w", "program.go", "go", "-ldflags=-w"),
    Build("ldc2", "program.d", "ldc2", "-O2 -g"),
    Build("gdc", "program.d", "gdc", "-O2 -g"),
    Build("ocamlopt", "program.ml", "ocamlopt", "-g", known="symbols", perf=False),
    Build("gnatmake -O2", "program.adb", "gnatmake", "-O2 -g -gnatn"),
]


def compile_to(build, folder, flags):
    source = os.path.join(SOURCES, build.source)
    if build.cc == "rustc":
        return [["rustc", *flags, "-o", "program", source]]
    if build.cc == "go":
        return [["go", "build", *flags, "-o", "program", source]]
    if build.cc == "ldc2":
        return [["ldc2", *flags, "-of=program", source]]
    if build.cc in ("ocamlopt", "gnatmake"):  # these compilers write files beside the source
        shutil.copy(source, folder)
        return [[build.cc, *flags, "-o", "program", build.source]]
    if build.cc in ("gfortran", "gdc"):
        return [[build.cc, *flags, "-o", "program", source]]
    compiling = [f for f in flags if not f.startswith(("-Wl,", "-fuse-ld"))]
    return [[build.cc, *compiling, "-c", source, "-o", "program.o"],
            [build.for_c, *compiling, "-c", os.path.join(SOURCES, "other.c"),
             "-o", "other.o"],
            [build.cc, *flags, "-o", "program", "program.o", "other.o"]]


def with_profile(build, folder):
    """Builds the program with counters, runs it, and builds it with the counts."""
    flags = [f for f in build.flags if f != "PROFILE"]
    for command in compile_to(build, folder, [*flags, "-fprofile-generate=" + folder]):
        tap.output(command, cwd=folder)
    tap.output(["./program", "50"], cwd=folder)
    if build.cc.startswith("clang"):
        raw = [name for name in os.listdir(folder) if name.endswith(".profraw")]
        tap.output(["llvm-profdata", "merge", "-o", "merged", *raw], cwd=folder)
        return [*flags, "-fprofile-use=merged"]
    return [*flags, "-fprofile-use=" + folder, "-Wno-missing-profile"]


def make(build, folder):
    """Builds `program`, and `before`: the program before the changes to its file."""
    flags = with_profile(build, folder) if "PROFILE" in build.flags else build.flags
    for command in compile_to(build, folder, flags):
        tap.output(command, cwd=folder)
    shutil.copy(os.path.join(folder, "program"), os.path.join(folder, "before"))
    for step in build.after:
        step(folder)


# --- Names -------------------------------------------------------------------------------

def without_nested(name, opening, closing):
    """Removes brackets and their content."""
    while True:
        shorter = re.sub(rf"\{opening}[^{opening}{closing}]*\{closing}", "", name)
        if shorter == name:
            return name
        name = shorter


PARTS = re.compile(r"\.(cold|constprop|isra|part|lto_priv|llvm|__part|__uniq)\b[.\d]*|"
                   r"\[clone [^]]*\]|\[abi:\w+\]|::h[0-9a-f]{16}$")


def base(name):
    """The name of the function without arguments, templates, scopes, and suffixes of the compiler."""
    name = name.removesuffix("_[i]").removesuffix(" (inlined)")
    name = PARTS.sub("", name).replace("operator()", "call").replace("D main", "_Dmain")
    in_d = re.match(r"_D7program\d+([a-z_]+)F", name)
    if in_d:
        return in_d[1]
    name = re.sub(r"\{lambda\([^}]*\)#\d+\}|<lambda\([^>]*\)>|\$_\d+", "lambda", name)
    name = without_nested(without_nested(name, "(", ")"), "<", ">").strip()
    name = re.split(r"::|\s", name.removesuffix(" const"))[-1]
    name = re.sub(r"[._]\d+$", "", name)  # names of gnat and ocamlopt
    return re.split(r"__|\.|_MOD_", name)[-1]


MEANT = {"call": "between", "catcher": "rare"}  # in C++


def meant(name):
    return MEANT.get(base(name), base(name))


def logical(frames):
    """The frames from the first `descend` to `spin`, with the names of the truth."""
    names = [meant(f) for f in frames]
    if "descend" not in names:
        return ()
    names = names[names.index("descend"):]
    return tuple(names[:names.index("spin")] if "spin" in names else names)


# --- fold: stacks, callers, shares -------------------------------------------------------

def user_part(frames):
    return frames[:next((i for i, f in enumerate(frames) if f.endswith("_[k]")), len(frames))]


def whole_stacks_of(folder, *words):
    """{stack with its kernel part, root first: samples}"""
    found = collections.Counter()
    for line in tap.output([tap.STOKE, "fold", *NAMES, "--count-samples", "--kernel", *words,
                        "program.data"], cwd=folder).splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found


def stacks_of(folder, *words):
    """{user part of a stack, root first: samples}"""
    found = collections.Counter()
    for stack, count in whole_stacks_of(folder, *words).items():
        found[user_part(stack)] += count
    return found


def mark_by_lines(frames):
    below = frames[len(CALLERS):]
    found = [mark for mark, truth in TRUTH.items() if truth == below]
    return found[0] if found and frames[:len(CALLERS)] == CALLERS else None


BY_SYMBOL = {"direct": 50, "outer": 30, "between": 30, "inner": 30, "far_leaf": 15, "rare": 5}


def mark_by_symbols(frames):
    """The same for inlined functions without names."""
    right = frames[:len(CALLERS)] == CALLERS and frames[len(CALLERS)] != CALLERS[-1]
    return BY_SYMBOL.get(frames[-1]) if right else None


def throws(frames):
    """The frames that throw an exception have the right callers."""
    return frames[:len(CALLERS)] == CALLERS and any("thrower" in f for f in frames)


def before_work(stack):
    """A stack of the start of the program or of its language: none of the functions that work, and
    no function of the program without a name, which may be one."""
    names = {meant(f) for f in stack[1:]}
    return not names & (WORKING | {"[program]", "[unknown]"})


def share_faults(shares, marks_of_source):
    total = sum(shares.values())
    if total < LEAST:
        return [f"only {total} samples"]
    faults = []
    for mark in marks_of_source:
        share = mark / 100
        margin = SURE * math.sqrt(share * (1 - share) * total)
        if abs(shares[mark] - share * total) > margin:
            faults.append(f"{shares[mark]} of {total} samples, not {mark}%")
    return faults


def check_fold(build, folder):
    """Checks shares and callers. Without names, it checks the depths of stacks."""
    found = stacks_of(folder)
    shares, wrong = collections.Counter(), collections.Counter()
    thrown = beginning = 0
    for stack, count in found.items():
        if build.known == "nothing":
            depth = sum(f == "[program]" for f in stack[1:])
            mark = {6: 85, 7: 15}.get(depth)  # the start, main, 3 times `descend`, ...
        else:
            frames = logical(stack)
            mark = (mark_by_lines if build.known == "lines" else mark_by_symbols)(frames) \
                if len(frames) > len(CALLERS) else None
        if mark:
            shares[mark] += count
        elif build.known != "nothing" and throws(frames):
            thrown += count
        elif OTHER_STARTS & set(stack[1:3]) and not WORKING & {meant(f) for f in stack[1:]}:
            continue
        elif before_work(stack):
            beginning += count
        else:
            wrong[stack] += count
    expected = {"lines": TRUTH, "symbols": set(BY_SYMBOL.values()), "nothing": (85, 15)}
    faults = share_faults(shares, expected[build.known])
    total, lost = sum(found.values()), sum(wrong.values())
    if thrown > THROWN * total:
        faults.append(f"{thrown} of {total} stacks are those of a thrown exception")
    if beginning > BEGINNING * total:
        faults.append(f"{beginning} of {total} stacks are from before the work")
    if lost > STRAY * total + 10:
        faults.append(f"{lost} of {total} stacks are wrong:\n" + "\n".join(
            f"{count} {';'.join(stack)}" for stack, count in wrong.most_common(SHOWN)))
    return faults, shares


# --- report ------------------------------------------------------------------------------

def check_report(folder):
    """The self weights of functions equal the weights of the leaves of stacks."""
    table = json.loads(tap.output([tap.STOKE, "report", *NAMES, "--json", "program.data"],
                              cwd=folder))
    ours, theirs = collections.Counter(), collections.Counter()
    for f in table["events"][0]["functions"]:
        ours[f["name"].removesuffix(" (inlined)")] += f["self"]
    for line in tap.output([tap.STOKE, "fold", *NAMES, "program.data"], cwd=folder).splitlines():
        stack, _, weight = line.rpartition(" ")
        if ";" not in stack:  # a sample without a frame, at the start of the process
            continue
        theirs[stack.rpartition(";")[2].removesuffix("_[i]")] += int(weight)
    wrong = [name for name in ours | theirs if ours[name] != theirs[name]]
    return [f"report: {name} has {ours[name]}, in fold {theirs[name]}" for name in wrong][:SHOWN]


# --- script: addresses, against llvm-symbolizer ------------------------------------------

def segments(path):
    """[(offset, size, address)] of the mapped segments."""
    found = []
    for line in tap.output(["readelf", "-lW", path]).splitlines():
        match = re.match(r"\s+LOAD\s+0x(\w+)\s+0x(\w+)\s+0x\w+\s+0x(\w+)", line)
        if match:
            found.append((int(match[1], 16), int(match[3], 16), int(match[2], 16)))
    return found


def address_of(parts, offset):
    for start, size, address in parts:
        if start <= offset < start + size:
            return offset - start + address
    return None


def chains_of(folder):
    """{(offset in the program, is not a return address): ((function, "file:line"), ...)}, innermost first, of
    the samples' frames."""
    found, pending, leaf = {}, [], True
    text = tap.output([tap.STOKE, "script", *NAMES, "-F", "ip,sym,dso,srcline", "program.data"],
                  cwd=folder)
    lines = iter(text.splitlines())
    for line in lines:
        match = re.match(r"^\s+([0-9a-f]+) (.*) \((\S*)\)$", line)
        if not match:
            leaf = True
            continue
        where = next(lines).strip()
        pending.append((match[2], where))
        if match[3] == "inlined":
            continue
        if os.path.basename(match[3]) == "program":
            found[int(match[1], 16), leaf] = tuple(pending)
        # a signal handler and the kernel have no return address in the code
        leaf = match[3].startswith("[kernel") or bool(re.search("sigreturn", match[2]))
        pending = []
    return found


# Without debug information, llvm-symbolizer names the preceding symbol, also for the stubs
# of .plt, and the file that the symbol table states: of clang -flto=full, ld-temp.o; of
# -flto=thin, one of the sources, without a line.
NO_LINES = ("??", "ld-temp.o:")


def symbolize(path, addresses):
    """{address: ((function, "file:line"), ...)} of llvm-symbolizer."""
    text = tap.output(["llvm-symbolizer", "--output-style=GNU", "-e", path, "-a", "-f", "-i",
                   "--demangle"], input="".join(f"0x{a:x}\n" for a in addresses).encode())
    found, frames, function = {}, None, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames, function = found.setdefault(int(line, 16), []), None
        elif frames is not None and line and function is None:
            function = line
        elif function is not None:
            frames.append((function, re.sub(r" \(discriminator \d+\)$", "", line)))
            function = None
    return found


def same_name(ours, theirs):
    """llvm-symbolizer cannot demangle some names, and knows gcc's symbols of files."""
    return theirs.startswith(("_Z", "program.c")) or "$u7b$" in theirs or base(ours) == base(theirs)


def same_frame(ours, theirs):
    name, where = theirs
    file, _, line = where.rpartition(":")
    known = file not in ("", "??") and line not in ("0", "?")
    return same_name(ours[0], name) and \
        (not known or ours[1] == f"{os.path.basename(file)}:{line}")


def check_script(folder):
    """Inlined functions and lines of all addresses; the number of addresses."""
    parts = segments(os.path.join(folder, "before"))
    chains = chains_of(folder)
    expected = {}
    for offset, leaf in chains:
        address = address_of(parts, offset)
        if address is not None:
            expected[offset, leaf] = address - (not leaf)
    theirs = symbolize(os.path.join(folder, "before"), sorted(set(expected.values())))
    faults = []
    for key, address in expected.items():
        ours, other = chains[key], theirs.get(address, [])
        if not other or other[0][0] == "??" or other[0][1].startswith(NO_LINES):
            continue
        if ours[0][0].endswith("@plt") and other[0][1].endswith(":0"):
            continue
        if len(ours) != len(other) or not all(map(same_frame, ours, other)):
            faults.append(f"{address:x}\n  ours   {ours}\n  theirs {other}")
    share = len(faults) / max(1, len(expected))
    return ([f"{len(faults)} of {len(expected)} chains differ:", *faults[:SHOWN]]
            if faults else []), len(expected)


def perf_lines(command, folder):
    """The lines of frames in the program. If a return address is the end of a function, perf names
    the next function."""
    lines = (" ".join(line.split()) for line in tap.output(command, cwd=folder).splitlines())
    return collections.Counter(line for line in lines if line.endswith("/program)"))


def check_perf(folder):
    fields = "ip,sym,dso"
    ours = perf_lines([tap.STOKE, "script", *NAMES, "--no-inline", "-F", fields, "program.data"],
                      folder)
    theirs = perf_lines(["perf", "script", "--no-inline", "--max-stack", "2000", "-F", fields,
                         "-i", "program.data"], folder)
    missing = theirs - ours
    count, total = sum(missing.values()), sum(theirs.values())
    if total > LEAST and count <= RARE_FRAMES + 0.001 * total:
        return []
    return [f"{count} of {total} frames are not perf's:",
            *("theirs " + line for line, _ in missing.most_common(2)),
            *("ours   " + line for line, _ in (ours - theirs).most_common(2))]


# --- annotate ----------------------------------------------------------------------------

def marked_lines():
    """{(file, line)} of the lines with the work."""
    found = set()
    for source in (C, CPP, "other.c"):
        with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
            found |= {(source, n) for n, line in enumerate(file, 1) if re.search(r"@\d", line)}
    return found


MARKED = marked_lines()
FUNCTIONS = ("direct", "outer", "far_leaf", "rare", "spin", "descend")


@functools.lru_cache
def leaves_of(folder):
    """{name in the truth: names of that function}, for functions with self samples."""
    found = collections.defaultdict(set)
    for stack in whole_stacks_of(folder, "--no-inline"):
        if user_part(stack) == stack:
            found[meant(stack[-1])].add(stack[-1])
    return found


def symbols_of(folder):
    """[(name, first address, end)] of the functions in the program before the changes."""
    found = []
    for line in tap.output(["nm", "-S", "-C", "before"], cwd=folder).splitlines():
        match = re.match(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)$", line)
        if match:
            low = int(match[1], 16)
            found.append((match[3], low, low + int(match[2], 16)))
    return found


def instructions_of(folder, low, high):
    text = tap.output(["objdump", "-d", "--no-show-raw-insn", f"--start-address={low}",
                   f"--stop-address={high}", "before"], cwd=folder)
    return {int(m[1], 16) for m in re.finditer(r"(?m)^\s+([0-9a-f]+):\t", text)}


def line_faults(f, chains):
    """Compares lines and inlined functions of instructions with `chains`, by llvm-symbolizer."""
    faults = []
    known = sum(i["samples"] for i in f["instructions"] if i.get("line"))
    if sum(line["samples"] for line in f["lines"]) != known:
        faults.append(f"{f['name']}: its lines' samples are not its instructions'")
    for i in f["instructions"]:
        chain = chains.get(i["address"])
        if not chain or chain[0][1].startswith("??"):
            continue
        file, _, line = chain[0][1].rpartition(":")
        ours = (os.path.basename(i.get("file", "")), i.get("line", 0))
        at = f"{f['name']}: {i['address']:x}"
        if line not in ("0", "?") and ours != (os.path.basename(file), int(line)):
            faults.append(f"{at} is at {chain[0]}, not {ours}")
        elif len(chain) > 1 and not same_name(i.get("inlined", ""), chain[0][0]):
            faults.append(f"{at} is of {chain[0]}, not {i.get('inlined')}")
    return faults


def check_function(build, f, symbols, instructions, chains):
    """The instructions equal those of objdump, each with its line."""
    faults = []
    ours = {i["address"] for i in f["instructions"]}
    where = range_of(f, symbols)
    theirs = {at for at in instructions if where[0] <= at < where[1]}
    if ours != theirs:
        faults.append(f"{f['name']}: {len(ours)} instructions, not {len(theirs)}: "
                      f"{sorted(map(hex, ours ^ theirs))[:6]}")
    if sum(i["samples"] for i in f["instructions"]) != f["samples"]:
        faults.append(f"{f['name']}: the instructions' samples are not the function's")
    if build.known == "lines":
        faults += line_faults(f, chains)
    if build.known == "lines" and build.source in (C, CPP):
        found = sum(line["samples"] for line in f["lines"]
                    if (os.path.basename(line["file"]), line["line"]) in MARKED)
        if f["samples"] - found > 0.03 * f["samples"] + RARE_SAMPLES:
            faults.append(f"{f['name']}: {found} of {f['samples']} samples are at its lines")
    return faults


def range_of(f, symbols):
    """(first address, end) of the symbol with the function's first instruction."""
    first = min((i["address"] for i in f["instructions"]), default=None)
    return next(((low, high) for _, low, high in symbols
                 if first is not None and low <= first < high), (0, 0))


def annotated(folder, name):
    text = tap.output([tap.STOKE, "annotate", *NAMES, "--json", name, "program.data"], cwd=folder)
    return json.loads(text)["functions"]


def check_annotate(build, folder):
    faults = []
    symbols = symbols_of(folder)
    if build.known == "nothing":
        names = [f"program+{low:#x}" for name, low, _ in symbols if meant(name) in FUNCTIONS
                 and name not in ("outer", "rare", "descend")]
    else:
        leaves = leaves_of(folder)
        names = sorted(name for function in FUNCTIONS for name in leaves.get(function, ()))
    if not names:
        faults.append("there is nothing to annotate")
    found = [f for name in names for f in annotated(folder, name)]
    ranges = [where for where in (range_of(f, symbols) for f in found) if where[1]]
    instructions = instructions_of(folder, min(low for low, _ in ranges),
                                   max(high for _, high in ranges)) if ranges else set()
    chains = symbolize(os.path.join(folder, "before"), sorted(
        {i["address"] for f in found for i in f["instructions"]})) \
        if build.known == "lines" else {}
    for f in found:
        faults += check_function(build, f, symbols, instructions, chains)
    return faults[:SHOWN]


def first_of_each_kind():
    """The programs whose files are changed after the build, and the first one of each compiler and
    of each set of facts: the caches of names differ between these only."""
    kinds = {}
    for build in BUILDS:
        kinds.setdefault((build.source, build.cc, build.known, build.how,
                          build.name if build.after else ""), build.name)
        if "split" in build.name:
            kinds[build.name] = build.name
    return set(kinds.values())


CACHES_CHECKED = first_of_each_kind()


def check_caches(folder):
    """The output is the same with an empty cache of names, a full one and none."""
    cache = os.path.join(folder, "cache")
    names = leaves_of(folder).get("direct") or {"program"}
    faults = []
    for words in (["annotate", "--whole", next(iter(names))], ["script", "-F", "ip,sym,srcline"]):
        outs = [tap.run([tap.STOKE, words[0], *NAMES, *words[1:], "program.data"], cwd=folder,
                        env=dict(os.environ, XDG_CACHE_HOME=home))
                for home in (cache, cache, "/dev/null/none")]
        faults += [f"{' '.join(words)}: {how} cache:\n" + tap.difference(outs[0][1], other[1])
                   for how, other in zip(("warm", "no"), outs[1:]) if other != outs[0]]
        shutil.rmtree(cache, ignore_errors=True)
    return faults


# --- All of it ---------------------------------------------------------------------------

ALL = collections.Counter()  # the shares of all programs


def check(build, folder):
    """Returns the errors, and a summary."""
    tap.output([tap.STOKE, "record", "-q", "-F", FREQUENCY, "-g", build.how, "-o",
            "program.data", "./program"], cwd=folder)
    faults, shares = check_fold(build, folder)
    addresses = 0
    if build.known == "lines":
        more, addresses = check_script(folder)
        faults += more
    faults += check_report(folder)
    if build.name in CACHES_CHECKED:
        faults += check_caches(folder)
    if build.code:
        faults += check_annotate(build, folder)
    if build.perf and shutil.which("perf"):
        faults += check_perf(folder)
    total = sum(shares.values())
    if build.known == "lines":
        ALL.update(shares)
    return faults, f"{total} samples, " + ", ".join(
        f"{mark}%: {100 * count / max(1, total):.1f}"
        for mark, count in sorted(shares.items(), reverse=True)) + \
        (f", {addresses} addresses" if addresses else "")


def is_refused(folder):
    """Whether this kernel does not execute the program, as some do not execute 32-bit ones."""
    try:
        subprocess.run([os.path.join(folder, "program"), "1"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=tap.TIMEOUT, check=False)
    except OSError as error:
        return error.errno == errno.ENOEXEC
    return False


def examine(build):
    """Returns the reason to skip the program, the errors, and a summary."""
    missing = [tool for tool in build.tools() if not shutil.which(tool)]
    if missing:
        return missing[0] + " is missing", [], ""
    chosen = os.environ.get("STOKE_MATRIX_FOLDER")
    with contextlib.ExitStack() as stack:
        if chosen:
            folder = os.path.join(chosen, re.sub(r"\W+", "-", name_of(build)))
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        try:
            make(build, folder)
        except RuntimeError as error:
            return "it cannot be built: " + str(error).replace("\n", " ")[-300:], [], ""
        if "-m32" in build.flags and is_refused(folder):
            return "this kernel executes no 32-bit programs", [], ""
        try:
            return "", *check(build, folder)
        except RuntimeError as error:
            return "", [str(error)], "failed"


def name_of(build):
    return f"{build.source.partition('.')[2]}: {build.name}"


# --- Code without unwind information -----------------------------------------------------

# Samples of the dynamic linker, the vDSO or a startup function may be truncated too.
GAPS = r"stacks are truncated: no unwind information in libmost\.so and [2-5] more"


def check_gaps(report):
    """Truncated stacks in three libraries: all commands name the library with the most."""
    if os.uname().machine != "x86_64" or not shutil.which("gcc"):
        report.skip("no unwind information", "gcc for x86-64 is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("most", "middle", "least"):
            tap.output(["gcc", "-shared", "-fPIC", "-DNAME=" + name, "-o", f"lib{name}.so",
                    os.path.join(SOURCES, "blind.c")], cwd=folder)
        tap.output(["gcc", "-O1", "-o", "program", os.path.join(SOURCES, "gaps.c"), "-L.", "-lmost",
                "-lmiddle", "-lleast", "-Wl,-rpath,$ORIGIN"], cwd=folder)
        for name, words in ("unwound while recording", []), ("unwound later", ["--keep-stacks"]):
            _, _, err = tap.run([tap.STOKE, "record", "-F", "1999", "-g", "dwarf", *words, "-o",
                                 "program.data", "./program"], cwd=folder)
            said = re.search(r"([\d.]+)% of " + GAPS, err.decode())
            if not words:
                report.result("record: no unwind information", "" if said and
                              float(said[1]) > 80 else err.decode())
            samples = len(tap.output([tap.STOKE, "script", *NAMES, "-F", "time", "program.data"],
                                 cwd=folder).splitlines())
            for words in (["report"], ["fold"], ["script"], ["info"], ["flamegraph"],
                          ["convert", "-o", "program.stoke"], ["fold", "program.stoke"]):
                status, out, err = tap.run([tap.STOKE, *words, *(["program.data"]
                                            if len(words) != 2 else [])], cwd=folder)
                said = re.search(r"([\d,]+) " + GAPS, (out + err).decode())
                count = int(said[1].replace(",", "")) if said else 0
                report.result(f"{name}: {' '.join(words)}", "" if status == 0 and
                              0.8 * samples < count <= samples else
                              f"{count} of {samples}: {err.decode()[-300:]}")


def main():
    report = tap.Tap()
    missing = [p for p in ("llvm-symbolizer", "readelf", "objdump", "nm") if not shutil.which(p)]
    if missing:
        report.skip("all", missing[0] + " is missing")
        report.done()
    chosen = [b for b in BUILDS
              if not sys.argv[1:] or any(part in name_of(b) for part in sys.argv[1:])]
    for build, (skipped, faults, summary) in tap.in_parallel(examine, chosen):
        if skipped:
            report.skip(name_of(build), skipped)
        else:
            report.result(f"{name_of(build)}: {summary}", "\n".join(faults))
    if not sys.argv[1:]:
        check_gaps(report)
    total = sum(ALL.values())
    if total:
        report.result(f"all: {total} samples, " + ", ".join(
            f"{mark}%: {100 * ALL[mark] / total:.2f}" for mark in TRUTH),
            "\n".join(share_faults(ALL, TRUTH)))
    report.done()


main()
