#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that a recording or a profile names, replaced by a device, a pipe, a socket or a file of the
kernel: no command opens them, except with O_PATH, which has no effect. strace shows the opened
files. Prints TAP."""

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

from perf.make_perf_data import MARK_USER, Recording, USUAL, Attr
from tap import STOKE, Tap

PID = 5_000_000 + os.getpid()  # no process has it; another run of this test has another
MAP = f"/tmp/perf-{PID}.map"
SYSTEM = ("/dev/watchdog", "/dev/watchdog0", "/dev/kmsg", "/proc/kmsg", "/dev/mem", "/dev/port",
          "/dev/tty", "/dev/zero", "/dev/ptmx", "/proc/self/mem", "/sys/kernel/uevent_seqnum",
          "/proc/sysrq-trigger")
CALL = re.compile(r"(?:openat2?|open|creat)\((.*)$")


def specials(folder):
    """Paths below the folder that no command may open."""
    found = []

    def path(name):
        found.append(os.path.join(folder, name))
        return found[-1]

    os.mkfifo(path("fifo"))
    os.mkfifo(path("fifo.c"))
    os.mkfifo(path(f"jit-{PID}.dump"))
    own = socket.socket(socket.AF_UNIX)
    own.bind(path("socket.so"))
    os.symlink("/dev/zero", path("link.so"))
    os.symlink("fifo", path("link.c"))
    if os.geteuid() == 0:
        try:
            os.mknod(path("device"), stat.S_IFCHR | 0o600, os.makedev(1, 5))
        except PermissionError:
            found.pop()
    return found


def recording(paths, plain):
    rec = Recording([Attr(0, 0, ids=(1,), name="cycles", sample_type=USUAL)])
    rec.comm(PID, PID, "prog")
    chain = [MARK_USER]
    for i, path in enumerate([*paths, plain]):
        start = 0x400000 + 0x100000 * i
        rec.mmap2(PID, start, 0x10000, 0, path, build_id=b"\xab" * 20 if i % 2 else b"")
        chain.append(start + 0x100)
    rec.mmap2(PID, 0x7f0000000000, 0x1000, 0, "//anon")
    for i, address in enumerate((*chain[1:], 0x7f0000000010)):
        rec.sample(1000 + i, address, [MARK_USER, address, *chain[1:]], pid=PID)
    features = rec.features()
    features[2] = b"".join(rec.build_id(path, b"\xcd" * 20) for path in paths)
    return rec.file(features)


def profile(paths, plain):
    frames = [{"name": f"f{i}", "file": path, "line": 3}
              for i, path in enumerate([*paths, plain])]
    return json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": frames}, "profiles": [
            {"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1,
             "samples": [list(range(len(frames)))], "weights": [1]}]}).encode()


def opened(folder, command):
    """The paths that the command tried to open: as written, and absolute."""
    log = os.path.join(folder, "log")
    subprocess.run(["strace", "-f", "-qq", "-y", "-s", "4096", "-o", log, "-e",
                    "trace=open,openat,openat2,creat", *command], cwd=folder,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False,
                   env=dict(os.environ, HOME=folder, DEBUGINFOD_URLS="", XDG_CACHE_HOME=""))
    paths = set()
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            call = CALL.search(line)
            if call and "O_PATH" not in call[1]:
                paths.update(re.findall(r'"([^"]*)"', call[1]))
                paths.update(re.findall(r"= \d+<([^>]*)>", call[1]))
    return paths


def commands(folder, name):
    tree = ["--source-dir", folder]
    yield ["fold", name]
    yield ["fold", "--symfs", "/", name]
    yield ["fold", "--debug-dir", folder, name]
    yield ["report", name]
    yield ["report", "--json", name]
    yield ["info", name]
    yield ["script", name]
    yield ["diff", name, name]
    yield ["flamegraph", name]
    yield ["annotate", "f0", name]
    yield ["annotate", "--debug-dir", folder, "f0", name]
    yield ["convert", "--with-source", "-o", "page.html", name]
    yield ["convert", "--with-source", *tree, "-o", "page.html", name]


def check(tap, folder, base):
    paths = [*specials(folder), *SYSTEM]
    plain = os.path.join(folder, "plain.c")
    with open(plain, "wb") as file:
        file.write(b"int main;\n" * 9)
    for name, content in (("a.data", recording(paths, plain)), ("a.json", profile(paths, plain))):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    forbidden = {*paths, MAP} - base
    seen = set()
    for name in ("a.data", "a.json"):
        for words in commands(folder, name):
            tried = opened(folder, [STOKE, *words])
            seen |= tried
            wrong = sorted(tried & forbidden)
            label = " ".join(words).replace(folder, "FOLDER")
            tap.result(label, f"opened: {' '.join(wrong)}" if wrong else "" if
                       any(path.endswith(name) for path in tried) else "it did not read the input")
    tap.result("a plain file that is named is opened", "" if plain in seen else "it is not")


def check_old(tap, folder):
    """The recorder opens the recordings that it replaces, to check them first."""
    old = os.path.join(folder, "r.data.3")
    os.mkfifo(os.path.join(folder, "r.data.7"))
    with open(old, "wb") as file:
        file.write(b"PERFILE2")
    tried = opened(folder, [STOKE, "record", "--rotate", "1h", "-o", "r.data", "-e", "cpu-clock",
                            "true"])
    if not tried & {old, os.path.basename(old)}:
        tap.skip("recordings of earlier runs", "the kernel does not let us record")
        return
    tap.result("recordings of earlier runs",
               "a FIFO was opened" if tried & {"r.data.7", os.path.join(folder, "r.data.7")}
               else "")


def main():
    tap = Tap()
    if not shutil.which("strace") or subprocess.run(
            ["strace", "-qq", "-o", os.devnull, "true"], capture_output=True,
            check=False).returncode:
        tap.skip("what is opened", "strace is missing, or may not trace")
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        base = opened(folder, [STOKE, "help"])
        os.mkfifo(MAP)
        try:
            check(tap, folder, base)
        finally:
            os.unlink(MAP)
        check_old(tap, folder)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
