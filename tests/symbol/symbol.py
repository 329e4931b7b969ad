#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares src/symbol with readelf, objdump and nm: for the binaries of this machine, and for small
ones that are built here with all variants.

symbol.py NAMES [FILE...]: NAMES is the program of tests/symbol/names.c."""

import bisect
import collections
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import tap

NAMES = sys.argv[1]
WRONG_SHOWN = 10

SOURCE = """
#include <stdlib.h>
#include <string.h>
int shared_one(const char *s) { return atoi(s) + (int)strlen(s); }
static __attribute__((noinline)) int local_two(int n) { return abs(n) * rand(); }
int shared_three(int n) { return local_two(n) + 1; }
extern int alias_four(int n) __attribute__((weak, alias("shared_three")));
int main(int argc, char **argv) { return shared_one(argv[0]) + alias_four(argc); }
"""

BARE = """
extern int elsewhere(int);
int alone(int n) { return elsewhere(n) + 3; }
__attribute__((noinline)) static int inner(int n) { return elsewhere(n * n); }
int other(int n) { return inner(n) - inner(n + 1); }
int data = 4;
"""

Symbol = collections.namedtuple("Symbol", "address size type bind visibility section name")


def output(*args):
    status, out, err = tap.run(list(args))
    if status != 0:
        raise RuntimeError(f"{' '.join(args)}: {err.decode('utf-8', 'replace')}")
    return out.decode("utf-8", "surrogateescape")


def readelf_symbols(path):
    """The functions that readelf lists."""
    found = []
    for line in output("readelf", "-sW", path).splitlines():
        field = line.split(None, 7)
        if len(field) < 8 or not field[0].endswith(":") or field[3] not in ("FUNC", "IFUNC"):
            continue
        if field[6] == "UND":
            continue
        name = re.sub(r"@.*", "", re.sub(r"^\[[^]]*\]\s*", "", field[7]))
        found.append(Symbol(int(field[1], 16), int(field[2], 0), *field[3:7], name))
    return found


def our_symbols(path, debug=None):
    """[(address, end, name)]"""
    rows = output(NAMES, "symtab", path, *([debug] if debug else []))
    split = (row.split(" ", 2) for row in rows.splitlines())
    return [(int(a, 16), int(b, 16), name) for a, b, name in split]


def our_ranges(path):
    rows = (row.split(" ", 1) for row in output(NAMES, "ranges", path).splitlines())
    rows = [(int(a, 16), name) for a, name in rows]
    return [row[0] for row in rows], [row[1] for row in rows]


def wrong_lines(wrong, count):
    if count == 0:
        return "nothing was compared"
    if not wrong:
        return ""
    return f"{len(wrong)} of {count} differ\n" + "\n".join(wrong[:WRONG_SHOWN])


def check_functions(path):
    """Each function is found at its address under one of its names there, and at its last
    byte unless another begins within it."""
    expected = collections.defaultdict(set)
    symbols = readelf_symbols(path)
    for s in symbols:
        expected[s.address].add(s.name)
    starts, names = our_ranges(path)
    wrong = []

    def at(address):
        i = bisect.bisect_right(starts, address) - 1
        return names[i] if i >= 0 else "-"

    begins = sorted(expected)
    for s in symbols:
        if s.address == 0 and s.size == 0:
            continue
        if at(s.address) not in expected[s.address]:
            wrong.append(f"{s.address:x} {s.name}: found {at(s.address)}")
        last = s.address + s.size - 1
        inner = bisect.bisect_right(begins, last) - 1
        if s.size and begins[inner] == s.address and at(last) not in expected[s.address]:
            wrong.append(f"{last:x} the end of {s.name}: found {at(last)}")
    return wrong, len(symbols)


def check_plt(path):
    ours = {address: name for address, _, name in our_symbols(path)}
    wrong, count = [], 0
    command = ["objdump", "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", path]
    status, out, _ = tap.run(command)
    for line in out.decode("utf-8", "replace").splitlines() if status == 0 else []:
        match = re.match(r"^([0-9a-f]+) <(.*@plt)>:$", line)
        if not match or "*ABS*" in match[2]:
            continue
        count += 1
        address, name = int(match[1], 16), re.sub(r"@@?[A-Z].*@plt$", "@plt", match[2])
        if ours.get(address) != name:
            wrong.append(f"{address:x} {name}: found {ours.get(address)}")
    return wrong, count


def check_sections(path):
    """Names, addresses and sizes of all sections."""
    expected = []
    for line in output("readelf", "-SW", path).splitlines():
        match = re.match(r"^\s*\[\s*\d+\] (\S*)\s+([A-Z_0-9 ]+?)\s+([0-9a-f]{8,}) "
                         r"([0-9a-f]+) ([0-9a-f]+) ", line)
        if match:
            size = 0 if match[2] in ("NOBITS", "NULL") else int(match[5], 16)
            expected.append((match[1], int(match[3], 16), size))
    ours = []
    for line in output(NAMES, "sections", path).splitlines():
        name, address, size, _ = line.rsplit(" ", 3)
        ours.append((name, int(address, 16), int(size, 16)))
    wrong = [f"{a} is {b}" for a, b in zip(expected, ours) if a != b]
    if len(expected) != len(ours):
        wrong.append(f"{len(expected)} sections, found {len(ours)}")
    return wrong, len(expected)


def build_id(path):
    match = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-nW", path))
    return match[1] if match else ""


def our_link(path, what):
    match = re.search(f"^{what} (.*)$", output(NAMES, "links", path), re.MULTILINE)
    return match[1] if match else ""


def check_files(report, paths):
    for path in paths:
        wrong, count = check_functions(path)
        report.result(f"{path}: {count} functions as readelf has them",
                      wrong_lines(wrong, count))
        wrong, count = check_plt(path)
        if count:
            report.result(f"{path}: {count} stubs as objdump names them",
                          wrong_lines(wrong, count))
        wrong, count = check_sections(path)
        same = build_id(path) == our_link(path, "build-id")
        report.result(f"{path}: {count} sections and the build ID as readelf has them",
                      wrong_lines(wrong, count) if same else "the build ID differs")


def machine_files():
    """Binaries of this machine: libraries with many names, and stoke's own with all symbols."""
    expected = ["/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libc.so.6", "/usr/lib/*/ld-linux*.so.2",
              "/usr/lib/*/libcrypto.so.3", "/usr/bin/git", "/usr/bin/perf", "/usr/bin/bash",
              "/usr/lib/*/libpython3*.so.1.0", tap.STOKE]
    found = [path for pattern in expected for path in glob.glob(pattern)[:1]]
    return [os.path.realpath(path) for path in found]


