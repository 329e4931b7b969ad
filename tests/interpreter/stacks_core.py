#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke stacks of core files that gcore writes: the frames of gdb, Python's functions, truncated and
corrupt files, another build of the program."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import tap

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void inner(int n)
{ if (n) inner(n - 1); else pause(); __asm__ volatile(""); }
void *work(void *a) { inner(5); return a; }
int main(void)
{ pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0); inner(VALUE); }
"""
PYTHON = "import time\ndef deep():\n    time.sleep(600)\ndef above():\n    deep()\nabove()\n"


def compile_program(value):
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", f"-DVALUE={value}",
                    "-Wl,--build-id", "-x", "c", "-", "-o", "program"], input=PROGRAM.encode(), check=True)


def core_of(command, is_ready):
    """A core file of the program once its stacks are ready, or None."""
    with subprocess.Popen(command) as process:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            _, out, _ = tap.run([tap.STOKE, "stacks", str(process.pid)])
            if is_ready(out.decode()):
                break
            time.sleep(0.1)
        tap.run(["gcore", "-o", "core", str(process.pid)])
        process.kill()
    name = f"core.{process.pid}"
    return name if os.path.exists(name) else None


def read(core, *options):
    status, out, err = tap.run([tap.STOKE, "stacks", "--json", *options, core])
    if status != 0:
        raise RuntimeError(f"status {status}: {err.decode()}")
    return json.loads(out)


def ours(result):
    return {t["tid"]: [f["function"].split("@")[0] for f in t["frames"]] for t in result["threads"]}


def gdb(core):
    _, out, _ = tap.run(["gdb", "-batch", "-ex", "set backtrace past-main on", "-ex", "thread apply all bt",
                         "program", core])
    threads = {}
    for line in out.decode().splitlines():
        head = re.match(r"Thread \d+ .*LWP (\d+)", line)
        frame = re.match(r"#\d+ +(?:0x[0-9a-f]+ in )?(\w+)", line)
        if head:
            frames = threads.setdefault(int(head[1]), [])
        elif frame and threads:
            frames.append(frame[1])
    return threads


def same(one, other):
    """__libc_start_main_impl is an alias of __libc_start_main."""
    return len(one) == len(other) and all(
        a.removesuffix("_impl") == b.removesuffix("_impl") for a, b in zip(one, other))


def check_corrupt(core):
    with open(core, "rb") as file:
        whole = bytearray(file.read())
    notes = whole.rfind(b"CORE\0")
    random.seed(1)
    for _ in range(60):
        changed = bytearray(whole)
        for _ in range(random.randrange(1, 30)):
            at = random.choice((random.randrange(64 + 56 * 20), max(0, notes - random.randrange(4000))))
            changed[at] = random.randrange(256)
        with open("changed", "wb") as file:
            file.write(changed)
        status, _, err = tap.run([tap.STOKE, "stacks", "changed"])
        if status not in (0, 1):
            return f"status {status}: {err[:200]}"
    return ""


def main():
    if not shutil.which("gcore") or not shutil.which("gcc"):
        print("1..0 # SKIP gdb or gcc is missing")
        return 0
    tests = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        compile_program(3)
        core = core_of(["./program"], lambda out: out.count(" inner ") >= 4 + 3 * 6)
        if not core:
            print("1..0 # SKIP gcore may not trace processes here")
            return 0
        result, want = ours(read(core)), gdb(core)
        tests.append(("the frames of gdb", len(want) == 4 and want.keys() == result.keys() and
                      all(same(want[t], result[t]) for t in want), f"{want}\n{result}"))
        tests.append(("a profile", tap.run([tap.STOKE, "stacks", "-o", "out.folded", core])[0] == 0 and
                      b"inner" in open("out.folded", "rb").read(), ""))
        wrong = check_corrupt(core)
        tests.append(("corrupt core files", not wrong, wrong))
        with open(core, "rb") as file, open("cut", "wb") as cut:
            cut.write(file.read()[:200000])
        status, out, err = tap.run([tap.STOKE, "stacks", "cut"])
        tests.append(("a truncated file", b"bytes are missing" in out + err and status in (0, 1), f"{out}{err}"))
        compile_program(2)
        _, out, _ = tap.run([tap.STOKE, "stacks", core])
        tests.append(("another build of the program", b"warning: 1 file has changed after the program started (" in out and
                      b"inner" not in out, out.decode()))
        python = core_of([sys.executable, "-c", PYTHON], lambda out: " deep " in out)
        names = [n for t in ours(read(python)).values() for n in t] if python else []
        tests.append(("Python's functions", [n for n in names if n in ("deep", "above", "<module>")] ==
                      ["deep", "above", "<module>"], str(names)))
        os.chdir("/")
    print(f"1..{len(tests)}")
    for number, (name, good, why) in enumerate(tests, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print("# " + str(why).replace("\n", "\n# "))
    return 0


sys.exit(main())
