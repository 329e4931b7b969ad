#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares reading, unwinding and naming of perf.data with other tools: perf script, libdwfl,
llvm-symbolizer, and the corpus.

perf_data_truth.py PROGRAM...: names, records, oracle_dwfl (see tests/truth, tests/unwind);
oracle_dwfl is missing without libdw-dev. STOKE_TRUTH_FOLDER preserves the programs and
recordings; STOKE_TRUTH_SHOWN is the number of differences per class that are printed."""

import collections
import json
import fnmatch
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import tap

PROGRAMS = {re.sub("^truth_", "", os.path.basename(p)): os.path.abspath(p)
            for p in sys.argv[1:]}
SOURCES = os.path.join(tap.SOURCE_ROOT, "tests", "truth")
CORPUS = os.path.join(tap.CORPUS, "perfdata")
REQUIRED = 0.999
# A short recording has few samples, of which one can be in code where tools differ.
RARE = 2  # stacks or addresses
RARE_FRAMES = 60  # of two stacks
SHOWN = int(os.environ.get("STOKE_TRUTH_SHOWN", "3"))
DWARF = ["--call-graph", "dwarf,16384"]
FREQUENCY = ["-F", "1499"]


def lines_of(text):
    """A thread's name may hold what str.splitlines takes for the end of a line."""
    return text.removesuffix("\n").split("\n") if text else []


def said(args, **more):
    """(output, messages) of a program that may end badly, but by itself."""
    status, out, err = tap.run(args, **more)
    if tap.crashed(status):
        raise RuntimeError(f"{' '.join(args)}: {tap.crashed(status)}")
    return out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "replace")


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole if whole else 0:.2f}%)"


# --- What is recorded --------------------------------------------------------------------

def build(folder):
    """The program of tests/truth in several variants. Each is linked separately; the stripped ones
    are made from the linked file."""
    def make(name, *flags, source="program.cc"):
        tap.output(["g++", "-O2", "-g", *flags, "-pthread", "-o", os.path.join(folder, name),
                os.path.join(SOURCES, source)])

    def do(*command):
        tap.output(list(command), cwd=folder)

    jobs = [("plugin.so", ["-fPIC", "-shared"], "plugin.cc"), ("pie", ["-fPIE", "-pie"],
            "program.cc"), ("fp", ["-fno-omit-frame-pointer", "-no-pie"], "program.cc"),
            ("static", ["-static", "-DWITHOUT_PLUGIN"], "program.cc")]
    for _ in tap.in_parallel(lambda job: make(job[0], *job[1], source=job[2]), jobs):
        pass
    tap.output(["gcc", "-O2", "-o", os.path.join(folder, "jit"), os.path.join(SOURCES, "jit.c")])
    # the target of a debug link
    shutil.copy(os.path.join(folder, "pie"), os.path.join(folder, "linked"))
    do("objcopy", "--only-keep-debug", "linked", "linked.debug")
    do("strip", "linked")
    do("objcopy", "--add-gnu-debuglink=linked.debug", "linked")
    # a compressed symbol table inside, as Fedora's
    shutil.copy(os.path.join(folder, "pie"), os.path.join(folder, "mini"))
    do("objcopy", "--only-keep-debug", "mini", "mini.full")
    keep_functions(folder)
    do("strip", "mini")
    do("objcopy", "--add-section", ".gnu_debugdata=mini.some.xz", "mini")


def keep_functions(folder):
    """mini.some.xz: only the symbols of mini's functions."""
    names = [line.split()[0] for line in
             tap.output(["nm", "--format=posix", "--defined-only", "mini"], cwd=folder)
             .splitlines() if line.split()[1] in "tTwW"]
    with open(os.path.join(folder, "mini.keep"), "w", encoding="utf-8") as file:
        file.write("\n".join(names))
    tap.output(["objcopy", "-S", "--keep-symbols=mini.keep", "mini.full", "mini.some"],
           cwd=folder)
    with open(os.path.join(folder, "mini.some"), "rb") as file:
        packed = lzma.compress(file.read())
    with open(os.path.join(folder, "mini.some.xz"), "wb") as file:
        file.write(packed)


def home_of(folder, name):
    return os.path.join(folder, "home of " + name)


class Recording:
    def __init__(self, name, how, program, milliseconds=400, pipe=False):
        self.name, self.how, self.program, self.pipe = name, how, program, pipe
        self.milliseconds = milliseconds
        self.path = self.home = ""
        self.is_dwarf = "dwarf,16384" in how
        self.has_chains = self.is_dwarf or "-g" in how
        self.as_dwfl = False  # until it was compared
        # Programs of others change their files between two runs of stoke: it reads none.
        self.fixed = ["--symfs", SOURCES] if "-a" in how else []

    def record(self, folder):
        """The reason if it is not possible, or empty. Each recording has its own home: perf stores
        recorded files in ~/.debug by build ID, and a stripped program has the build ID of the
        whole one."""
        self.home = home_of(folder, self.name)
        os.environ["HOME"] = self.home
        os.environ.pop("PERF_CONFIG", None)  # perf's cache of files is below this HOME
        os.makedirs(self.home, exist_ok=True)
        self.path = os.path.join(folder, self.name + ".data")
        what = [os.path.join(folder, self.program), str(self.milliseconds)]
        if self.program not in ("static", "jit"):
            what.append(os.path.join(folder, "plugin.so"))
        if self.program == "compiler":
            what = ["g++", "-O2", "-g", "-c", os.path.join(SOURCES, "plugin.cc"), "-o",
                    os.devnull]
        command = ["perf", "record", *self.how, "-o", "-" if self.pipe else self.path]
        status, out, err = tap.run(command + ["--"] + what, cwd=folder)
        if self.pipe:
            with open(self.path, "wb") as file:
                file.write(out)
        if status != 0 or os.path.getsize(self.path) == 0:
            return err.decode("utf-8", "replace").strip()[-200:] or "perf record failed"
        return ""


