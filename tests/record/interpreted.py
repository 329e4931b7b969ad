# SPDX-License-Identifier: Apache-2.0
"""Recordings of programs in interpreted languages, and how often their functions are in stacks."""

import collections
import math
import os

import tap

# Runs a command without the rights of root: eBPF is not possible then.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


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


def wrong_shares(found, shares, work, sure):
    """Functions whose shares of the stacks with `work` are further than `sure` standard deviations
    from those of the program: a line each."""
    total = sum(n for stack, n in found.items() if work in stack)
    wrong = []
    for name, share in shares.items():
        got = sum(n for stack, n in found.items() if name in stack and work in stack)
        margin = sure * math.sqrt(share * (1 - share) * total)
        if not total or abs(got - share * total) > margin:
            wrong.append(f"{name}: {got} of {total} samples, not {100 * share:.0f}% "
                         f"+- {100 * margin / max(total, 1):.2f}")
    return "\n".join(wrong)


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
