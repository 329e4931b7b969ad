#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares perf.data with Debian's perf: samples, stacks, weights and lost counts per event, for
the recordings of the corpus, those of tests/import/perf-data that perf 6.1 can read, and some that
are recorded here.

Neither side has symbols, so the test compares reading: threads, chains, maps. Stacks with dumps
are compared up to the end of the kernel's part, and in separate cases otherwise.

perf_data.py [PART-OF-A-NAME...] runs only the recordings with matching names."""

import glob
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import tap

PERF = shutil.which("perf")
FIXTURES = os.path.join(tap.SOURCE_ROOT, "tests", "import", "perf-data")
CORPUS = os.path.join(tap.CORPUS, "perfdata")

# The fixtures that perf 6.1 reads completely; the others have goldens.
READABLE = ["attr-96", "compressed", "compressed-pipe", "file", "groups", "pipe", "plain",
            "was-there"]

# Files that perf rejects, and the expected messages.
REFUSED = {"perf.data.true.v1": b"version 1"}

# Damage, and how many samples are whole.
DAMAGED = {"perf.data.piped.corrupted.zero_size_sample-3.2": 227}

# A program that has executed another one keeps, with perf, the maps of the first below
# those of the second; with stoke they are gone once it has run. In the fixtures:
STALE = (b"child;[prog];[child]", b"child;[unknown];[child]")

# Without a map of the kernel, stoke still marks its frames.
KERNEL, UNKNOWN = b"[[kernel.kallsyms]]", b"[unknown]"

# Recorded here, with a load that forks, execs, and makes system calls.
LOAD = ["sh", "-c", "for i in 1 2; do ls -lR /usr/lib >/dev/null; done; "
        "gzip -9 </usr/bin/perf >/dev/null"]
# One process does all: others are not recorded.
LOADS = {"by thread": ["sh", "-c", "exec ls -lR /usr/lib /usr/share /usr/include >/dev/null"]}
RECORDED = {
    "fp": ["-g"],
    "no chains": [],
    "several events": ["-g", "-e", "cpu-clock,context-switches,page-faults"],
    "groups": ["-g", "-e", "{page-faults,context-switches},cpu-clock"],
    "a tracepoint first": ["-g", "-e", "sched:sched_process_exit,cpu-clock,page-faults"],
    "by thread": ["-g", "--per-thread", "-e", "cpu-clock,page-faults"],
    "all processes": ["-g", "-a"],
    "period": ["-c", "1000000", "-e", "cpu-clock:u"],
    "compressed": ["-g", "-z"],
    "pipe": ["-g", "-o", "-"],
    "compressed pipe": ["-g", "-z", "-o", "-"],
    "dwarf": ["--call-graph", "dwarf,4096"],
    "threads": ["-g", "--threads"],
    "compressed threads": ["-g", "-z", "--threads"],
}


# What others run meanwhile is in it, too, and can have any stacks: only the load is compared. It
# can have namesakes: programs that begin and end, of whose stacks perf takes some from the program
# before, and drops some at an address that cannot be.
OTHERS = {"all processes": 0.02}
NAMES_OF_LOAD = (b"sh", b"ls", b"gzip")
# The load begins and ends programs, too, but fewer of them.
RARE = 0.005


def attrs_of_128(raw):
    """The file with attributes as short as perf 6.1 knows them. A new table of them goes to
    the end."""
    attr_size, at, size = struct.unpack_from("<QQQ", raw, 16)
    if raw[:8] != b"PERFILE2" or attr_size <= 144 or struct.unpack_from("<Q", raw, 8)[0] == 16:
        return raw
    table = b""
    for i in range(at, at + size, attr_size):
        attr, ids = raw[i:i + 128], raw[i + attr_size - 16:i + attr_size]
        table += attr[:4] + struct.pack("<I", 128) + attr[8:] + ids
    head = raw[:16] + struct.pack("<QQQ", 144, len(raw), len(table))
    return head + raw[40:] + table


def perf_script(path, *more):
    """The output of perf script without symbols; None if perf cannot read the file."""
    if os.path.isdir(path):
        return perf_script_of(path, *more)
    with open(path, "rb") as file:
        raw = file.read()
    with tempfile.NamedTemporaryFile() as copy:
        copy.write(attrs_of_128(raw))
        copy.flush()
        return perf_script_of(copy.name, *more)


def perf_script_of(path, *more):
    status, out, err = tap.run([PERF, "script", "--no-inline", "--symfs", "/nonexistent",
                                "--kallsyms", "/dev/null", "-i", path, *more])
    return out if status == 0 and b"failed to process" not in err else None


def lost_of(path):
    """The lost samples: the larger of the sums of LOST and of LOST_SAMPLES; each counts all."""
    lines = re.findall(rb"PERF_RECORD_LOST(_SAMPLES)?: .*lost(?: samples )?:(\d+)",
                       perf_script(path, "-D") or b"")
    return max(sum(int(count) for kind, count in lines if kind == expected)
               for expected in (b"", b"_SAMPLES"))


def events_of(path, *more):
    status, out, err = tap.run([tap.STOKE, "info", "--json", "-q", *more, path])
    return json.loads(out) if status == 0 else err


def folded(path, event, *more):
    _, out, _ = tap.run([tap.STOKE, "fold", "-q", "--symfs", tap.SOURCE_ROOT, "--debug-dir",
                         tap.SOURCE_ROOT, "--kallsyms", "/dev/null", "--event", event, *more,
                         path],
                        env=dict(os.environ, HOME="/nonexistent"))
    return out


def in_kernel(text):
    """Without symbols perf does not know how far the kernel reaches, and leaves out what
    runs while the machine starts."""
    return re.sub(rb"(?<=\[\[kernel\.kallsyms\]\];)((?:\[unknown\];)+)(?=\[\[kernel)",
                  lambda m: m[1].replace(b"[unknown]", b"[[kernel.kallsyms]]"), text)


def kernel_part(text):
    """Of each stack the process and the kernel's frames, weights added up."""
    sums = {}
    for line in text.splitlines():
        stack, _, weight = line.rpartition(b" ")
        frames = stack.split(b";")
        while len(frames) > 1 and frames[-1] == KERNEL:
            frames.pop()
        key = frames[0] + b" %d" % (stack.count(b";") - len(frames) + 1)
        sums[key] = sums.get(key, 0) + int(float(weight))
    return b"".join(b"%s %d\n" % item for item in sorted(sums.items()))