# --- Demangling ------------------------------------------------------------------------


def through(command, names):
    done = subprocess.run(command, input="\n".join(names) + "\n", stdout=subprocess.PIPE,
                          text=True, check=True)
    return done.stdout.split("\n")[:-1]


def mangled_names(paths):
    """The C++ and Rust names that the files define."""
    found = set()
    for path in paths:
        for more in ([], ["-D"]):
            _, out, _ = tap.run(["nm", "--defined-only", *more, path])
            found |= {re.sub(r"@.*", "", line.split()[-1]) for line in
                      out.decode("utf-8", "replace").splitlines() if line}
    return sorted(name for name in found if re.match(r"_[ZR][A-Za-z0-9_.$]+$", name))


def plain_rust(name):
    """The form without -verbose: no hashes, no types after constants, no suffix."""
    name = re.sub(r"(?<=\w)\[[0-9a-f]{1,16}\]", "", name)
    name = re.sub(r"(\d|true|false|'): (?:[iu](?:8|16|32|64|128|size)|bool|char)\b", r"\1",
                  name)
    name = re.sub(r" \(?\.llvm\.[0-9A-F]+\)?$", "", name)
    return re.sub(r"::h[0-9a-f]{16}$", "", name)


def check_demangling(report, what, names, how):
    """c++filt writes std::string and its like in full, as we do not, and it shifts the
    digits of constants of more than 64 bits. Where a call stands in a decltype its version
    decides how many parentheses there are."""
    names = [name for name in names if not re.search(r"S[siod]|K[no]n?[0-9a-f]{17}", name)]
    expected = through(["c++filt"] + (["-p"] if how == "simple" else []), names)
    wrong, count = [], 0
    for name, want, got in zip(names, expected, through([NAMES, "demangle", how], names)):
        count += want != name
        if "17h" in name or name.startswith("_R"):
            want = plain_rust(want)
        if re.search(r"D[Tt]\w*cl", name):
            want, got = re.sub("[()]", "", want), re.sub("[()]", "", got)
        if want != got:
            wrong.append(f"{name}\n    {want}\n    {got}")
    report.result(f"{what}: {count} names {how} as c++filt has them",
                  wrong_lines(wrong, count))


RUST_SOURCE = """
pub struct Pair<T, const N: usize> { pub one: T, pub rest: [T; N] }
pub trait Counted { fn counted(&self) -> usize; }
impl<T: Clone, const N: usize> Counted for Pair<T, N> {
    #[inline(never)] fn counted(&self) -> usize { N + self.rest.iter().map(|_| 1).sum::<usize>() }
}
#[inline(never)] pub fn call(f: &dyn Fn(&str, &mut [u8]) -> Option<char>) -> bool {
    f("a", &mut [1, 2]).is_some()
}
fn main() {
    let p = Pair::<(u8, char), 3> { one: (1, 'a'), rest: [(1, 'b'); 3] };
    let q = Pair::<&'static str, 5> { one: "x", rest: ["y"; 5] };
    println!("{}", p.counted() + q.counted() + call(&|_, _| None) as usize);
}
"""


