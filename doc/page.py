#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a manual page from its source: page.py STOKE SCDOC SOURCE OUTPUT PLUGIN

The source is scdoc. @SUMMARY@ is replaced by what the command does. A line that consists of one of
these words is replaced by data from stoke's tables: @OPTIONS@ the options of the command, @TOOLS@
what becomes of the options of other tools (tools.tsv), @COMMANDS@ the commands, @READ@ and @WRITTEN@
the formats. @PLUGIN@ is the path of the installed plugin for QEMU. If SCDOC is "-", the source with
these data is written."""

import csv
import os
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


def option_rows(stoke, command):
    """The rows of `stoke help --options`, by each of their names with dashes."""
    rows = {}
    for line in ask(stoke, "--options", command).splitlines():
        names, letter, kind, text = line.split("\t")
        names = ["--" + name for name in names.split(",") if name]
        for name in names + (["-" + letter] if letter else []):
            rows.setdefault(name, (names, kind, text))
    return rows


def find_option(rows, name):
    """The name here, what becomes of another tool's option, and the text of its row."""
    negated = name not in rows and name.startswith("--no-")
    names, kind, text = rows.get(name.replace("--no-", "--", 1) if negated else name, ("", "", ""))
    if not kind:
        sys.exit(f"page.py: the option {name} of tools.tsv is in no table")
    here = names[0] if names and name.startswith("--") else name
    return here.replace("--", "--no-", 1) if negated and here != name else here, kind, text


def other_tools(stoke, command):
    """What becomes of the options of other tools: one section a tool."""
    rows, tools = option_rows(stoke, command), {}
    with open(os.path.join(os.path.dirname(__file__), "tools.tsv"), encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["command"] == command:
                tools.setdefault(row["tool"], []).append(row["option"])
    return "\n\n".join(tool_section(tool, names, rows) for tool, names in tools.items())


def tool_section(tool, options, rows):
    parts = {"set": [], "ignored": []}
    refused = ""
    perf = tool.startswith("perf ")  # @OPTIONS@ has what is refused or ignored of its options
    for option in options:
        here, kind, text = find_option(rows, option)
        if perf and kind != "set":
            continue
        name = f"*{escape(option)}*"
        if kind == "refused":
            refused += f"\n\n{name}\n\trefused" + (f"; instead: {escape(text)}" if text else "")
            continue
        parts[kind].append(name + (f" (*{escape(here)}*)" if here != option else ""))
    titles = {"set": "The same here, by this name or the one in parentheses",
              "ignored": "Accepted without effect"}
    listed = [f"{titles[kind]}: {', '.join(names)}." for kind, names in parts.items() if names]
    if perf:
        listed.append(f"The others are above, in _options of {tool}_.")
    return f"## {escape(tool)}\n\n" + "\n\n".join(listed) + refused


def fill_in(stoke, source, plugin):
    with open(source, encoding="utf-8") as file:
        text = file.read().replace("@PLUGIN@", plugin)
    command = re.match(r"(?:stoke-)?(\w+)\(", text)[1]
    if "@SUMMARY@" in text:
        summary = re.search(rf"^  {command} +(.*)$", ask(stoke), re.MULTILINE)[1]
        text = text.replace("@SUMMARY@", escape(summary))
    if "@OPTIONS@" in text:
        text = text.replace("@OPTIONS@", ask(stoke, "--man", command).rstrip())
    if "@TOOLS@" in text:
        text = text.replace("@TOOLS@", other_tools(stoke, command))
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
