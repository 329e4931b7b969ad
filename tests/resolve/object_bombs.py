#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small object files that request a very large amount of memory: compressed sections, tables
with many entries. They are the modules of a recording, their debug files, split files, dwz
files, or a vmlinux. Each is read with 1 GB of address space, in seconds; no sample is lost,
and a message gives the limit. Prints TAP."""

import lzma
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

from perf.make_perf_data import KERNEL, KERNEL_MODE, MARK_KERNEL, MARK_USER, USUAL
from perf.make_perf_data import Attr, Recording
from tap import STOKE, Tap

MEMORY = 1 << 30
SECONDS = 20
MB = 1 << 20
SANITIZED = "-fsanitize=" in open(os.path.join(os.environ.get("STOKE_BUILD", "build"),
                                               "build.ninja"), encoding="utf-8").read()
PROGBITS, SYMTAB, STRTAB, NOTE = 1, 2, 3, 7
ALLOC, EXECUTABLE, COMPRESSED = 2, 4, 0x800
SAMPLES = 50
TEXT = struct.pack("<I", 0x13) * 1024  # for RISC-V: nop


def elf(path, sections, sparse=0, machine=62):
    """An x86-64 file with code at 0x1000; sections are (name, type, flags, bytes), and sections
    with the same object as bytes share them. `sparse`: this number of further section headers,
    without blocks on the disk."""
    sections = [("", 0, 0, b""), (".text", PROGBITS, ALLOC | EXECUTABLE, TEXT), *sections,
                (".names", STRTAB, 0, b"")]
    names, heads, at, written = b"", b"", 0x1000, {}
    with open(path, "wb") as file:
        for name, kind, flags, data in sections:
            name_at = len(names)
            names += name.encode() + b"\0"
            data = names if name == ".names" else data
            if id(data) not in written:
                written[id(data)] = at
                file.seek(at)
                file.write(data)
                at += len(data) + 15 & ~15
            heads += struct.pack("<IIQQQQIIQQ", name_at, kind, flags,
                                 0x1000 if name == ".text" else 0, written[id(data)], len(data),
                                 len(sections) - 2, 0, 1, 24)
        count = len(sections)
        if sparse:  # the null section holds the count
            count += sparse
            heads = heads[:32] + struct.pack("<QI", count, len(sections) - 1) + heads[44:]
        file.seek(at)
        file.write(heads)
        file.truncate(at + len(heads) + 64 * sparse)
        file.seek(0)
        file.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
            "<HHIQQQIHHHHHH", 3, machine, 1, 0x1000, 64, at, 0, 64, 56, 1, 64,
            0 if sparse else count, 0xffff if sparse else count - 1))
        file.write(struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x1000, 0x1000, len(TEXT), len(TEXT),
                               0x1000))


def compressed(piece, size):
    """A section of that size, rounded down to a multiple of the piece."""
    count = size // len(piece)
    block = piece * max(1, MB // len(piece))
    squeeze = zlib.compressobj(9)
    each, out, left = len(block) // len(piece), b"", count
    while left:
        part = min(left, each)
        out += squeeze.compress(block[:part * len(piece)])
        left -= part
    return struct.pack("<IIQQ", 1, 0, count * len(piece), 1) + out + squeeze.flush()


def unit(body):
    body = struct.pack("<HIB", 4, 0, 8) + body
    return struct.pack("<I", len(body)) + body


CODE = struct.pack("<QI", 0x1000, 0x1000)  # low_pc, high_pc
LOW_HIGH = b"\x11\x01\x12\x06"
UNIT_ABBREV = b"\1\x11\0" + LOW_HIGH + b"\0\0\0"
LINE_ABBREV = b"\1\x11\0" + LOW_HIGH + b"\x10\x17\0\0\0"
# GNU's attributes of a unit whose debug information is in another file: dwo_name, dwo_id.
SPLIT_ABBREV = b"\1\x11\0" + LOW_HIGH + b"\xb0\x42\x08\xb1\x42\x07\0\0\0"
SYMBOL = struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000, 0x1000)
SYMBOLS = [(".symtab", SYMTAB, 0, bytes(24) + SYMBOL)]


def names_at(sections):
    """The names of symbols: the section before the names of sections."""
    return [*sections, (".strtab", STRTAB, 0, b"\0known\0")]


def debug(info, abbrev=UNIT_ABBREV, **others):
    made = [(".debug_info", PROGBITS, COMPRESSED if info[:1] == b"\1" and len(info) > 99 else 0,
             info), (".debug_abbrev", PROGBITS, 0, abbrev)]
    return made + [(f".debug_{name}", PROGBITS, COMPRESSED, data) for name, data in others.items()]


def write_all(folder, **files):
    for name, sections in files.items():
        elf(os.path.join(folder, name.replace("_", ".")), sections)


def in_sections(folder):
    """One compressed file content that is the content of all sections."""
    data = compressed(bytes(65536), 400 * MB)
    names = ("info", "abbrev", "line", "line_str", "str", "str_offsets", "addr", "ranges",
             "rnglists")
    write_all(folder, x=names_at([(f".debug_{name}", PROGBITS, COMPRESSED, data)
                                  for name in names] + SYMBOLS))


def in_units(folder):
    write_all(folder, x=names_at(debug(compressed(unit(b"\0"), 300 * MB)) + SYMBOLS))


def in_old_section(folder):
    data = b"ZLIB" + struct.pack(">Q", 300 * MB) + compressed(bytes(65536), 800 * MB)[24:]
    write_all(folder, x=names_at([(".zdebug_info", PROGBITS, 0, data), *SYMBOLS]))


def in_symbols(folder):
    write_all(folder, x=names_at([(".symtab", SYMTAB, COMPRESSED, compressed(SYMBOL, 300 * MB))]))


def in_lines(folder):
    head = b"\1\1\1\xfb\x0e\x0a\0\1\1\1\1\0\0\0\1\0a\0\0\0\0\0"
    rows = b"\2\x10\1\2\xf0" + b"\xff" * 8 + b"\1\1"
    body = struct.pack("<H", 4) + struct.pack("<I", len(head)) + head
    lines = struct.pack("<I", 0xffffff00) + body + b"\0\x09\x02" + struct.pack("<Q", 0x1000)
    lines = zlib.compress(lines + rows * (200 * MB // len(rows)), 9)
    size = len(zlib.decompress(lines))
    write_all(folder, x=names_at(debug(
        unit(b"\1" + CODE + bytes(4)), LINE_ABBREV,
        line=struct.pack("<IIQQ", 1, 0, size, 1) + lines) + SYMBOLS))


def in_mini_debug(folder):
    data = b"".join(lzma_pieces(300))
    write_all(folder, x=[(".gnu_debugdata", PROGBITS, 0, data)])


def lzma_pieces(megabytes):
    squeeze = lzma.LZMACompressor(lzma.FORMAT_XZ, preset=1)
    for _ in range(megabytes):
        yield squeeze.compress(bytes(MB))
    yield squeeze.flush()


def in_split_file(folder):
    info = unit(b"\1" + CODE + b"x.dwo\0" + bytes(8))
    split = [(".debug_info.dwo", PROGBITS, COMPRESSED, compressed(unit(b"\1"), 300 * MB)),
             (".debug_abbrev.dwo", PROGBITS, 0, b"\1\x11\0\0\0\0")]
    write_all(folder, x=names_at(debug(info, SPLIT_ABBREV) + SYMBOLS), x_dwo=split)


def in_split_files(folder):
    """Many units, and for each a file that is small enough by itself."""
    split = [(".debug_info.dwo", PROGBITS, COMPRESSED, compressed(bytes(65536), 60 * MB)),
             (".debug_abbrev.dwo", PROGBITS, 0, b"\1\x11\0\0\0\0")]
    units = b""
    for i in range(SAMPLES):
        code = struct.pack("<QI", 0x1000 + 16 * i, 16)
        units += unit(b"\1" + code + b"%02d.dwo\0" % i + struct.pack("<Q", i))
        elf(os.path.join(folder, "%02d.dwo" % i), split)
    write_all(folder, x=names_at([(".debug_info", PROGBITS, 0, units),
                                  (".debug_abbrev", PROGBITS, 0, SPLIT_ABBREV), *SYMBOLS]))


def in_package(folder):
    info = unit(b"\1" + CODE + b"y.dwo\0" + bytes(8))
    package = [(".debug_cu_index", PROGBITS, COMPRESSED, compressed(bytes(65536), 300 * MB)),
               (".debug_info.dwo", PROGBITS, COMPRESSED, compressed(bytes(65536), 400 * MB))]
    write_all(folder, x=names_at(debug(info, SPLIT_ABBREV) + SYMBOLS), x_dwp=package)


def in_alternate(folder):
    build_id = bytes(range(20))
    note = struct.pack("<III", 4, 20, 3) + b"GNU\0" + build_id
    common = [(".note.gnu.build-id", NOTE, ALLOC, note),
              (".debug_info", PROGBITS, COMPRESSED, compressed(unit(b"\0"), 300 * MB)),
              (".debug_abbrev", PROGBITS, 0, UNIT_ABBREV)]
    main = debug(unit(b"\1" + CODE)) + [(".gnu_debugaltlink", PROGBITS, 0,
                                         b"x.dwz\0" + build_id)]
    write_all(folder, x=names_at(main + SYMBOLS), x_dwz=common)


def in_many_modules(folder):
    """Each of them is small enough by itself."""
    data = compressed(bytes(65536), 60 * MB)
    for i in range(SAMPLES):
        elf(os.path.join(folder, f"x{i}"),
            names_at([(".debug_str", PROGBITS, COMPRESSED, data)] + debug(unit(b"\1" + CODE)) +
                     SYMBOLS))


def many_sections(folder):
    elf(os.path.join(folder, "x"), names_at(SYMBOLS), sparse=10_000_000)


def long_names(folder):
    """Symbols that share one long name."""
    symbols = b"".join(struct.pack("<IBBHQQ", 1 + i % 1000, 0x12, 0, 1, 0x1000 + i % 4096, 1)
                       for i in range(400_000))
    write_all(folder, x=[(".symtab", SYMTAB, 0, bytes(24) + symbols),
                         (".strtab", STRTAB, 0, b"\0" + b"n" * MB + b"\0")])


# The files, the names of the modules, and the minimum output for each sample.
BOMBS = {
    "one content of all sections": (in_sections, ["x"], b"known"),
    "empty units": (in_units, ["x"], b"known"),
    "a section compressed in the old way": (in_old_section, ["x"], b"known"),
    "symbols": (in_symbols, ["x"], b"[x]"),
    "a line program": (in_lines, ["x"], b"known"),
    "a minimal debug file": (in_mini_debug, ["x"], b"[x]"),
    "a split file": (in_split_file, ["x"], b"known"),
    "many split files": (in_split_files, ["x"], b"known"),
    "a package of split files": (in_package, ["x"], b"known"),
    "a dwz file": (in_alternate, ["x"], b"known"),
    "many modules": (in_many_modules, [f"x{i}" for i in range(SAMPLES)], b"known"),
}
# These are not compressed: no limit is exceeded.
TABLES = {
    "many sections": (many_sections, ["x"], b"known"),
    "long names": (long_names, ["x"], b"n"),
}


def record(path, modules):
    rec = Recording([Attr(0, 0, ids=(1,), name="cycles", sample_type=USUAL)])
    rec.comm(100, 100, "prog")
    for i, name in enumerate(modules):
        rec.mmap2(100, 0x400000 + 0x10000 * i, 0x1000, 0x1000, "/bin/" + name)
    for i in range(SAMPLES):
        at = 0x400000 + 0x10000 * (i % len(modules)) + 16 * i
        rec.sample(1000 + i, at, [MARK_USER, at])
    with open(path, "wb") as file:
        file.write(rec.file())


def record_kernel(path):
    rec = Recording([Attr(0, 0, ids=(1,), name="cycles", sample_type=USUAL)])
    rec.kernel(1, struct.pack("<iiQQQ", -1, 0, KERNEL, 0x1000000, KERNEL) +
               rec.text("[kernel.kallsyms]_text"), misc=KERNEL_MODE)
    for i in range(SAMPLES):
        rec.sample(1000 + i, KERNEL + 16 * i, [MARK_KERNEL, KERNEL + 16 * i], misc=KERNEL_MODE)
    with open(path, "wb") as file:
        file.write(rec.file())


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def run(folder, words):
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"), HOME=folder,
               DEBUGINFOD_URLS="")
    return subprocess.run([STOKE, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          preexec_fn=limited, check=False, env=env)


def fault(done, expected, said):
    text = done.stderr.decode(errors="replace")
    weights = [float(line.rsplit(b" ", 1)[1]) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        return f"status {done.returncode}: {text[:300]}"
    if sum(weights) != SAMPLES * 1000:
        return f"samples are missing: {done.stdout[:300]}"
    if expected not in done.stdout:
        return f"names are missing: {done.stdout[:300]} {text[:300]}"
    if "out of memory" in text or said and "limit" not in text:
        return f"no message about the limit: {text[:300]}"
    return ""


def test_modules(tap, folder):
    for name, (make, modules, expected) in {**BOMBS, **TABLES}.items():
        with tempfile.TemporaryDirectory(dir=folder) as root:
            os.mkdir(os.path.join(root, "bin"))
            make(os.path.join(root, "bin"))
            data = os.path.join(root, "perf.data")
            record(data, modules)
            done = run(root, ["fold", "--srcline", "--symfs", root, data])
            tap.result(name, fault(done, expected, name in BOMBS))


def test_kernel(tap, folder):
    """A vmlinux is read like other files."""
    image, data = os.path.join(folder, "vmlinux"), os.path.join(folder, "kernel.data")
    elf(image, names_at(debug(compressed(unit(b"\0"), 300 * MB)) + SYMBOLS))
    record_kernel(data)
    done = run(folder, ["fold", "--srcline", "--vmlinux", image, data])
    tap.result("a vmlinux", fault(done, b"", True))


def test_trace(tap, folder):
    """The binary of an instruction trace."""
    binary, trace = os.path.join(folder, "riscv"), os.path.join(folder, "trace")
    elf(binary, names_at(debug(compressed(unit(b"\0"), 300 * MB)) + SYMBOLS), machine=243)
    with open(trace, "w", encoding="ascii") as file:
        file.writelines(f"core   0: 0x{0x1000 + 4 * i:016x} (0x00000013) nop\n"
                        for i in range(SAMPLES))
    done = run(folder, ["trace", "--dwarf", binary, trace])
    text = done.stderr.decode(errors="replace")
    tap.result("the binary of a trace", "" if done.returncode == 0 and "limit" in text and
               b"known" in done.stdout else f"{done.returncode}: {text[:300]} {done.stdout}")


def test_option(tap, folder):
    """With --limits, rejected data is read."""
    root = os.path.join(folder, "raised")
    os.makedirs(os.path.join(root, "bin"))
    symbols = compressed(SYMBOL, 100 * MB)
    write_all(os.path.join(root, "bin"),
              x=names_at([(".symtab", SYMTAB, COMPRESSED, symbols)]))
    data = os.path.join(root, "perf.data")
    record(data, ["x"])
    done = run(root, ["fold", "--symfs", root, data])
    tap.result("100 MB of 200 KB are rejected", fault(done, b"[x]", True))
    done = run(root, ["fold", "--limits", "x8", "--symfs", root, data])
    tap.result("--limits x8 reads them", fault(done, b"known", False))


def main():
    tap = Tap()
    if SANITIZED:
        tap.skip("bombs", "sanitizers take more address space than that")
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        test_modules(tap, folder)
        test_kernel(tap, folder)
        test_trace(tap, folder)
        test_option(tap, folder)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
