#!/usr/bin/env python3
"""Writes ASCII files into a C source as strings: embed.py OUT.c NAME=FILE...

Each becomes `const char NAME[]`, which its user declares. No file may hold "]]>", so that
all of them can stand in XML."""

import sys


def numbers(text):
    """The text's bytes and a zero, as lines of an initialiser."""
    values = [str(byte) for byte in text.encode("ascii")] + ["0"]
    for at in range(0, len(values), 20):
        yield "    " + ", ".join(values[at:at + 20]) + ",\n"


def main():
    out, *inputs = sys.argv[1:]
    with open(out, "w", encoding="ascii") as file:
        file.write("/* Made by tools/embed.py. */\n")
        for item in inputs:
            name, _, path = item.partition("=")
            with open(path, encoding="utf-8") as source:
                text = source.read()
            if "]]>" in text:
                sys.exit(f"embed.py: {path} holds the end of a CDATA section")
            file.write(f"extern const char {name}[];\nconst char {name}[] = {{\n")
            file.writelines(numbers(text))
            file.write("};\n")


main()