RECORDINGS = [
    Recording("frame pointers", [*FREQUENCY, "-g"], "fp", 800),
    Recording("dwarf", [*FREQUENCY, *DWARF], "pie", 800),
    Recording("dwarf, static", [*FREQUENCY, *DWARF], "static"),
    Recording("dwarf, debug link", [*FREQUENCY, *DWARF], "linked"),
    Recording("dwarf, .gnu_debugdata", [*FREQUENCY, *DWARF], "mini"),
    Recording("dwarf, a compiler", [*FREQUENCY, *DWARF], "compiler"),
    Recording("zstd, frame pointers", [*FREQUENCY, "-g", "-z"], "fp"),
    Recording("zstd, dwarf", [*FREQUENCY, *DWARF, "-z"], "pie"),
    Recording("pipe, frame pointers", [*FREQUENCY, "-g"], "fp", pipe=True),
    Recording("pipe, dwarf", [*FREQUENCY, *DWARF], "pie", pipe=True),
    Recording("build IDs in maps", [*FREQUENCY, "-g", "--buildid-mmap"], "fp"),
    Recording("several events", [*FREQUENCY, "-g", "-e",
                                 "cpu-clock,context-switches,page-faults"], "fp"),
    Recording("off-CPU", ["-g", "-e", "sched:sched_switch", "-e", "cpu-clock"], "fp"),
    Recording("system-wide", [*FREQUENCY, "-a", "-g"], "fp"),
    Recording("no call chains", FREQUENCY, "pie"),
]


# --- Against perf script -----------------------------------------------------------------

def folded(text):
    stacks = collections.Counter()
    for line in lines_of(text):
        stack, _, count = line.rpartition(" ")
        stacks[stack] += int(float(count))
    return stacks


FOLD = ["--no-inline", "--count-samples", "--tid", "--addrs", "-q"]
FIELDS = "comm,pid,tid,time,event,ip,sym,dso"
NAMED_BY_START = re.compile(r"^\s+[0-9a-f]+ (.*)\+0x0 \(")


def script_of(recording):
    """perf script's text, and the functions that it names for a caller's address that is
    their first byte. perf 6.1 does not read .gnu_debugdata: it is given the whole program,
    which has the same build ID, in the cache of the recording of that program."""
    home = recording.home
    if recording.program == "mini":
        home = home_of(os.path.dirname(home), "dwarf")
    text, _ = said(["perf", "script", "--no-inline", "-F", FIELDS + ",symoff", "-i",
                    recording.path], env=dict(os.environ, HOME=home))
    starts, was_frame = set(), False
    for line in lines_of(text):
        is_frame = line.startswith(("\t", " ")) and "(" in line
        match = NAMED_BY_START.match(line)
        if match and was_frame:
            starts.add(match[1])
        was_frame = is_frame
    return text, starts


NAMELESS = re.compile(r"\[(.*) <([0-9a-f]+)>\]$")

# Addresses without code: not a frame in any program.
NOWHERE = re.compile(r"\[unknown <(ffffffffffffffff|[0-9a-f]{1,3})>\]$")


class Classes:
    """The known differences between the stacks of perf script and of stoke, and why those of stoke
    are right."""

    NAMED_BEHIND = ("perf names callers by their return address; where the call is a "
                    "function's last instruction that is the function after it")
    LESS_ONE = "perf prints the addresses of callers in unwound stacks less one"
    TRAMPOLINE = ("perf names a signal's trampoline by the byte before it, as if it had "
                  "called the handler")
    WHOLE = "without call chains perf prints addresses as they were in the process"
    LOST = ("perf's libunwind lost the callers of these frames; in the same recording "
            "libdwfl's frames are ours")
    ASTRAY = ("perf's libunwind skipped callers or took other words for them; in the same "
              "recording libdwfl's frames are ours")
    STUB = ("perf has no name for a stub of the PLT that is relocated without one, or takes "
            "that of the code before the stubs; nor for the PLT's first entry")
    FAKE = "perf ends an unwound stack with ffffffffffffffff or with an address below a page"
    ORDER = [FAKE, ASTRAY, LOST, TRAMPOLINE, STUB, NAMED_BEHIND, LESS_ONE, WHOLE]

    def __init__(self, starts, recording):
        self.starts, self.is_dwarf = starts, recording.is_dwarf
        self.has_chains = recording.has_chains
        self.as_dwfl = recording.as_dwfl

    def frame(self, ours, theirs, is_leaf):
        """The class of the difference between two frames: "" if they are equal, None if it is
        unknown."""
        if ours == theirs:
            return ""
        if theirs in self.starts and not is_leaf:
            return self.NAMED_BEHIND
        if theirs in ("@plt", "_init") and ours.endswith("@plt"):
            return self.STUB
        if ours.endswith(("@plt", ".plt")) and NAMELESS.match(theirs):
            return self.STUB
        a = NAMELESS.match(ours)
        b = NAMELESS.match(theirs)
        if self.is_dwarf and ours == "__restore_rt" and b and b[1] == "libc.so.6":
            return self.TRAMPOLINE
        if not a or not b or a[1] != b[1]:
            return None
        mine, its = int(a[2], 16), int(b[2], 16)
        if self.is_dwarf and mine == its + 1:
            return self.LESS_ONE
        if not self.has_chains and (mine ^ its) & 0xfff == 0:
            return self.WHOLE
        return None

    def frames(self, ours, theirs):
        last = len(ours) - 1
        return [self.frame(a, b, i == last) for i, (a, b) in enumerate(zip(ours, theirs))]

    def unwound(self, ours, theirs):
        """The reason why perf's unwinding of a stack failed, if stoke's continues; and the rest to
        compare: the frames from the leaf that perf has right."""
        same = 0
        while same < min(len(ours), len(theirs)) and \
                self.frame(ours[-1 - same], theirs[-1 - same], same == 0) is not None:
            same += 1
        if not self.as_dwfl or same == 0 or len(theirs) > len(ours):
            return None, ours, theirs
        if same == len(theirs):
            return self.LOST, ours[-same:], theirs
        return self.ASTRAY, ours[-same:], theirs[-same:]

    def stack(self, ours, theirs):
        """The class of two stacks of one thread; None if they are of different threads."""
        ours, theirs = ours.split(";")[1:], theirs.split(";")[1:]
        found = set()
        if self.is_dwarf and theirs and NOWHERE.match(theirs[0]):
            del theirs[0]
            found.add(self.FAKE)
        hows = self.frames(ours, theirs)
        if self.is_dwarf and (len(ours) != len(theirs) or None in hows):
            how, ours, theirs = self.unwound(ours, theirs)
            found.add(how)
            hows = self.frames(ours, theirs)
        found.update(hows)
        if None in found or len(ours) != len(theirs):
            return None
        return next((how for how in self.ORDER if how in found), "")


