#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record -o -: what a pipe contains, as stoke and perf read it; a reader that ends early."""

import os
import platform
import re
import shutil
import subprocess
import tempfile

import tap

SPIN = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo prin''ted"
CASES = {
    "one event": ["-g", "fp"],
    "dumps that were unwound": ["-g", "dwarf"],
    "not compressed": ["-g", "fp", "--no-compress"],
    "two events": ["-g", "fp", "-e", "cpu-clock,page-faults"],
    "waits": ["-g", "fp", "--off-cpu"],
    "a tracepoint": ["-g", "fp", "-e", "sched:sched_switch"],
}


def fails(text):
    raise RuntimeError(text)


def record(words):
    """(the stream, the messages)"""
    status, out, err = tap.run([tap.STOKE, "record", "-F", "499", "-o", "-", *words, "--",
                                "sh", "-c", SPIN])
    err = err.decode("utf-8", "replace")
    return (out, err) if status == 0 else fails(err)


def samples(program, stream):
    """[[thread, event] of each sample]"""
    words = ["-i", "-"] if program == "perf" else ["-"]
    status, out, err = tap.run([program, "script", *words, "-F", "tid,event"], input=stream)
    if status != 0:
        fails(err.decode("utf-8", "replace"))
    lines = [line for line in out.splitlines() if line.strip() and line[:1] != b"\t"]
    return [line.split()[:2] for line in lines]


def check_case(words):
    stream, err = record(words)
    if b"printed" in stream or "printed" not in err:
        fails("the command's output is in the stream\n" + err)
    own = samples(tap.STOKE, stream)
    stated = sum(int(n) for n in re.findall(r"(\d+) (?:samples?|waits?) of ", err))
    if not own or len(own) != stated:
        fails(f"{len(own)} samples are in the stream, {stated} in the summary\n{err}")
    if shutil.which("perf"):
        of_perf = samples("perf", stream)
        if own != of_perf:
            fails(f"stoke reads {len(own)} samples, perf {len(of_perf)}")


def check_closed():
    """The command is not disturbed, and the reason is the reader."""
    script = "echo started; read wait; " + SPIN
    stoke = subprocess.Popen([tap.STOKE, "record", "-F", "499", "-o", "-", "sh", "-c", script],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    while stoke.stderr.readline() not in (b"started\n", b""):
        pass
    stoke.stdout.close()
    err = stoke.communicate(timeout=tap.TIMEOUT)[1].decode("utf-8", "replace")
    if stoke.returncode != 1 or "Broken pipe" not in err or "printed" not in err:
        fails(f"status {stoke.returncode}\n{err}")
    if "sampled" in err:
        fails("another reason is reported\n" + err)


def check_jit():
    """A pipe has no names of JIT code, which is reported; a file has them without the perf map."""
    if platform.machine() != "x86_64" or not shutil.which("cc"):
        return
    with tempfile.TemporaryDirectory() as folder:
        program, data = os.path.join(folder, "jit"), os.path.join(folder, "jit.data")
        source = os.path.join(tap.SOURCE_ROOT, "tests", "record", "jit.c")
        tap.output(["cc", "-O1", "-o", program, source])
        words = [tap.STOKE, "record", "-F", "499", "-o"]
        status, stream, err = tap.run([*words, "-", program])
        path = re.search(r"/tmp/perf-\d+\.map", err.decode())
        named = tap.run([tap.STOKE, "fold", "-"], input=stream)[1]
        if path:
            os.remove(path[0])
        if status or b"in JIT code, whose names are not in a pipe" not in err or b"jitted" not in named:
            fails(f"status {status}\n{err.decode()}\n{named.decode()}")
        _, _, err = tap.run([*words, data, program, "remove"])
        named = tap.output([tap.STOKE, "fold", data])
        if b"the recording contains its names" not in err or "jitted" not in named:
            fails(f"{err.decode()}\n{named}")


def check_terminal():
    leader, terminal = os.openpty()
    process = subprocess.run([tap.STOKE, "record", "-o", "-", "true"], stdout=terminal,
                             stderr=subprocess.PIPE, check=False)
    os.close(terminal)
    os.close(leader)
    if process.returncode != 2 or b"to a terminal" not in process.stderr:
        fails(process.stderr.decode("utf-8", "replace"))


def main():
    report = tap.Tap()
    if tap.run([tap.STOKE, "record", "-q", "-o", "-", "true"])[0] != 0:
        report.skip("streams", "nothing can be recorded")
        report.done()
    tests = [(name, lambda words=words: check_case(words)) for name, words in CASES.items()]
    tests += [("a reader that ends early", check_closed), ("a terminal", check_terminal),
              ("code of a JIT", check_jit)]
    for name, check in tests:
        if "tracepoint" in name and os.geteuid() != 0:
            report.skip(name, "tracepoints need root")
            continue
        try:
            check()
            report.ok(name)
        except (RuntimeError, OSError, ValueError) as error:
            report.not_ok(name, str(error))
    report.done()


main()