def weights(text):
    lines = (line.rpartition(b" ") for line in text.splitlines())
    return {stack: float(weight) for stack, _, weight in lines}


def lines_of(sums):
    return b"".join(b"%s %d\n" % item for item in sorted(sums.items()))


def without_garbage(expected, got):
    """perf drops the whole chain if it contains an impossible address (as in programs without
    frame pointers); stoke drops the part after it. Removes these stacks from both results: perf
    has the process only, and stoke has the same weight below it."""
    bare = {stack: weight for stack, weight in expected.items() if b";" not in stack}
    for process, weight in bare.items():
        more = {stack: got[stack] - expected.get(stack, 0) for stack in got
                if stack.startswith(process + b";") and got[stack] != expected.get(stack, 0)}
        if process in got or min(more.values(), default=-1) < 0:
            continue
        if abs(sum(more.values()) - weight) < 1:
            expected = {**expected, **{stack: got[stack] for stack in more}}
            del expected[process]
    return expected


def is_stale(theirs, ours):
    """Whether the stacks differ only in callers that perf reads from the program that ran before
    in the process (see STALE)."""
    theirs, ours = theirs.split(b";"), ours.split(b";")
    return len(theirs) == len(ours) and theirs[-1] == ours[-1] and all(
        a == b or (b == UNKNOWN and a.startswith(b"[")) for a, b in zip(theirs, ours))


def without_stale(expected, got):
    """Assigns perf's weight to stacks of that kind, up to a thousandth of the total."""
    excess = {stack: expected.get(stack, 0) - got.get(stack, 0) for stack in {**expected, **got}}
    left = sum(expected.values()) / 1000
    for theirs in [stack for stack in excess if excess[stack] > 0]:
        for ours in [stack for stack in excess if excess[stack] < 0]:
            weight = min(excess[theirs], -excess[ours], left)
            if weight > 0 and is_stale(theirs, ours):
                excess[theirs] -= weight
                excess[ours] += weight
                left -= weight
                expected = {**expected, theirs: expected[theirs] - weight,
                          ours: expected.get(ours, 0) + weight}
    return {stack: weight for stack, weight in expected.items() if weight}


