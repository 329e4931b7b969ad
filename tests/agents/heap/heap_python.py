#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests under stoke heap: each case ends as it does without a recording. Of its
tests, those that take seconds, not minutes: the first group, or all with STOKE_HEAP_PYTHON=1.
Prints TAP."""

import os
import tempfile
import xml.etree.ElementTree

import cpython
import tap

LIBRARY = os.path.join(os.environ["STOKE_BUILD"], "src", "agents", "heap", "libstoke_heap.so")
REPORT = tap.Tap()
MODES = ([], ["--full"])
LIMIT = 300  # seconds, of one file
GROUPS = {
    "types": "abc array bool bytes complex copy dataclasses defaultdict enum float fractions int "
             "range set slice str tuple unicode_identifiers weakset userdict",
    "language": "augassign binop builtin call class closures compare cmath contextlib decorators "
                "funcattrs functools generators genexps inspect isinstance iter keyword scope with",
    "libraries": "base64 binascii bisect calendar codecs collections csv colorsys fnmatch format glob gzip heapq "
                 "html json operator re shlex string struct textwrap",
    "system": "fileio atexit contextlib_async fork1 mmap thread threadedtempfile threading_local threadsignals tempfile",
}


def installed_tests():
    """(a CPython, its names of test files), or None."""
    for path in sorted(cpython.installed()):
        status, out, _ = tap.run([path, "-c", "import os, test.test_bool\n"
                                  "print(*os.listdir(os.path.dirname(test.test_bool.__file__)))"])
        if status == 0:
            return path, set(out.decode().split())
    return None


def results(folder, python, files, before=()):
    """(exit status, {case: how it ended}, what was printed)"""
    report = os.path.join(folder, "report.xml")
    if os.path.exists(report):
        os.remove(report)
    # with malloc, not with the pools of Python
    env = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="1", LC_ALL="C.UTF-8")
    env.pop("PYTHONPATH", None)
    status, out, err = tap.run([*before, python, "-m", "test", "--timeout", str(LIMIT), "--tempdir", folder,
                                "--junit-xml", report, *files], env=env, cwd=folder)
    cases = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase") if os.path.exists(report) else ():
        ends = sorted(child.tag for child in case if child.tag in ("error", "failure", "skipped"))
        cases[case.get("name")] = " ".join(ends) or "passed"
    return status, cases, (out + err).decode(errors="replace")


def differences(expected, got):
    if (expected[0], expected[1]) == (got[0], got[1]):
        return ""
    said = "".join(f"{name}: {got[1].get(name)}, not {expected[1].get(name)}\n"
                   for name in sorted(expected[1].keys() | got[1].keys())
                   if expected[1].get(name) != got[1].get(name))
    return f"{said}exit status {got[0]}, not {expected[0]}\n{got[2][-2000:]}"


def check_group(folder, python, group, files):
    expected = results(folder, python, files)
    REPORT.result(f"{group}: runs without a recording", "" if len(expected[1]) >= 50 else expected[2][-2000:])
    for mode in MODES:
        recorder = [tap.STOKE, "heap", "-q", *mode, "-o", os.path.join(folder, "python.stoke"), "--"]
        got = results(folder, python, files, recorder)
        REPORT.result(f"{group}, {' '.join(mode) or 'sampled'}: {len(expected[1])} cases of {len(files)} files end alike",
                      differences(expected, got))


def main():
    found = installed_tests() if os.path.exists(LIBRARY) else None
    if not found:
        REPORT.skip("CPython's tests", "libpython3-testsuite or libstoke_heap.so is missing")
        REPORT.done()
    python, names = found
    every = os.environ.get("STOKE_HEAP_PYTHON")
    for group, words in GROUPS.items() if every else [("types", GROUPS["types"])]:
        files = [f"test_{word}" for word in words.split() if {f"test_{word}.py", f"test_{word}"} & names]
        with tempfile.TemporaryDirectory() as folder:
            check_group(folder, python, group, files)
    REPORT.done()


main()
