#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads and processes that run for less than a sampling period: the sampled CPU time is the used
one where the kernel lets stoke open counters of CPUs. Elsewhere, the summary says what is missing.
perf record's result is printed beside it."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time

import tap

RATE = 499
NOBODY = 65534
PARANOID = "/proc/sys/kernel/perf_event_paranoid"

# Of the used CPU time. Counters of each thread sample almost nothing. A virtual
# machine that is not scheduled all the time samples less.
LEAST, MOST = 0.6, 1.3


def fails(text):
    raise RuntimeError(text)


def build(folder):
    program = os.path.join(folder, "short_lived")
    source = os.path.join(tap.SOURCE_ROOT, "tests", "record", "short_lived.c")
    status, _, err = tap.run(["cc", "-O1", "-g", "-pthread", "-o", program, source])
    return program if status == 0 else fails(err.decode("utf-8", "replace"))


def recorder(folder, *words, rate=RATE):
    return [tap.STOKE, "record", "-F", str(rate), "-o", os.path.join(folder, "x.data"), *words]


def sampled(err):
    """Seconds of CPU time in the summary."""
    found = re.search(r"(\d+) samples? of ", err)
    return int(found[1]) / RATE if found else fails(err)


def compare(what, used, got, err):
    print(f"# {what}: used {used:.3f} s, sampled {got:.3f} s")
    if not LEAST * used < got < MOST * used + 0.1:
        fails(f"used {used:.3f} s, sampled {got:.3f} s\n{err}")


def of_perf(folder, words):
    """perf record's samples of the same work, for comparison only."""
    if not shutil.which("perf"):
        return
    path = os.path.join(folder, "perf.data")
    tap.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(RATE), "-o", path, *words])
    status, out, _ = tap.run(["perf", "script", "-i", path, "-F", "tid"])
    if status == 0:
        print(f"# perf record: sampled {len(out.splitlines()) / RATE:.3f} s")


def check_command(folder, what, words, used_by, *more):
    status, out, err = tap.run(recorder(folder, "-e", "cpu-clock", *more, "--", *words))
    err = err.decode("utf-8", "replace")
    if status != 0:
        fails(err)
    compare(what, used_by(out), sampled(err), err)
    if "sampled" in err:
        fails("a difference is reported\n" + err)
    if not more:
        of_perf(folder, words)