def check_rust(report, folder):
    for version in ("legacy", "v0"):
        path = os.path.join(folder, "rust-" + version)
        name = f"Rust's names, mangling {version}"
        if not shutil.which("rustc"):
            report.skip(name, "no rustc")
            continue
        # Unstable options only lack a guarantee: later versions have the same names.
        status, _, err = tap.run(
            ["rustc", "-C", f"symbol-mangling-version={version}", "-C", "opt-level=0", "-Z",
             "unstable-options", "-o", path, write(folder, "r.rs", RUST_SOURCE)],
            env=dict(os.environ, RUSTC_BOOTSTRAP="1"))
        if status != 0:
            report.skip(name, err.decode()[:80].strip())
            continue
        for how in ("simple", "full"):
            check_demangling(report, name, mangled_names([path]), how)


# --- Files made here -------------------------------------------------------------------


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "w" if isinstance(content, str) else "wb") as file:
        file.write(content)
    return path


def contents(path):
    """{section: (size, checksum)} of the debug sections."""
    rows = (row.rsplit(" ", 3) for row in output(NAMES, "sections", path).splitlines())
    return {name.replace(".zdebug", ".debug"): (size, crc) for name, _, size, crc in rows
            if "debug_" in name}


def check_compressed(report, folder, program):
    expected = contents(program)
    for kind in ("zlib", "zlib-gnu", "zlib-gabi", "zstd"):
        packed = os.path.join(folder, "packed-" + kind)
        status, _, err = tap.run(["objcopy", f"--compress-debug-sections={kind}", program,
                                  packed])
        name = f"debug sections packed with {kind}"
        if status != 0:
            report.skip(name, err.decode().strip().splitlines()[-1])
            continue
        listed = output("readelf", "-SW", packed)
        if not re.search(r"\.zdebug_|\.debug_.* +C +\d", listed):
            report.not_ok(name, "objcopy has packed nothing")
            continue
        report.result(name, "" if contents(packed) == expected and expected else
                      f"{expected}\n{contents(packed)}")


def own(symbols):
    """Without what only one of the tables has: names of the C library's start files."""
    return {s for s in symbols if re.fullmatch(r"(shared|local|alias)_[a-z]+|main", s[2])}


def check_debug_file(report, folder, program):
    debug, bare = os.path.join(folder, "x.debug"), os.path.join(folder, "bare")
    output("objcopy", "--only-keep-debug", program, debug)
    output("strip", "-o", bare, program)
    output("objcopy", "--add-gnu-debuglink=" + debug, bare)
    expected = our_symbols(program)
    ours = our_symbols(bare, debug)
    report.result("a stripped program and its debug file: the same symbols",
                  "" if ours == expected and own(expected) else f"{expected}\n{ours}")
    match = re.search(r"\.gnu_debuglink.*?'(.*?)'|x\.debug", output("readelf", "-p",
                      ".gnu_debuglink", bare))
    link = our_link(bare, "debuglink")
    report.result("the debug link", "" if match and link.startswith("x.debug ") else link)


def check_mini(report, folder, program):
    name = "symbols packed in .gnu_debugdata"
    if not shutil.which("xz"):
        report.skip(name, "no xz")
        return
    mini, bare = os.path.join(folder, "mini"), os.path.join(folder, "with-mini")
    output("objcopy", "-S", "--remove-section=.comment", "--keep-symbol=local_two",
           "--keep-symbol=shared_one", "-R", ".data", program, mini)
    output("xz", "-f", mini)
    output("strip", "-o", bare, program)
    output("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", bare)
    got = [row for row in our_symbols(bare) if row[2] == "local_two"]
    expected = [row for row in our_symbols(program) if row[2] == "local_two"]
    report.result(name, "" if got == expected and expected else f"{expected}\n{got}")


def check_no_sections(report, folder):
    library = os.path.join(folder, "lib.so")
    output("gcc", "-shared", "-fPIC", "-O1", "-o", library, write(folder, "l.c", SOURCE))
    stripped = os.path.join(folder, "strip.so")
    output("strip", "-o", stripped, library)
    expected = own(our_symbols(stripped))
    with open(stripped, "rb") as file:
        image = bytearray(file.read())
    struct.pack_into("<Q", image, 40, 0)
    struct.pack_into("<HHH", image, 58, 0, 0, 0)
    bare = write(folder, "no-sections.so", bytes(image))
    got = own(our_symbols(bare))
    same_id = our_link(bare, "build-id") == build_id(stripped) != ""
    report.result("a library without section headers: its exported functions, its build ID",
                  "" if got == expected and expected and same_id else f"{expected}\n{got}")


