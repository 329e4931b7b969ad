#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Escape sequences in all strings of a profile, through all commands: none is written to a
terminal or to output for people. Prints TAP."""

import os
import pty
import re
import subprocess
import sys
import tempfile

from codec.protobuf import field, number
from tap import STOKE, Tap

EVIL = b"E\x1b[31;5m\x1b]0;owned\x07\x08\r\x7f\xc2\x9b31m\xe2\x80\xae\xff\x9b"
RAW = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|"
                 rb"\xe2\x81[\xa6-\xa9]")
OWN = re.compile(rb"\x1b\[(?:0|1|31|32|1;31|1;35)?m|\x1b\[K")  # stoke's colours
DATA = {"fold", "script", "diff", "convert", "flamegraph"}  # raw in files and pipes


def pprof():
    texts = (b"samples", b"count", b"main", b"/bin/prog", b"file.c", b"build", b"thread",
             b"worker", b"host: box", b"command: x")
    out = field(1, field(1, 1) + field(2, 2)) + field(6, b"")
    for text in texts:
        out += field(6, text if text == b"thread" else text + EVIL)
    out += field(3, field(1, 1) + field(5, 4) + field(6, 6))
    out += field(5, field(1, 1) + field(2, 3) + field(4, 5))
    out += field(4, field(1, 1) + field(2, 1) + field(4, field(1, 1) + field(2, 7)))
    out += field(4, field(1, 2) + field(2, 1) + field(3, 8192))
    for ids in (b"\x01\x02", b"\x02\x01", b"\x09"):
        out += field(2, field(1, ids) + field(2, b"\x05") + field(3, field(1, 7) + field(2, 8)))
    return out + field(13, number(9) + number(10))


INPUTS = {
    "a.pb": pprof(),
    "a.folded": b"main" + EVIL + b";leaf" + EVIL + b" 3\na;b 1\na;c 1\nbad" + EVIL + b"line\n",
    "a.txt": b"co" + EVIL + b" 12/13 [001] 1.5: 10 cyc" + EVIL + b": \n\t1000 fo" + EVIL +
             b"+0x3 (/bin/x" + EVIL + b")\n\t2000 main (/bin/x)\n\nbad" + EVIL + b"\n",
    "a.out": b"# callgrind format\ncmd: a" + EVIL + b"\nevents: Ir" + EVIL + b"\nob=/o" + EVIL +
             b"\nfl=f.c" + EVIL + b"\nfn=fun" + EVIL + b"\n1 7\nbad" + EVIL + b"\n",
}


def on_terminal(command):
    master, slave = pty.openpty()
    child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    child.wait()
    os.close(master)
    return OWN.sub(b"", out.replace(b"\r\n", b"\n")).replace(b"\r", b"")


def fault(out):
    found = RAW.search(out)
    if found:
        return f"raw: {out[max(0, found.start() - 40):found.end() + 20]!r}"
    try:
        out.decode()
    except UnicodeDecodeError as e:
        return f"not UTF-8: {out[max(0, e.start - 40):e.end + 20]!r}"
    return ""


def commands(name):
    evil = os.fsdecode(EVIL)
    for words in (["fold"], ["report"], ["report", "--json"], ["report", "--tree"], ["info"],
                  ["info", "--json"], ["script"], ["annotate"], ["diff", name],
                  ["convert", "--to", "callgrind"], ["convert", "--to", "dot"],
                  ["convert", "--to", "speedscope"], ["convert", "--to", "d3"],
                  ["report", "--event", evil], ["fold", "--" + evil],
                  ["report", "--format", evil], ["script", "-F", evil],
                  ["report", "--focus", "(" + evil], ["annotate", evil], ["trace"],
                  ["convert", "-o", f"/none{evil}/x.svg"]):
        yield [STOKE, *words, name]


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content in INPUTS.items():
            with open(name, "wb") as file:
                file.write(content)
        subprocess.run([STOKE, "convert", "-q", "a.pb", "-o", "a.stoke"], check=True)
        runs = [c for n in [*INPUTS, "a.stoke", "none" + os.fsdecode(EVIL)]
                for c in commands(n)]
        evil = os.fsdecode(EVIL)
        runs += [[STOKE, evil], [STOKE, "help", evil], [STOKE, "record", "-e", evil],
                 [STOKE, "record", "-p", evil], [STOKE, "top", "--plain", "-p", evil],
                 [STOKE, "record", "-o", "x.data", "/none" + evil]]
        for run in runs:
            name = ascii(" ".join(run[1:])).strip("'")[:90].replace("#", "")
            tap.result(f"terminal: {name}", fault(on_terminal(run)))
            done = subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True,
                                  check=False)
            out = b"" if run[1] in DATA else done.stdout
            tap.result(f"pipe: {name}", fault(out) or fault(done.stderr))
        os.chdir("/")
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
