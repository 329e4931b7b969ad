#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python functions in recordings, against the truth: each CPython on this machine runs a program
with known shares (python_shares.py)."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import cpython
import tap
from interpreted import (WITHOUT_RIGHTS, can_drop_rights, check_process, count_wrong, record, record_shares,
                         stacks)

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_shares.py")
SHARES = {"takes_50": 0.50, "takes_30": 0.30, "takes_15": 0.15, "takes_5": 0.05}
KNOWN = SHARES, "work"
DEPTH = 30


def functions(stack):
    """The functions of the program in a stack."""
    own = {"<module>", "main", "below", "rounds", "work", "numbers", "replace", *SHARES}
    return [name for name in stack if name in own]


def wrong_stack(stack):
    """Why the frames of a stack with work are not those of the program; or empty."""
    names = functions(stack)
    while names and names[0] in ("<module>", "main"):
        names.pop(0)
    depth = 0
    while names and names[0] == "below":
        names.pop(0)
        depth += 1
    if depth != DEPTH + 1:
        return f"{depth} recursive calls"
    if names[:1] != ["rounds"] or names[1:2][0] not in SHARES or names[2] != "work":
        return f"{names} after the recursion"
    if any("_PyEval_EvalFrameDefault" in name for name in stack):
        return "the interpreter's loop is visible"
    return ""


def check_stacks(found):
    """Stacks with work whose frames are wrong."""
    total, wrong = count_wrong(found, "work", wrong_stack)
    unnamed = sum(n for stack, n in found.items() if not functions(stack))
    failures = [f"{n} of {total}: {why}" for why, n in wrong.most_common(3)]
    if sum(wrong.values()) <= 0.002 * total:
        failures = []
    if total < 0.5 * (total + unnamed):
        failures.append(f"only {total} of {total + unnamed} samples have Python functions")
    return failures


def check_python(report, folder, path, name):
    data, found, wrong = record_shares("python", folder, KNOWN, "-F", "1999", path, PROGRAM, "700",
                                       "4", str(DEPTH))
    report.result(f"{name}: shares of functions", wrong)
    report.result(f"{name}: stacks", "\n".join(check_stacks(found)))
    return data


def check_running(report, folder, path):
    """A process that runs already."""
    with subprocess.Popen([path, PROGRAM, "100000", "2", str(DEPTH)]) as process:
        check_process(report, "python", folder, process.pid,
                      lambda stack: functions(stack)[:1] in (["<module>"], ["below"]))
        process.kill()


def check_outside(report, folder, path):
    """Without the rights for eBPF, stacks are read from outside. A busy machine reads many of them
    too late; those that are read have the shares of the program."""
    name = "without eBPF"
    if not can_drop_rights(report, name):
        return
    data, found, wrong = record_shares("python", folder, KNOWN, "-F", "999", path, PROGRAM, "700",
                                       "4", str(DEPTH), before=WITHOUT_RIGHTS)
    total = sum(n for stack, n in found.items() if "work" in stack)
    bad = sum(n for stack, n in found.items() if "work" in stack and wrong_stack(stack))
    if not wrong and bad > 0.01 * total + 1:
        wrong = f"{bad} of {total} stacks are wrong"
    report.result(f"{name}: shares of functions", wrong)
    _, out, _ = tap.run([tap.STOKE, "info", data])
    found = re.search(r"samples: ([0-9]+) with its functions, 0 of them doubtful and 0 truncated, "
                      r"([0-9]+) torn, ([0-9]+) without \(([0-9]+) read too late\); read from "
                      r"outside: ", out.decode())
    merged, torn, without, late = map(int, found.groups()) if found else (0, 0, 0, 0)
    report.result(f"{name}: stoke info", "" if merged >= total > 0 and late <= without and
                  torn < 0.5 * (merged + torn) else out.decode()[:800])


def check_top(report, path):
    with subprocess.Popen([path, PROGRAM, "100000", "2", str(DEPTH)]) as process:
        status, out, err = tap.run([tap.STOKE, "top", "--plain", "-n", "3", "-d", "1", "-p",
                                    str(process.pid)])
        process.kill()
    # `work` has few samples of its own: it is not always among the rows that are shown
    found = re.search(r"^ .* (replace|numbers|work) +python_shares\.py$", out.decode(), re.MULTILINE)
    report.result("stoke top", "" if status == 0 and found else
                  f"status {status}: {err.decode()[-300:]} {out.decode()[-600:]}")


def check_info(report, data, version):
    """The samples of the process in stoke info are those of the recording."""
    _, out, _ = tap.run([tap.STOKE, "info", data])
    _, text, _ = tap.run([tap.STOKE, "info", "--json", data])
    found = re.search(r"^runtime +CPython ([0-9.]+), process [0-9]+, offsets: [^;]+; samples: "
                      r"([0-9]+) with its functions, ([0-9]+) of them doubtful and 0 truncated, "
                      r"([0-9]+) torn, ([0-9]+) without$", out.decode(), re.MULTILINE)
    why = ""
    if not found:
        why = out.decode()[:600]
    elif not found.group(1).startswith(".".join(map(str, version))):
        why = f"version {found.group(1)}, not {version}"
    else:
        merged, doubtful, torn, without = map(int, found.groups()[1:])
        total = sum(stacks(data).values())
        if merged + torn + without > total or merged < 0.5 * total or doubtful + torn > 0.01 * total:
            why = f"{found.group()} of {total} samples"
        if found.group(1) not in json.loads(text)["interpreters"]:
            why += "; not in the JSON"
    report.result("stoke info", why)


