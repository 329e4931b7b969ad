#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs that shrink while they are read, for all ways of reading: mapped, streamed, in parts by
several threads. Each is an error, and the part that was read is used.

A preloaded library truncates the file at the first call that reads or maps it: at the same
position in every run. Prints TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

from perf.make_perf_data import MARK_USER, Attr, Recording, USUAL
from tap import STOKE, Tap

SANITIZED = "-fsanitize=" in open(os.path.join(os.environ.get("STOKE_BUILD", "build"),
                                               "build.ninja"), encoding="utf-8").read()
LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int done;

/* Cuts the file, once, when the call is about that file. */
static void cut(int fd, const char *call)
{
    struct stat own, expected;
    const char *path = getenv("CUT_FILE"), *calls = getenv("CUT_AT");
    if (done || fd < 0 || !path || !strstr(calls, call) || fstat(fd, &own) != 0 ||
        stat(path, &expected) != 0 || own.st_ino != expected.st_ino ||
        (strcmp(call, "read,") == 0 && lseek(fd, 0, SEEK_CUR) == 0))
        return;
    done = 1;
    if (truncate(path, atol(getenv("CUT_TO"))) != 0)
        abort();
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
    void *map = real(at, size, prot, flags, fd, offset);
    cut(fd, "mmap,");
    return map;
}

void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    return mmap(at, size, prot, flags, fd, offset);
}

ssize_t read(int fd, void *into, size_t size)
{
    ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    cut(fd, "read,");
    return real(fd, into, size);
}

ssize_t pread(int fd, void *into, size_t size, off_t offset)
{
    ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
    cut(fd, "pread,");
    return real(fd, into, size, offset);
}

ssize_t pread64(int fd, void *into, size_t size, off_t offset)
{
    return pread(fd, into, size, offset);
}
"""


def folded():
    return b"".join(b"main;work;leaf%d 1\n" % (i % 1000) for i in range(800_000))


def script():
    return b"".join(b"prog 1/1 %d.%06d: 1 cycles:\n\t1000 leaf (/bin/x)\n\t2000 main (/bin/x)\n\n" %
                    (i // 1_000_000, i % 1_000_000) for i in range(200_000))


def speedscope():
    return (b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":'
            b'[{"name":"a"},{"name":"b"}]},"profiles":[{"type":"sampled","name":"x","unit":"none",'
            b'"startValue":0,"endValue":1,"weights":[' + b"1," * 1_000_000 + b'1],"samples":[' +
            b"[0,1]," * 1_000_000 + b"[0]]}]}")


def recording():
    rec = Recording([Attr(0, 0, ids=(1,), name="cycles", sample_type=USUAL)])
    rec.comm(100, 100, "prog")
    for i in range(60_000):
        rec.sample(1000 + i, 0x401000, [MARK_USER, 0x401000, 0x402010])
        if i % 1000 == 0:
            rec.round()
    return rec.file()


# The file, the part that is read, and the calls that read it.
CASES = (
    ("a.folded", folded, ["-j", "1"], True),
    ("a.folded", folded, ["-j", "4"], True),
    ("a.txt", script, ["-j", "1"], True),
    ("a.txt", script, ["-j", "4"], True),
    ("a.json", speedscope, [], True),
    ("a.data", recording, [], True),
    ("a.data", recording, ["-j", "1"], True),
)
CALLS = ("mmap,", "read,", "pread,")


def run(library, path, words, calls, by_name):
    size = os.path.getsize(path)
    env = dict(os.environ, LD_PRELOAD=library, CUT_FILE=path, CUT_AT=calls,
               CUT_TO=str(size // 2))
    with open(path, "rb") as file:
        done = subprocess.run([STOKE, *words, *([path] if by_name else [])], check=False,
                              stdin=subprocess.DEVNULL if by_name else file,
                              capture_output=True, env=env)
    return done, os.path.getsize(path) < size


def fault(done, words):
    if done.returncode != 1:
        return f"status {done.returncode}: {done.stderr.decode()[:300]}"
    if b"shrank" not in done.stderr and b"truncated" not in done.stderr:
        return f"it does not say why: {done.stderr.decode()[:300]}"
    if words[0] == "fold":
        weights = [float(line.rsplit(b" ", 1)[1]) for line in done.stdout.splitlines()]
        if sum(weights) < 1000:
            return f"the samples read before are lost: {done.stderr.decode()[:300]}"
    return "" if done.stdout else "nothing was written"


def check(tap, folder, library):
    met = set()
    for name, make, options, by_name in [c for case in CASES
                                         for c in (case, (*case[:3], False))]:
        whole = make()
        path = os.path.join(folder, name)
        for words in (["fold", *options], ["report", *options])[:1 + by_name]:
            for calls in (*CALLS, "".join(CALLS)):
                with open(path, "wb") as file:
                    file.write(whole)
                done, was_cut = run(library, path, words, calls, by_name)
                label = (f"{name} {'by name' if by_name else 'as standard input'}, cut at "
                         f"{calls.strip(',')}: {' '.join(words)}")
                if was_cut:
                    met.update((call, by_name) for call in calls.split(",")[:-1]
                               if calls.count(",") == 1)
                    tap.result(label, fault(done, words))
                elif done.returncode != 0:
                    tap.result(label, f"not cut, and status {done.returncode}")
    for call in ("mmap", "read"):
        tap.result(f"inputs were cut at {call}", "" if (call, True) in met else "none was")


def check_binary(tap, folder, library):
    """The binary of an instruction trace. A section header table is at its end."""
    source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "man")
    path, trace = os.path.join(folder, "small-bin-dwarf"), os.path.join(source, "TRACEFILE-C0")
    shutil.copy(os.path.join(source, "small-bin-dwarf"), path)
    env = dict(os.environ, LD_PRELOAD=library, CUT_FILE=path, CUT_AT="mmap,",
               CUT_TO=str(os.path.getsize(path) // 2))
    done = subprocess.run([STOKE, "trace", "--dwarf", path, trace], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, env=env)
    tap.result("the binary of a trace", fault(done, ["trace"]))


def main():
    tap = Tap()
    if not shutil.which("cc") or SANITIZED:
        tap.skip("inputs that shrink", "it takes a compiler, and a build without sanitizers")
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "cut.so")
        with open(os.path.join(folder, "cut.c"), "w", encoding="utf-8") as file:
            file.write(LIBRARY)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, file.name, "-ldl"],
                       check=True)
        check(tap, folder, library)
        check_binary(tap, folder, library)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
