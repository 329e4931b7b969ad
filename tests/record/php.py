#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PHP functions in recordings and in stoke stacks, against the truth: a program with known shares
(php_shares.php), and one that prints its own backtrace and waits."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import tap
from interpreted import check_outside, check_process, may_trace, record, record_shares, stacks, wrong_stacks

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "php_shares.php")
PHP = ["php", "-n"]  # without extensions: some replace the interpreter's loop
SHARES = {"takes_50": 0.50, "takes_30": 0.30, "takes_15": 0.15, "takes_5": 0.05}
WORK, BELOW = "Worker::work", "below"
KNOWN = SHARES, WORK
DEPTH = 30
ARRIVE = 120  # seconds until the program waits, also on a busy machine

# Prints the functions, files and lines of its stack, leaf first, and waits in the innermost one.
VICTIM = r"""<?php
class Counter {
    static function make($n) { return (new Counter)->dynamic($n); }
    function __call($name, $arguments) { return $this->recursion($arguments[0]); }
    function recursion($n) {
        return $n ? $this->recursion($n - 1) : array_map(function ($x) { return wait(); }, [1]);
    }
}
function wait() {
    $stack = [];
    $file = __FILE__; $line = __LINE__ + 9;
    foreach (debug_backtrace() as $frame) {
        $name = (isset($frame["class"]) ? $frame["class"] . "::" : "") . $frame["function"];
        $stack[] = [$name, $file, $line];
        $file = $frame["file"] ?? "";
        $line = $frame["line"] ?? 0;
    }
    $stack[] = ["{main}", $file, $line];
    fwrite(STDOUT, json_encode($stack) . "\n");
    fgets(STDIN);
}
function values() { yield Counter::make(20); }
foreach (values() as $value) ;
"""


def wrong_stack(stack):
    """Why the frames of a stack with work are not those of the program; or empty."""
    if stack.count(BELOW) != DEPTH + 1:
        return f"{stack.count(BELOW)} recursive calls"
    after = stack[len(stack) - stack[::-1].index(BELOW):]
    if after[:1] != ("rounds",) or after[1] not in SHARES or after[2] != WORK:
        return f"{after} after the recursion"
    if any("execute_ex" in name for name in stack):
        return "the interpreter's loop is visible"
    return ""


def check_shares(report, folder):
    data, found, wrong = record_shares("php", folder, KNOWN, "-F", "1999", *PHP, PROGRAM, "1.5",
                                       str(DEPTH))
    report.result("shares of functions", wrong)
    report.result("stacks of the recording", wrong_stacks(found, WORK, wrong_stack, 0.01))
    total = sum(found.values())
    _, out, _ = tap.run([tap.STOKE, "info", data])
    line = re.search(r"^runtime +PHP ([78]\.[0-9])\.[0-9]+, process [0-9]+, offsets: table for \1; samples: "
                     r"([0-9]+) with its functions, ([0-9]+) of them doubtful and 0 truncated, "
                     r"([0-9]+) torn, ([0-9]+) without$", out.decode(), re.MULTILINE)
    merged, doubtful, torn = map(int, line.groups()[1:4]) if line else (0, 0, 0)
    report.result("stoke info", "" if 0.5 * total <= merged <= total and
                  doubtful + torn <= 0.01 * merged + 1 else out.decode()[:800])


def check_running(report, folder):
    with subprocess.Popen([*PHP, PROGRAM, "100000", str(DEPTH)], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        check_process(report, "php", folder, process.pid, lambda stack: BELOW in stack)
        process.kill()


def check_only(report, folder):
    data, failed = record("python", folder, *PHP, PROGRAM, "0.1", "1")
    found = stacks(data)
    report.result("--interpreters python reads no PHP", failed or
                  ("" if not any(WORK in stack for stack in found) else str(found)))


# --- stoke stacks -------------------------------------------------------------------------------


def compare(truth, thread):
    """The program's own list: a function of native code has no file in ours, and in PHP that of
    nothing; the line of each frame is that of its call."""
    frames = [f for f in thread["frames"] if f["kind"] == "interpreted"]
    native = {"fgets", "array_map"}
    got = [(f["function"], f.get("file", ""), f.get("line", 0)) for f in frames]
    own = [(name, file, line) for name, file, line in truth]
    faults = []
    if [name for name, _, _ in got] != ["fgets"] + [name for name, _, _ in own]:
        faults.append(f"functions {[name for name, _, _ in got]}, expected {[name for name, _, _ in own]}")
    for (name, file, line), (_, known_file, known_line) in zip(got[1:], own):
        expected = ("", 0) if name in native else (known_file, known_line)
        if (file, line) != expected:
            faults.append(f"{name} at {file}:{line}, expected {expected}")
    if thread.get("doubt"):
        faults.append(thread["doubt"])
    return faults


def check_victim(report, folder):
    path = os.path.join(folder, "victim.php")
    with open(path, "w", encoding="utf-8") as file:
        file.write(VICTIM)
    faults = ["the program does not arrive"]
    with subprocess.Popen([*PHP, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        truth = json.loads(process.stdout.readline())
        end = time.monotonic() + ARRIVE
        while faults and time.monotonic() < end:
            status, out, err = tap.run([tap.STOKE, "stacks", "--json", str(process.pid)])
            faults = compare(truth, json.loads(out)["threads"][0]) if status == 0 else [err.decode()]
            time.sleep(0.01)
        process.communicate("\n", timeout=tap.TIMEOUT)
    report.result("stoke stacks", "\n".join(faults))


def is_known():
    if not shutil.which("php"):
        return False
    _, out, _ = tap.run([*PHP, "-r", "echo PHP_VERSION, ' ', PHP_ZTS;"])
    return bool(re.match(r"(7\.[34]|8\.[0-5])\.[0-9]+ 0", out.decode()))


def main():
    report = tap.Tap()
    if not is_known():
        report.skip("php", "needs PHP 7.3 to 8.5 without threads")
        report.done()
    folder = tempfile.mkdtemp(prefix="stoke-php-", dir=os.environ.get("STOKE_BUILD"))
    try:
        if may_trace():
            check_victim(report, folder)
        else:
            report.skip("stoke stacks", "no right to trace processes")
        check_outside(report, "php", folder, KNOWN, wrong_stack, *PHP, PROGRAM, "1.5", str(DEPTH))
        data, _ = record("php", folder, *PHP, PROGRAM, "0.2", "1")
        if b"read from outside" in tap.run([tap.STOKE, "info", data])[1]:
            report.skip("PHP by eBPF", "eBPF is not possible")
            report.done()
        check_shares(report, folder)
        check_running(report, folder)
        check_only(report, folder)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
