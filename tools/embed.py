#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page's files into a C source: embed.py OUT.c PREFIX FILE...

A style light.css becomes `const char PREFIX_light[]`, which its user declares. All of the
scripts, in their order, become the body of one function, PREFIX_script[], and
PREFIX_script_hash[] is how a Content-Security-Policy names it. The files are ASCII, and
none may hold "]]>", so that they can stand in XML."""

import base64
import hashlib
import os
import sys


def read(path):
    with open(path, encoding="ascii") as file:
        text = file.read()
    if "]]>" in text:
        sys.exit(f"embed.py: the end of a CDATA section is in {path}")
    return text


def write(out, name, text):
    """The text's bytes and a zero, as an initialiser."""
    values = [str(byte) for byte in text.encode("ascii")] + ["0"]
    out.write(f"extern const char {name}[];\nconst char {name}[] = {{\n")
    for at in range(0, len(values), 20):
        out.write("    " + ", ".join(values[at:at + 20]) + ",\n")
    out.write("};\n")


def main():
    target, prefix, *paths = sys.argv[1:]
    scripts = [read(path) for path in paths if path.endswith(".js")]
    script = '\n(function () {\n"use strict";\n\n' + "\n".join(scripts) + "})();\n"
    digest = hashlib.sha256(script.encode("ascii")).digest()
    with open(target, "w", encoding="ascii") as out:
        out.write("/* Made by tools/embed.py. */\n")
        for path in paths:
            stem, suffix = os.path.splitext(os.path.basename(path))
            if suffix == ".css":
                write(out, f"{prefix}_{stem}", read(path))
        write(out, f"{prefix}_script", script)
        write(out, f"{prefix}_script_hash", base64.b64encode(digest).decode())


main()
