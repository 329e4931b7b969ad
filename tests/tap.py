# SPDX-License-Identifier: Apache-2.0
"""Shared functions of the Python tests: results as TAP lines, which meson and tests/run read."""

import concurrent.futures
import difflib
import os
import signal
import subprocess
import sys
import time

SOURCE_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORPUS = os.path.join(os.path.dirname(SOURCE_ROOT), "shared", "corpus")
STOKE = os.path.abspath(
    os.environ.get("STOKE", os.path.join(SOURCE_ROOT, "build", "stoke")))
TIMEOUT = 600  # seconds after which a run counts as a hang, also on a busy machine


def leave_caller():
    """Makes the tests independent of their environment: standard input is /dev/null, even if the
    caller closed it; no symbol server is used; perf has the settings of the tests; and no signal
    is ignored, unlike under nohup (SIGHUP) and in the background of a shell (SIGINT)."""
    null = os.open(os.devnull, os.O_RDONLY)
    if null != 0:
        os.dup2(null, 0)
        os.close(null)
    os.set_inheritable(0, True)
    os.environ.pop("DEBUGINFOD_URLS", None)
    os.environ["PERF_CONFIG"] = os.path.join(SOURCE_ROOT, "tests", "perfconfig")
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


leave_caller()


class Tap:
    """Prints one line per test, with the reason of a failure as comment lines."""

    def __init__(self):
        self.count = self.failed = 0

    def _line(self, text):
        self.count += 1
        print(text, flush=True)

    def ok(self, name):
        self._line(f"ok {self.count + 1} - {name}")

    def not_ok(self, name, why):
        self.failed += 1
        self._line(f"not ok {self.count + 1} - {name}")
        for line in why.rstrip("\n").split("\n"):
            print("#", line, flush=True)

    def skip(self, name, why):
        self._line(f"ok {self.count + 1} - {name} # SKIP {why}")

    def result(self, name, why):
        """`why` is empty if the test passed."""
        self.not_ok(name, why) if why else self.ok(name)

    def done(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)


def own_name(name):
    """A name of a program that no other test on this machine uses at the same time: for tests that
    search for it among all processes. The kernel shows the first 15 characters of a name."""
    return f"{name[:7]}-{os.getpid()}"


PERF_RUNS = 15  # a recording of all processes takes 10 s in some tests
PERF_CRASH = b"assertion failed at util/build-id.c"


def run_once(args, **more):
    try:
        done = subprocess.run(args, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                       **more}, timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return None, b"", f"no end after {TIMEOUT} s".encode()


def perf_failed(args, status, out, more):
    """Whether perf crashed because another program records all processes with build IDs. The
    kernel then marks maps in the records of all programs as maps with a build ID, and perf 6.1
    overwrites its stack: at the end of a recording, or when the recording is read."""
    if status is None or status < 0:
        return status is not None
    if status or len(args) < 2 or args[1] != "record" or "-o" not in args:
        return False
    path = args[args.index("-o") + 1]
    reader = {"input": out} if path == "-" else {}
    return run_once([args[0], "script", "-i", path, "-F", "comm"], cwd=more.get("cwd"),
                    **reader)[0] in (-6, -11)


def run(args, **more):
    """Runs a program: (exit status, output, messages), the last two as bytes. perf is run
    again, a second later, if it crashed because of another recording."""
    is_perf = os.path.basename(args[0]) == "perf"
    for last in [False] * (PERF_RUNS - 1) * is_perf + [True]:
        status, out, err = run_once(args, **more)
        if last or not perf_failed(args, status, out, more):
            break
        time.sleep(1)
    return status, out, err


def output(args, **more):
    """The output of a program that must succeed, as text."""
    args = [str(a) for a in args]
    status, out, err = run(args, **more)
    if status != 0:
        raise RuntimeError(f"{' '.join(args)}: status {status}: "
                           f"{err.decode('utf-8', 'replace')[-600:]}")
    return out.decode("utf-8", "surrogateescape")


def crashed(status):
    """Why a status is not one of stoke's own; empty if it is."""
    if status is None:
        return "it hung"
    if status < 0 or status > 2:
        return f"it crashed, status {status}"
    return ""


def waits_for_signals(process, number, limit=120):
    """Waits until a program that takes signals from a queue blocks this one. Before that, the
    signal ends the program. False if the program ended first."""
    end = time.monotonic() + limit
    while process.poll() is None and time.monotonic() < end:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            words = [line.split()[1] for line in status if line.startswith("SigBlk:")]
        if int(words[0], 16) >> (number - 1) & 1:
            return True
        time.sleep(0.001)
    return False


def difference(expected, got, what="output", limit=30):
    """A short diff of two byte strings; empty if they are equal."""
    if expected == got:
        return ""
    lines = list(difflib.unified_diff(
        expected.decode("utf-8", "backslashreplace").splitlines(),
        got.decode("utf-8", "backslashreplace").splitlines(),
        f"expected {what}", f"got {what}", n=1, lineterm=""))
    if not lines:
        return f"{what} differs in its line ends or its last newline only"
    if len(lines) > limit:
        lines[limit:] = [f"... {len(lines) - limit} more lines"]
    return "\n".join(line[:300] for line in lines)


def in_parallel(work, items):
    """Yields (item, work(item)) in the items' order, several worked on at once."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from zip(items, pool.map(work, items))
