#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layers: a folder of src/ includes only layers above it in CONTRIBUTING.md. Pure layers
include no system header and use no function of the C library except those of the browser build.

Reads every #include, and the undefined symbols of the libraries of the pure layers."""

import glob
import os
import re
import shutil
import subprocess
import sys

import tap

SOURCE = os.path.join(tap.SOURCE_ROOT, "src")

# The folders that each folder may include, and indirectly theirs. This is the design: a new edge
# is a design decision, not a fix of this test.
MAY_INCLUDE = {
    "base": [],
    "codec": ["base"],
    "model": ["base"],
    "analysis": ["model"],
    "symbol": ["model", "codec"],
    "unwind": ["symbol"],
    "interpreter": ["unwind"],
    "trace": ["symbol"],
    "perf": ["codec"],
    "import": ["model", "codec", "perf"],
    "transform": ["analysis"],
    "export": ["analysis", "codec"],
    "metrics": ["base"],
    "os": ["base"],
    "resolve": ["os", "interpreter"],
    "record": ["resolve", "perf"],
    "engine": ["record", "import", "transform", "export", "trace", "metrics"],
    "ingest": ["import"],
    "store": ["engine"],
    "lepd": ["os", "codec", "metrics", "model"],
    "http": ["os", "codec"],
    "daemon": ["store", "lepd", "http", "ingest"],
    "cli": ["daemon"],
    "agents": ["base"],
}

PURE = ["base", "codec", "model", "analysis", "symbol", "unwind", "interpreter", "trace", "perf", "import", "transform",
        "export", "metrics", "ingest"]

# Headers of the compiler and of memory, which are at home everywhere.
PURE_HEADERS = {
    "float.h", "limits.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h",
    "string.h", "math.h",
    "arm_neon.h", "emmintrin.h", "immintrin.h", "tmmintrin.h", "wasm_simd128.h",
}
# Headers that the build makes.
MADE = {"resolve/code_version.h"}
# Decompression is separate, because the page has its own. Regular expressions are pure code of
# libc, also in wasi-libc.
FILE_HEADERS = {"codec/decode.c": {"zstd.h"}, "codec/encode.c": {"zlib.h", "zstd.h"},
                "codec/packed.c": {"bzlib.h", "lzma.h", "zlib.h"},
                "codec/unpack_run.c": {"libdeflate.h", "lzma.h", "zlib.h", "zstd.h"},
                "transform/pattern.c": {"regex.h"}}

# stdlib.h and math.h contain more than memory and arithmetic: only these functions are allowed.
PURE_SYMBOLS = {
    "malloc", "calloc", "realloc", "free",
    "memchr", "memcmp", "memcpy", "memmove", "memrchr", "memset", "strcmp", "strlen",
    "strchr", "strncmp", "bcmp", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_",
    "__tls_get_addr",
    "fabs", "floor", "ceil", "round", "trunc", "fmod", "log", "log2", "log10", "exp", "pow",
    "sqrt", "cos", "sin", "erfc", "expm1", "log1p",
}
FILE_SYMBOLS = {"demangle.c.o": {"__cxa_demangle"}}
PURE_SYMBOL_PREFIXES = ("inflate", "deflate", "ZSTD_", "libdeflate_", "lzma_", "BZ2_", "regcomp", "regexec", "regfree",
                        "regerror", "__cpu_", "__asan", "__ubsan", "__sanitizer",
                        "__sancov", "__tsan", "__gcov", "__llvm")

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')

SYMBOL = re.compile(r"^(.*):[0-9a-f ]+ (\w) (\S+)$")  # a line of nm -A


def reachable(folder):
    """The folders that `folder` may include, itself among them."""
    seen, todo = set(), [folder]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += MAY_INCLUDE[at]
    return seen


def sources(folder):
    for ending in ("*.c", "*.h", "*.def"):
        yield from sorted(glob.glob(os.path.join(SOURCE, folder, "**", ending),
                                    recursive=True))


def includes(path):
    """(line number, header, whether it is a system header)"""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1] or match[2], match[2] is not None


