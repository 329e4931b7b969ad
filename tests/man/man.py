#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the manual and the program agree. Every command has a page; a page has all options of
--help and no others. The EXAMPLES of a page run in sequence in one directory with `sh -eu`, and
succeed; the directory is empty at the start except for the files in GIVEN. The examples of --help
and of the README are valid shell commands."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import tap

FIXTURES = os.path.join(tap.SOURCE_ROOT, "tests", "man")
DOC = os.path.join(tap.SOURCE_ROOT, "doc")
BUILD = os.environ.get("STOKE_BUILD", os.path.dirname(tap.STOKE))
LIBRARY = os.path.join(BUILD, "src", "agents", "heap", "libstoke_heap.so")
PLUGIN = os.path.join(BUILD, "src", "agents", "qemu", "libstoke_qemu.so")
# Input that a page's examples take from elsewhere: traces of FireSim, and a recording of
# another machine.
GIVEN = {"stoke-trace": ("TRACEFILE-C0", "small-bin-dwarf", "small.qemu"),
         "stoke-annotate": ("perf.data", "kallsyms")}
TOOLS = re.compile(r"^(?:.*\| *)?(perf|qemu-\S+|riscv64-\S+|curl)\b", re.MULTILINE)
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
                            self.path, out.name, PLUGIN], check=True)
            return open(out.name, encoding="utf-8").read()

    def examples(self):
        """The blocks between ``` lines after the heading EXAMPLES."""
        part = self.filled_in().partition("\n# EXAMPLES\n")[2].partition("\n# ")[0]
        return re.findall(r"^\t*```\n(.*?)^\t*```$", part, re.MULTILINE | re.DOTALL)


def missing_options(page):
    text = page.filled_in().replace("\\", "")
    missing = [name for name in sorted(options(page.command))
               if not re.search(rf"^\*.*{re.escape(name)}\b", text, re.MULTILINE)]
    return f"not in the page: {' '.join(missing)}" if missing else ""


def unknown_options(page, known):
    wrong = sorted(name for name in set(OPTION.findall(page.text)) - known
                   if name.replace("--no-", "--", 1) not in known)
    return f"there is no {' '.join(wrong)}" if wrong else ""


def missing_tools(script):
    """The missing requirements of the script, besides stoke."""
    missing = [tool for tool in sorted(set(TOOLS.findall(script))) if not shutil.which(tool)]
    if not missing and PLUGIN in script and not os.path.exists(PLUGIN):
        missing = ["plugin for QEMU in this build"]
    if re.search("stoke heap|--heap", script) and not os.path.exists(LIBRARY):
        missing.append("libstoke_heap.so in this build")
    return " ".join(missing)


NO_VIEWER = "the viewer was not built"
NO_TRACING = "no right to trace processes"


def run_example(script, folder):
    env = dict(os.environ, LC_ALL="C", HOME=folder,
               PATH=os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"])
    work = os.path.join(folder, "work")
    for _ in range(tap.PERF_RUNS):
        status, out, err = tap.run(["sh", "-eu", "-c", script], cwd=work, env=env)
        # perf ends by a signal, or perf script in a pipeline prints too little; or a busy machine
        # did not run a program while it was recorded
        again = "perf record" in script or b"no samples" in err
        if tap.PERF_CRASH not in err and (status == 0 or not again):
            break
        time.sleep(1)
    empty = [name for name in os.listdir(work)
             if os.path.getsize(os.path.join(work, name)) == 0]
    if b"built without its viewer" in err:
        return NO_VIEWER
    if b"cannot attach to thread" in err:
        return NO_TRACING
    if status != 0:
        return f"exit status {status}\n{script}\n{err.decode('utf-8', 'replace')}"
    if empty:
        return f"it left empty files: {' '.join(empty)}\n{script}"
    return ""


def run_examples(page, report):
    """Examples that need a missing tool are skipped. A later example of the page may need the
    files of a skipped one: if it fails, it is skipped, too."""
    with tempfile.TemporaryDirectory(prefix="stoke-man-") as folder:
        for name in "work", "bin":
            os.mkdir(os.path.join(folder, name))
        os.symlink(tap.STOKE, os.path.join(folder, "bin", "stoke"))
        for name in GIVEN.get(page.name, ()):
            shutil.copy(os.path.join(FIXTURES, name), os.path.join(folder, "work"))
        skipped = None
        for number, script in enumerate(page.examples(), 1):
            name = f"{page.name}: example {number}"
            missing = missing_tools(script)
            why = f"no {missing}" if missing else run_example(script, folder)
            if missing or why in (NO_VIEWER, NO_TRACING):
                skipped = number
                report.skip(name, why)
            elif why and skipped:
                report.skip(name, f"example {skipped} was skipped")
            else:
                report.result(name, why)


def not_shell(script):
    """Why a shell cannot read the script."""
    return tap.run(["sh", "-n", "-c", script])[2].decode("utf-8", "replace")


def check_texts(report):
    """Examples that are not run, as their files are the user's."""
    for command in commands():
        text = stoke_help(command).partition("\nexamples:\n")[2].partition("\n\n")[0]
        report.result(f"stoke {command} --help: examples", not_shell(text))
    with open(os.path.join(tap.SOURCE_ROOT, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    report.result("README: commands", "\n".join(filter(None, map(not_shell, blocks)))
                  if blocks else "it has none")
    first = stoke_help().partition("\nexamples:\n")[2]
    report.result("stoke help: stoke record is shown first",
                  "" if first.startswith("  stoke record ") else first)


def check_plugin(report):
    """The plugin is installed at the path in its manual page."""
    status, out, _ = tap.run(["meson", "introspect", "--installed", BUILD])
    page = os.path.join(BUILD, "doc", "libstoke_qemu.7")
    if status != 0 or not os.path.exists(PLUGIN) or not os.path.exists(page):
        report.skip("libstoke_qemu: where it is installed", "no such build, or no scdoc")
        return
    where = json.loads(out).get(os.path.abspath(PLUGIN), "nowhere")
    with open(page, encoding="utf-8") as file:
        text = re.sub(r"\\f.|\\&|\\", "", file.read())
    report.result("libstoke_qemu: where it is installed",
                  "" if f"-plugin {where}," in text else f"it is in {where}")


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
        if not page.examples():
            report.not_ok(f"{page.name}: examples", "it has none")
        run_examples(page, report)
    check_texts(report)
    check_plugin(report)
    report.done()


main()
