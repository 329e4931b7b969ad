#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the viewer: build.py --out FOLDER --version V [--generated FILE.c]...
or build.py --out FOLDER --again STAMP

Writes core.wasm, from the pure folders of src/ and from web/core/; viewer.html, one page that
contains the core, its worker, its style and its script; and graphviz.js, for pages that draw call
graphs. If the tools are missing, or if npm cannot reach its registry, viewer.html is empty, the
reason is printed, and the command line is built without the viewer. STAMP then changes: the build
runs this with --again each time, so that it tries again until the viewer is built. Sources that do
not compile are an error. Runs with the same FOLDER wait for each other. If the variable
STOKE_VIEWER is "later", the viewer is omitted this time. If it is the folder of a viewer of the same
sources (BUILD/src/export), that viewer is copied."""

import argparse
import base64
import contextlib
import fcntl
import glob
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import time

WEB = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(WEB)
PURE = ["base", "codec", "model", "analysis", "perf", "import", "transform", "export"]
# Code that compresses or decompresses needs libraries, and the page does that itself. The page is
# its own template.
LEFT_OUT = {"codec/decode.c", "codec/encode.c", "codec/packed.c", "codec/unpack_run.c", "export/html.c"}
COMPILE = ("--target=wasm32-wasi -std=c17 -O2 -msimd128 -mbulk-memory -Wall -Wextra "
           "-Wno-missing-field-initializers -ffunction-sections "
           "-fdata-sections")
# A compiler of another version has other warnings.
if os.environ.get("CI"):
    COMPILE += " -Werror"
# Without -O: with it, clang runs a wasm-opt that does not support SIMD.
LINK = ("--target=wasm32-wasi -mexec-model=reactor -Wl,--gc-sections,--strip-all,"
        "--stack-first,-z,stack-size=1048576,--max-memory=4294967296,--export=malloc,"
        "--export=free")


class Missing(Exception):
    """The viewer cannot be built here; why."""


def run(*command, **options):
    """The output of the command. If it fails, the build fails: the tools are there, so the sources
    are wrong. Warnings are errors only under $CI, where all must be right."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode or done.stderr:
        said = (done.stderr + done.stdout)[-4000:]
        print(f"web/build.py: {' '.join(command)[:200]}"
              f"{' failed' if done.returncode else ''}:\n{said}", file=sys.stderr)
        if done.returncode or os.environ.get("CI"):
            sys.exit(1)
    return done.stdout


# --- The core ---------------------------------------------------------------------------

def core_sources():
    for folder in PURE:
        top = os.path.join(ROOT, "src")
        for path in sorted(glob.glob(os.path.join(top, folder, "**", "*.c"), recursive=True)):
            if os.path.relpath(path, top) not in LEFT_OUT:
                yield path
    for name in sorted(os.listdir(os.path.join(WEB, "core"))):
        if name.endswith(".c"):
            yield os.path.join(WEB, "core", name)


def compiler():
    for name in ("clang", "clang-14"):
        if shutil.which(name):
            break
    else:
        raise Missing("clang is missing")
    probe = subprocess.run([name, "--target=wasm32-wasi", "-x", "c", "-", "-o", os.devnull],
                           input="#include <stdlib.h>\nint main(void) { return 0; }",
                           capture_output=True, text=True, check=False)
    if probe.returncode:
        raise Missing("clang cannot compile for WebAssembly: wasi-libc, lld or "
                      "libclang-rt-14-dev-wasm32 is missing")
    if not shutil.which("wasm-opt"):
        raise Missing("wasm-opt (binaryen) is missing")
    return name


