#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a header with a hash of the sources in some folders. Results that are cached on disk
contain this number, so that a changed program does not read what another one computed.

    tools/code_version.py HEADER DEPENDENCIES SOURCE_ROOT FOLDER...
"""

import hashlib
import os
import sys


def sources(root, folders):
    for folder in folders:
        path = os.path.join(root, folder)
        yield from sorted(os.path.join(path, name) for name in os.listdir(path)
                          if name.endswith((".c", ".h", ".def")))


def main():
    header, dependencies, root, *folders = sys.argv[1:]
    paths = list(sources(root, folders))
    version = hashlib.sha256()
    for path in paths:
        version.update(os.path.relpath(path, root).encode() + b"\0")
        with open(path, "rb") as file:
            version.update(file.read() + b"\0")
    with open(header, "w", encoding="utf-8") as file:
        file.write("/* Made by tools/code_version.py. */\n"
                   "#pragma once\n\n"
                   f"#define CODE_VERSION 0x{version.hexdigest()[:16]}ull\n")
    with open(dependencies, "w", encoding="utf-8") as file:  # a folder changes with its list of files
        watched = paths + [os.path.join(root, folder) for folder in folders]
        file.write(f"{header}: {' '.join(path.replace(' ', chr(92) + ' ') for path in watched)}\n")


main()
