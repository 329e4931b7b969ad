# SPDX-License-Identifier: Apache-2.0
"""The benchmark of reading recordings: builds a large C++ program, records it with stack dumps and
with frame pointers, and compares the CPU time of stoke with that of perf script and hotspot's
parser on the same files, if they are installed.

The CPU time includes child processes, because perf script runs another program to resolve inlined
functions. Stoke starts with an empty cache in each run."""

import glob
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

import program

PERFPARSER = "/usr/lib/*/libexec/hotspot-perfparser"
SECONDS = 13  # of recording: about 500 MB of dumps
RATE = 4999


def record(folder, kind):
    """Returns the path of a recording; creates it if it does not exist."""
    path = os.path.join(folder, kind + ".data")
    binary = program.build(os.path.join(folder, "program"))
    if os.path.exists(path) and os.path.getmtime(path) > os.path.getmtime(binary):
        return path
    how = {"dwarf": ["--call-graph", "dwarf,8192"], "fp": ["--call-graph", "fp"]}[kind]
    subprocess.run(["perf", "record", "-q", "-F", str(RATE), *how, "-o", path + ".part", "--",
                    binary, str(SECONDS)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    os.rename(path + ".part", path)
    return path


def used():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


class Timed:
    """One run of a command and its children: wall-clock and CPU seconds."""

    def __init__(self, command, env=None, stdin=None):
        before, started = used(), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=stdin,
                       stderr=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))
        self.seconds, self.cpu = time.perf_counter() - started, used() - before


class Best:
    """The best of several runs, each with an empty cache."""

    def __init__(self, command, rounds):
        self.command = command
        runs = [self.once() for _ in range(rounds)]
        self.seconds = min(run.seconds for run in runs)
        self.cpu = min(run.cpu for run in runs)

    def once(self):
        with tempfile.TemporaryDirectory() as cache:
            return Timed(self.command, {"XDG_CACHE_HOME": cache})


def perf_script(path, inline):
    return Timed(["perf", "script", "--inline" if inline else "--no-inline", "-i", path])


def perfparser(path):
    found = glob.glob(PERFPARSER)
    return Timed([found[0], "--input", path, "--output", "/dev/null"]) if found else None


def addresses_of(stoke, path, binary):
    """The distinct addresses of the program in the recording's stacks."""
    said = subprocess.run([stoke, "script", "-q", "--no-inline", "-F", "ip,dso", path],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    return sorted(set(re.findall(r"^\s*([0-9a-f]+) \(" + re.escape(binary) + r"\)$", said,
                                 re.MULTILINE)))


def locations(text):
    """The files and lines in the output of addr2line -a -f -i, in order. Names are omitted, because
    demanglers format them differently."""
    return re.findall(r"^(.*:(?:\d+|\?))(?: \(discriminator \d+\))?$", text, re.MULTILINE)


class Naming:
    """Names, inlined calls and lines of addresses on one core, by stoke and by
    llvm-addr2line (None if it is missing). Both are separate programs that start without a cache,
    read the same addresses and the same binary, demangle, and print the same output."""

    def __init__(self, build, binary, addresses, rounds):
        subprocess.run(["ninja", "-C", build, "bench/naming"], check=True,
                       stdout=subprocess.DEVNULL)
        commands = [[os.path.join(build, "bench", "naming"), binary]]
        if shutil.which("llvm-addr2line"):
            commands.append(["llvm-addr2line", "-e", binary, "-a", "-f", "-i", "-C"])
        with tempfile.NamedTemporaryFile("w") as listed:
            listed.write("\n".join(addresses) + "\n")
            listed.flush()
            said = [locations(self.output(command, listed.name)) for command in commands]
            runs = [[self.once(command, listed.name) for command in commands]
                    for _ in range(rounds)]
        best = [min(each, key=lambda run: run.cpu) for each in zip(*runs)]
        self.ours, self.theirs = best[0], best[1] if len(best) > 1 else None
        alike = sum(one == two for one, two in zip(said[0], said[-1]))
        self.alike = alike / max(1, len(said[0]), len(said[-1]))

    @staticmethod
    def output(command, listed):
        with open(listed) as stdin:
            return subprocess.run(command, check=True, stdin=stdin, text=True,
                                  stdout=subprocess.PIPE).stdout

    @staticmethod
    def once(command, listed):
        with open(listed) as stdin:
            return Timed(command, stdin=stdin)


def read_floor(path, rounds):
    """The time to read the complete file."""
    runs = [Timed(["cat", path]) for _ in range(rounds)]
    return min(runs, key=lambda run: run.cpu)
