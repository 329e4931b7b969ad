#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a manual page from its source: page.py STOKE SCDOC SOURCE OUTPUT PLUGIN

The source is scdoc. A line that consists of one of these words is replaced by data from stoke's
tables: @OPTIONS@ the options of the command, @COMMANDS@ the commands, @READ@ and @WRITTEN@ the
formats. @PLUGIN@ is the path of the installed plugin for QEMU. If SCDOC is "-", the source with
these data is written."""

import re
import subprocess
import sys


def ask(stoke, *words):
    return subprocess.run([stoke, "help", *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def rows(text):
    """The indented "name description" lines of a help text, as a list of definitions."""
    found = re.findall(r"^  (\S+)\s+(.*)$", text, re.MULTILINE)
    return "\n\n".join(f"*{escape(name)}*\n\t{escape(what)}" for name, what in found)


def escape(text):
    return re.sub(r"([_*\\#`\[\]|<>~])", r"\\\1", text)


def fill_in(stoke, source, plugin):
    with open(source, encoding="utf-8") as file:
        text = file.read().replace("@PLUGIN@", plugin)
    command = re.match(r"(?:stoke-)?(\w+)\(", text)[1]
    if "@OPTIONS@" in text:
        text = text.replace("@OPTIONS@", ask(stoke, "--man", command).rstrip())
    if "@COMMANDS@" in text:
        listed = ask(stoke).split("commands:\n")[1].split("\n\n")[0]
        text = text.replace("@COMMANDS@", re.sub(r"^\*(\w+)\*$", r"*stoke-\1*(1)",
                                                 rows(listed), flags=re.MULTILINE))
    if "@READ@" in text:
        read, written = ask(stoke, "formats").split("\n\n")[:2]
        text = text.replace("@READ@", rows(read)).replace("@WRITTEN@", rows(written))
    return text


def main():
    stoke, scdoc, source, output, plugin = sys.argv[1:]
    page = fill_in(stoke, source, plugin).encode()
    if scdoc != "-":
        page = subprocess.run([scdoc], input=page, check=True,
                              stdout=subprocess.PIPE).stdout
    with open(output, "wb") as file:
        file.write(page)


main()
