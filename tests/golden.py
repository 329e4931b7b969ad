#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden files: the output of stoke for an input equals the file with the same name.

  tests/import/FORMAT/CASE.in    `stoke fold [CASE.args] CASE.in` prints CASE.want, and CASE.err
                                 on standard error; without CASE.err it prints no messages. An
                                 exit status other than 0 is in the first line of CASE.err,
                                 "exit 1". The output is the same for input from a pipe with
                                 --format FORMAT.
  tests/export/EXPORTER/CASE.want  output of `stoke convert [EXPORTER/CASE.args] --to EXPORTER
                                 -o - CASE.in` for tests/export/CASE.in.

golden.py [--update] [PART-OF-A-NAME...]: only the cases with matching names; --update writes the
output to the files. Read the difference before you commit it.
"""

import glob
import os
import re
import shlex
import sys

import tap

TESTS = os.path.join(tap.SOURCE_ROOT, "tests")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def split_status(text):
    """The "exit N" line of a .err file, and the text after it."""
    if text.startswith(b"exit "):
        first, _, rest = text.partition(b"\n")
        return int(first[5:]), rest
    return 0, text


# Lists of all formats change with each format that is added.
FORMATS = re.compile(rb"(?<=possible formats: ).*")

# The output for these formats must not depend on this machine.
NO_MACHINE = {"perf-data": ["--symfs", ".", "--kallsyms", "/dev/null"]}


class Case:
    """An input and its files with options and expected output, all with the same stem."""

    def __init__(self, name, folder, stem, command):
        self.name = name
        self.folder = folder  # messages then contain only the name of the file
        self.stem = stem
        self.args = command + shlex.split((read(stem + ".args") or b"").decode())
        self.err = read(stem + ".err")
        self.status, self.messages = split_status(self.err or b"")
        self.want = read(stem + ".want")

    def run(self, more, stdin=None):
        status, out, err = tap.run([tap.STOKE, *self.args, *more], cwd=self.folder, stdin=stdin)
        return status, out, FORMATS.sub(b"...", err)

    def check(self, status, out, err, how):
        why = tap.crashed(status)
        if not why and status != self.status:
            why = f"exit status {status}, expected {self.status}"
        if why:
            return f"{how}: {why}\n{err.decode('utf-8', 'replace')[-3000:]}"
        why = tap.difference(self.want or b"", out)
        if not why and self.messages is not None:
            why = tap.difference(self.messages, err, "messages")
        return why and f"{how}:\n{why}"

    def update(self, status, out, err):
        if out or status == 0:
            write(self.stem + ".want", out)
        if status:
            err = b"exit %d\n" % status + err
        if err:
            write(self.stem + ".err", err)
        elif self.err is not None:
            os.remove(self.stem + ".err")


class ImportCase(Case):
    def __init__(self, path):
        self.file = os.path.basename(path)
        self.format = os.path.basename(os.path.dirname(path))
        super().__init__(f"import/{self.format}/{self.file[:-3]}", os.path.dirname(path),
                         path[:-3], ["fold", *NO_MACHINE.get(self.format, [])])

    def result(self, update):
        first = self.run([self.file])
        if update:
            self.update(*first)
            return ""
        if self.want is None and self.err is None:
            return "there is neither a .want nor a .err file"
        why = self.check(*first, f"stoke {shlex.join(self.args)} {self.file}")
        if why or self.status or "--format" in self.args:
            return why
        with open(os.path.join(self.folder, self.file), "rb") as stdin:
            status, out, err = self.run(["--format", self.format, "-"], stdin)
        self.messages = None  # standard input has another name in them
        return self.check(status, out, err, f"--format {self.format}, standard input")


class ExportCase(Case):
    def __init__(self, path):
        self.exporter = os.path.basename(os.path.dirname(path))
        self.file = os.path.basename(path)[:-5] + ".in"
        super().__init__(f"export/{self.exporter}/{self.file[:-3]}",
                         os.path.join(TESTS, "export"), path[:-5],
                         ["convert", "--to", self.exporter, "-o", "-"])

    def result(self, update):
        first = self.run([self.file])
        if update:
            self.update(*first)
            return ""
        return self.check(*first, f"stoke {shlex.join(self.args)} {self.file}")


def main():
    update = "--update" in sys.argv
    parts = [word for word in sys.argv[1:] if word != "--update"]
    cases = [ImportCase(path) for path in glob.glob(TESTS + "/import/*/*.in")]
    cases += [ExportCase(path) for path in glob.glob(TESTS + "/export/*/*.want")]
    cases = sorted((case for case in cases
                    if not parts or any(part in case.name for part in parts)),
                   key=lambda case: case.name)
    report = tap.Tap()
    for case, why in tap.in_parallel(lambda case: case.result(update), cases):
        report.result(case.name, why)
    report.done()


main()
