#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record --locks compared with a program that measures who waits for which lock, and who holds
it meanwhile (record/locks.c)."""

import collections
import csv
import io
import json
import os
import shutil
import tempfile

import tap

SOURCE = os.path.join(tap.SOURCE_ROOT, "tests", "record", "locks.c")
KINDS = {"cache_lock": "mutex", "table_lock": "rwlock", "shared+0x80": "mutex",
         "begin_now": "condition variable"}
WITHIN = 0.02
LEAST = 4e6  # ns of tolerance, of a few hundred million
TIMES = 40


def truth_of(text):
    """{(side, lock, function): ns}"""
    found = collections.Counter()
    for line in text.splitlines():
        side, lock, function, ns = line.split()
        found[side, lock, function] = int(ns)
    return found


def reported(path):
    """The report, and its times in the form of the truth."""
    report = json.loads(tap.output([tap.STOKE, "report", "-q", "--locks", "--json", path]))
    found = collections.Counter()
    for lock in report["locks"]:
        for side, rows in (("waited", lock["waiters"]), ("held", lock["holders"])):
            for row in rows:
                user = [name for name in row["stack"] if name.startswith("user_")]
                found[side, lock["lock"], (user + ["another"])[0]] += row["ns"]
    return report["locks"], found


def by_lock(found):
    sums = collections.Counter()
    for (side, lock, _), ns in found.items():
        sums[side, lock, "all"] += ns
    return sums


def wrong_times(found, truth, by_user):
    wrong = []
    found, truth = [(of if by_user else collections.Counter()) + by_lock(of)
                    for of in (found, truth)]
    for key, ns in truth.items():
        if abs(found[key] - ns) > max(WITHIN * ns, LEAST):
            wrong.append(f"{' '.join(key)}: {found[key] / 1e6:.3f} ms, it says {ns / 1e6:.3f}")
    return wrong


def check_times(report, folder, name, *words, by_user=True):
    """Up to six times: on a busy machine, a thread may lose its CPU between a wait and its clock, or
    the recorder may not keep up with the rings."""
    path = os.path.join(folder, name + ".data")
    for attempt in range(6):
        truth = truth_of(tap.output([tap.STOKE, "record", "-q", "--locks", "-o", path, *words,
                                 "./locks", str(TIMES)], cwd=folder))
        locks, found = reported(path)
        wrong = wrong_times(found, truth, by_user)
        if not wrong:
            break
        print(f"# {name}, {attempt + 1}: {'; '.join(wrong)}")
    sums = by_lock(truth)
    report.result(f"{name}: {sum(n for (side, _, _), n in sums.items() if side == 'waited') / 1e6:.0f}"
                  " ms of waits are within 2%, by lock" +
                  (", by waiter and by holder" if by_user else ""),
                  "\n".join(wrong))
    return path, locks


def check_kinds(report, locks):
    kinds = {lock["lock"]: lock["kind"] for lock in locks}
    wrong = [f"{name}: {kinds.get(name)}" for name, kind in KINDS.items()
             if kinds.get(name) != kind]
    report.result("locks have their names and kinds", "\n".join(wrong))
    begin = [lock for lock in locks if lock["lock"] == "begin_now"]
    holders = [row["stack"] for lock in begin for row in lock["holders"]]
    report.result("a condition variable: who woke the threads",
                  "" if any("let_begin" in stack for stack in holders) else f"{begin}")


def check_reasons(report, path):
    """A wait for a condition variable is not one for a lock that another thread holds."""
    text = tap.output([tap.STOKE, "fold", "-q", "--event", "off-cpu", path])
    waits = [line for line in text.splitlines() if "[preempted]" not in line]
    wrong = [line for line in waits if "cond_wait" in line and "mutex_cond_lock" not in line
             and "[idle]" not in line]
    wrong += [line for line in waits if "rwlock" in line and "[lock]" not in line]
    known = any("[idle]" in line for line in waits) and any("[lock]" in line for line in waits)
    report.result("the reasons: [idle] for a condition variable, [lock] for a lock",
                  "\n".join(wrong) or ("" if known else text))


def check_forms(report, path, locks):
    """CSV has the rows of JSON; the text has all locks; without locks, there is a hint."""
    text = tap.output([tap.STOKE, "report", "-q", "--locks", "--csv", path])
    rows = list(csv.DictReader(io.StringIO(text)))
    expected = sum(len(lock["waiters"]) + len(lock["holders"]) for lock in locks)
    total = sum(int(row["ns"]) for row in rows if row["side"] == "waited")
    same = len(rows) == expected and total == sum(lock["waited_ns"] for lock in locks)
    report.result("CSV has the same rows", "" if same else text)
    text = tap.output([tap.STOKE, "report", "-q", "--locks", path])
    missing = [name for name in (*KINDS, "user_6", "held") if name not in text]
    report.result("the text has all locks", f"{missing}: {text}" if missing else "")


def check_none(report, folder):
    tap.output([tap.STOKE, "record", "-q", "-F", "999", "-o", "none.data", "sh", "-c",
            "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"], cwd=folder)
    status, _, err = tap.run([tap.STOKE, "report", "-q", "--locks", "none.data"], cwd=folder)
    report.result("without waits for locks, the option that records them is named",
                  "" if status == 1 and b"record --locks" in err else f"{status}: {err}")


def main():
    report = tap.Tap()
    folder = tempfile.mkdtemp(prefix="stoke-locks-", dir=os.environ.get("STOKE_BUILD"))
    try:
        if not shutil.which("cc"):
            report.skip("locks", "no compiler")
            report.done()
        status, _, err = tap.run([tap.STOKE, "record", "-q", "--locks", "-o", "try.data", "true"],
                                 cwd=folder)
        if status != 0:
            report.skip("locks", err.decode().splitlines()[0])
            report.done()
        tap.output(["cc", "-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-o",
                os.path.join(folder, "locks"), SOURCE])
        path, locks = check_times(report, folder, "dwarf", "-g", "dwarf,8192", "-m", "8M")
        check_kinds(report, locks)
        check_reasons(report, path)
        check_forms(report, path, locks)
        # frame pointers end in the C library, which has none
        check_times(report, folder, "all", "-a", "-g", "fp", "-m", "4M", by_user=False)
        check_none(report, folder)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