def check_process(folder, program, *more):
    """-p: 300 threads, which started before or start while it is recorded."""
    child = subprocess.Popen([program, "threads", "300", "4"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    child.stdout.readline()
    path = os.path.join(folder, "x.data")
    if os.path.exists(path):
        os.remove(path)
    words = recorder(folder, "-e", "cpu-clock", *more, "-p", str(child.pid))
    stoke = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    while stoke.poll() is None and not os.path.exists(path):
        time.sleep(0.01)
    child.stdin.write(b"\n")
    child.stdin.close()
    used = float(child.stdout.readline())
    child.wait()
    err = stoke.communicate(timeout=tap.TIMEOUT)[1]
    compare("-p, 300 threads", used, sampled(err), err)


def check_others_removed(folder, program, *more):
    """While another program runs, the recording contains the command only."""
    other = subprocess.Popen([program, "processes", "100000", "20"], stdout=subprocess.DEVNULL)
    try:
        status, _, err = tap.run(recorder(folder, *more, "--", program, "processes", "20",
                                           "5"))
        path = os.path.join(folder, "x.data")
        done = tap.run([tap.STOKE, "script", "-F", "pid,comm", path])[1].decode().split("\n")
    finally:
        other.kill()
        other.wait()
    pids = {line.split()[-1] for line in done if line.strip() and not line.startswith("#")}
    if status != 0 or not 2 <= len(pids) <= 21:
        fails(f"status {status}, {len(pids)} processes\n{err.decode()}")
    if any(str(other.pid) == pid for pid in pids):
        fails("samples of the other program are in the recording")


@contextlib.contextmanager
def paranoid(value):
    with open(PARANOID, encoding="ascii") as file:
        was = file.read()
    try:
        with open(PARANOID, "w", encoding="ascii") as file:
            file.write(value)
        yield
    finally:
        with open(PARANOID, "w", encoding="ascii") as file:
            file.write(was)


def as_nobody(*words):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]


def check_nobody_process(folder, program):
    """The same for -p: 300 threads that run for 1 ms at a time."""
    shutil.copy(tap.STOKE, folder)
    os.chmod(folder, 0o777)
    path = os.path.join(folder, "x.data")
    if os.path.exists(path):
        os.remove(path)
    with paranoid("1"):  # kernel code is sampled, too: its time is not separate
        child = subprocess.Popen(as_nobody(program, "threads", "300", "4"), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        child.stdout.readline()
        words = recorder(folder, "-e", "cpu-clock", "-p", str(child.pid), rate=99)
        words[0] = os.path.join(folder, "stoke")
        stoke = subprocess.Popen(as_nobody(*words), stderr=subprocess.PIPE, text=True)
        while stoke.poll() is None and not os.path.exists(path):
            time.sleep(0.01)
        child.stdin.write(b"\n")
        child.stdin.close()
        used = float(child.stdout.readline())
        child.wait()
        err = stoke.communicate(timeout=tap.TIMEOUT)[1]
    found = re.search(r"sampled (\d[\d.]*) s of (\d[\d.]*) s CPU time: threads that run", err)
    if not found or not 0.7 * used < float(found[2]) < 1.3 * used + 0.1:
        fails(f"used {used:.3f} s\n{err}")


def check_nobody(folder, program):
    """Without rights: the summary says what is missing."""
    was = open(PARANOID, encoding="ascii").read()
    shutil.copy(tap.STOKE, folder)
    os.chmod(folder, 0o777)
    try:
        with open(PARANOID, "w", encoding="ascii") as file:
            file.write("2")
        # on a busy machine, 1 ms of work can take as long as the period of RATE
        script = f"i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; {program} processes 600 1"
        words = recorder(folder, "--", "sh", "-c", script, rate=99)
        words[0] = os.path.join(folder, "stoke")
        path = os.path.join(folder, "x.data")
        if os.path.exists(path):
            os.remove(path)
        err = tap.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                       *words])[2].decode("utf-8", "replace")
    finally:
        with open(PARANOID, "w", encoding="ascii") as file:
            file.write(was)
    found = re.search(r"(sampled \d.* s of \d.* s CPU time): threads that run for less than", err)
    if not found:
        fails(err)
    bundle = os.path.join(folder, "x.stoke")
    tap.run([tap.STOKE, "convert", "-q", path, "-o", bundle])
    for file in (path, bundle):
        messages = tap.run([tap.STOKE, "fold", file])[2].decode()
        if found[1] not in messages:
            fails(f"{found[1]} is not in the messages of {file}\n{messages}")


def of_shell(out):
    """`times` prints the user and system time of the shell and of its children."""
    return sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", out.decode()))


def main():
    report = tap.Tap()
    if os.geteuid() != 0:
        report.skip("short-lived threads", "counters of CPUs need root here")
        report.done()
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        last = lambda out: float(out.split()[-1])
        loop = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; times"
        cases = [
            ("600 processes of 1 ms", lambda: check_command(
                folder, "600 processes of 1 ms", [program, "processes", "600", "1"], last)),
            ("a shell's loop", lambda: check_command(
                folder, "300 times true", ["bash", "-c", loop], of_shell)),
            ("threads of a process that run for 1 ms", lambda: check_process(folder, program)),
            ("other programs are not in the recording",
             lambda: check_others_removed(folder, program)),
        ]
        cases += [  # counted in the kernel, where that is possible
            ("600 processes, counted", lambda: check_command(
                folder, "600 processes of 1 ms, --bpf", [program, "processes", "600", "1"], last,
                "--bpf")),
            ("threads of a process, counted", lambda: check_process(folder, program, "--bpf")),
            ("other programs are not counted",
             lambda: check_others_removed(folder, program, "--bpf")),
        ]
        if shutil.which("setpriv") and os.access(PARANOID, os.W_OK):
            cases.append(("without rights, the summary states the difference",
                          lambda: check_nobody(folder, program)))
            cases.append(("without rights, the same of -p",
                          lambda: check_nobody_process(folder, program)))
        for name, check in cases:
            try:
                check()
                report.ok(name)
            except (RuntimeError, OSError, ValueError) as error:
                report.not_ok(name, str(error))
    report.done()


main()