def pair(mine, theirs, classes):
    """The classes of two lists of stacks of one thread and time: [(class, ours, perf's)]; and the
    rest of both lists."""
    found = []
    for stack in list(theirs):
        how, own = next(((classes.stack(own, stack), own) for own in mine
                         if classes.stack(own, stack) is not None), (None, None))
        if own is not None:
            found.append((how, own, stack))
            mine.remove(own)
            theirs.remove(stack)
    return found, mine, theirs


SAMPLE = re.compile(r"\s*(\S.*?)\s+(-?\d+/-?\d+)\s+(\d+\.\d+):")


def by_moment(text, event, comms):
    """{thread and moment: stacks} of perf script's text: each sample is folded by itself,
    as one of a thread that is called like its moment."""
    lines, included = [], True
    for line in lines_of(text):
        match = SAMPLE.match(line)
        if match:
            included = not comms or any(fnmatch.fnmatch(match[1], name) for name in comms)
            line = f"{match[3]} {match[2]} {match[3]}:{line[match.end():]}"
        if included:
            lines.append(line)
    moments = collections.defaultdict(list)
    chosen = FOLD + (["--event", event] if event else []) + ["--format", "perf"]
    for stack, count in folded(tap.output([tap.STOKE, "fold", *chosen], input="\n".join(lines)
                                      .encode("utf-8", "surrogateescape"))).items():
        moments[stack.split(";")[0]] += [stack] * count
    return moments


def comment(text):
    for line in lines_of(text):
        print("#", line[:600], flush=True)


def script_of_ours(recording, *more):
    return tap.output([tap.STOKE, "script", "--no-inline", "-q", "-F", FIELDS + ",symoff",
                   *more, recording.path])


def check_roads(report, recording):
    """Compares the text of stoke script with perf's; stoke fold gives the same, except unknown
    addresses, which the text has in perf's form."""
    text = script_of_ours(recording, *recording.fixed).encode("utf-8", "surrogateescape")
    info = json.loads(tap.output([tap.STOKE, "info", "-q", "--json", recording.path]))
    # A text contains the event of the first sample, not the first recorded event.
    how = [option for option in FOLD if option != "--addrs"]
    how += ["--event", info["events"][0]["name"]]
    by_text = folded(tap.output([tap.STOKE, "fold", "--format", "perf", *how], input=text))
    direct = folded(tap.output([tap.STOKE, "fold", *how, *recording.fixed, recording.path]))
    left = [f"+{n} {s}" for s, n in (direct - by_text).items()][:SHOWN]
    left += [f"-{n} {s}" for s, n in (by_text - direct).items()][:SHOWN]
    report.result(f"{recording.name}: folded as its text is", "\n".join(left) if direct
                  else "there are no samples")


def compare_event(recording, event, text, starts, comms):
    """(samples, equal, in a known way, what is wrong)"""
    own = script_of_ours(recording)
    mine, theirs = by_moment(own, event, comms), by_moment(text, event, comms)
    classes = Classes(starts, recording)
    equal, known, left = 0, collections.defaultdict(list), []
    for moment in set(mine) | set(theirs):
        same = collections.Counter(mine[moment]) & collections.Counter(theirs[moment])
        equal += sum(same.values())
        pairs, more, less = pair(
            list((collections.Counter(mine[moment]) - same).elements()),
            list((collections.Counter(theirs[moment]) - same).elements()), classes)
        for how, *example in pairs:
            known[how].append(example)
        left += ["+" + stack for stack in more] + ["-" + stack for stack in less]
    for how, examples in known.items():
        comment(f"  {len(examples)}: {how}\n    ours {examples[0][0]}\n"
                f"    perf {examples[0][1]}")
    total = max(sum(map(len, mine.values())), sum(map(len, theirs.values())))
    return total, equal, sum(map(len, known.values())), left[:2 * SHOWN]