def has_dumps(path):
    with open(os.path.join(path, "data") if os.path.isdir(path) else path, "rb") as file:
        head = file.read(4096)
    sample_types = [struct.unpack_from("<Q", head, i + 24)[0]
                    for i in range(0, len(head) - 128, 8)
                    if head[i + 4:i + 8] in (b"\x70\0\0\0", b"\x80\0\0\0", b"\x88\0\0\0")
                    and struct.unpack_from("<I", head, i)[0] < 5]
    return any(kind & (1 << 13) for kind in sample_types)


def check_order(path, events):
    """The events with samples are in the order of perf's evlist, the default first."""
    listing = subprocess.run([PERF, "evlist", "-i", path], capture_output=True, check=False)
    names = [line.strip() for line in listing.stdout.decode().splitlines()
             if not line.startswith("#")]
    expected = [name for name in dict.fromkeys(names) if name in events]
    got = [name for name in events if name in expected]
    return "" if expected == got else f"events in the order {got}, perf evlist has {expected}"


def nearly(expected, got, share):
    """The same total weight, of which at most this share is in different stacks."""
    total = sum(expected.values())
    other = sum(abs(expected.get(stack, 0) - got.get(stack, 0)) for stack in {**expected, **got})
    return share > 0 and abs(total - sum(got.values())) < 1 and other <= share * total


def of_load(weights_of):
    return {stack: weight for stack, weight in weights_of.items()
            if stack.split(b";")[0] in NAMES_OF_LOAD}


def compare(path, share=0.0, load_only=False):
    ours = events_of(path)
    if isinstance(ours, bytes):
        return "stoke does not read it: " + ours.decode()
    text = perf_script(path)
    if text is None:
        return "perf does not read it"
    with tempfile.NamedTemporaryFile(suffix=".script") as script:
        script.write(text)
        script.flush()
        theirs = events_of(script.name, "--format", "perf")
        if isinstance(theirs, bytes):
            return "stoke does not read perf's text: " + theirs.decode()
        theirs["lost"] = lost_of(path)
        why = check_order(path, [event["name"] for event in ours["events"]])
        if why:
            return why
        for what in ("samples", "lost"):
            if ours[what] != theirs[what]:
                return f"{what}: {ours[what]}, perf has {theirs[what]}"
        for event in theirs["events"]:
            expected = in_kernel(folded(script.name, event["name"], "--format", "perf"))
            got = folded(path, event["name"])
            if KERNEL not in expected:
                got = got.replace(KERNEL, UNKNOWN)
            if has_dumps(path):
                expected, got = kernel_part(expected), kernel_part(got)
            expected, got = weights(expected.replace(*STALE)), weights(got)
            if load_only:
                expected, got = of_load(expected), of_load(got)
                if not expected:
                    return "the load has no samples"
            expected = without_garbage(without_stale(expected, got), got)
            why = tap.difference(lines_of(expected), lines_of(got), event["name"])
            if why and not nearly(expected, got, share):
                return why
            for line in why.splitlines():
                print("#", line)
    return ""


def check_refused(path):
    status, _, err = tap.run([tap.STOKE, "fold", path])
    expected = REFUSED[os.path.basename(path)]
    return "" if status == 1 and expected in err else f"status {status}: {err.decode()}"


def check_damaged(path):
    ours = events_of(path)
    if isinstance(ours, bytes):
        return ours.decode()
    if not any("corrupted" in warning["what"] for warning in ours["warnings"]):
        return "nothing is said of the damage"
    expected = DAMAGED[os.path.basename(path)]
    return "" if ours["samples"] == expected else f"{ours['samples']} samples, not {expected}"


def check(path):
    name = os.path.basename(path)
    if name in REFUSED:
        return check_refused(path)
    return check_damaged(path) if name in DAMAGED else compare(path)


def corpus_files():
    for path in sorted(glob.glob(CORPUS + "/**", recursive=True)):
        name = os.path.basename(path)
        if os.path.isfile(path) and ".data" in name and not name.endswith((".txt", ".zlib")):
            yield path


