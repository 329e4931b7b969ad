#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record --io compared with a program that measures how long it waits for which file
(record/files.c)."""

import json
import os
import shutil
import signal
import subprocess
import tempfile

import tap

SOURCE = os.path.join(tap.SOURCE_ROOT, "tests", "record", "files.c")
WITHIN = 0.02
LEAST = 4e6  # ns of tolerance, of a few hundred million


def truth_of(text):
    """{name: (device, least ns, most ns)}"""
    lines = [line.split("\t") for line in text.splitlines()]
    return {name: (device, int(least), int(most)) for name, device, least, most in lines}


def reported(path, *words):
    """{name: ns}"""
    report = json.loads(tap.output([tap.STOKE, "report", "-q", "--io", "--json", *words, path]))
    return {row["name"]: row["total"] for event in report["events"] for row in event["functions"]}


def wrong_times(found, truth):
    wrong = []
    for name, (_, least, most) in truth.items():
        ns = found.get(name, 0)
        outside = max(least - ns, ns - most)
        if outside > max(WITHIN * most, LEAST):
            wrong.append(f"{name}: {ns / 1e6:.3f} ms, it says {least / 1e6:.3f} to {most / 1e6:.3f}")
    return wrong


def check_times(report, folder, name, *words):
    """Up to six times: on a busy machine, a thread may lose its CPU between a wait and its clock."""
    path = os.path.join(folder, name + ".data")
    for attempt in range(6):
        files = os.path.join(folder, f"{name}-{attempt}")
        os.mkdir(files)
        text = tap.output([tap.STOKE, "record", "-q", "--io", "-o", path, *words, "./files", files],
                          cwd=folder)
        truth = truth_of(text)
        found = reported(path)
        wrong = wrong_times(found, truth)
        if not wrong:
            break
        print(f"# {name}, {attempt + 1}: {'; '.join(wrong)}")
    report.result(f"{name}: {sum(most for *_, most in truth.values()) / 1e6:.0f} ms of waits are within 2%,"
                  " by file", "\n".join(wrong))
    return path, truth


def disk_of(folder):
    """The block device of a folder; None if there is none."""
    device = os.stat(folder).st_dev
    link = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    return os.path.basename(os.readlink(link)) if os.path.islink(link) else None


def check_devices(report, folder, path, truth):
    disk = disk_of(folder)
    expected = {}
    for device, least, most in truth.values():
        device = disk if device == "DISK" else device
        _, sum_least, sum_most = expected.get(device, (device, 0, 0))
        expected[device] = (device, sum_least + least, sum_most + most)
    expected.pop(None, None)
    report.result("the sums by device", "\n".join(
        wrong_times(reported(path, "--by", "label:device"), expected)))
    only = reported(path, "--label", "device=tcp")
    names = {name for name, (device, *_) in truth.items() if device == "tcp"}
    report.result("--label selects waits by device", "" if set(only) == names else f"{only}")


def check_others(report, folder):
    """Waits of other processes of the machine are not in the recording of a command."""
    path = os.path.join(folder, "alone.data")
    with subprocess.Popen(["sh", "-c", "while sleep 0.01; do :; done | cat > /dev/null"],
                          start_new_session=True) as other:
        try:
            tap.output([tap.STOKE, "record", "-q", "--io", "-o", path, "sh", "-c",
                        "sleep 0.2 | cat"], cwd=folder)
        finally:
            os.killpg(other.pid, signal.SIGKILL)
    threads = json.loads(tap.output([tap.STOKE, "report", "-q", "--io", "--by", "thread", "--json",
                                     path]))
    names = [row["name"] for event in threads["events"] for row in event["functions"]]
    report.result("a command: only its waits", "" if len(names) <= 3 and
                  any("cat" in name for name in names) else f"{names}")


def check_none(report, folder):
    path = os.path.join(folder, "none.data")
    tap.output([tap.STOKE, "record", "-q", "--off-cpu", "-o", path, "sleep", "0.1"], cwd=folder)
    status, _, err = tap.run([tap.STOKE, "report", "-q", "--io", path])
    report.result("without waits for files, the option that records them is named",
                  "" if status == 1 and b"record --io" in err else f"{status}: {err}")


def main():
    report = tap.Tap()
    folder = tempfile.mkdtemp(prefix="stoke-io-", dir=os.environ.get("STOKE_BUILD"))
    try:
        if not shutil.which("cc"):
            report.skip("io", "no compiler")
            report.done()
        status, _, err = tap.run([tap.STOKE, "record", "-q", "--io", "-o", "try.data", "true"],
                                 cwd=folder)
        if status != 0:
            report.skip("io", err.decode().splitlines()[0])
            report.done()
        tap.output(["cc", "-O2", "-pthread", "-o", os.path.join(folder, "files"), SOURCE])
        path, truth = check_times(report, folder, "one")
        check_devices(report, folder, path, truth)
        check_times(report, folder, "all", "-a", "-g", "fp", "-m", "4M")
        status, _, err = tap.run([tap.STOKE, "record", "-q", "--locks", "-o", "try.data", "true"],
                                 cwd=folder)
        if status == 0:
            check_times(report, folder, "locks", "--locks")
        else:
            report.skip("with --locks", err.decode().splitlines()[0])
        check_others(report, folder)
        check_none(report, folder)
    finally:
        shutil.rmtree(folder)
    report.done()


main()
