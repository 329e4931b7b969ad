#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests of the command line: every tests/cli/*.sh is a test of one feature.

A script runs with `sh -eu` in an empty directory, with `stoke` on the path; $TESTS is the tests
directory. Exit status 0 is a pass, 77 a skip with the reason in the last line.
tests/cli/lib.sh has the test functions.

cli.py [PART-OF-A-NAME...] runs only the scripts with matching names."""

import glob
import os
import sys
import tempfile

import tap

TESTS = os.path.join(tap.SOURCE_ROOT, "tests")


def run_script(path):
    with tempfile.TemporaryDirectory(prefix="stoke-test-") as folder:
        binaries = os.path.join(folder, ".bin")
        work = os.path.join(folder, "work")
        os.mkdir(binaries)
        os.mkdir(work)
        os.symlink(tap.STOKE, os.path.join(binaries, "stoke"))
        env = dict(os.environ, TESTS=TESTS, LC_ALL="C",
                   PATH=binaries + os.pathsep + os.environ["PATH"])
        return tap.run(["sh", "-eu", path], cwd=work, env=env)


def main():
    report = tap.Tap()
    scripts = [path for path in sorted(glob.glob(TESTS + "/cli/*.sh"))
               if os.path.basename(path) != "lib.sh"]
    if sys.argv[1:]:
        scripts = [path for path in scripts
                   if any(part in os.path.basename(path) for part in sys.argv[1:])]
    for path, (status, out, err) in tap.in_parallel(run_script, scripts):
        name = "cli/" + os.path.basename(path)[:-3]
        said = (out + err).decode("utf-8", "backslashreplace").strip()
        if status == 77:
            report.skip(name, said.split("\n")[-1] or "no reason given")
        else:
            report.result(name, f"exit status {status}\n{said[-3000:]}" if status != 0 else "")
    report.done()


main()
