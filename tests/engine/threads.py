#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What starts threads: reading in parts, unwinding and naming in a pool, recording, live
tables, the server of the viewer. .ci/run runs this in a build with ThreadSanitizer, whose
reports are failures; in any build the output of several threads is that of one. Prints
TAP."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

from perf.make_perf_data import MARK_USER, Attr, Recording, USUAL
from tap import SOURCE_ROOT, STOKE, Tap

# A report ends the program. `stoke record` draws in a child process.
ENV = dict(os.environ, TSAN_OPTIONS="halt_on_error=1:die_after_fork=0:exitcode=66")
RACE = b"ThreadSanitizer"


def run(*words, timeout=300):
    return subprocess.run([STOKE, *words], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, env=ENV, timeout=timeout)


def fault(done):
    if done.returncode != 0 or RACE in done.stderr:
        return f"status {done.returncode}\n{done.stderr.decode(errors='replace')[:4000]}"
    return ""


def folded():
    """Large enough to be read in parts."""
    return b"".join(b"main;work;step%d;leaf%d 1\n" % (i % 7, i % 1000) for i in range(400_000))


def script():
    return b"".join(b"prog 1/1 %d.%06d: 1 cycles:\n\t1000 leaf%d (/bin/x)\n\t2000 main (/bin/x)\n\n"
                    % (i // 1_000_000, i % 1_000_000, i % 50) for i in range(100_000))


def recording():
    rec = Recording([Attr(0, 0, ids=(1,), name="cycles", sample_type=USUAL)])
    rec.comm(100, 100, "prog")
    for i in range(20_000):
        rec.sample(1000 + i, 0x401000, [MARK_USER, 0x401000 + i % 64, 0x402010])
        if i % 1000 == 0:
            rec.round()
    return rec.file()


def check_fold(tap, folder):
    for name, make in (("a.folded", folded), ("a.txt", script), ("a.data", recording)):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(make())
        one, four = run("fold", "-q", "-j", "1", path), run("fold", "-q", "-j", "4", path)
        same = "" if one.stdout == four.stdout else "the output of 4 threads differs"
        tap.result(f"fold -j 4 {name}", fault(one) or fault(four) or same)


def check_record(tap, folder):
    data, svg = os.path.join(folder, "r.data"), os.path.join(folder, "r.svg")
    busy = ["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"]
    done = run("record", "-q", "-F", "499", "-o", data, *busy)
    if done.returncode != 0 and RACE not in done.stderr and b"perf_event" in done.stderr:
        tap.skip("record, top", "the kernel does not allow it")
        return
    tap.result("record -o FILE.data", fault(done))
    for words in (("fold", "-q", "-j", "4"), ("report", "-j", "4"), ("script", "-q")):
        tap.result(f"{words[0]} of a recording", fault(run(*words, data)))
    tap.result("record -o FILE.svg",
               fault(run("record", "-q", "-F", "499", "--call-graph", "dwarf", "-o", svg, *busy)))
    tap.result("top", fault(run("top", "--plain", "-n", "2", "-d", "0.5")))


def check_view(tap):
    """The viewer is not part of every build."""
    path = os.path.join(SOURCE_ROOT, "tests", "export", "two-events.in")
    with subprocess.Popen([STOKE, "view", "--no-browser", path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as server:
        address = server.stdout.readline().decode().strip()
        if not address:
            said = server.stderr.read()
            server.wait()
            if b"built without" in said:
                tap.skip("view", "built without the viewer")
            else:
                tap.result("view", said.decode(errors="replace")[:4000])
            return
        why = "nothing is served"
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        try: # the address works once, and sets a cookie
            with opener.open(address, timeout=60) as reply:
                why = "" if reply.read() else why
        except OSError as error:
            why = str(error)
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=60)
        if server.returncode != 0 or RACE in said:
            why = f"status {server.returncode}\n{said.decode(errors='replace')[:4000]}"
        tap.result("view", why)


def main():
    tap = Tap()
    folder = tempfile.mkdtemp(prefix="stoke-threads-")
    try:
        check_fold(tap, folder)
        check_record(tap, folder)
        check_view(tap)
    finally:
        shutil.rmtree(folder)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