def events_of(path):
    text, _ = said(["perf", "evlist", "-i", path])
    return [line.strip() for line in lines_of(text)
            if line.strip() and not line.startswith(("#", "dummy"))]


def check_script(report, recording):
    text, starts = script_of(recording)
    events = events_of(recording.path) if recording.name in ("several events",
                                                             "off-CPU") else [None]
    # other programs of the machine may change their files at any time
    comms = (["fp", "worker*", "another name", "swapper"] if "-a" in recording.how else [])
    for event in events:
        total, equal, known, left = compare_event(recording, event, text, starts, comms)
        good = total > RARE and equal + known >= REQUIRED * total - RARE
        comment("\n".join(left) if good else "")
        report.result(f"{recording.name}{', ' + event if event else ''}: as perf script: "
                      f"{share(equal, total)} equal, {known} in a known way",
                      "" if good else "\n".join(left) or "there are no samples")


CORES = (2, 3, 4, 7, 16)


def check_cores(report, recording):
    """The result does not depend on who unwinds and names stacks: the same lines, the same numbers
    in a format that keeps their order, and the same order of samples."""
    for command in (["fold"], ["fold", "--srcline"], ["script"],
                    ["convert", "--no-gzip", "--to", "pprof", "-o", "-"]):
        words = [*command, *recording.fixed, "-q", recording.path]
        one = tap.output([tap.STOKE, *words, "-j1"])
        others = [cores for cores in CORES if one != tap.output([tap.STOKE, *words, f"-j{cores}"])]
        report.result(f"{recording.name}: {' '.join(command)}: the same with one core and "
                      "more", f"others with {others}" if others or not one else "")


# --- Records, against perf script -D -----------------------------------------------------

KINDS = ("MMAP", "MMAP2", "COMM", "FORK", "EXIT", "SAMPLE", "LOST", "LOST_SAMPLES")
DUMPED = re.compile(r"0x[0-9a-f]+ \[0x[0-9a-f]+\]: (PERF_RECORD_([A-Z0-9_]+).*)")


def dumped(path):
    """(records in our words, whether perf read it to the end)"""
    status, out, _ = tap.run(["perf", "script", "-D", "--no-inline", "-i", path])
    found = []
    for line in out.split(b"\n"):  # many of them, of bytes in hexadecimal
        if b"PERF_RECORD_" not in line:
            continue
        line = line.decode("utf-8", "surrogateescape")
        match = DUMPED.search(line)
        if not match or match[2] not in KINDS:
            continue
        text = match[1]
        if match[2] == "MMAP2":  # stoke does not print the generation of the inode
            text = re.sub(r"( \d+) \d+\]", r"\1]", text)
        if match[2].startswith("LOST"):
            text = f"PERF_RECORD_{match[2]} {text.rsplit(':', 1)[1].strip()}"
        found.append(text)
    return found, status == 0


def check_records(report, name, path):
    text, err = said([PROGRAMS["records"], path])
    ours = [line for line in lines_of(text) if not line.startswith("flaw")]
    flaws = [line for line in lines_of(text) if line.startswith("flaw")]
    theirs, whole = dumped(path)
    if not whole:
        report.skip(f"{name}: records as perf script -D", "this perf cannot read it")
        return
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b),
              min(len(ours), len(theirs)))
    why = "" if ours == theirs and ours and not flaws else (
        f"{len(ours)} records, perf has {len(theirs)}; record {at} is\n"
        f"{''.join(ours[at:at + 1])}\nand perf's\n{''.join(theirs[at:at + 1])}\n"
        f"{err}{flaws}")
    report.result(f"{name}: all {len(theirs)} samples, maps, tasks and losses as perf "
                  "script -D has them, in order", why)


# --- The corpus --------------------------------------------------------------------------

def corpus_files():
    return sorted(os.path.join(folder, name)
                  for folder, _, names in os.walk(CORPUS) for name in names
                  if ("perf.data" in name or name.endswith((".data", ".data.file")))
                  and not name.endswith((".zlib", ".txt")))


# Files that this perf cannot read, or not completely. Counts of an uncompressed file are compared
# with those of a simple reader of record headers. No other reader for compressed files is
# available here, so their counts are those of the time when this test was written.
COUNTS = {
    "perf.data.piped.corrupted.zero_size_sample-3.2": {"SAMPLE": 227},
    "sleep.compressed.data": {"SAMPLE": 8, "COMM": 2, "MMAP": 45, "MMAP2": 4, "EXIT": 1},
    "sleep.data": None,
    "perf.data.PerfFormatLost": None,
    "cpp-inlining.perf.data": {"SAMPLE": 539, "COMM": 2, "MMAP2": 13, "EXIT": 1},
}
TYPES = {1: "MMAP", 2: "LOST", 3: "COMM", 4: "EXIT", 7: "FORK", 9: "SAMPLE", 10: "MMAP2",
         13: "LOST_SAMPLES"}


def walked(path):
    """How many records of a kind the data section of a file has, by their headers."""
    with open(path, "rb") as file:
        data = file.read()
    at, size = struct.unpack_from("<QQ", data, 40)
    counts, end = collections.Counter(), at + size
    while at + 8 <= end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        counts[TYPES.get(kind)] += 1
        at += max(length, 8)
    return {kind: count for kind, count in counts.items() if kind}


def check_counts(report, name, path):
    text, err = said([PROGRAMS["records"], path])
    counts = collections.Counter(re.findall(r"^PERF_RECORD_([A-Z0-9_]+)", text, re.M))
    wrong = [f"{kind}: {counts[kind]}, number {number}"
             for kind, number in (COUNTS[name] or walked(path)).items()
             if counts[kind] != number]
    report.result(f"{name}: {dict(counts)}", "\n".join(wrong) + err)