def has_ebpf(folder, path):
    data, _ = record("python", folder, path, "-c", "sum(range(10000000))")
    _, out, _ = tap.run([tap.STOKE, "info", data])
    return b"read from outside" not in out


LOCKS = """
import threading, time
lock = threading.Lock()
def take_turns():
    for _ in range(200):
        with lock:
            sum(range(3000))
            time.sleep(0.001)
threads = [threading.Thread(target=take_turns) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def check_frame_pointers(report, folder, path):
    """Where frame pointers break the native stacks, so that most are doubtful, -g dwarf is proposed."""
    why = ""
    for stacks in "fp", "dwarf":
        data, failed = record("python", folder, "-g", stacks, "-F", "999", path, PROGRAM, "300", "1", "20")
        _, out, _ = tap.run([tap.STOKE, "info", "-q", data])
        found = re.search(r"samples: (\d+) with its functions, (\d+) of them doubtful.*", out.decode())
        expected = bool(found) and stacks == "fp" and 2 * int(found[2]) > int(found[1])
        if failed or not found or ("-g dwarf" in found[0]) != expected:
            why += f"-g {stacks}: {failed} {found[0] if found else out.decode()[:600]}\n"
    report.result("native code without frame pointers", why)


def check_locks(report, folder, path):
    """With --locks there are samples of tracepoints, which have no Python functions. Waits have them."""
    data = os.path.join(folder, "locks.data")
    recorded = [tap.STOKE, "record", "-q", "--off-cpu", "--locks", "-o", data]
    status, _, err = tap.run([*recorded, "true"], cwd=folder)
    if status:
        report.skip("Python functions wait for a lock", err.decode().splitlines()[0])
        return
    tap.run([*recorded, path, "-c", LOCKS], cwd=folder)
    total = named = 0
    _, out, _ = tap.run([tap.STOKE, "fold", "-q", "--event", "off-cpu", "--count-samples", data])
    for line in out.decode().splitlines():
        stack, _, count = line.rpartition(" ")
        names = stack.split(";--;")[0].split(";")  # without who wakes it
        if "PyThread_acquire_lock_timed" in names:
            total += int(count)
            named += int(count) * ("take_turns" in names or "<module>" in names)
    status, out, _ = tap.run([tap.STOKE, "report", "--locks", data])
    text = out.decode()
    why = "" if total >= 50 and named >= 0.9 * total else f"{named} of {total} waits have one"
    if not re.search(r"\(Python lock\)\n +waited .*: take_turns < ", text):
        why += f"\nin the report:\n{text[:2000]}"
    report.result("Python functions wait for a lock", why)


def check_none(report, folder, path):
    data = os.path.join(folder, "none.data")
    tap.run([tap.STOKE, "record", "-q", "--interpreters", "none", "-o", data, path, PROGRAM, "200",
             "1", "1"], cwd=folder)
    found = stacks(data)
    report.result("--interpreters none", "" if found and
                  not any("work" in stack for stack in found) else str(found.most_common(2)))


def check_perf(report, data):
    """perf reads the recording, and shows each function as a mapped file."""
    status, out, err = tap.run(["perf", "script", "-i", data])
    report.result("perf reads the recording", "" if status == 0 and
                  b"/python_shares.py/takes_50)" in out else
                  f"status {status}: {err.decode()[-600:]}")


def main():
    report = tap.Tap()
    folder = tempfile.mkdtemp(prefix="stoke-interpreters-", dir=os.environ.get("STOKE_BUILD"))
    try:
        found = {path: version for path, version in cpython.installed().items()
                 if (3, 8) <= version <= (3, 14)}
        data = None
        if found:
            check_outside(report, folder, max(found, key=found.get))
        if found and not has_ebpf(folder, max(found, key=found.get)):
            report.skip("interpreters by eBPF", "eBPF is not possible")
            report.done()
        for path, version in sorted(found.items()):
            data = check_python(report, folder, path, f"Python {version[0]}.{version[1]} ({path})")
            last = version
        if not data:
            report.skip("interpreters", "no CPython is installed")
            report.done()
        check_info(report, data, last)
        if shutil.which("perf"):
            check_perf(report, data)
        check_running(report, folder, max(found, key=found.get))
        check_top(report, max(found, key=found.get))
        check_locks(report, folder, max(found, key=found.get))
        check_frame_pointers(report, folder, max(found, key=found.get))
        check_none(report, folder, max(found, key=found.get))
    finally:
        shutil.rmtree(folder)
    report.done()


main()
