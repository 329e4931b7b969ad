#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke daemon whose processes are killed at random times: the daemon, the process that reads names,
and the one that records on demand. Nothing that was stored is lost, the next daemon continues and
says what happened, and a daemon whose other processes are killed continues as before.

STOKE_KILLS: how often (10)."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import daemon as runs
import tap

KINDS = ["daemon", "names", "recording", "daemon"]  # each occurs, the others are random
KILLS = int(os.environ.get("STOKE_KILLS", "10"))


def children(pid):
    """{process: whether it records} of the daemon."""
    found = {}
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(name)}/stat", encoding="utf-8") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            if parent == pid:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    found[int(name)] = b"record" in file.read().split(b"\0")
    return found


class Daemon:
    """Runs of stoke daemon on one store, one after the other."""

    def __init__(self, folder, load):
        self.store = os.path.join(folder, "killed.db")
        self.errors = os.path.join(folder, "errors")
        self.load = load
        self.process = self.port = None

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self):
        with open(self.errors, "wb") as file:
            self.process = subprocess.Popen(
                [tap.STOKE, "daemon", "--store", self.store, "--window", "1", "--rate", "97",
                 "--listen", "127.0.0.1:0"], stderr=file)
        pattern = r"HTTP is served on port (\d+)"
        runs.until(lambda: re.search(pattern, self.said()) or self.process.poll() is not None,
                   "the start")
        assert self.process.poll() is None, self.said()
        self.port = int(re.search(pattern, self.said())[1])

    def get(self, path, body=None):
        address = f"http://127.0.0.1:{self.port}{path}"
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(address, data), timeout=60) as reply:
            return json.loads(reply.read())

    def record(self):
        """Starts a recording; one that still runs is as good."""
        with contextlib.suppress(urllib.error.HTTPError):
            self.get("/api/record", {"target": "pids", "pids": [self.load], "rate": 99,
                                     "stacks": "fp", "duration": 60})

    def victim(self, records):
        """A child of that kind, once there is one; None if there will be none."""
        end = time.monotonic() + (30 if records else 2)
        while time.monotonic() < end:
            for pid, kind in children(self.process.pid).items():
                if kind == records:
                    return pid
            time.sleep(0.002)
        return None


def end_of(store):
    """The end of the last window, s; 0: there is none yet."""
    with contextlib.closing(sqlite3.connect(store, timeout=60)) as db:
        try:
            return (db.execute("SELECT max(end) FROM window").fetchone()[0] or 0) / 1e9
        except sqlite3.OperationalError:
            return 0  # the daemon was killed before it made the tables


def check_store(daemon, before):
    """Nothing that was stored before is lost or changed."""
    after = runs.windows(daemon.store)
    lost = runs.lost_of(before, daemon.store)
    assert not lost, f"windows {lost} of {len(before)} are lost or changed"
    assert runs.samples_in(after) >= runs.samples_in(before), "samples are lost"
    with contextlib.closing(sqlite3.connect(daemon.store, timeout=60)) as db:
        found = db.execute("PRAGMA integrity_check").fetchone()[0]
    assert found == "ok", found
    return after


def kill_daemon(daemon):
    """At most the last window is lost, and the next daemon says when the one before ends."""
    others = children(daemon.process.pid)
    killed_at = time.time()
    daemon.process.kill()
    daemon.process.wait()
    runs.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in others),
               "the end of its other processes")
    last = end_of(daemon.store)
    daemon.start()
    stated = time.strftime("its last window ends at %Y-%m-%d %H:%M:%S UTC", time.gmtime(int(last)))
    assert "was killed" in daemon.said() and stated in daemon.said(), (stated, daemon.said())
    status = daemon.get("/api/status")["store"]
    assert stated in status["done"] and status["fixed"] == 1, status
    return killed_at - last


def kill_child(daemon, records):
    """The daemon continues; a recording that was killed says so, and another one can be started."""
    if records:
        daemon.record()
    pid = daemon.victim(records)
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):  # a child that reads names ends soon
        os.kill(pid, signal.SIGKILL)
    if records:
        runs.until(lambda: daemon.get("/api/recording")["state"] == "failed", "a failure")
        assert daemon.get("/api/recording")["error"], "no reason"
        daemon.record()
        assert daemon.get("/api/recording")["state"] in ("waiting", "recording")
    last = end_of(daemon.store)
    runs.until(lambda: end_of(daemon.store) > last, "a window")
    assert daemon.process.poll() is None, daemon.said()
    return True


def new_program(folder, load, number):
    """A program that no daemon has seen: its names are read."""
    path = os.path.join(folder, f"load{number}")
    shutil.copy(load, path)
    return subprocess.Popen([path])


def run_kills(folder, load, daemon):
    killed = {"daemon": 0, "names": 0, "recording": 0}
    before, longest = {}, 0
    daemon.start()
    for number in range(KILLS):
        with new_program(folder, load, number) as program:
            try:
                last = end_of(daemon.store) + random.randrange(2)
                runs.until(lambda e=last: end_of(daemon.store) > e, "windows")
                time.sleep(random.random())
                kind = random.choice(KINDS) if number >= len(KINDS) else KINDS[number]
                if kind == "daemon" or not kill_child(daemon, kind == "recording"):
                    kind = "daemon"
                    longest = max(longest, kill_daemon(daemon))
                killed[kind] += 1
            finally:
                program.kill()
        before = check_store(daemon, before)
    return killed, before, longest


def check_kills(folder, load, daemon):
    killed, before, longest = run_kills(folder, load, daemon)
    assert before, "no window was stored"
    assert daemon.process.poll() is None, daemon.said()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(runs.WAIT) == 0, daemon.said()
    check_store(daemon, before)
    daemon.start()
    assert "was killed" not in daemon.said(), daemon.said()  # this time it was not
    return (f"{', '.join(f'{kind} {count}' for kind, count in killed.items())}; {len(before)} "
            f"windows; at most {longest:.1f} s were not stored")


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory(prefix="stoke-test-") as folder:
        why = runs.why_not(folder)
        if why:
            report.skip("daemon", why.split("\n")[0])
            report.done()
        load = runs.build(folder, "shares", runs.LOAD)
        with subprocess.Popen([load]) as process:
            daemon = Daemon(folder, process.pid)
            name = f"{KILLS} times SIGKILL"
            try:
                report.ok(f"{name}: {check_kills(folder, load, daemon)}")
            except (AssertionError, OSError, RuntimeError, ValueError, KeyError) as error:
                report.not_ok(name, f"{type(error).__name__}: {error}\n{daemon.said()}")
            finally:
                process.kill()
                if daemon.process and daemon.process.poll() is None:
                    daemon.process.kill()
    report.done()


main()
