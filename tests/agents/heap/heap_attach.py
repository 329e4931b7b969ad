#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke heap -p: what a running program allocates is right to the byte, and the program behaves
as without it and is as before at the end, whatever happens. heap_attach.py PROGRAM. Prints TAP."""

import collections
import contextlib
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import tap

PROGRAM = os.path.abspath(sys.argv[1])
LIBRARY = os.path.join(os.environ["STOKE_BUILD"], "src", "agents", "heap", "libstoke_heap_attach.so")
REPORT = tap.Tap()
FOLDER = tempfile.TemporaryDirectory()


# --- The program ---------------------------------------------------------------------------

class Target:
    """The program, which answers each line that it is sent."""

    def __init__(self, *threads, command=None):
        self.process = subprocess.Popen(command or [PROGRAM, *map(str, threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid
        self.output = []
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        self.output.append(line)
        return line

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        """The exit status and all output; the same as of an undisturbed run, or a reason."""
        self.process.stdin.close()
        self.output += self.process.stdout.readlines()
        status = self.process.wait(timeout=tap.TIMEOUT)
        expected = self.output[-1:] == ["end\n"] and not any("failed" in line for line in self.output)
        return "" if status == 7 and expected else f"exit status {status}, output {self.output}\n"


def file_sections(path):
    """{name: (address, size)} of an ELF file, and its first loaded segment's (offset, address)."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x7fELF":
        return {}
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    base = rows[names][4] if count else 0
    return {data[base + row[0]:data.index(0, base + row[0])].decode(): (row[3], row[5]) for row in rows}


def entries(pid):
    """The bytes of .got and .got.plt of all objects of the process but the recorder's own."""
    found = {}
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in lines:
            fields = line.split(None, 5)
            if len(fields) < 6 or int(fields[2], 16) != 0 or not fields[5].startswith("/") or fields[5] in found \
                    or fields[5] == LIBRARY or fields[5].startswith("/memfd"):
                continue
            sections = file_sections(fields[5])
            kind = open(fields[5], "rb").read(18)[16]
            base = int(fields[0].split("-")[0], 16) if kind == 3 else 0
            found[fields[5]] = []
            for name in (".got", ".got.plt"):
                address, size = sections.get(name, (0, 0))
                if size:
                    memory.seek(base + address)
                    found[fields[5]].append(memory.read(size))
    return found


def protections(pid):
    """The mappings with their rights, of all objects that the program had."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if ".so" in line and "libstoke_heap_attach" not in line]


# --- The recorder ---------------------------------------------------------------------------

class Recorder:
    """stoke heap -p, from when it records."""

    def __init__(self, pid, *options, name="heap.stoke"):
        self.path = os.path.join(FOLDER.name, name)
        self.process = subprocess.Popen([tap.STOKE, "heap", *options, "-p", str(pid), "-o", self.path],
                                        stderr=subprocess.PIPE, text=True)
        self.messages = self.process.stderr.readline()

    @property
    def records(self):
        return "recording the heap" in self.messages

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.finish()

    def finish(self):
        _, messages = self.process.communicate(timeout=tap.TIMEOUT)
        self.messages += messages
        return self.process.returncode


def folded(path, event):
    status, out, err = tap.run([tap.STOKE, "fold", "-q", "--event", event, path])
    assert status == 0, err.decode()
    rows = collections.Counter()
    for line in out.decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        rows[tuple(stack.split(";"))] += float(weight)
    return rows


def below(rows, function):
    return sum(weight for stack, weight in rows.items() if function in stack)


def compare(path, expected):
    why = ""
    for event, function, value in expected:
        rows = folded(path, event)
        got = below(rows, function)
        if got != value:
            why += f"{event} of {function}: {got}, not {value}\n" + \
                "\n".join(f"{';'.join(s)} {w}" for s, w in rows.items() if function in s) + "\n"
    return why


def compare_entries(before, after):
    why = ""
    for path, tables in before.items():
        for number, table in enumerate(tables):
            other = after[path][number]
            why += "".join(f"{path}: table {number}, entry {i // 8}: {table[i:i + 8].hex()} {other[i:i + 8].hex()}\n"
                           for i in range(0, len(table), 8) if table[i:i + 8] != other[i:i + 8])
    return why


# --- Tests ------------------------------------------------------------------------------------

KNOWN = 1000 * 100 + 7 * 1000 + 10 + 5500 + 300 + 310 + 640 + 302 + 301 + 21
KNOWN_LEAKED = 7 * 1000 + 1000 + 300 + 310 + 640 + 302 + 301 + 21


def check_truth(threads):
    """Attached in the middle: right to the byte, and each entry is restored."""
    target = Target(*threads)
    for line in ("known", "many", "forked"):  # the dynamic linker resolves functions at their first call
        target.send(line)
    before, rights = entries(target.pid), protections(target.pid)
    recorder = Recorder(target.pid, "--full")
    changed = compare_entries(before, entries(target.pid))
    for line in ("known", "old", "many", "forked", "known", "lazy"):
        target.send(line)
    status = recorder.stop()
    why = "" if status == 0 and recorder.records else f"{status} {recorder.messages}\n"
    why += "" if "heap_attach:" in changed and "libc.so" in changed else f"not replaced: {changed!r}\n"
    why += compare_entries(before, entries(target.pid))
    why += "" if rights == protections(target.pid) else "rights of mappings differ\n"
    for line in ("known", "lazy"):
        target.send(line)
    why += target.end()
    why += compare(recorder.path, [
        ("allocated", "known", 2 * KNOWN), ("allocations", "known", 2 * (1000 + 7 + 11 + 6)),
        ("leaked", "known", 2 * KNOWN_LEAKED), ("allocated", "release_old", 4000),
        ("leaked", "release_old", 4000), ("allocated", "known_thread", 8 * 500 * 20),
        ("allocated", "forked", 11 * 77), ("allocated", "main", 2 * KNOWN + 4000 + 11 * 77 + 2 * 333)])
    REPORT.result(f"right to the byte, and restored, with threads {threads}", why)


def main():
    if not os.path.exists(LIBRARY):
        REPORT.skip("stoke heap -p", "libstoke_heap_attach.so is not built here")
        REPORT.done()
    with FOLDER:
        check_truth((0, 0, 0))
        check_truth((2, 2, 1))
    REPORT.done()


main()
