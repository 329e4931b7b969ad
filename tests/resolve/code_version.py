#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The number that caches on disk contain depends on each source of the code that fills them."""

import os
import re
import shutil
import tempfile

import tap

TOOL = os.path.join(tap.SOURCE_ROOT, "tools", "code_version.py")


def version(folder):
    header, dependencies = os.path.join(folder, "x.h"), os.path.join(folder, "x.d")
    tap.output([TOOL, header, dependencies, folder, "a", "b"])
    with open(header, encoding="utf-8") as file:
        number = re.search(r"CODE_VERSION 0x([0-9a-f]{16})ull", file.read()).group(1)
    with open(dependencies, encoding="utf-8") as file:
        return number, file.read()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    report = tap.Tap()
    folder = tempfile.mkdtemp()
    try:
        for name in ("a", "b"):
            os.mkdir(os.path.join(folder, name))
        write(folder, "a/x.c", "1")
        write(folder, "b/y.h", "2")
        first, dependencies = version(folder)
        report.result("each source is a dependency", "" if "a/x.c" in dependencies and
                      "b/y.h" in dependencies else dependencies)
        report.result("the same sources have the same number",
                      "" if version(folder)[0] == first else "another number")
        numbers = {first}
        for name, text in (("a/x.c", "2"), ("b/z.c", ""), ("b/y.h", "12"), ("a/x.c", "1")):
            write(folder, name, text)
            numbers.add(version(folder)[0])
        report.result("a changed or new source changes the number",
                      "" if len(numbers) == 5 else f"{len(numbers)} numbers, not 5")
    finally:
        shutil.rmtree(folder)
    report.done()


main()
