#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How an input is stored does not change what is read: line ends, byte order marks, empty lines before
it, UTF-16, compression, and files in compressed files. A .stoke made from it has the facts of the
input. One golden of each format, and those with special facts."""

import glob
import gzip
import io
import json
import os
import shlex
import sys
import tempfile
import zipfile

import tap

IMPORTS = os.path.join(tap.SOURCE_ROOT, "tests", "import")
BOM = b"\xef\xbb\xbf"
results = tap.Tap()


def zip_of(content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("profile", content)
    return out.getvalue()


def text_variants(content):
    lines = content.replace(b"\r\n", b"\n")
    text = lines.decode()
    return {
        "CRLF and a mark, in gzip": gzip.compress(BOM + lines.replace(b"\n", b"\r\n")),
        "empty lines before it": b"\n\r\n" + content,
        "UTF-16 in a zip": zip_of(b"\xff\xfe" + text.encode("utf-16-le")),
    }


def variants(content):
    """By name, how the content can also be stored."""
    packed = {"gzip in gzip": gzip.compress(gzip.compress(content)),
              "gzip in a zip": zip_of(gzip.compress(content))}
    try:
        content.decode()
    except UnicodeDecodeError:
        return packed
    return packed if b"\0" in content else {**text_variants(content), **packed}


def cases():
    """A golden of each format that is read without errors: plain.in, or the first."""
    for folder in sorted(glob.glob(os.path.join(IMPORTS, "*", ""))):
        paths = sorted(glob.glob(os.path.join(folder, "*.in")),
                       key=lambda path: (not path.endswith("/plain.in"), path))
        for path in paths:
            with open(path, "rb") as file:
                content = file.read()
            status, out, _ = tap.run([tap.STOKE, "fold", *arguments(path), path], cwd=folder)
            if status == 0 and len(content) < 1 << 20:
                yield path, content, out
                break


def arguments(path):
    try:
        with open(path[:-len(".in")] + ".args", encoding="utf-8") as file:
            return shlex.split(file.read())
    except FileNotFoundError:
        return []


def check(path, out, name, content):
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        status, got, err = tap.run([tap.STOKE, "fold", *arguments(path), file.name], cwd=os.path.dirname(path))
    if status:
        return f"{name}: status {status}: {err.decode('utf-8', 'replace')[:300]}\n"
    return tap.difference(out, got, name) or ""


def facts(path):
    """What `stoke info` states about a file, apart from its name."""
    status, out, err = tap.run([tap.STOKE, "info", "--json", path], cwd=os.path.dirname(path))
    if status:
        return {"status": status, "err": err.decode("utf-8", "replace")[-300:]}
    return {key: value for key, value in json.loads(out).items() if key != "files"}


def check_stored(path):
    with tempfile.TemporaryDirectory() as folder:
        stored = os.path.join(folder, "x.stoke")
        status, _, err = tap.run([tap.STOKE, "convert", "-o", stored, path])
        if status:
            return f".stoke: status {status}: {err.decode('utf-8', 'replace')[-300:]}\n"
        before, after = facts(path), facts(stored)
    return "".join(f".stoke: {key}: {before.get(key)} in the input, {after.get(key)} in the .stoke\n"
                   for key in sorted({*before, *after}) if before.get(key) != after.get(key))


SPECIAL = ["perf-report/children-callee", "trace-event/open"]  # values that were inferred


def main():
    for name in SPECIAL:
        results.result(f"{name} as a .stoke", check_stored(os.path.join(IMPORTS, name + ".in")))
    for path, content, out in cases():
        why = "".join(check(path, out, name, variant) for name, variant in variants(content).items())
        why += "" if arguments(path) else check_stored(path)
        results.result(os.path.relpath(path, IMPORTS)[:-len(".in")], why)
    results.done()


if __name__ == "__main__":
    sys.exit(main())