def check_folder(folder):
    """(errors, number of includes, included folders)"""
    wrong, count, edges = [], 0, set()
    allowed = reachable(folder)
    for path in sources(folder):
        name = os.path.relpath(path, SOURCE)
        for number, header, system in includes(path):
            count += 1
            where = f"src/{name}:{number}: "
            if system:
                extra = FILE_HEADERS.get(name, set())
                if folder in PURE and header not in PURE_HEADERS | extra:
                    wrong.append(f"{where}<{header}> in a pure folder")
                continue
            to = header.split("/")[0]
            if header not in MADE and ("/" not in header or not os.path.exists(os.path.join(SOURCE, header))):
                wrong.append(f'{where}"{header}" is not a path from src/')
            elif to not in allowed:
                wrong.append(f"{where}{folder} may not include {to} "
                             f"({', '.join(sorted(allowed))})")
            elif to != folder:
                edges.add(to)
    return wrong, count, edges


def include_cycle():
    """The files of one include cycle, in order; empty if there is none."""
    below = {}
    for folder in MAY_INCLUDE:
        for path in sources(folder):
            below[os.path.relpath(path, SOURCE)] = [
                header for _, header, system in includes(path) if not system]
    done = set()
    for first in sorted(below):
        trail, todo = [], [(first, 0)]
        while todo:
            name, depth = todo.pop()
            del trail[depth:]
            if name in trail:
                return trail[trail.index(name):] + [name]
            trail.append(name)
            if name not in done:
                todo += [(header, depth + 1) for header in below.get(name, ())]
                done.add(name)
    return []


def defined_in(archives):
    """The symbols that the archives define, and {undefined symbol: objects}."""
    defined, expected = set(), {}
    for archive in archives:
        _, out, _ = tap.run(["nm", "-A", archive])
        for line in out.decode().splitlines():
            match = SYMBOL.match(line)
            if not match:
                continue
            where, kind, symbol = match.groups()
            if kind in "Uw":
                expected.setdefault(symbol, set()).add(os.path.basename(where))
            else:
                defined.add(symbol)
    return defined, expected


def unchecked(symbol):
    """_FORTIFY_SOURCE calls __memcpy_chk in place of memcpy."""
    return re.sub(r"^__(\w+)_chk$", r"\1", symbol)


def check_symbols(build):
    archives = [path for folder in PURE
                for path in glob.glob(f"{build}/src/{folder}/lib*.a")]
    defined, expected = defined_in(archives)
    wrong = [f"{symbol} in {', '.join(sorted(objects))}"
             for symbol, objects in sorted(expected.items())
             if symbol not in defined and unchecked(symbol) not in PURE_SYMBOLS
             and not all(symbol in FILE_SYMBOLS.get(o.split(":")[-1], ()) for o in objects)
             and not symbol.startswith(PURE_SYMBOL_PREFIXES)]
    return wrong, archives


def main():
    report = tap.Tap()
    folders = sorted(entry.name for entry in os.scandir(SOURCE) if entry.is_dir())
    for folder in folders:
        if folder not in MAY_INCLUDE:
            report.not_ok(f"src/{folder}", "the folder is not in the table of layers")
            continue
        wrong, count, edges = check_folder(folder)
        kind = "pure, " if folder in PURE else ""
        report.result(f"src/{folder}: {kind}{count} includes, of "
                      f"{' '.join(sorted(edges)) or 'itself alone'}", "\n".join(wrong))
    report.result("no file includes itself, directly or through others", " -> ".join(include_cycle()))
    done = subprocess.run([os.path.join(tap.SOURCE_ROOT, "tools", "spdx"), "--check"],
                          stdout=subprocess.PIPE, text=True, check=False)
    report.result("each source file names its licence (tools/spdx adds it)", done.stdout)
    build = os.environ.get("STOKE_BUILD")
    if not build or not shutil.which("nm"):
        report.skip("symbols of the pure folders", "no build folder, or no nm")
    else:
        wrong, archives = check_symbols(build)
        if not archives:
            wrong = ["there are no libraries in " + build]
        report.result(f"symbols of the pure folders: {len(archives)} libraries",
                      "\n".join(wrong))
    report.done()


main()