def build_core(out, version, generated):
    """Builds with a separate build.ninja, so that only changed files are compiled."""
    clang = compiler()
    folder = os.path.join(out, "core")
    os.makedirs(folder, exist_ok=True)
    lines = [f"cflags = {COMPILE} -I{ROOT}/src -I{ROOT} -DSTOKE_VERSION=\\\"{version}\\\"",
             "rule cc", f"  command = {clang} $cflags -MMD -MF $out.d -c $in -o $out",
             "  depfile = $out.d", "  deps = gcc",
             "rule link", f"  command = {clang} {LINK} $in -o $out.big && wasm-opt -O3 "
             "--enable-simd --enable-bulk-memory $out.big -o $out && rm $out.big"]
    objects = []
    for path in [*core_sources(), *generated]:
        name = os.path.relpath(path, ROOT).replace("/", "_").replace("..", "")[:-2] + ".o"
        objects.append(name)
        lines.append(f"build {name}: cc {os.path.abspath(path)}")
    lines.append("build core.wasm: link " + " ".join(objects))
    with open(os.path.join(folder, "build.ninja"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    run("ninja", "--quiet", "-C", folder)
    return os.path.join(folder, "core.wasm")


# --- The numbers that core and page share -----------------------------------------------

# Enum of a header of HEADERS: the name and kind in TypeScript, and the prefix of its members.
HEADERS = ("web/core/core.h", "web/core/waits.h", "src/codec/encoding.h")
SHARED = {"encoding": ("Encoding", "ENCODING_"), "flaw": ("Flaw", "FLAW_"), "tree_kind": ("Chart", "TREE_"),
          "tone_by": ("Tone", "TONE_"), "function_sort": ("Sort", "SORT_"),
          "wait_sort": ("WaitSort", "WAITS_"),
          "verdict": ("Verdict", "CHANGE_"),
          "drawn_flag": (None, "DRAWN_"), "owner_kind": ("Owner", "KIND_")}
NUMBERS = os.path.join(WEB, "src", "numbers.ts")


def members(header, enum):
    """(name, number) of each member of the enum."""
    body = re.search(rf"enum {enum} {{(.*?)}};", header, re.S)[1]
    number = -1
    for member in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(","):
        name, _, value = (part.strip() for part in member.partition("="))
        if name:
            number = int(value, 0) if value else number + 1
            yield name, number


def numbers():
    """numbers.ts, from the headers."""
    header = ""
    for path in HEADERS:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            header += file.read()
    lines = ["/* SPDX-License-Identifier: Apache-2.0 */",
             "/* Generated by web/build.py from enums of the core. Do not edit. */"]
    for enum, (name, prefix) in SHARED.items():
        lines.append("")
        if name:
            lines.append(f"export const enum {name} {{")
        for member, number in members(header, enum):
            short = member.removeprefix(prefix)
            if not name:
                lines.append(f"export const {short} = {number};")
                continue
            # The charts that are not of one tree have the numbers after the trees.
            short = "Time" if short == "COUNT" else short.title().replace("_", "")
            lines.append(f"    {short} = {number},")
            if short == "Time":
                lines.append(f"    Before = {number + 1},")
        if name:
            lines.append("}")
    return "\n".join(lines) + "\n"


def numbers_differ():
    try:
        with open(NUMBERS, encoding="utf-8") as file:
            return file.read() != numbers()
    except FileNotFoundError:
        return True


def write_numbers():
    if numbers_differ():
        with open(NUMBERS, "w", encoding="utf-8") as file:
            file.write(numbers())


# --- The page ---------------------------------------------------------------------------

NPM_CI = ("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
# Without a network npm would wait for minutes.
NPM_RETRIES = ("--fetch-retries=2", "--fetch-retry-mintimeout=1000",
               "--fetch-retry-maxtimeout=5000")


def npm_complaint(said):
    """The first lines of npm's error message, without its prefix."""
    lines = [re.sub(r"^npm (ERR!|error) ?", "", line).rstrip() for line in said.splitlines()
             if re.match(r"npm (ERR!|error)", line)] or said.splitlines()
    return "\n".join("  " + line for line in lines if line)[:1000]


def install_packages():
    """Installs the packages of package-lock.json into web/node_modules, once."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Missing("node or npm is missing")
    lock = os.path.join(WEB, "package-lock.json")
    stamp = os.path.join(WEB, "node_modules", ".installed")
    with open(lock, encoding="utf-8") as file:
        digest_of_lock = hashlib.sha256(file.read().encode()).hexdigest()
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == digest_of_lock:
                return
    done = subprocess.run([*NPM_CI, *NPM_RETRIES], cwd=WEB, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise Missing("the packages of web/package-lock.json could not be installed: npm ci "
                      f"in {WEB} failed with status {done.returncode}:\n"
                      + npm_complaint(done.stderr or done.stdout)
                      + "\n  try: check the network or proxy, then run make again")
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(digest_of_lock)


def inert(text):
    """The text with all parts escaped that a browser could read as a tag or a comment."""
    return re.sub(r"<(?=!--|/?script)", "< ", text)


def packages_in(out, entries):
    """The folders of the packages that esbuild took something from for these entries."""
    found = set()
    for entry in entries:
        with open(os.path.join(out, "bundles", entry + ".json"), encoding="utf-8") as file:
            inputs = json.load(file)["inputs"]
        for path in inputs:
            inside = re.match(r"(?:.*/)?node_modules/((?:@[^/]+/)?[^/]+)/", path)
            if inside:
                found.add(path[:inside.end(1)])
    return sorted(found)


def licence_of(folder):
    """The licence texts of the package: its own licence files; if it has none, the text of the
    licence that it names; and the texts in web/licences, because packages contain others."""
    with open(os.path.join(WEB, folder, "package.json"), encoding="utf-8") as file:
        about = json.load(file)
    people = [one if isinstance(one, str) else one.get("name", "")
              for one in [about.get("author", ""), *about.get("contributors", [])]]
    people = dict.fromkeys(re.sub(r"\s*[<(].*", "", one) for one in people if one)
    texts = []
    for name in sorted(os.listdir(os.path.join(WEB, folder))):
        if re.match(r"(licen[cs]e|copying|notice|copyright)", name, re.I):
            texts.append(os.path.join(WEB, folder, name))
    parts = [f"{about['name']} {about['version']}\n{about['license']}\n"]
    if not texts:
        parts.append(f"Copyright (c) {', '.join(people)}\n")
        texts.append(os.path.join(WEB, "licences", about["license"] + ".txt"))
    more = os.path.join(WEB, "licences", about["name"].replace("/", "+") + ".txt")
    texts += [more] if os.path.exists(more) else []
    for path in texts:
        with open(path, encoding="utf-8") as file:
            parts.append(file.read())
    return inert("\n\n".join(part.rstrip("\n") for part in parts) + "\n")


def licences(out, *entries):
    return ("\n" + "-" * 72 + "\n\n").join(licence_of(folder) for folder in packages_in(out, entries))


def bundle(out, entry, version, form="iife"):
    """A script that can be part of a page: no text in it looks like a tag or a comment. The list
    of its sources is written beside it."""
    esbuild = os.path.join(WEB, "node_modules", ".bin", "esbuild")
    made = os.path.join(os.path.abspath(out), "bundles", entry)
    run(esbuild, os.path.join(WEB, "src", entry), "--bundle", "--minify",
        f"--format={form}", "--target=es2022", "--charset=ascii", "--jsx=automatic",
        "--jsx-import-source=preact", f"--define:VERSION=\"{version}\"",
        "--log-level=warning", f"--outfile={made}.js", f"--metafile={made}.json", cwd=WEB)
    with open(made + ".js", encoding="utf-8") as file:
        return re.sub(r"<(?=!--|/?script)", r"\\x3c", file.read())


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Writes the module that the package of Graphviz starts, which is in its script as text.
TAKE_MODULE = """
const start = WebAssembly.instantiate;
WebAssembly.instantiate = (bytes, imports) => {
    process.stdout.write(Buffer.from(bytes).toString("base64"));
    return start.call(WebAssembly, bytes, imports);
};
(await import(process.argv[1])).Graphviz.load();
"""
OWN_MODULE = re.compile(r"\?\?=\w+\(\w+\((\w+)\)\)(?=,)")  # name ??= decompress(decode(text)),


def build_graphviz(out, version):
    """The script that lays out call graphs. The package compresses its module for decompression
    without another library; xz, which the page has, makes it a quarter smaller."""
    package = os.path.join(WEB, "node_modules", "@hpcc-js", "wasm-graphviz", "dist", "index.js")
    module = base64.b64decode(run("node", "--input-type=module", "--eval", TAKE_MODULE, package))
    packed = lzma.compress(module, check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME)
    script = bundle(out, "graphviz.ts", version)
    own = OWN_MODULE.findall(script)
    texts = len(own) == 1 and re.findall(rf"\b{re.escape(own[0])}=('[^'\n]*'|\"[^\"\n]*\"|`[^`]*`)", script)
    if not module.startswith(b"\0asm") or not texts or len(max(texts, key=len)) < len(packed):
        sys.exit("web/build.py: the module of Graphviz is not found in its package: adapt OWN_MODULE")
    script = OWN_MODULE.sub("??=self.graphvizModule", script).replace(max(texts, key=len), '""')
    script = script.replace("{{GRAPHVIZ}}", base64.b64encode(packed).decode())
    return f"/*\n{licences(out, 'graphviz.ts').replace('*/', '* /')}*/\n{script}"


# The largest sizes, of one file compressed with gzip -9: the page, and the page that draws call graphs.
PAGE_MOST = 1_000_000
WITH_GRAPHVIZ_MOST = 1_200_000


def check_size(page, graphviz):
    for text, most, what in ((page, PAGE_MOST, "the page"),
                             (page + graphviz, WITH_GRAPHVIZ_MOST, "the page with Graphviz")):
        size = len(gzip.compress(text.encode(), 9))
        if size > most:
            sys.exit(f"web/build.py: {what} is {size} bytes compressed, over {most}")


def build_page(out, version, core):
    install_packages()
    script = bundle(out, "main.tsx", version)
    worker = bundle(out, "worker.ts", version)
    early = bundle(out, "early.ts", version)
    with open(os.path.join(WEB, "src", "style.css"), encoding="utf-8") as file:
        style = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S))
    with open(core, "rb") as file:
        packed = base64.b64encode(gzip.compress(file.read(), 9, mtime=0)).decode()
    with open(os.path.join(WEB, "src", "page.html"), encoding="utf-8") as file:
        page = file.read()
    with open(os.path.join(WEB, "licences", "musl.txt"), encoding="utf-8") as file:
        notices = f"{licences(out, 'main.tsx', 'worker.ts')}\n{'-' * 72}\n\n{file.read()}"
    parts = {"LICENCES": notices, "STYLE_HASH": digest(style), "EARLY_HASH": digest(early),
             "SCRIPT_HASH": digest(script), "STYLE": style, "CORE": packed, "WORKER": worker, "EARLY": early, "SCRIPT": script}
    page = re.sub(r"(?:/\*)?\{\{(\w+)\}\}(?:\*/)?", lambda key: parts[key[1]], page)
    target = os.path.join(out, "viewer.html")
    with open(target, "w", encoding="utf-8") as file:
        file.write(page)
    graphviz = build_graphviz(out, version)
    with open(os.path.join(out, "graphviz.js"), "w", encoding="utf-8") as file:
        file.write(graphviz)
    # Only the imports of the core, for the tests of the core.
    with open(os.path.join(out, "unpack.mjs"), "w", encoding="utf-8") as file:
        file.write(bundle(out, "unpack.ts", version, "esm"))
    check_size(page, graphviz)


def embed(out):
    """The pages as an object of the program, without a compiler reading a million numbers."""
    lines = ['#include "export/html_page.h"', ""]
    for name, file_name in (("viewer_page", "viewer.html"), ("viewer_graphviz", "graphviz.js")):
        path = os.path.abspath(os.path.join(out, file_name))
        with open(path, "rb") as file:
            seen = hashlib.sha256(file.read()).hexdigest()
        lines.append(f'''/* {seen} */
__asm__(".pushsection .rodata\\n"
        ".global {name}\\n"
        "{name}: .incbin \\"{path}\\"\\n"
        ".global {name}_end\\n"
        "{name}_end: .byte 0\\n"
        ".popsection\\n");''')
    with open(os.path.join(out, "viewer_page.c"), "w", encoding="utf-8") as file:
        file.write("/* Made by web/build.py of pages with these digests. */\n" + "\n".join(lines) + "\n")


def sources():
    """All sources of the viewer: if one changes, it is built again."""
    yield from (os.path.join(WEB, name) for name in ("build.py", "package-lock.json"))
    for top in [WEB + "/licences", *(os.path.join(ROOT, "src", folder) for folder in PURE), WEB + "/core",
                WEB + "/src"]:
        for folder, _, files in os.walk(top):
            yield from (os.path.join(folder, name) for name in sorted(files))


SOURCES = "viewer.sources"  # the digest of the sources of the viewer beside it
COPIED = ("viewer.html", "graphviz.js", "unpack.mjs", os.path.join("core", "core.wasm"), SOURCES)


def digest_of_sources(version, generated):
    found = hashlib.sha256(version.encode())
    for path in (*sources(), *generated):
        with open(path, "rb") as file:
            content = file.read()
        found.update(f"\n{os.path.basename(path)} {len(content)}\n".encode() + content)
    return found.hexdigest()


def copy_viewer(folder, out, expected):
    """Copies the viewer of the folder if it has the expected sources; returns whether it has."""
    try:
        with open(os.path.join(folder, SOURCES), encoding="utf-8") as file:
            if file.read() != expected:
                return False
    except OSError:
        return False
    os.makedirs(os.path.join(out, "core"), exist_ok=True)
    for name in COPIED:
        shutil.copyfile(os.path.join(folder, name), os.path.join(out, name))
    return True


def build_viewer(out, version, generated):
    """The digest is written last: a viewer that is not complete has none."""
    chosen = os.environ.get("STOKE_VIEWER", "")
    if chosen == "later":
        raise Missing("it follows later")
    if os.path.exists(os.path.join(out, SOURCES)):
        os.remove(os.path.join(out, SOURCES))
    write_numbers()  # which is one of the sources
    expected = digest_of_sources(version, generated)
    if chosen and copy_viewer(chosen, out, expected):
        return
    build_page(out, version, build_core(out, version, generated))
    with open(os.path.join(out, SOURCES), "w", encoding="utf-8") as file:
        file.write(expected)


def write_depfile(path, target):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{target}: " + " \\\n  ".join(sources()) + "\n")


@contextlib.contextmanager
def alone_in(folder):
    """One run at a time writes the folder: two builds, or a build and a check whether it is done."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "viewer.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_again(out, stamp):
    """Writes a new stamp if the viewer is not built; ninja then builds it."""
    try:
        built = os.path.getsize(os.path.join(out, "viewer.html")) > 0
    except FileNotFoundError:
        built = False
    if not built or not os.path.exists(stamp):
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(f"{time.time_ns()}\n")


def build(options):
    if options.depfile:
        write_depfile(options.depfile, "src/export/viewer.html")
    try:
        build_viewer(options.out, options.version, options.generated)
    except Missing as lack:
        print(f"the viewer is not built: {lack}", file=sys.stderr)
        for name in ("viewer.html", "graphviz.js"):
            with open(os.path.join(options.out, name), "w", encoding="utf-8"):
                pass
    embed(options.out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check-numbers", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--version")
    parser.add_argument("--again")
    parser.add_argument("--generated", action="append", default=[])
    parser.add_argument("--depfile")
    options = parser.parse_args()
    if options.check_numbers:
        sys.exit("web/src/numbers.ts differs from the headers" if numbers_differ() else 0)
    if not options.out:
        parser.error("--out is missing")
    with alone_in(options.out):
        if options.again:
            build_again(options.out, options.again)
        else:
            build(options)


main()
