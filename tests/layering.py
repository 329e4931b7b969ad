#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A folder of src/ is a layer: it includes only the layers that stand above it. And the
pure ones stay pure: no system header, and no function of the C library but those that the
browser build has too.

Reads every #include, and the symbols that the built libraries of the pure folders ask for."""

import glob
import os
import re
import shutil
import subprocess
import sys

import tap

SOURCE = os.path.join(tap.SOURCE_ROOT, "src")

# What a folder may include: those named, and what those may. This is the design; a new
# edge is a decision, not a repair of this test.
MAY_INCLUDE = {
    "base": [],
    "codec": ["base"],
    "model": ["base"],
    "analysis": ["model"],
    "symbol": ["model", "codec"],
    "unwind": ["symbol"],
    "trace": ["symbol"],
    "perf": ["codec"],
    "import": ["model", "codec", "perf"],
    "transform": ["analysis"],
    "export": ["analysis", "codec"],
    "os": ["base"],
    "resolve": ["os", "unwind"],
    "record": ["resolve", "perf"],
    "engine": ["record", "import", "transform", "export", "trace"],
    "cli": ["engine"],
    "agents": ["base"],
}

PURE = ["base", "codec", "model", "analysis", "symbol", "unwind", "trace", "perf", "import", "transform",
        "export"]

# Headers of the compiler and of memory, which are at home everywhere.
PURE_HEADERS = {
    "float.h", "limits.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h",
    "string.h", "math.h",
    "arm_neon.h", "emmintrin.h", "immintrin.h", "tmmintrin.h", "wasm_simd128.h",
}
# Decompression is a seam of its own: the page brings its own. Regular expressions are
# libc's: pure code, in wasi-libc too.
FILE_HEADERS = {"codec/decode.c": {"zlib.h", "zstd.h"}, "codec/encode.c": {"zlib.h", "zstd.h"},
                "codec/unpack_run.c": {"libdeflate.h", "lzma.h", "zstd.h"},
                "transform/pattern.c": {"regex.h"}}

# stdlib.h and math.h have more than memory and arithmetic: these are all that is used.
PURE_SYMBOLS = {
    "malloc", "calloc", "realloc", "free",
    "memchr", "memcmp", "memcpy", "memmove", "memrchr", "memset", "strcmp", "strlen",
    "strchr", "strncmp", "bcmp", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_",
    "__tls_get_addr",
    "fabs", "floor", "ceil", "round", "trunc", "fmod", "log", "log2", "log10", "exp", "pow",
    "sqrt", "cos", "sin",
}
FILE_SYMBOLS = {"demangle.c.o": {"__cxa_demangle"}}
PURE_SYMBOL_PREFIXES = ("inflate", "deflate", "ZSTD_", "libdeflate_", "lzma_", "regcomp", "regexec", "regfree",
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
    """(what is wrong, the count of includes, the folders included)"""
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
            if "/" not in header or not os.path.exists(os.path.join(SOURCE, header)):
                wrong.append(f'{where}"{header}" is not a path from src/')
            elif to not in allowed:
                wrong.append(f"{where}{folder} may not include {to} "
                             f"({', '.join(sorted(allowed))})")
            elif to != folder:
                edges.add(to)
    return wrong, count, edges


def defined_in(archives):
    """The symbols that the archives define, and {symbol asked for: objects}."""
    defined, wanted = set(), {}
    for archive in archives:
        _, out, _ = tap.run(["nm", "-A", archive])
        for line in out.decode().splitlines():
            match = SYMBOL.match(line)
            if not match:
                continue
            where, kind, symbol = match.groups()
            if kind in "Uw":
                wanted.setdefault(symbol, set()).add(os.path.basename(where))
            else:
                defined.add(symbol)
    return defined, wanted


def unchecked(symbol):
    """_FORTIFY_SOURCE calls __memcpy_chk in place of memcpy."""
    return re.sub(r"^__(\w+)_chk$", r"\1", symbol)


def check_symbols(build):
    archives = [path for folder in PURE
                for path in glob.glob(f"{build}/src/{folder}/lib*.a")]
    defined, wanted = defined_in(archives)
    wrong = [f"{symbol} in {', '.join(sorted(objects))}"
             for symbol, objects in sorted(wanted.items())
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
