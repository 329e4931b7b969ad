#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perf script with each choice of -F comm,pid,tid,cpu,time,period,event: header lines as perf prints
them, with IDs of 5 (perf 6.1) and 7 columns (later versions), before the same stacks. The names of
threads and the sums are the same for all choices that have them. The same with samples in one line, as
perf prints recordings without stacks, and with frames without a symbol."""

import itertools

import tap

FIELDS = ["comm", "pid", "tid", "cpu", "time", "period", "event"]
# A comm may look like several fields.
SAMPLES = [("work", 5490, 5491, 2004008), ("wo rk 12/3", 7, 4194303, 999), ("a 7", 31415, 12, 1),
           ("tmux: server", 123456, 123457, 12345678901)]
STACK = "\t            1184 leaf\n\t            126c main\n"
# By the fields of the frame: the text after the address, and what fold prints.
FRAMES = {"sym": (" leaf", "leaf"), "sym,dso": (" leaf+0x12 (/srv/x)", "leaf"), "dso": (" (/srv/x)", "[x]"),
          "sym,dso without a name": ("  (/srv/x)", " "), "ip": ("", "[unknown]")}
results = tap.Tap()


def header(sample, fields, columns, comm_columns=0):
    comm, pid, tid, period = sample
    text = "%*s " % (comm_columns, comm) if "comm" in fields else ""
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


def want(fields, stack="main;leaf"):
    """The lines of fold --tid; without threads the stacks are one line."""
    sums = {}
    for sample in SAMPLES:
        name = label(sample, fields)
        sums[name] = sums.get(name, 0) + (sample[3] if "period" in fields else 1)
    return sorted("%s;%s %d" % (name, stack, weight) if name else "%s %d" % (stack, weight)
                  for name, weight in sums.items())


def compare(what, text, expected):
    status, out, err = tap.run([tap.STOKE, "fold", "--tid", "-"], input=text.encode())
    out = sorted(out.decode().splitlines())
    if status == 0 and not err and out == expected:
        return []
    return ["%s: status %s" % (what, status), *out, *err.decode().splitlines(), "instead of", *expected]


def check(fields, columns):
    text = "\n".join(header(sample, fields, columns) + "\n" + STACK for sample in SAMPLES) + "\n"
    return compare("-F %s, %d columns" % (",".join(fields), columns), text, want(fields))


def check_flat(fields, columns):
    """Samples in one line, with each kind of frame."""
    faults = []
    for kind, (rest, name) in FRAMES.items():
        lines = (header(sample, fields, columns, 16) + " %16s%s\n" % ("7f0912ab10c0", rest) for sample in SAMPLES)
        faults += compare("flat -F %s, %s" % (",".join(fields), kind), "".join(lines), want(fields, name))
    return faults


def main():
    for columns in (5, 7):
        choices = [fields for count in range(1, len(FIELDS) + 1)
                   for fields in itertools.combinations(FIELDS, count) if not is_ambiguous(fields)]
        faults = [line for fields in choices for line in check(fields, columns)]
        results.result("headers with IDs of %d columns" % columns, "\n".join(faults[:40]))
        faults = [line for fields in [(), *choices] for line in check_flat(fields, columns)]
        results.result("samples in one line with IDs of %d columns" % columns, "\n".join(faults[:40]))
    results.done()


main()
