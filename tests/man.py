#!/usr/bin/env python3
"""The manual and the program say the same. Every command has a page; a page has every option
that --help lists, and no option that there is not; every block of its EXAMPLES is run, with
`sh -eu` in an empty folder that holds what is in tests/man, and ends well."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

FIXTURES = os.path.join(tap.SOURCE_ROOT, "tests", "man")
DOC = os.path.join(tap.SOURCE_ROOT, "doc")
PLUGINS = os.path.join(os.environ.get("STOKE_BUILD", os.path.dirname(tap.STOKE)), "tools",
                       "qemu")
OPTION = re.compile(r"(?<![\w%-])--[a-z][a-z-]*[a-z]")


def stoke_help(*words):
    return tap.run([tap.STOKE, "help", *words])[1].decode()


def commands():
    listed = stoke_help().split("commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\S+)", listed, re.MULTILINE)


def options(command):
    """The options that --help lists, at the beginning of their lines."""
    return set(re.findall(r"^  (?:-., |    )(--[a-z-]+)", stoke_help(command), re.MULTILINE))


class Page:
    def __init__(self, path):
        self.name, self.section = os.path.basename(path)[:-len(".scd")].split(".")
        self.command = self.name.partition("-")[2] if self.section == "1" else ""
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.text = file.read()

    def filled_in(self):
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run([sys.executable, os.path.join(DOC, "page.py"), tap.STOKE, "-",
                            self.path, out.name], check=True)
            return open(out.name, encoding="utf-8").read().replace("\\", "")

    def examples(self):
        """The blocks between ``` lines behind the heading EXAMPLES."""
        part = self.text.partition("\n# EXAMPLES\n")[2].partition("\n# ")[0]
        return re.findall(r"^\t*```\n(.*?)^\t*```$", part, re.MULTILINE | re.DOTALL)


def missing_options(page):
    text = page.filled_in()
    missing = [name for name in sorted(options(page.command))
               if not re.search(rf"^\*.*{re.escape(name)}\b", text, re.MULTILINE)]
    return f"not in the page: {' '.join(missing)}" if missing else ""


def unknown_options(page, known):
    wrong = sorted(name for name in set(OPTION.findall(page.text)) - known
                   if name.replace("--no-", "--", 1) not in known)
    return f"there is no {' '.join(wrong)}" if wrong else ""


def missing_tools(page, examples):
    """What the examples of a page that is of no command need beyond stoke."""
    if page.section != "7":
        return ""
    tools = re.findall(r"^(?:qemu|riscv64)-\S+", "\n".join(examples), re.MULTILINE)
    missing = [tool for tool in sorted(set(tools)) if not shutil.which(tool)]
    if not missing and not os.path.exists(os.path.join(PLUGINS, "libstoke_qemu.so")):
        missing = ["plugin for QEMU in this build"]
    return " ".join(missing)


NO_VIEWER = "the viewer was not built"


def run_example(script):
    with tempfile.TemporaryDirectory(prefix="stoke-man-") as folder:
        work = os.path.join(folder, "work")
        shutil.copytree(FIXTURES, work)
        os.symlink(tap.STOKE, os.path.join(work, "bin", "stoke"))
        env = dict(os.environ, LC_ALL="C",
                   LD_LIBRARY_PATH=PLUGINS,
                   PATH=os.path.join(work, "bin") + os.pathsep + os.environ["PATH"])
        status, out, err = tap.run(["sh", "-eu", "-c", script], cwd=work, env=env)
        empty = [name for name in os.listdir(work)
                 if os.path.getsize(os.path.join(work, name)) == 0]
    if b"built without its viewer" in err:
        return NO_VIEWER
    if status != 0:
        return f"exit status {status}\n{script}\n{err.decode('utf-8', 'replace')}"
    if empty:
        return f"it left empty files: {' '.join(empty)}\n{script}"
    return ""


def main():
    report = tap.Tap()
    pages = [Page(path) for path in sorted(glob.glob(DOC + "/*.scd"))]
    listed = commands()
    known = {"--help", "--version"}.union(*map(options, listed))
    for name in listed:
        there = any(page.command == name for page in pages)
        report.result(f"stoke-{name}: a page", "" if there else
                      f"doc/stoke-{name}.1.scd is missing")
    for page in pages:
        if page.command:
            report.result(f"{page.name}: a command", "" if page.command in listed else
                          "there is no such command")
            report.result(f"{page.name}: every option", missing_options(page))
        report.result(f"{page.name}: no other option", unknown_options(page, known))
        examples = page.examples()
        if not examples:
            report.not_ok(f"{page.name}: examples", "it has none")
        missing = missing_tools(page, examples)
        for number, script in enumerate(examples, 1):
            name = f"{page.name}: example {number}"
            why = f"no {missing}" if missing else run_example(script)
            if missing or why == NO_VIEWER:
                report.skip(name, why)
            else:
                report.result(name, why)
    report.done()


main()
