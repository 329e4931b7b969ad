#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke heap on programs in difficulties: they print the same and end as without a recording.
heap_faults.py PROGRAM. Prints TAP."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

import tap

PROGRAM = os.path.abspath(sys.argv[1])
LIBRARY = os.path.join(os.environ["STOKE_BUILD"], "src", "agents", "heap", "libstoke_heap.so")
REPORT = tap.Tap()
MODES = (["--full"], ["--sample", "1000"])
CASES = ("storm", "threads", "filtered", "filtered_by_number", "filtered_threads", "strict", "no_counter", "closes", "roots",
         "children", "exhausts", "destructors", "signals", "ends_inside", "aborts", "vforks")


def bare(*words, env=None):
    """What the program prints, and its exit status as a shell has it."""
    result = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                            timeout=tap.TIMEOUT, env=env)
    status = result.returncode if result.returncode >= 0 else 128 - result.returncode
    return status, result.stdout, result.stderr


def recorded(folder, mode, *words, env=None, before=(), output="faults.stoke"):
    return tap.run([*before, tap.STOKE, "heap", *mode, "-o", os.path.join(folder, output), "--", PROGRAM, *words],
                   env=env)


def check_same(folder, case):
    """The profile can be read afterwards, too."""
    status, out, said = bare(case)
    for mode in MODES:
        got = recorded(folder, mode, case)
        why = "" if got[:2] == (status, out) and said in got[2] else f"{got}, not {(status, out, said)}\n"
        read, _, err = tap.run([tap.STOKE, "info", os.path.join(folder, "faults.stoke")])
        why += "" if read == 0 else err.decode()
        REPORT.result(f"{case}, {mode[0]}: as without a recording", why)


def check_preloaded(folder):
    """Another library that is loaded first: its functions are called, too."""
    compiler = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if not compiler:
        REPORT.skip("LD_PRELOAD", "no C compiler")
        return
    library = os.path.join(folder, "libother.so")
    source = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static int calls;
void *malloc(size_t size) { static void *(*real)(size_t);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "malloc"); calls++; return real(size); }
__attribute__((destructor)) static void end(void) { if (calls >= 200000) write(1, "called\\n", 7); }
"""
    subprocess.run([compiler, "-O1", "-fPIC", "-shared", "-w", "-x", "c", "-", "-o", library, "-ldl"], check=True,
                   input=source.encode())
    env = dict(os.environ, LD_PRELOAD=library)
    expected = bare("storm", env=env)[:2]
    for mode in MODES:
        # stoke itself loads the library, too
        status, out, err = recorded(folder, mode, "storm", env=env)
        why = "" if status == expected[0] and expected[1] in out else f"{status} {out} {err}, not {expected}"
        REPORT.result(f"LD_PRELOAD, {mode[0]}: the other library's functions are called", why)


def check_disk_full(folder):
    """The program ends as without a recording; stoke reports that it could not write the profile."""
    path = os.path.join(folder, "full.stoke")
    if os.path.exists(path):
        os.remove(path)
    os.symlink("/dev/full", path)
    status, out, err = recorded(folder, ["--full"], "destructors", output="full.stoke")
    why = "" if status == 1 and out == bare("destructors")[1] else f"{status} {out}"
    why += "" if b"No space left on device" in err else err.decode()
    REPORT.result("disk full: the program ends, and stoke says what failed", why)


def check_shared_memory(folder):
    """/dev/shm is not used: it may be full, or missing."""
    prefix = ["unshare", "-rm", "sh", "-c"]
    for name, mount in [("full", "mount -t tmpfs -o size=4k none /dev/shm && "
                                 "{ head -c 100000 /dev/zero > /dev/shm/all 2> /dev/null || true; } && "),
                        ("missing", "mount -t tmpfs none /dev && ")]:
        script = mount + 'exec "$@"'
        if not shutil.which("unshare") or tap.run([*prefix, script, "sh", "true"])[0] != 0:
            REPORT.skip(f"/dev/shm {name}", "mounting is not permitted")
            continue
        status, out, err = recorded(folder, ["--full"], "children", before=[*prefix, script, "sh"])
        expected = bare("children")
        REPORT.result(f"/dev/shm {name}", "" if (status, out) == expected[:2] else f"{status} {out} {err}")


def check_collector_killed(folder):
    """In the middle of a storm, whose output then is complete."""
    for mode in MODES:
        with subprocess.Popen([tap.STOKE, "heap", "-q", *mode, "-o", os.path.join(folder, "k.stoke"), "sh", "-c",
                               f"echo started; {PROGRAM} threads; echo $?"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as stoke:
            first = stoke.stdout.readline()
            stoke.send_signal(signal.SIGKILL)
            rest = stoke.stdout.read()
        REPORT.result(f"collector killed, {mode[0]}", "" if (first, rest) == (b"started\n", b"7\n") else f"{rest}")


def main():
    if not os.path.exists(LIBRARY):
        REPORT.skip("stoke heap", "libstoke_heap.so is not built here")
        REPORT.done()
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            check_same(folder, case)
        check_preloaded(folder)
        check_disk_full(folder)
        check_shared_memory(folder)
        check_collector_killed(folder)
    REPORT.done()


main()