def check_corrupted(report, path):
    """perf ends at the first record of size 0; stoke reads the records before and after it."""
    text, _ = said([PROGRAMS["records"], path])
    theirs, _ = dumped(path)
    ours = collections.Counter(lines_of(text))
    missing = collections.Counter(theirs) - ours
    out, err = said([tap.STOKE, "info", path])
    why = "" if not missing and "corrupted" in out + err else f"{missing}\n{out}\n{err}"
    report.result("the corrupted one: all records that perf reads, and a message", why)


def check_version_1(report, path):
    status, _, err = tap.run([tap.STOKE, "fold", path])
    report.result("version 1 is refused, saying so",
                  "" if status == 1 and b"version 1" in err else err.decode())


def check_corpus(report):
    for path in corpus_files():
        name = os.path.basename(path)
        if name.endswith("true.v1"):
            check_version_1(report, path)
        elif name in COUNTS:
            check_counts(report, name, path)
        else:
            check_records(report, name, path)
        if "corrupted" in name:
            check_corrupted(report, path)


# --- perfparser's expected text ----------------------------------------------------------

PARSER = "/home/milian/projects/kdab/rnd/hotspot/3rdparty/perfparser/tests/auto/perfdata/"


def unpacked(path, to):
    with open(path, "rb") as file:
        data = file.read()
    with open(to, "wb") as file:
        file.write(zlib.decompress(data[4:]))  # after its length
    os.chmod(to, 0o755)


def expected_stacks(path):
    """{(comm, frames): samples}: a frame is two lines, the location and the function."""
    stacks = collections.Counter()
    comm = frames = location = None
    for line in open(path, encoding="utf-8", errors="replace"):
        fields = line.rstrip("\n").split("\t")
        if fields == [""]:
            if frames is not None and frames.seen:
                stacks[(comm, tuple(reversed(frames)))] += 1
                frames = None
            elif frames is not None:
                frames.seen = True
            continue
        if fields[0]:
            comm, frames, location = fields[0], collections.UserList(), None
            frames.seen = False
        elif frames is not None and frames.seen and location is None:
            location = fields[1:]
        elif frames is not None and frames.seen:
            name = fields[-1].rsplit(" ", 3)[0]
            if fields[-1].rstrip().endswith("[kernel]"):
                name = "[[kernel.kallsyms]]"
            where = re.sub(r":\d+$", "", location[1]) if len(location) > 2 else ""
            where = os.path.basename(where)  # as perf prints locations
            frames.append(f"{name}:{where}" if where else name)
            location = None
    return stacks


def our_stacks(path, symfs):
    text = tap.output([tap.STOKE, "fold", "-q", "--srcline", "--count-samples", "--demangle",
                   "full", "--keep-arguments", "--symfs", symfs, path])
    stacks = collections.Counter()
    for line in lines_of(text):
        stack, _, count = line.rpartition(" ")
        comm, *frames = stack.split(";")
        stacks[comm, tuple(re.sub(r"_\[i\]$", "", f) for f in frames)] += int(count)
    return stacks


def as_parser(stack):
    """A stack of stoke in the form of perfparser, for intended differences."""
    comm, frames = stack
    # It shows the last name of a thread, not the one at the time of the sample.
    comm = "vector_static_g" if comm == "perf" else comm
    # Of several symbols at an address, it selects another one than stoke and perf; and it ignores
    # PLT stubs: it selects the symbol before them.
    others = {"__hypot": "hypot", "__ieee754_hypot": "__hypot_finite",
              "sinf64@plt": "_init"}
    return comm, tuple(others.get(f, f) for f in frames)


def same_address(binary, pairs):
    """Those of the pairs that are not two names of one address."""
    symbols = symbols_of(binary)
    return [pair for pair in pairs if symbols.get(pair[0]) != symbols.get(pair[1])
            or pair[0] not in symbols]


def check_parser(report, folder):
    source = os.path.join(CORPUS, "perfparser", "vector_static_gcc")
    symfs = os.path.join(folder, "symfs")
    home = os.path.join(symfs, PARSER[1:], "vector_static_gcc")
    os.makedirs(home, exist_ok=True)
    data = os.path.join(folder, "vector.data")
    unpacked(os.path.join(source, "perf.data.zlib"), data)
    unpacked(os.path.join(source, "vector_static_gcc_v9.1.0.zlib"),
             os.path.join(home, "vector_static_gcc_v9.1.0"))
    theirs = expected_stacks(os.path.join(source, "perf.data.expected.txt"))
    raw = our_stacks(data, symfs)
    ours = collections.Counter()
    for stack, count in raw.items():
        ours[as_parser(stack)] += count
    total, plain = sum(theirs.values()), sum((raw & theirs).values())
    equal = sum((ours & theirs).values())
    aliases = same_address(os.path.join(home, "vector_static_gcc_v9.1.0"),
                           [("__hypot", "hypot"), ("__ieee754_hypot", "__hypot_finite")])
    wrong = [f"{pair} are not one address" for pair in aliases]
    wrong += [f"+{n} {s}" for s, n in (ours - theirs).items()][:SHOWN]
    wrong += [f"-{n} {s}" for s, n in (theirs - ours).items()][:SHOWN]
    report.result(f"perfparser's expected text: {share(equal, total)} stacks with their "
                  f"lines, {plain} of them to the letter",
                  "\n".join(wrong) if aliases or equal != total or total != 45 else "")
    check_records(report, "vector_static_gcc", data)
    packed = os.path.join(folder, "vector.zstd.data")
    unpacked(os.path.join(source, "perf.data.zstd.zlib"), packed)
    check_records(report, "vector_static_gcc, zstd", packed)


