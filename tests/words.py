#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The words of CONTRIBUTING.md: no text of the project uses a term of the glossary's column
"Not", or one of the phrases below. Prints TAP, one case per folder.

words.py [FOLDER...] checks these folders and lists all findings.

A term is compared with words, and with the parts of identifiers: os_errand_end and
errandEnd both contain "errand". Terms that are also ordinary words ("leave", "how", "own",
"hand over", "program") have a narrower pattern, or none."""

import os
import re
import subprocess
import sys

import tap

# The folders and files that are checked. This file is not: it contains the terms.
CHECKED = [
    "CONTRIBUTING.md",
    "README.md",
    "bench",
    "doc",
    "src",
    "tests",
    "tools",
    "web",
]

# What the glossary excludes, as patterns for words and parts of identifiers.
TERMS = {
    "crew": "thread pool",
    "errands?": "task",
    "takers?": "consumer",
    "shelf|shelves": "segmented array",
    "tells?|told|telling": "report, reported, known",
    "wanted": "request",
    "kept": "cached, retained",
    "mend(?:s|ed|ing)?": "fix",
    "whom": "targets",
    "together(?! with)": "merge",
    "places?": "location",
    "look(?:s|ed|ing)? (?:at|for|into)": "read, check, search, refresh",
    "cut short": "truncated",
    "followed to (?:the|their|its) ends?": "truncated",
    "(?-i:build ids?)": "build ID",
    "buildid": "build ID",
}

# Phrases that are not plain English.
PHRASES = {
    "(?<!there )is no (?!longer\\b|more\\b|less\\b)": "is not a; invalid",
    "that which": "a term",
    "thereof": "of it",
    "beforehand": "before",
    "at hand": "available, current",
    "who asks": "the caller",
    "of which that": "a relative clause",
    "is blind to": "ignores",
    "heed(?:s|ed)?": "use, ignore",
    "be it": "a condition",
    "whatever (?:is|was|becomes)": "any",
    "comes? to its end": "ends",
    "anew": "again",
    "behind (?:it|them) stands?": "is followed by",
}

# Ordinary uses: these are removed before a text is searched.
ALLOWED = re.compile(
    r"in[ _]place(?![a-z])|(?:2377|%u) places, all below|in 1 place, below|data-place|dataset..place..|last place|close together|in-place|takes? place|took place|place-(?:items|content|self)|placeholder"
    r"|perf buildid-\w+|--?buildid-\w+|buildid-cache|BUILDID_\w+|PERF_RECORD_MISC_MMAP_BUILD_ID"
    r"|buildid-mmap|buildid-all|no-buildid|/buildid/|note\.go\.buildid|\bBUILDID\b")

SUFFIXES = (".c", ".h", ".def", ".ts", ".js", ".mjs", ".css", ".py", ".sh", ".scd", ".md", ".build", ".html")
GLOSSARY = re.compile(r"^\| Term \| Meaning \| Not \|$.*?\n\n", re.MULTILINE | re.DOTALL)


def compiled(patterns):
    return [(re.compile(rf"(?<![a-z]){pattern}(?![a-z])", re.IGNORECASE), instead)
            for pattern, instead in patterns.items()]


PATTERNS = compiled({**TERMS, **PHRASES})
ANY = re.compile("(?<![a-z])(?:" + "|".join([*TERMS, *PHRASES]) + ")(?![a-z])", re.IGNORECASE)


def files_of(folder):
    done = subprocess.run(["git", "-C", tap.SOURCE_ROOT, "ls-files", "--", folder],
                          stdout=subprocess.PIPE, text=True, check=True)
    return [path for path in done.stdout.split("\n")
            if path.endswith(SUFFIXES) and path != "tests/words.py"]


def spread(text):
    """A text with the parts of its identifiers as words of their own; build_id stays."""
    text = ALLOWED.sub(" ", text)
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return text.replace("build_id", "build-id").replace("_", " ")


def findings(path):
    with open(os.path.join(tap.SOURCE_ROOT, path), encoding="utf-8") as file:
        text = file.read()
    if path == "CONTRIBUTING.md":
        text = GLOSSARY.sub(lambda table: "\n" * table[0].count("\n"), text)
    if not ANY.search(spread(text)):
        return
    for number, line in enumerate(text.split("\n"), 1):
        plain = spread(line)
        for pattern, instead in PATTERNS:
            for match in pattern.finditer(plain):
                yield f"{path}:{number}: '{match[0]}': {instead}: {line.strip()[:100]}"


def main():
    folders = sys.argv[1:] or CHECKED
    report = tap.Tap()
    for folder in folders:
        wrong = [found for path in files_of(folder) for found in findings(path)]
        if sys.argv[1:]:
            print("\n".join(wrong))
        report.result(folder, "\n".join(wrong[:20]))
    report.done()


main()
