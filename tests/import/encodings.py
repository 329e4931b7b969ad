#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How an input is stored does not change what is read: line ends, byte order marks, empty lines before
it, UTF-16, compression, and files in compressed files. One golden of each format."""

import glob
import gzip
import io
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


def main():
    for path, content, out in cases():
        why = "".join(check(path, out, name, variant) for name, variant in variants(content).items())
        results.result(os.path.relpath(path, IMPORTS)[:-len(".in")], why)
    results.done()


if __name__ == "__main__":
    sys.exit(main())
