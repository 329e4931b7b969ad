#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorder waits for seconds for the files of the programs that it records, on a slow disk:
no record is lost, and dumps that were shortened meanwhile are reported."""

import mmap
import os
import re
import shutil
import subprocess
import tempfile
import time

import tap

CONTROLLER = "/sys/fs/cgroup/blkio"
SPEED = 60000  # bytes per second
FUNCTIONS = 3000
PROGRAMS = 3
DURATION = 4  # seconds
TRIES = 5


def build(folder):
    """A program whose unwind information is large: frames without frame pointers. It says when it
    runs, without a constant: the pages of constants are neighbours of the unwind information."""
    source, program = os.path.join(folder, "big.c"), os.path.join(folder, "big")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <unistd.h>\nstatic volatile unsigned long sink;\nstatic char ready;\n")
        for i in range(FUNCTIONS):
            file.write(f"void f{i}(unsigned long n) {{ while (n--) sink += {i}; }}\n")
        calls = "".join(f"f{i}(900);" for i in range(FUNCTIONS))
        file.write(f"void all(void) {{ {calls} }}\n"
                   "int main(void) { if (write(1, &ready, 1) != 1) return 1; for (;;) all(); }\n")
    status, _, err = tap.run(["cc", "-O0", "-fomit-frame-pointer", "-o", program, source])
    if status:
        raise RuntimeError(err.decode("utf-8", "replace"))
    return program


def copy_by_page(source, target):
    """A copy whose pages are in memory one by one. The kernel keeps a larger unit of the cache as
    long as one page of it is in use."""
    with open(source, "rb") as file, open(target, "wb", buffering=0) as copy:
        for page in iter(lambda: file.read(mmap.PAGESIZE), b""):
            copy.write(page)
        os.fsync(copy.fileno())
    os.chmod(target, 0o755)


def forget(path):
    """The next read of the file comes from the disk, except for pages that a process uses."""
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


class SlowGroup:
    """A control group whose processes read slowly from the disk of a folder."""

    def __init__(self, folder):
        device = os.stat(folder).st_dev
        self.path = tempfile.mkdtemp(prefix="stoke-test-", dir=CONTROLLER)
        try:
            self.write("blkio.throttle.read_bps_device",
                       f"{os.major(device)}:{os.minor(device)} {SPEED}")
        except OSError:
            os.rmdir(self.path)
            raise

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            file.write(text)

    def enter(self):
        self.write("cgroup.procs", str(os.getpid()))

    def read_bytes(self):
        with open(os.path.join(self.path, "blkio.throttle.io_service_bytes"),
                  encoding="utf-8") as file:
            return sum(int(n) for n in re.findall(r" Read (\d+)", file.read()))

    def remove(self):
        while True:
            try:
                os.rmdir(self.path)
                return
            except OSError:  # a process still ends
                time.sleep(0.05)


def record(folder, group, targets):
    words = [tap.STOKE, "record", "-F", "999", "-g", "dwarf", "-e", "cpu-clock", "--duration",
             str(DURATION), "-o", os.path.join(folder, "x.data"), "-p", ",".join(targets)]
    done = subprocess.run(words, preexec_fn=group.enter, capture_output=True, text=True,
                          timeout=tap.TIMEOUT, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stderr


def check(folder, group, program):
    """Whether the recorder waited for the disk."""
    before = group.read_bytes()
    copies = [f"{program}{i}" for i in range(PROGRAMS)]
    for copy in copies:
        copy_by_page(program, copy)
    running = [subprocess.Popen([copy], stdout=subprocess.PIPE) for copy in copies]
    try:
        for process, copy in zip(running, copies):
            process.stdout.read(1)
            forget(copy)
        summary = record(folder, group, [str(process.pid) for process in running])
    finally:
        for process in running:
            process.kill()
            process.wait()
    read = group.read_bytes() - before
    print(f"# {read} bytes read at {SPEED} bytes/s")
    for line in summary.splitlines():
        print("#", line)
    samples, seconds = re.search(r"(\d+) samples? of .* in ([\d.]+) s", summary).groups()
    samples = int(samples)
    if seconds != f"{DURATION}.0":
        raise RuntimeError(f"the recording lasts {seconds} s, not {DURATION} s\n{summary}")
    if "lost" in summary or samples < 100:  # a busy machine gives few
        raise RuntimeError(f"{samples} samples\n{summary}")
    return read >= 2 * SPEED


def check_some(folder, group):
    """Other recorders of the machine may read the files first: then the recorder does not wait."""
    program = build(folder)
    return any(check(folder, group, program) for _ in range(TRIES))


def main():
    name = "a slow disk loses no records"
    report = tap.Tap()
    folder = tempfile.mkdtemp(prefix="slow-disk-", dir=os.path.dirname(tap.STOKE))
    group = None
    try:
        group = SlowGroup(folder)
        if check_some(folder, group):
            report.ok(name)
        else:
            report.skip(name, "other programs read the files before the recorder")
    except (RuntimeError, subprocess.TimeoutExpired) as why:
        report.not_ok(name, str(why))
    except OSError as why:
        report.skip(name, f"no control group can slow down the disk: {why}")
    finally:
        if group:
            group.remove()
        shutil.rmtree(folder)
    report.done()


main()
