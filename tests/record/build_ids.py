#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build IDs of mappings: a recording of all processes has those of programs that start while it
runs, although its counters do not request them; and records whose build ID is invalid."""

import mmap
import os
import re
import subprocess
import sys
import tempfile

import tap
from perf.make_perf_data import Attr, Recording, USUAL

FLAG_BUILD_ID = 1 << 34  # of an attribute
MARKED = 1 << 14 | 2     # misc: with a build ID, of a user
MAP = re.compile(r"PERF_RECORD_MMAP2 .*?\[\S+ @ \S+ (.*?)\]: \S+ (.*)$", re.MULTILINE)


def maps(path):
    """[(build ID, or device and inode; path)] of the recording's mappings"""
    status, out, err = tap.run([tap.STOKE, "script", "--show-mmap-events", path])
    if status != 0:
        raise RuntimeError(err.decode("utf-8", "replace"))
    return MAP.findall(out.decode("utf-8", "surrogateescape"))


# --- Records with a flag -----------------------------------------------------------------

def field(size, content):
    return bytes([size, 0, 0, 0]) + content.ljust(20, b"\0")


HASH = bytes(range(0x80, 0x94))
DEVICE = (1).to_bytes(4, "little") + (7).to_bytes(8, "little")
FIELDS = {  # the 24 bytes that identify a file, and whether they contain a build ID
    "size 0": (field(0, HASH), False),
    "size 20": (field(20, HASH), True),
    "size 16": (field(16, HASH[:16]), True),
    "size 8": (field(8, HASH[:8]), True),
    "size 21": (field(21, HASH), False),
    "size 255": (field(255, HASH), False),
    "a reserved byte": (bytes([20, 0, 1, 0]) + HASH, False),
    "device 8:1": (field(8, DEVICE), False),
    "device 253:1": (field(253, DEVICE), False),
}


def check_fields(report, folder):
    for name, (content, valid) in FIELDS.items():
        rec = Recording([Attr(0, 0, ids=(1,), name="cycles", sample_type=USUAL)])
        rec.comm(100, 100, "prog")
        body = rec.pack("iiQQQ", 100, 100, 0x400000, 0x10000, 0) + content
        body += rec.pack("II", 5, 2) + rec.text("/prog")
        rec.kernel(10, body, 100, 100, 0, MARKED)
        rec.sample(10, 0x400100)
        path = os.path.join(folder, "fields.data")
        with open(path, "wb") as file:
            file.write(rec.file())
        got = maps(path)
        size = content[0]
        expected = f"<{content[4:4 + size].hex()}>" if valid else None
        wrong = len(got) != 1 or (got[0][0] != expected if valid else "<" in got[0][0])
        report.result(f"a mapping with {name}: {'a' if valid else 'no'} build ID",
                      f"mappings: {got}" if wrong else "")


# --- A recording -------------------------------------------------------------------------

def attribute_flags(path):
    """The flags of the first event."""
    with open(path, "rb") as file:
        head = file.read(40)
        file.seek(int.from_bytes(head[24:32], sys.byteorder) + 40)
        return int.from_bytes(file.read(8), sys.byteorder)


def expected_id(program):
    out = subprocess.run(["readelf", "-n", program], stdout=subprocess.PIPE, check=True).stdout
    return re.search(r"Build ID: (\w+)", out.decode())[1]


def device_differs(path):
    """Whether mappings of the file have another device than the file, as on btrfs and overlayfs."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), \
            open("/proc/self/maps", encoding="utf-8") as lines:
        line = next(line for line in lines if line.rstrip("\n").endswith(path))
    state = os.stat(path)
    own = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x} {state.st_ino}"
    return " ".join(line.split()[3:5]) != own


def recorded(folder, program):
    """The recording of all processes while the program runs; None if the kernel forbids it. What
    a busy machine loses is recorded again."""
    path = os.path.join(folder, "all.data")
    for _ in range(5):
        status, _, err = tap.run([tap.STOKE, "record", "-a", "-q", "-F", "9", "-e", "cpu-clock",
                                  "-o", path, program])
        if status != 0:
            print("#", err.decode("utf-8", "replace").replace("\n", "\n# "))
            return None, []
        found = [text for text, name in maps(path) if name == program]
        if found:
            break
    return path, found


def check_recording(report, folder):
    name = "a recording of all processes: build ID of a program that starts"
    program = os.path.join(folder, "prog")
    with open(program + ".c", "w", encoding="ascii") as file:
        file.write("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-Wl,--build-id=sha1", "-o", program, program + ".c"], check=True)
    if device_differs(program):
        report.skip(name, "the file system shows other devices in mappings")
        return
    path, found = recorded(folder, program)
    if not path:
        report.skip(name, "the kernel does not let us record")
        return
    expected = f"<{expected_id(program)}>"
    report.result(name, "" if set(found) == {expected} else f"{found}, not {expected}")
    report.result("its counters do not request build IDs",
                  "the flag is set" if attribute_flags(path) & FLAG_BUILD_ID else "")


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        check_fields(report, folder)
        check_recording(report, folder)
    report.done()


if __name__ == "__main__":
    main()
