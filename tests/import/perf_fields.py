#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perf script with each choice of -F comm,pid,tid,cpu,time,period,event: header lines as perf prints
them, with IDs of 5 (perf 6.1) and 7 columns (later versions), before the same stacks. The names of
threads and the sums are the same for all choices that have them."""

import itertools

import tap

FIELDS = ["comm", "pid", "tid", "cpu", "time", "period", "event"]
# A comm may look like several fields.
SAMPLES = [("work", 5490, 5491, 2004008), ("wo rk 12/3", 7, 4194303, 999), ("a 7", 31415, 12, 1),
           ("tmux: server", 123456, 123457, 12345678901)]
STACK = "\t            1184 leaf\n\t            126c main\n"
results = tap.Tap()


def header(sample, fields, columns):
    comm, pid, tid, period = sample
    text = comm + " " if "comm" in fields else ""
    if "pid" in fields and "tid" in fields:
        text += "%*d/%-*d " % (columns, pid, columns, tid)
    elif "pid" in fields or "tid" in fields:
        text += "%*d " % (columns, pid if "pid" in fields else tid)
    text += "[003] " if "cpu" in fields else ""
    text += "%5d.%06d: " % (545, 949921) if "time" in fields else ""
    text += "%10d " % period if "period" in fields else ""
    return text + ("cpu-clock:ppp: " if "event" in fields else "")


def is_ambiguous(fields):
    """Without an ID, the number at the end of a comm before a CPU or a time is taken for one, as
    stackcollapse-perf.pl does."""
    return ("comm" in fields and not {"pid", "tid"} & set(fields) and
            {"cpu", "time"} & set(fields))


def label(sample, fields):
    """What fold --tid prints of a thread."""
    comm, pid, tid, _ = sample
    comm = comm.replace(" ", "_") if "comm" in fields else ""
    if "pid" in fields and "tid" in fields:
        number = "%d/%d" % (pid, tid)
    elif "pid" in fields or "tid" in fields:
        number = "?/%d" % (pid if "pid" in fields else tid)
    else:
        number = ""
    return "-".join(part for part in (comm, number) if part)


def want(fields):
    """The lines of fold --tid; without threads the stacks are one line."""
    sums = {}
    for sample in SAMPLES:
        name = label(sample, fields)
        sums[name] = sums.get(name, 0) + (sample[3] if "period" in fields else 1)
    return sorted("%s;main;leaf %d" % (name, weight) if name else "main;leaf %d" % weight
                  for name, weight in sums.items())


def check(fields, columns):
    text = "\n".join(header(sample, fields, columns) + "\n" + STACK for sample in SAMPLES) + "\n"
    status, out, err = tap.run([tap.STOKE, "fold", "--tid", "-"], input=text.encode())
    out = sorted(out.decode().splitlines())
    if status == 0 and not err and out == want(fields):
        return []
    return ["-F %s, %d columns: status %s" % (",".join(fields), columns, status),
            *out, *err.decode().splitlines(), "instead of", *want(fields)]


def main():
    for columns in (5, 7):
        faults = []
        for count in range(1, len(FIELDS) + 1):
            for fields in itertools.combinations(FIELDS, count):
                if not is_ambiguous(fields):
                    faults += check(fields, columns)
        results.result("headers with IDs of %d columns" % columns, "\n".join(faults[:40]))
    results.done()


main()