def check_inlining(report, folder):
    """cpp-inlining: no tool here reads its compressed records, and there is no expected text. Its
    stacks must equal those of libdwfl, and its names those of llvm-symbolizer. In 47 samples the
    processor reported the address of a call with the stack pointer after it: the callers are lost,
    and libdwfl finds none either."""
    source = os.path.join(CORPUS, "perfparser", "cpp-inlining")
    data = os.path.join(source, "cpp-inlining.perf.data")
    path = ("/home/lieven/KDAB/hotspot/3rdparty/perfparser/tests/auto/perfdata/"
            "cpp-inlining/cpp-inlining")
    symfs = os.path.join(folder, "symfs")
    os.makedirs(os.path.join(symfs, os.path.dirname(path)[1:]), exist_ok=True)
    program = symfs + path
    shutil.copy(os.path.join(source, "cpp-inlining"), program)
    stacks = folded(tap.output([tap.STOKE, "fold", "-q", "--count-samples", "--symfs", symfs,
                            data]))
    total = sum(stacks.values())
    whole = sum(n for stack, n in stacks.items() if re.match(r"[^;]*;_start;.*;main\b", stack))
    report.result(f"cpp-inlining: {share(whole, total)} stacks go from _start over main",
                  "" if total == 539 and whole == 491 else "\n".join(list(stacks)[:5]))
    dwfl_frames(report, "cpp-inlining", data, symfs)
    if shutil.which("llvm-symbolizer"):
        check_names(report, "cpp-inlining", asked_names(data, symfs).get(path, {}), program)


# --- Against libdwfl ---------------------------------------------------------------------

def dwfl_frames(report, what, *recording):
    """Whether the frames equal those of libdwfl; true if libdwfl is missing."""
    name = f"{what}: frames as libdwfl's"
    if "oracle_dwfl" not in PROGRAMS:
        report.skip(name, "libdw-dev is missing")
        return True
    out = tap.output([PROGRAMS["oracle_dwfl"], *recording])
    numbers = [int(n) for n in re.findall(r"\d+", lines_of(out)[-1])]
    _, ours, theirs, equal, _, _, invented = numbers
    good = theirs > RARE_FRAMES and equal >= REQUIRED * theirs - RARE_FRAMES and \
        ours >= theirs - RARE_FRAMES
    comment("\n".join(lines_of(out)[:RARE_FRAMES]) if good and equal != theirs else "")
    report.result(f"{name}: {share(equal, theirs)} equal, ours {ours}, "
                  f"{invented} that it invented left out",
                  "" if good else "\n".join(lines_of(out)[:60]))
    return bool(good)


# --- Names, against llvm-symbolizer ------------------------------------------------------

def asked_names(path, *symfs):
    """{file: {(offset, is a call): [(function, location), ...]}}"""
    found, frames = collections.defaultdict(dict), None
    for line in lines_of(tap.output([PROGRAMS["names"], path, *symfs])):
        if line.startswith("@ "):
            file, offset, is_call = line[2:].rsplit(" ", 2)
            frames = found[file][int(offset, 16), int(is_call)] = []
        else:
            function, _, location = line.partition("\t")
            frames.append((function, "" if location == ":0" else location))
    return found


def segments(path):
    return [tuple(int(number, 16) for number in match) for match in
            re.findall(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)",
                       tap.output(["readelf", "-lW", path]))]


def symbolizer_names(path, offsets):
    """The same of llvm-symbolizer, in the order of the offsets."""
    loads = segments(path)
    addresses = [next((offset - start + address - is_call for start, address, size in loads
                       if start <= offset - is_call < start + size), 0)
                 for offset, is_call in offsets]
    text = tap.output(["llvm-symbolizer", f"--obj={path}", "--no-demangle",
                   "--functions=linkage", "--inlines"],
                  input="".join(f"{a:#x}\n" for a in addresses).encode())
    for block in text.rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        yield [("" if function == "??" else function,
                "" if location.startswith("??") else re.sub(r":\d+$", "", location))
               for function, location in zip(lines[::2], lines[1::2])]


PLT = "llvm-symbolizer knows no stubs of the PLT: it takes the symbol before them"
OTHER_NAME = ("llvm-symbolizer takes another of the names that the symbol table has for "
              "the address, or the one in DWARF, without .constprop and its like")
QUALIFIED = "llvm-symbolizer leaves out what a function without a linkage name lies in"
OBJECT_FILE = "without a line, llvm-symbolizer gives the object file that was linked"


def names_class(mine, theirs, symbols):
    """The known difference between two chains; None if it is unknown."""
    found = set()
    if len(mine) != len(theirs):
        return None
    for a, b in zip(mine, theirs):
        if a[1] != b[1] and not (a[1] == "" and re.fullmatch(r"[^/]*:0", b[1])):
            return None
        if a[1] != b[1]:
            found.add(OBJECT_FILE)
        if a[0] != b[0] and a[0].endswith("@plt"):
            found.add(PLT)
        elif a[0].endswith("::" + b[0]):
            found.add(QUALIFIED)
        elif a[0] != b[0]:
            if a is not mine[-1] or a[0] not in symbols:
                return None
            plain = re.sub(r"\.(constprop|part|isra|cold)\b.*|@.*", "", a[0])
            if plain != b[0] and symbols.get(b[0]) != symbols[a[0]]:
                return None
            found.add(OTHER_NAME)
    return " and ".join(sorted(found))


