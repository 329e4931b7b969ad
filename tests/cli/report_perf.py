# SPDX-License-Identifier: Apache-2.0
"""Compares rows of stoke report and perf report for the same recordings: keys, samples, weights
and percentages. report_perf.py PLAIN STACKS, or report_perf.py tracepoints RECORDING... Rows of perf that look the same (functions with one name in a module, addresses
without a name) are added first."""

import csv
import re
import subprocess
import sys

# Samples at addresses that perf names in its own way.
RARE = 2
ASTRAY = 5  # percent of a recording, see astray


def perf_rows(recording, keys, children, more):
    """Perf's pid is the number of the thread, as are its rows."""
    text = subprocess.run(
        ["perf", "report", "--stdio", "--children" if children else "--no-children",
         "--no-inline", "-g", "none", "-n", "--show-total-period", "--percent-limit", "0",
         "-t", "\t", "--sort", ",".join(keys).replace("tid", "pid"), "-i", recording, *more],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if line.startswith("#") or len(cells) < 4:
            continue
        percents = [float(cell.rstrip("%")) for cell in cells[:2 if children else 1]]
        samples, period, *names = cells[len(percents):]
        names = tuple(unnamed(key, name) for key, name in zip(keys, names))
        figures = rows.setdefault(names, [0] * len(percents) + [0, 0, 0])
        for i, percent in enumerate(percents):
            figures[i] += percent
        figures[-3] += int(samples)
        figures[-2] += int(period)
        figures[-1] += 1
    return rows


def unnamed(key, name):
    if key == "sym":
        name = re.sub(r"^\[.\] ", "", name)
        if re.fullmatch(r"(0x)?[0-9a-f]{8,16}", name):
            return ""
        # Perf 6.1 names few of the PLT's entries, and some after the function before them.
        if name in ("_init", ".plt", "(plt)") or name.endswith("@plt"):
            return ""
    if key in ("pid", "tid"):
        return name.split(":")[0].strip()
    return "" if name in ("[unknown]", "[other]") else name


def stoke_rows(recording, keys, children, more):
    text = subprocess.run(
        ["stoke", "report", "--csv", "-q", "--no-inline",
         "--children" if children else "--no-children", "-s", ",".join(keys), recording, *more],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = {}
    for row in csv.DictReader(text.splitlines()):
        shares = ["total_percent", "self_percent"] if children else ["self_percent"]
        mine = [float(row[share]) for share in shares] + [int(row["samples"]),
                                                          int(row["self"])]
        name = tuple(unnamed(key, row[key]) for key in keys)
        rows[name] = [a + b for a, b in zip(rows.get(name, [0] * len(mine)), mine)]
    return rows


def astray(one, other, keys):
    """The share of kernel callers that perf names in another way: if the last instruction of a
    function is a call, the return address belongs to the next function, and perf names that one.
    One sample may have some percent of a recording whose samples weigh the time they state."""
    if "sym" not in keys:
        return 0
    return sum(row[0] for key, row in one.items()
               if key not in other and "[kernel.kallsyms]" in key and row[1] == 0 and row[0] < ASTRAY)


def compare(recording, keys, children, *more):
    perf = perf_rows(recording, keys, children, more)
    stoke = stoke_rows(recording, keys, children, more)
    what = " ".join([recording, ",".join(keys), "--children" if children else "--no-children", *more])
    rare = 100 * RARE / sum(row[-2] for row in stoke.values())
    loose = astray(perf, stoke, keys) if children else 0
    moved = []
    for key in sorted(set(perf) | set(stoke)):
        kernel = loose and "[kernel.kallsyms]" in key
        if children and ("" in key or "ld-linux-x86-64.so.2" in key):
            # Perf has a row for each address without a name, and addresses recur in a
            # stack; and a call at the end of _start returns, to it, into the next function.
            continue
        none = [0] * (2 if children else 1) + [0, 0]
        *percents, samples, period, count = perf.get(key, [*none, 1])
        mine = stoke.get(key, none)
        # Perf prints two decimals, of each of the rows that are added up here.
        differ = max(abs(his - our) - 0.00501 * count for his, our in zip(percents, mine))
        seen = f"{what}: {key}: perf {perf.get(key)}, stoke {stoke.get(key)}"
        assert differ <= rare + (loose + 0.01 if kernel else 0), seen
        if not children and (samples, period) != tuple(mine[-2:]):
            moved += [seen] * abs(samples - mine[-2])
            assert samples != mine[-2], seen
    # a moved sample differs in two rows
    assert len(moved) <= 2 * RARE, "\n".join(moved)
    own = sum(row[-3] for row in stoke.values())
    assert abs(own - 100) < 0.0001 * len(stoke), f"{what}: they add up to {own}%"
    print(f"{what}: {len(stoke)} rows, perf's {sum(r[-1] for r in perf.values())}", *moved, sep="\n")
    return len(stoke)


def field_rows(command, fields):
    """The headings and the rows, in their order, without those of unknown names."""
    text = subprocess.run([*command, "--percent-limit", "0", "--no-inline", "-F", fields, "-t", "\t"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    lines = text.splitlines()
    first = max(i for i, line in enumerate(lines) if line.startswith(("# Overhead", "# Command", "# Shared Object"))
                or re.match(r"# +Samples\b(?!:)", line))
    rows = [[cell.strip("# ") for cell in line.split("\t")] for line in lines[first:]]
    return [row for row in rows if row[0] and "[unknown]" not in row and not row[0].startswith("(Tip")]


def compare_fields(recording, *more):
    """--fields chooses the columns, and the order of the rows."""
    for fields in ("comm,sample", "sample,comm", "overhead,comm", "dso,sample,overhead", "sample,dso", "comm"):
        perf = field_rows(["perf", "report", "--stdio", "-i", recording, "--no-children", *more], fields)
        stoke = field_rows(["stoke", "report", "-q", recording], fields)
        assert perf == stoke, f"{recording}: -F {fields}:\nperf  {perf}\nstoke {stoke}"
        assert len(perf) > 1, fields


def compare_tracepoints(recordings):
    """Recordings of one event each, a hit of which may count more than 1."""
    for recording in recordings:
        rows = stoke_rows(recording, ["comm"], False, [])
        assert sum(row[-1] for row in rows.values()) > 2 * sum(row[-2] for row in rows.values()), \
            f"{recording}: the periods are 1"
        assert compare(recording, ["comm"], False) >= 2
        assert compare(recording, ["comm", "sym"], False) >= 2
        assert compare(recording, ["comm", "dso", "sym"], True) >= 4


def main():
    if sys.argv[1] == "tracepoints":
        compare_tracepoints(sys.argv[2:])
        return
    plain, stacks = sys.argv[1:]
    for recording in plain, stacks:
        assert compare(recording, ["comm", "dso", "sym"], False) >= 8
        for keys in ["comm"], ["dso"], ["sym", "dso"], ["tid", "dso"]:
            assert compare(recording, keys, False) >= 2
    compare_fields(plain)
    compare_fields(stacks, "-g", "none")
    assert compare(stacks, ["comm", "dso", "sym"], True) >= 8
    assert compare(stacks, ["comm"], True) >= 2
    for keys in ["parent", "sym"], ["parent"]:
        assert compare(stacks, keys, False, "-p", "^(main|again|helper)$") >= 3
    own_share = ["-p", "^(main|helper)$", "-x", "--percentage", "relative"]
    assert compare(stacks, ["parent", "sym", "dso"], False, *own_share) >= 2


main()