def record(folder, name):
    """A new recording; empty if the machine does not allow it."""
    path = os.path.join(folder, name.replace(" ", "-") + ".data")
    options = RECORDED[name]
    to_pipe = "-o" in options
    command = [PERF, "record", "-q", "-F", "999", *options, *([] if to_pipe else ["-o", path]),
               "--", *LOADS.get(name, LOAD)]
    if "-c" in options:
        command.remove("-F")
        command.remove("999")
    status, out, _ = tap.run(command, cwd=folder,
                             env=dict(os.environ, HOME=folder))  # its cache of files
    if to_pipe:
        with open(path, "wb") as file:
            file.write(out)
    return path if status == 0 and os.path.exists(path) else ""


def record_readable(folder, name):
    """The same; recorded again if perf cannot read its own recording, which sometimes happens with
    a pipe."""
    for _ in range(3):
        path = record(folder, name)
        if not path or perf_script(path) is not None:
            break
    return path


def by_road(path, folder, more):
    """The same recording as a file, through a pipe, and packed: how stoke folds it."""
    packed = os.path.join(folder, "packed.data.gz")
    with open(path, "rb") as file, gzip.open(packed, "wb", 1) as out:
        shutil.copyfileobj(file, out)
    with open(path, "rb") as file:
        piped = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        roads = {"file": [path], "pipe": ["-"], "packed": [packed]}
        return {road: subprocess.run([tap.STOKE, "fold", "-q", "--all", *more, *names],
                                     stdin=piped.stdout if road == "pipe" else subprocess.DEVNULL,
                                     capture_output=True).stdout
                for road, names in roads.items()}


def check_roads(path, folder, more):
    """Data at the end of a file (build IDs, the release of the kernel, names of events) is
    used whichever way the file is read."""
    folded = by_road(path, folder, more)
    differ = [road for road in folded if folded[road] != folded["file"]]
    return f"other stacks: {', '.join(differ)}" if differ or not folded["file"] else ""


def fold_all(path, *more):
    return subprocess.run([tap.STOKE, "fold", "-q", "--all", *more, path],
                          capture_output=True, text=True,
                          errors="surrogateescape").stdout  # threads may have any name


def check_skip_after(path, more):
    """Without the callers of a function, the lines are those of the whole from it on."""
    sums, whole = {}, fold_all(path, *more).splitlines()
    stacks = [line.rpartition(" ")[0].split(";") for line in whole]
    inner = [frame for stack in stacks for frame in stack[2:-1] if frame[0] != "["]
    name = max(set(inner), key=inner.count) if inner else ""
    for stack, line in zip(stacks, whole):
        last = max((i for i, frame in enumerate(stack) if i and frame == name), default=1)
        key = ";".join(stack[:1] + stack[last:])
        sums[key] = sums.get(key, 0) + int(line.rpartition(" ")[2])
    got = fold_all(path, *more, "--skip-after", name.removesuffix("_[i]").removesuffix("_[k]"))
    expected = sorted(f"{stack} {weight}" for stack, weight in sums.items())
    if not name or expected == sorted(whole):
        return "no function is called by another"
    return "" if sorted(got.splitlines()) == expected else f"other stacks after {name}"


def main():
    report = tap.Tap()
    parts = sys.argv[1:]
    if not PERF:
        report.skip("perf", "linux-perf is not installed")
        report.done()
    fixtures = [os.path.join(FIXTURES, name + ".in") for name in READABLE]
    files = list(corpus_files()) + fixtures
    for path in files:
        name = os.path.relpath(path, tap.CORPUS if path.startswith(CORPUS) else FIXTURES)
        if not parts or any(part in name for part in parts):
            report.result(name, check(path))
    if len(files) == len(fixtures):
        report.skip("corpus", "there is no corpus")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as empty:
        for name in RECORDED:
            if parts and not any(part in name for part in parts):
                continue
            path = record_readable(folder, name)
            if path:
                report.result("recorded: " + name,
                              compare(path, OTHERS.get(name, RARE), name in OTHERS))
                # Files of other programs change between two runs of stoke: it reads none.
                more = ["--symfs", empty] if name in OTHERS else []
                if not os.path.isdir(path):
                    report.result(f"recorded: {name}: by every road",
                                  check_roads(path, folder, more))
                    if "-g" in RECORDED[name]:
                        report.result(f"recorded: {name}: skip after", check_skip_after(path, more))
            else:
                report.skip("recorded: " + name, "perf record does not work here")
    report.done()


main()