def symbols_of(path):
    """{name: address}"""
    return {fields[0]: fields[2] for fields in
            (line.split() for line in
             tap.output(["nm", "--format=posix", "--defined-only", path]).splitlines())
            if len(fields) > 2}


def check_names(report, what, ours, program):
    name = f"{what}: names and lines as llvm-symbolizer's"
    wrong, known, inlined = [], {}, sum(len(frames) > 1 for frames in ours.values())
    symbols = symbols_of(program)
    for (offset, mine), theirs in zip(ours.items(), symbolizer_names(program, ours)):
        if mine == theirs:
            continue
        how = names_class(mine, theirs, symbols)
        text = f"{offset[0]:#x}, call {offset[1]}: {mine}, llvm-symbolizer: {theirs}"
        if how:
            known.setdefault(how, []).append(text)
        else:
            wrong.append(text)
    for how, texts in known.items():
        comment(f"  {len(texts)}: {how}\n    {texts[0]}")
    others = sum(map(len, known.values()))
    equal = len(ours) - len(wrong) - others
    good = len(ours) > RARE and inlined and equal + others >= REQUIRED * len(ours) - RARE
    comment("\n".join(wrong) if good else "")
    report.result(f"{name}: {share(equal, len(ours))} addresses equal, {others} in a known "
                  f"way, {inlined} with inlined functions",
                  "" if good else "\n".join(wrong[:SHOWN]) or "none")


# --- What is not there, or is hostile ----------------------------------------------------

def fold_of(path, *options):
    out, err = said([tap.STOKE, "fold", "--no-inline", *options, path])
    return out, err


def check_missing(report, folder):
    """The recorded program is removed, and then replaced by another one."""
    program = os.path.join(folder, "gone")
    shutil.copy(os.path.join(folder, "pie"), program)
    # milliseconds of time, of which a busy machine gives the program a small part
    recording = Recording("gone", [*FREQUENCY, *DWARF], "gone", 1000)
    why = recording.record(folder)
    home = dict(os.environ, HOME=folder)  # perf's cache has a copy in ~/.debug
    before, _ = fold_of(recording.path)
    os.unlink(program)
    empty = os.path.join(folder, "home")
    os.makedirs(empty, exist_ok=True)
    home["HOME"] = empty
    out, err = said([tap.STOKE, "fold", "--no-inline", recording.path], env=home)
    good = "sort_numbers" in before and "sort_numbers" not in out and out and \
        "gone" in err and "[gone]" in out
    report.result("a missing program: reported, and its functions have no names",
                  why or ("" if good else f"{err}\n{out[:500]}"))
    tap.output(["g++", "-O0", "-pthread", "-o", program, os.path.join(SOURCES, "program.cc")])
    out, err = said([tap.STOKE, "fold", "--no-inline", recording.path], env=home)
    good = out and "gone" in err and "[gone]" in out and not re.search(
        r"sort_numbers|descend|shapes", out)
    report.result("another program with its path: reported, and not used",
                  why or ("" if good else f"{err}\n{out[:500]}"))
    os.unlink(program)
    os.mkfifo(program)
    out, err = said([tap.STOKE, "fold", "--no-inline", recording.path], env=home)
    report.result("a FIFO with its path: stoke does not wait for it",
                  why or ("" if out and "[gone]" in out else f"{err}\n{out[:500]}"))
    os.unlink(program)


def check_hidden_kernel(report, folder, recording):
    hidden = os.path.join(folder, "kallsyms")
    with open(hidden, "w", encoding="utf-8") as file:
        file.write("".join(f"0000000000000000 T function_{i}\n" for i in range(1000)))
    shown, _ = fold_of(recording.path)
    out, err = fold_of(recording.path, "--kallsyms", hidden)
    nameless = "[[kernel.kallsyms]]"
    named = re.compile(r"do_syscall_64|asm_sysvec|exc_page_fault|;function_")
    good = shown.count(nameless) <= out.count(nameless) and \
        not named.search(out) and \
        "kallsyms" in err
    report.result("hidden kernel symbols: no name is guessed, and a message says so",
                  "" if good else f"{err}\nnameless {shown.count(nameless)} and "
                  f"{out.count(nameless)}, {named.findall(out)[:3]}")
    fifo = os.path.join(folder, "kallsyms.fifo")
    if not os.path.exists(fifo):
        os.mkfifo(fifo)
    out, err = fold_of(recording.path, "--kallsyms", fifo)
    report.result("a FIFO as kernel symbols: nobody waits for it, and it is an error",
                  "" if not out and "kallsyms.fifo" in err else err + out[:500])


class Opened:
    """Which files a program tried to open, by strace."""

    def __init__(self, folder):
        self.log = os.path.join(folder, "strace.log")

    def run(self, *command):
        out, err = said(["strace", "-f", "-qq", "-e", "trace=open,openat,openat2,readlink",
                         "-o", self.log, *command])
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return out, err, file.read()