def check_many_sections(report, folder):
    """More sections than fit into the header: -ffunction-sections of 70,000 functions."""
    source = "".join(f'.section .text.f{i},"ax",@progbits\n.globl f{i}\n'
                     f'.type f{i},@function\nf{i}: nop\n.size f{i},1\n'
                     for i in range(70000))
    path = os.path.join(folder, "many.o")
    output("as", "-o", path, write(folder, "many.s", source))
    names = {name for _, _, name in our_symbols(path)}
    expected = {f"f{i}" for i in range(70000)}
    wrong, count = check_sections(path)
    missing = sorted(expected - names)[:WRONG_SHOWN]
    report.result(f"an object of {count} sections",
                  wrong_lines(wrong, count) + " ".join(missing))


def check_relocatable(path):
    """In an object file addresses are offsets: section + value."""
    starts = {}
    for line in output("readelf", "-SW", path).splitlines():
        match = re.match(r"^\s*\[\s*(\d+)\] \S*\s+[A-Z_0-9]+\s+[0-9a-f]{8,} ([0-9a-f]+)",
                         line)
        if match:
            starts[match[1]] = int(match[2], 16)
    arm = "ARM" in output("readelf", "-hW", path) and "AArch64" not in output(
        "readelf", "-hW", path)
    expected = {((s.address & ~1 if arm else s.address) + starts[s.section], s.name)
              for s in readelf_symbols(path) if s.section in starts}
    ours = {(address, name) for address, _, name in our_symbols(path)}
    return "" if expected and expected <= ours and not any("$" in n for _, n in ours) else (
        f"{sorted(expected)}\n{sorted(ours)}")


def check_targets(report, folder):
    """Both byte orders, 32 and 64 bits."""
    source = write(folder, "bare.c", BARE)
    for target in ("i386", "x86_64", "armv7", "aarch64", "aarch64_be", "mips", "mips64",
                   "powerpc", "riscv64", "s390x", "sparcv9"):
        path = os.path.join(folder, target + ".o")
        status, _, err = tap.run(["clang", f"--target={target}-linux-gnu", "-O1", "-c",
                                  "-o", path, source])
        if status != 0:
            report.skip(target, "clang cannot make it: " + err.decode()[:80].strip())
            continue
        report.result(f"an object file for {target}", check_relocatable(path))


def check_aarch64_plt(report, folder):
    source = write(folder, "bare.c", BARE)
    for flag in ("none", "bti"):
        path = os.path.join(folder, f"a64-{flag}.so")
        name = f"AArch64 stubs, branch protection {flag}"
        more = ["-mbranch-protection=bti", "-Wl,-z,force-bti"] if flag == "bti" else []
        status, _, err = tap.run(
            ["clang", "--target=aarch64-linux-gnu", "-O1", "-shared", "-fPIC", "-nostdlib",
             "-fuse-ld=lld", *more, "-o", path, source])
        if status != 0:
            report.skip(name, err.decode()[:80].strip())
            continue
        stubs = [row for row in our_symbols(path) if row[2] == "elsewhere@plt"]
        listed = output("llvm-objdump", "-d", path)
        # The call in `alone` goes to the stub.
        match = re.search(r"\bbl\s+(?:#\S+ )?(?:0x)?([0-9a-f]+) <elsewhere@plt>", listed)
        match = match or re.search(r"\bbl\s+0x([0-9a-f]+)", listed)
        good = match and len(stubs) == 1 and stubs[0][0] == int(match[1], 16)
        report.result(name, "" if good else f"{stubs}\n{listed[-2000:]}")


def check_made(report):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        output("gcc", "-g", "-O1", "-fno-inline", "-o", program,
               write(folder, "p.c", SOURCE))
        check_compressed(report, folder, program)
        check_debug_file(report, folder, program)
        check_mini(report, folder, program)
        check_no_sections(report, folder)
        check_many_sections(report, folder)
        check_rust(report, folder)
        if shutil.which("clang"):
            check_targets(report, folder)
            check_aarch64_plt(report, folder)
        else:
            report.skip("other machines", "no clang")


def main():
    report = tap.Tap()
    if not shutil.which("readelf") or not shutil.which("gcc"):
        report.skip("all", "readelf or gcc is missing")
        report.done()
    check_files(report, sys.argv[2:] or machine_files())
    more = glob.glob("/usr/lib/*/libLLVM*.so.1") + glob.glob("/usr/lib/*/libdw.so.1")
    names = mangled_names(sys.argv[2:] or machine_files() + more[:1])
    for how in ("simple", "full"):
        check_demangling(report, "C++", names, how)
    if not sys.argv[2:]:
        check_made(report)
    report.done()


main()
