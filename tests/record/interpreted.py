# SPDX-License-Identifier: Apache-2.0
"""Recordings of programs in interpreted languages, and how often their functions are in stacks."""

import collections
import math
import os
import shutil
import signal
import subprocess
import time

import tap

# Runs a command without the rights of root: eBPF is not possible then.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
RECORDINGS = 6  # of one program at most
# Standard deviations: 9999 of 10,000 shares are within. A run of the tests has some 50 shares.
SURE = 3.891


def record(interpreters, folder, *words, before=()):
    """The path of the recording, and what went wrong."""
    path = os.path.join(folder, "interpreted.data")
    status, _, err = tap.run([*before, tap.STOKE, "record", "-q", "--interpreters", interpreters,
                              "-o", path, *words], cwd=folder)
    return path, f"status {status}: {err.decode()[-600:]}" if status else ""


def stacks(path):
    """{stack as a tuple of names, root first: samples}"""
    found = collections.Counter()
    _, out, _ = tap.run([tap.STOKE, "fold", "-q", "--count-samples", path])
    for line in out.decode().splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found


def wrong_shares(found, shares, work):
    """Functions whose shares of the stacks with `work` are further than SURE standard deviations
    from those of the program: a line each."""
    total = sum(n for stack, n in found.items() if work in stack)
    wrong = []
    for name, share in shares.items():
        got = sum(n for stack, n in found.items() if name in stack and work in stack)
        margin = SURE * math.sqrt(share * (1 - share) * total)
        if not total or abs(got - share * total) > margin:
            wrong.append(f"{name}: {got} of {total} samples, not {100 * share:.0f}% "
                         f"+- {100 * margin / max(total, 1):.2f}")
    return "\n".join(wrong)


def record_shares(interpreters, folder, known, *words, before=()):
    """Records a program until the shares of all its recordings are the `known` ones: the
    shares and the name of the work, as in wrong_shares. Chance moves the shares of one recording; a bias
    remains in the sum of many. Returns the path of the last recording, its stacks, and what is
    wrong."""
    total = collections.Counter()
    for _ in range(RECORDINGS):
        path, failed = record(interpreters, folder, *words, before=before)
        found = stacks(path)
        total.update(found)
        wrong = failed or wrong_shares(total, *known)
        if failed or not wrong:
            break
    return path, found, wrong


def count_wrong(found, work, why_wrong):
    """The number of samples with `work`; of those with wrong frames, by the reason."""
    total, wrong = 0, collections.Counter()
    for stack, count in found.items():
        if work in stack:
            total += count
            why = why_wrong(stack)
            if why:
                wrong[f"{why}: {';'.join(stack)[-1500:]}"] += count
    return total, wrong


def wrong_stacks(found, work, why_wrong, tolerated):
    """Why more than that part of the samples with `work` have wrong frames, or one; or empty."""
    total, wrong = count_wrong(found, work, why_wrong)
    if total and sum(wrong.values()) <= tolerated * total + 1:
        return ""
    return "\n".join([f"{total} samples with work"] +
                     [f"{n} of {total}: {why}" for why, n in wrong.most_common(3)])


def can_drop_rights(report, name):
    """Whether WITHOUT_RIGHTS works; otherwise the test is skipped."""
    if shutil.which("setpriv") and os.geteuid() == 0:
        return True
    report.skip(name, "needs root and setpriv, which drops its rights")
    return False


def check_outside(report, interpreters, folder, known, why_wrong, *words):
    """Without the rights for eBPF, stacks are read from outside, some time after the sample. If the
    thread has continued, a stack is discarded, unless it fits the sample by chance: the shares are
    not exact. `known` as in record_shares; functions of less than a fifth may be missing."""
    name = "without eBPF: functions"
    shares, work = known
    if not can_drop_rights(report, name):
        return
    for _ in range(RECORDINGS):
        path, failed = record(interpreters, folder, "-F", "999", *words, before=WITHOUT_RIGHTS)
        found = stacks(path)
        missing = [function for function, share in shares.items()
                   if share > 0.2 and not any(function in stack for stack in found)]
        total, wrong = count_wrong(found, work, why_wrong)
        why = failed or (f"no samples of {missing}" if missing else "")
        if not why and sum(wrong.values()) > 0.25 * total + 2:
            why = f"{total} stacks, of which are wrong: {wrong.most_common(3)}"
        if not why:
            break
    report.result(name, why)


def cpu_time(pid):
    """Seconds of CPU time that the process has used."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def record_process(interpreters, folder, pid):
    """Records a process that runs until it has used a second of CPU time: what `record` returns."""
    path = os.path.join(folder, "running.data")
    if os.path.exists(path):
        os.remove(path)
    with subprocess.Popen([tap.STOKE, "record", "-q", "--interpreters", interpreters, "-o", path,
                           "-F", "499", "-p", str(pid)], stderr=subprocess.PIPE) as recorder:
        while recorder.poll() is None and not (os.path.exists(path) and os.path.getsize(path)):
            time.sleep(0.02)
        end = cpu_time(pid) + 1
        while recorder.poll() is None and cpu_time(pid) < end:
            time.sleep(0.02)
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=tap.TIMEOUT)
    return path, f"status {recorder.returncode}: {err.decode()[-600:]}" if recorder.returncode else ""


def check_process(report, interpreters, folder, pid, is_known, least=0.9):
    """A process that runs already: at least that part of the samples has stacks that are known. A
    recorder that waits for a CPU finds the interpreter late; then it is tried again."""
    for _ in range(RECORDINGS):
        data, failed = record_process(interpreters, folder, pid)
        found = stacks(data)
        total, known = sum(found.values()), sum(n for stack, n in found.items() if is_known(stack))
        why = failed or ("" if total and known >= least * total else f"{known} of {total} samples")
        if not why:
            break
    report.result("a process that runs already", why)


def may_trace():
    """Whether stoke stacks may stop a process."""
    with subprocess.Popen(["sleep", str(tap.TIMEOUT)]) as process:
        _, _, err = tap.run([tap.STOKE, "stacks", str(process.pid)])
        process.kill()
    return b"cannot attach" not in err and b"not accessible" not in err