def check_hostile_links(report, folder):
    """Debug links with a path, although only a name is valid."""
    if not shutil.which("strace"):
        report.skip("hostile debug links and paths", "there is no strace")
        return
    bait = os.path.join(folder, "bait")
    shutil.copy(os.path.join(folder, "linked.debug"), bait)
    program = os.path.join(folder, "lured")
    for text in (bait, "../" * 12 + bait[1:], "x/../bait", "..", ""):
        shutil.copy(os.path.join(folder, "pie"), program)
        link = os.path.join(folder, "link.bytes")
        with open(link, "wb") as file:
            name = text.encode() + b"\0"
            file.write(name + b"\0" * (-len(name) % 4) + struct.pack("<I", 0))
        tap.output(["strip", program])
        tap.output(["objcopy", "--remove-section=.note.gnu.build-id", "--add-section",
                f".gnu_debuglink={link}", program])
        recording = Recording("lured", [*FREQUENCY, "-g"], "lured", 400)
        why = recording.record(folder)
        out, err, log = Opened(folder).run(tap.STOKE, "fold", recording.path)
        good = out and "/bait" not in log and "sort_numbers" not in out
        report.result(f"a debug link to {text!r} is not followed",
                      why or ("" if good else "\n".join(
                          line for line in lines_of(log) if "/bait" in line)[:600] + err + out[:500]))


def check_hostile_paths(report, folder, recording):
    """A recording that names other paths than a kernel would."""
    if not shutil.which("strace"):
        return
    with open(recording.path, "rb") as file:
        data = file.read()
    real = os.path.join(folder, "fp").encode()
    depth = b"/../" * 40
    for name, path in (("relative", b"../" * 40), ("with ..", depth),
                       ("a device", b"/dev/zero"), ("a process's file", b"/proc/self/mem"),
                       ("a folder", b"/tmp"), ("a terminal", b"/dev/tty")):
        changed = path[:len(real)].ljust(len(real), b"\0") if not path.startswith(b".") and \
            b".." not in path else (path * 2)[:len(real) - 1].ljust(len(real), b"x")
        hostile = os.path.join(folder, "hostile.data")
        with open(hostile, "wb") as file:
            file.write(data.replace(real + b"\0", changed + b"\0"))
        out, err, log = Opened(folder).run(tap.STOKE, "fold", "--symfs", "/", hostile)
        tried = [line for line in lines_of(log) if "/../" in line or '"../' in line]
        report.result(f"a map of {name}: left alone",
                      "" if out and not tried else "\n".join(tried[:5]) + err)


def check_perf_maps(report, folder):
    recording = Recording("jit", [*FREQUENCY, "-g"], "jit", 60)
    why = recording.record(folder)
    out, _ = fold_of(recording.path, "--pid")
    match = re.search(r"^jit-(\d+);.*compiled_at_run_time", out, re.M)
    report.result("code of a JIT has its perf map's names",
                  why or ("" if match else out[:500]))
    if not match:
        return
    path = f"/tmp/perf-{match[1]}.map"
    moved = os.path.join(folder, "map")
    shutil.move(path, moved)

    def refused(what):
        got, err = fold_of(recording.path)
        report.result(f"a perf map that is {what} is not read",
                      "" if got and "compiled_at_run_time" not in got else err + got[:300])
        os.unlink(path)

    os.mkfifo(path)
    refused("a FIFO")
    os.symlink(moved, path)
    refused("a link")
    shutil.copy(moved, path)
    if os.getuid() == 0:
        os.chown(path, 12345, 12345)
        refused("someone else's")
    else:
        os.unlink(path)
        report.skip("a perf map that is someone else's is not read", "needs root")


def check_hostile(report, folder, done):
    check_missing(report, folder)
    check_hidden_kernel(report, folder, done["frame pointers"])
    check_hostile_links(report, folder)
    check_hostile_paths(report, folder, done["frame pointers"])
    check_perf_maps(report, folder)


# --- All ---------------------------------------------------------------------------------

def check_recordings(report, folder):
    build(folder)
    done = {}
    for recording in RECORDINGS:
        why = recording.record(folder)
        if why:
            report.skip(recording.name, why)
            continue
        done[recording.name] = recording
        if recording.is_dwarf:
            recording.as_dwfl = dwfl_frames(report, recording.name, recording.path)
        check_script(report, recording)
        check_roads(report, recording)
        if not recording.is_dwarf or recording.name.startswith("zstd"):
            check_records(report, recording.name, recording.path)
        check_cores(report, recording)
    for name, program in (("dwarf", "pie"), ("dwarf, static", "static"),
                          ("frame pointers", "fp"), ("pipe, dwarf", "pie")):
        if name in done and shutil.which("llvm-symbolizer"):
            program = os.path.join(folder, program)
            check_names(report, name, asked_names(done[name].path)[program], program)
    if not shutil.which("llvm-symbolizer"):
        report.skip("names", "there is no llvm-symbolizer (package llvm)")
    check_hostile(report, folder, done)


def usable():
    """The reason if nothing can be recorded here, or empty."""
    for tool in ("perf", "g++", "objcopy", "readelf"):
        if not shutil.which(tool):
            return f"there is no {tool}"
    status, _, err = tap.run(["perf", "record", "-o", os.devnull, "true"])
    return "" if status == 0 else err.decode("utf-8", "replace").strip()[-200:]


def main():
    report = tap.Tap()
    folder = os.environ.get("STOKE_TRUTH_FOLDER") or tempfile.mkdtemp(prefix="stoke-truth-")
    os.makedirs(folder, exist_ok=True)
    try:
        why = usable()
        if why:
            report.skip("recordings made here", why)
        else:
            check_recordings(report, folder)
        if not os.path.isdir(CORPUS):
            report.skip("perf.data of the corpus", "no corpus")
        else:
            check_corpus(report) if shutil.which("perf") else None
            check_parser(report, folder)
            check_inlining(report, folder)
    finally:
        if "STOKE_TRUTH_FOLDER" not in os.environ:
            shutil.rmtree(folder, ignore_errors=True)
    report.done()


main()
