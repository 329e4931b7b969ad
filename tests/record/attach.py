#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of running processes: with the processes that they have started, by name, by service
and by container."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import tap

RATE = "997"
TICKS = 10  # 0.1 s of CPU time
ID = "4d1f1a0b9c3e5d7f" * 4


def fails(text):
    raise RuntimeError(text)


class Family:
    """A process that starts a process that runs, and one that starts another: both children run
    before the recording. Their names are those of copies of the shell."""

    def __init__(self, folder, name="parent"):
        self.folder = folder
        for copy in (name, "child", "grandchild"):
            shutil.copy("/bin/sh", os.path.join(folder, copy))
        spin = "echo $$; while :; do :; done"
        inner = f"{folder}/grandchild -c '{spin}' & wait"
        with open(os.path.join(folder, "inner"), "w", encoding="ascii") as file:
            file.write(inner)
        outer = f"{folder}/child -c '{spin}' & {folder}/child {folder}/inner & wait"
        self.parent = subprocess.Popen([os.path.join(folder, name), "-c", outer],
                                       stdout=subprocess.PIPE, start_new_session=True)
        self.spinning = {int(self.parent.stdout.readline()) for _ in range(2)}

    def end(self):
        os.killpg(self.parent.pid, 9)
        self.parent.wait()


def used(pid):
    """Clock ticks of CPU time."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def record(folder, family, *words):
    """Records until each process of the family that runs has used CPU time: (messages, process
    ids of the samples)."""
    path = os.path.join(folder, "x.data")
    if os.path.exists(path):
        os.remove(path)
    stoke = subprocess.Popen([tap.STOKE, "record", "-F", RATE, "-o", path, *words],
                             stderr=subprocess.PIPE, text=True)
    while stoke.poll() is None and not (os.path.exists(path) and os.path.getsize(path)):
        time.sleep(0.02)
    start = {pid: used(pid) for pid in family.spinning}
    while stoke.poll() is None and any(used(pid) < start[pid] + TICKS for pid in start):
        time.sleep(0.02)
    stoke.send_signal(signal.SIGINT)
    err = stoke.communicate(timeout=tap.TIMEOUT)[1]
    out = tap.run([tap.STOKE, "script", "-F", "pid", path])[1].decode()
    return err, {int(word) for word in out.split() if word.isdigit()}


def expect(pids, expected, err):
    if pids != expected:
        fails(f"samples of {sorted(pids)}, not of {sorted(expected)}\n{err}")


def check_descendants(folder):
    family = Family(folder)
    try:
        err, pids = record(folder, family, "-p", str(family.parent.pid))
        expect(pids, family.spinning, err)
        err, pids = record(folder, family, "-i", "-p", str(family.parent.pid))
        expect(pids, set(), err)
    finally:
        family.end()


def check_own(folder):
    """The target is the shell that starts stoke, whose own work is not recorded."""
    path = os.path.join(folder, "own.data")
    spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo $!; kill -INT $!; wait; echo $$"
    script = f"{tap.STOKE} record -q -F {RATE} -o {path} -p $$ & " \
             f"while ! [ -s {path} ]; do sleep 0.02; done; {spin}"
    status, out, err = tap.run(["sh", "-c", script])
    if status != 0:
        fails(err.decode("utf-8", "replace"))
    stoke, shell = (int(word) for word in out.split())
    out = tap.run([tap.STOKE, "script", "-F", "pid", path])[1].decode().split()
    pids = {int(word) for word in out if word.isdigit()}
    if shell not in pids or stoke in pids:
        fails(f"samples of {sorted(pids)}; the shell is {shell}, stoke is {stoke}")


def check_name(folder):
    """By the kernel's name of 15 bytes, and by the whole name."""
    name = f"postmaster-{os.getpid()}-of-the-test"
    family = Family(folder, name)
    try:
        for word in (name, name[:15]):
            err, pids = record(folder, family, "-p", word)
            expect(pids, family.spinning, err)
    finally:
        family.end()


class MainEnds:
    """A process whose main thread has ended; another one uses CPU time."""

    def __init__(self, folder):
        program = os.path.join(folder, "main_ends")
        source = os.path.join(tap.SOURCE_ROOT, "tests", "record", "main_ends.c")
        status, _, err = tap.run(["cc", "-O1", "-g", "-pthread", "-o", program, source])
        if status != 0:
            fails(err.decode("utf-8", "replace"))
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.spinning = {self.process.pid}

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def check_main_thread_ended(folder):
    """The kernel shows no mappings of the main thread, which has ended."""
    target = MainEnds(folder)
    pid = str(target.process.pid)
    try:
        for how in ("fp", "dwarf"):
            err, pids = record(folder, target, "-g", how, "-p", pid)
            expect(pids, target.spinning, err)
            path = os.path.join(folder, "x.data")
            out = tap.run([tap.STOKE, "report", "-q", "--json", path])[1]
            event = json.loads(out)["events"][0]
            total = {f["name"]: f["total"] for f in event["functions"]}
            if total.get("works", 0) < 0.9 * event["total"] or "truncated" in err:
                fails(f"{how}: {total.get('works', 0)} of {event['total']} are in works\n{err}")
        status, out, err = tap.run([tap.STOKE, "stacks", pid])
        if status != 0 or b"works" not in out:
            fails("stoke stacks: " + (out + err).decode("utf-8", "replace"))
    finally:
        target.end()


def hierarchy():
    for path in ("/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(os.path.join(path, "cgroup.procs")):
            return path
    return None


def check_group(folder, name, *words):
    """Processes that enter the control group before and during the recording."""
    group = os.path.join(hierarchy(), name)
    os.mkdir(group)
    family = Family(folder)
    try:
        first, second = sorted(family.spinning)
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(first))
        err, pids = record(folder, family, *words)
        expect(pids, {first}, err)
    finally:
        family.end()
        wait_until_empty(group, (first, second))
        os.rmdir(group)


def wait_until_empty(group, pids):
    """A killed process whose parent is dead is in its group until init has read its status."""
    path = os.path.join(group, "cgroup.procs")
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        with open(path, encoding="ascii") as file:
            if not file.read().strip():
                break
        time.sleep(0.02)


def can_make_groups():
    try:
        group = os.path.join(hierarchy() or "/nonexistent", f"stoke-test-{os.getpid()}")
        os.mkdir(group)
        os.rmdir(group)
        return True
    except OSError:
        return False


def main():
    report = tap.Tap()
    if os.geteuid() != 0:
        report.skip("running processes", "other users may not record all of them")
        report.done()
    service = f"stoke-test-{os.getpid()}"
    cases = [("processes that the target has started", check_descendants),
             ("stoke itself is not recorded", check_own),
             ("processes by name", check_name),
             ("a process whose main thread has ended", check_main_thread_ended)]
    if can_make_groups():
        cases += [("a service", lambda folder: check_group(
                      folder, service + ".service", "--service", service)),
                  ("a container", lambda folder: check_group(
                      folder, f"docker-{ID}.scope", "--container", ID[:12]))]
    else:
        report.skip("services and containers", "no control group can be created")
    for name, check in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(folder)
                report.ok(name)
            except (RuntimeError, OSError, ValueError) as error:
                report.not_ok(name, str(error))
    report.done()


main()
