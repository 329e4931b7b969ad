# SPDX-License-Identifier: Apache-2.0
"""Compares the results of options of perf report, perf script and perf annotate with those of
stoke, on the recordings in the current directory, as the shell test makes them.

The tables below have the options. What differs by intent is made equal by the functions that
read the outputs, each with its reason."""

import concurrent.futures
import difflib
import itertools
import os
import re
import subprocess
import sys

# What each option of a report is tested with: rows without call graphs, which are another table.
FLAT = "--no-children -g none "

# Options of perf report: recordings, and options for both tools.
REPORTS = [
    ("plain stacks processes", [
        "", "-s comm", "-s dso", "-s sym", "-s dso,sym", "-s sym,dso,comm", "-s overhead,sym", "-s sample,comm",
        "-s period,comm", "-s comm -n", "-s comm --show-nr-samples", "-s dso --show-total-period",
        "-s sym -n --show-total-period", "-s time", "-s time,comm", "-s time,sym --time-quantum 20ms",
        "-s time --ns", "-s time,comm --time-quantum 1500us --ns", "-F overhead,sym", "-F sym,overhead",
        "-F period,sym", "-F +sample,period", "-s +comm", "-s +period", "-F overhead,sym -n --show-total-period", "-s overhead,sample", "-s comm,period,sample", "-F sample,overhead,comm,dso", "-F comm,dso,sym", "--fields comm,sample -s sample",
        "-F overhead,period,dso -t ;", "-s sym -t ,", "-n -s comm --field-separator |",
        "-S spin,calls", "--symbols spin,nosuch", "-d work,libc.so.6", "--dsos work,other", "-c work,other",
        "--comms work,nosuch", "-c work,other -S spin,calls -d work,other",
        "--percentage relative -d work,other", "--percentage absolute -d work,other",
        "--percentage relative -c work,other -S spin,calls", "--percent-limit 3", "--percent-limit 0.3 -s sym",
        "--percent-limit 100 -s comm", "-w 5,6,7", "--column-widths 10,0,12,30", "-w 0,20 -s comm,sym",
        "-U", "--hide-unresolved -s sym", "--time {first},{second}", "--time {first},", "--time ,{second}",
        "--time 10%/2", "--time 0%-10%", "--time 90%-100%", "--time 10%/1,10%/3", "--time 0%-10%,30%-40%",
        "--time 25%/4 -s comm", "-f", "--force", "-v -s comm", "--stdio-color never", "--skip-empty",
        "--ignore-vmlinux", "--disable-order", "--demangle -s sym", "--no-demangle -s sym", "--group -s comm",
        "--kallsyms /proc/kallsyms -s comm,sym", "-m -s sym", "--asm-raw -s comm", "--source -s comm",
        "--show-ref-call-graph -s comm", "--pretty normal -s comm", "--addr2line addr2line -s comm",
        "--objdump objdump -s comm", "--prefix /x --prefix-strip 1 -s comm", "-M intel -s comm",
        "--no-inline --full-source-path -s comm", "--demangle-kernel -s sym"]),
    # Threads of other names: a row of perf that has several threads is that of the first one.
    ("plain stacks", ["--pid {pid}", "--pid {pid},4000000 -s comm,sym", "--tid {tid}",
                      "--tid {tid},4000000 -s comm,sym", "--tid {tid} --percentage relative"]),
    ("bare", ["", "-s comm,dso", "-U", "-U -s sym", "--hide-unresolved -s comm", "-d bare,nosuch -s comm,dso"]),
    ("plain stacks", ["-s srcfile -d work,nosuch", "-s srcfile --full-source-path -d work,nosuch",
                      "-s srcline,sym -d work,nosuch", "-s srcline --full-source-path -d work,nosuch"]),
    ("events", ["", "-s comm", "--group -s comm,dso", "--group -n -s comm", "--group",
                "--group --group-sort-idx 1 -s dso", "--group --group-sort-idx 0 -s sym"]),
    ("groups", ["", "-s comm", "-s dso,sym -n", "--no-group", "--no-group -s sym", "--group -s comm",
                "--group-sort-idx 1 -s dso"]),
    # Without a function, perf has several rows of a size.
    ("plain stacks groups", ["-s sym,symbol_size", "-s sym,symbol_size -d work,nosuch", "-s dso,sym,symbol_size -n"]),
    ("branches", ["-b", "-b -n", "-b -s symbol_from,symbol_to", "-b -s symbol_to,symbol_from -n", "-b -s dso_from,dso_to",
                  "-b -s comm,dso_from,symbol_from,dso_to,symbol_to", "-b -s mispredict", "-b -s symbol_to,mispredict",
                  "-b -s symbol_to,in_tx,abort", "-b -s cycles -n", "-b -s symbol_from,cycles", "-b -s sym", "-b -s comm,pid",
                  "-b --percent-limit 3", "-b -F overhead,symbol_to", "-b -s symbol_from -t ,", "-b -s symbol_to --time 10%/2"]),
    ("points", ["-s sym", "-n -s comm,sym", "--show-total-period -s comm"]),
    ("all", ["-s comm -C 0", "--cpu 0 -s cpu,comm -c work,swapper", "-s cpu", "-s cpu,comm -C 0-1",
             "-s comm,sym -c work,swapper", "-s cpu,sym -S spin,__schedule"]),
    ("records", ["-s comm", "-s cgroup,comm"]),
]

# The same with call graphs, and with the weight of callees.
GRAPHS = [
    ("stacks dumps", [
        "--children -g none", "--children -g none -s sym", "--children -g none -n -s dso,sym",
        "--children -g none --show-total-period", "--children -g none --percent-limit 5",
        "--children -g none -F overhead_children,overhead,sym", "--children -g none -s comm",
        "--no-children -g caller", "--no-children -g callee", "--no-children -G", "--no-children --inverted -g caller",
        "--no-children -g graph,2,callee", "--no-children -g callee,function,percent",
        "--no-children -g folded", "--no-children -g folded,2,caller", "--no-children -g folded,0.5,callee,period",
        "--no-children -g folded,1,2,callee", "--no-children -g flat", "--no-children -g flat,3,caller",
        "--no-children -g fractal", "--no-children -g fractal,10,callee",
        "--no-children --call-graph fractal,0.5,caller",
        "--no-children -s dso -g callee", "--no-children -s comm -g caller", "--no-children -s comm,dso -g folded",
        "--no-children -g callee --percent-limit 5",
        "--children -g callee,0.5", "--children -g callee,5", "--children -g caller", "--children -g caller,3",
        "--children -G", "--children -g fractal", "--children -g fractal,5,callee", "--children -g folded,0.5,callee",
        "--children -g folded,1,caller", "--children -g caller --percent-limit 10",
        "--children -g callee -s comm,dso"]),
    # Of stacks from dumps, perf counts the kernel's frames and the user's apart. In the order
    # of callers it keeps the outermost frames, so that the functions with the weight are lost.
    ("stacks", ["--no-children -g callee --max-stack 3", "--no-children -g callee --max-stack 1",
                "--children -g callee --max-stack 3", "--children -g callee,2 --max-stack 2 -s sym"]),
]

# Options of perf script.
FIELDS = "comm tid pid time cpu event ip period misc".split()
SCRIPTS = [
    ("plain stacks dumps events records points memory", [
        "", *("-F " + field for field in FIELDS), "-F ip,sym", "-F ip,dso", "-F ip,sym,symoff",
        "-F comm,tid,time,event,period",
        "-F comm,pid,tid,cpu,time,misc,event", "-F event,ip,sym,dso,symoff", "-F +pid", "-F -comm", "-F +misc,-time",
        "-F +pid,-dso,+misc", "--fields comm,ip", "--ns", "-F comm,time --ns",
        "--header", "--header-only", "--header-only -F comm,ip", "-F ip,synth", "-F comm,ip,sym,callindent",
        "--reltime", "--deltatime", "-S spin --reltime", "-S spin --deltatime --ns", "--reltime --ns", "--deltatime --ns -F time,event", "-S spin,calls",
        "--symbols spin -F comm,ip,sym", "-G", "--hide-call-graph -F ip,sym,event", "--comms work,nosuch",
        "-c work", "--time {first},{second}", "--time {first},", "--time 10%/2", "--time 90%-100%",
        "--time 10%/1,10%/3", "--time 0%-10%,30%-40%", "--pid {pid}", "--tid {tid} -F tid,time", "-a", "-f",
        "--show-mmap-events", "--show-task-events", "--show-lost-events", "--show-switch-events",
        "--show-namespace-events", "--show-cgroup-events",
        "--show-task-events --show-mmap-events --show-switch-events", "--full-source-path -F comm",
        "--show-kernel-path", "--demangle", "--no-demangle", "--kallsyms /proc/kallsyms", "--ns --show-task-events",
        "--reltime --show-task-events", "--demangle-kernel"]),
    ("events", ["--header-only", "--header -F comm"]),
    ("memory", ["--header-only"]),
    ("records", ["-F +misc --show-task-events --show-switch-events", "-F comm,misc,event --show-mmap-events"]),
    ("plain stacks dumps records points memory groups branches", ["-D", "--dump-raw-trace -F comm"]),
    ("plain stacks events records", ["-F sw:comm,tid,ip,sym", "-F sw:comm,time,event"]),
    ("plain stacks events", ["--max-stack 1", "--max-stack 3", "--max-stack 3 -F comm,ip,sym"]),
    ("plain bare", ["-F ip,srcline", "-F comm,ip,sym,srcline", "-F +srcline --full-source-path"]),
    # Programs that run meanwhile may have several names for an address.
    ("all", [option + " -c work,swapper" for option in [
        "", "-C 0", "--cpu 1 -F cpu,comm", "-F cpu", "-F trace:comm,trace -F sw:comm", "-F trace:time,event,ip,sym",
        "-F comm,ip,sym,event,trace", "-F sw:comm,ip", "--time 0%-50% -F trace:comm,time"]]),
    ("memory", ["-F addr", "-F comm,addr,event", "-F phys_addr", "-F data_src",
                "-F comm,addr,phys_addr"]),
]

# The trees of --hierarchy, which are compared byte by byte.
HIERARCHIES = [
    ("plain", ["", "-n", "-s sym,comm", "-s comm,time,dso,sym -n", "--percent-limit 9", "--percent-limit 12 -n",
               "--percent-limit 45", "-s {{comm,dso}},sym", "-s dso,{{comm,sym}} -n", "-s comm", "-c work,nosuch -n"]),
    # No graphs: their branches of equal weight are in another order.
    ("stacks", ["-g none", "-g none -s comm,sym -n", "-g none -s dso,sym"]),
    ("events", ["-g none", "--group -g none -s comm,dso"]),
]

# Options of perf annotate, for a function with most of the samples.
ANNOTATIONS = ["", "-n", "--show-nr-samples", "--show-total-period", "-M intel", "--disassembler-style=att",
               "--percent-limit 1", "-q", "-f", "-v", "-P", "-l", "--skip-missing", "--stdio-color never",
               "--objdump=objdump", "-m", "--source", "--asm-raw -n", "--print-line --show-nr-samples"]


def run(*command):
    """Both tools exit with an error and print nothing if they cannot do it."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def values_of(recording):
    """What the placeholders of the options stand for: two times, a process and a thread of it."""
    rows = [line.split() for line in run("perf", "script", "-i", recording, "-G", "--ns",
                                         "-F", "pid,tid,time").splitlines()]
    times = [row[-1].rstrip(":") for row in rows]
    pid, tid = rows[len(rows) // 2][0].split("/")[:2]
    return {"first": times[len(times) // 4], "second": times[len(times) // 2], "pid": pid, "tid": tid}


# --- perf report -------------------------------------------------------------------------


def cells_of(line, separator):
    """The cells of a row. perf aligns them even with a separator."""
    return [cell.strip() for cell in line.split(separator)] if separator else line.split()


def merge_unnamed(rows):
    """perf has a row for each address without a name, stoke one for all in a module: added up,
    and without the figures."""
    merged = []
    for row in rows:
        text = re.sub(r"\[.\] (0x[0-9a-f]+|0{16}|\[unknown\])", "unnamed", row)
        if text != row:
            text = " ".join(word for word in text.split() if not re.fullmatch(r"[0-9.]+%?", word))
        if text == row or text not in merged:
            merged.append(text)
    return [row for row in merged if "unnamed" not in row.split()] + \
        sorted(row for row in merged if "unnamed" in row.split())


def start_of_loader(text):
    """A call at the end of _start returns into the function after it, which perf names. It does not
    name all entries of the PLT."""
    return re.sub(r"\S*@plt\b", "PLT", re.sub(r"\b(_start|_dl_start_user)\b", "START", text))


def is_unnamed(row):
    """Of an address in no file, in a stack by frame pointers that passes through code without them:
    perf has a row for each."""
    return re.search(r"\[unknown\] \[.\] \[unknown\]", row)


def without_addresses(text):
    """perf prints the addresses of functions without a name, as [k] in the order of callers; 0 has
    one digit."""
    text = re.sub(r"(?m)(?<=[\s;-])0$", "[unknown]", text)
    return re.sub(r"(\[unknown\] \[)k(\] \[unknown\])", r"\1.\2", re.sub(r"\b(0x[0-9a-f]+|0{16})\b", "[unknown]", text))


def graph_of(lines):
    """The call graph of a row as text. Branches of the same weight are sorted by their names:
    perf's are in the order of addresses."""
    root = [-1, "", []]
    path = [root]
    for line in lines:
        found = re.match(r"([ |]*)(--+[0-9.]*%?(?:--)?)?(.*)", line)
        column, mark, name = len(found[1]), found[2] or "", found[3].replace(" (inlined)", "")
        if not mark and not name:
            continue
        if mark:
            while path[-1][0] >= column:
                path.pop()
            node = [column, mark + name, []]
            path[-1][2].append(node)
            path.append(node)
        else:
            path[-1][1] += "\n" + name
    return write_graph(root)


def share_of(text):
    found = re.match(r"--([0-9.]+)%", text)
    return -float(found[1]) if found else 0


def write_graph(node):
    below = sorted((write_graph(child) for child in node[2]), key=lambda text: (share_of(text), text))
    return "\n".join([node[1], *("  " + line for text in below for line in text.splitlines())])


def paths_of(lines):
    """Folded and flat call graphs: paths of the same weight are sorted."""
    paths = []
    for line in lines:
        if re.match(r"\s*[0-9.]+%?( |$)", line):
            paths.append(line.strip())
        elif line.strip():
            paths[-1] += "\n" + line.strip()
    return "\n".join(sorted(paths, key=lambda path: (-float(re.match("[0-9.]+", path)[0]), path)))


class Report:
    """The rows of an output, each with its call graph as one text."""

    HEADINGS = ("Target", "Source", "Branch", "Transaction", "Basic", "Children", "Overhead", "Samples  ", "Period", "Command", "Symbol", "Shared", "Time", "CPU")

    def __init__(self, text, options):
        found = re.search(r"(?:-t|--field-separator) (\S)", options)
        self.separator = found[1] if found else None
        self.is_tree = "folded" not in options and "flat" not in options
        self.rows, graph = [], []
        for line in [*start_of_loader(text).splitlines(), ""]:
            is_heading = line.startswith("#") and line.strip("# ").startswith(self.HEADINGS)
            if is_heading or self.is_row(line):
                self.close(graph)
                graph = []
                self.rows.append((" ".join(cells_of(line.strip("# "), self.separator)), ""))
            elif not line.startswith("#"):
                graph.append(line.rstrip())
        self.close(graph)

    def is_row(self, line):
        """Rows are indented less than the shares of flat paths; folded paths not at all."""
        if line.startswith("#"):
            return False
        if self.separator:
            return self.separator in line
        start = re.match(" *", line)[0]
        return bool(line.strip()) and "|" not in line and "--" not in line[:16] and \
            len(start) < 11 and (len(start) > 0 or self.is_tree)

    def close(self, graph):
        """Adds the call graph to the last row."""
        if any(graph) and self.rows:
            text = graph_of(graph) if self.is_tree else paths_of(graph)
            self.rows[-1] = (self.rows[-1][0], text)


def report_rows(tool, recording, options):
    words = [word.replace("~", " ") for word in options.split()]
    command = {"perf": ["perf", "report", "--stdio"], "stoke": ["stoke", "report", "--stdio", "-q"]}[tool]
    text = run(*command, "--no-inline", "-i", recording, *words)
    rows = Report(text, options).rows
    if "-g none" not in options:
        rows = [tuple(map(without_addresses, row)) for row in rows]
        rows = [row for row in rows if not is_unnamed(row[0])]
    else:
        rows = [(line, "") for line in merge_unnamed([line for line, _ in rows])]
    # If there is a sample in _start, too, perf has two rows; some entries of the PLT have no name.
    rows = [row for row in rows if not {"START", "PLT"} & set(row[0].split())]
    if "symbol_size" in options: # perf adds two columns that it has no values for
        rows = [(re.sub(r" IPC \[IPC Coverage\]| - -$", "", line), graph) for line, graph in rows]
    if "--children" in options or "sort-idx" in options or " -b" in options or "symbol_size" in options:
        rows = sort_ties(rows, 1 if "sort-idx 1" in options else 0)
    return [text for row in rows for text in row if text]


def hierarchy(tool, recording, options):
    """The headings, and the rows as a tree; without perf's empty lines below graphs, and its hint. Of
    rows with equal figures, perf's order depends on the order of the samples."""
    command = {"perf": ["perf", "report", "--stdio"], "stoke": ["stoke", "report", "--stdio", "-q"]}[tool]
    text = run(*command, "--no-inline", "--hierarchy", "-i", recording, *options.split())
    lines = [line.rstrip() for line in start_of_loader(text).splitlines()]
    lines = [line for line in lines if not re.match(r"#($| [^. O]| Overhead events)|$", line)]
    root = [-1, "", []]
    path = [root]
    for line in lines:
        row = re.match(r" *(?=[0-9]+\.[0-9][0-9]%)", line)
        depth = len(line[:line.find("%")]) // 3 if row else 99
        while path[-1][0] >= depth:
            path.pop()
        path[-1][2].append([depth, line, []])
        if row:
            path.append(path[-1][2][-1])
    return rows_below(root)


def rows_below(node):
    """Graphs and headings stay in their order."""
    def order(child):
        found = re.match(r" *([0-9.]+)%", child[1])
        return (-float(found[1]), child[1]) if found else (-1000, "")
    return [line for child in sorted(node[2], key=order) for line in [child[1], *rows_below(child)]]


def sort_ties(rows, column):
    """perf's order of rows with equal weights depends on the order in which it met them, and in a
    group only on the event that sorts them."""
    def share(row):
        shares = re.findall(r"(?:^| )([0-9.]+%)", row[0])
        return shares[column] if shares else ""
    return [row for _, ties in itertools.groupby(rows, share) for row in sorted(ties)]


# --- perf script -------------------------------------------------------------------------


def script_lines(tool, recording, options):
    """perf adds a frame of all ones to stacks from dumps; it names few of the PLT's entries, and
    some after the function before them."""
    quiet = ["-q"] if tool == "stoke" else []
    text = run(tool, "script", "--no-inline", *quiet, "-i", recording, *options.split())
    text = re.sub(r" (_init|[^ ]*@plt)(\+0x[0-9a-f]*)?", " PLT", text)
    text = re.sub(r" (_start|_dl_start_user)(\+0x[0-9a-f]*)?", " START", text)
    text = text.replace("FINISHED_INIT: unhandled!", "FINISHED_INIT") # perf -D
    text = re.sub(r"^\s+:0$", "  NOWHERE", re.sub(r"^\s+\S+\[[0-9a-f]+\]$", "  NOWHERE", text, flags=re.M), flags=re.M)
    # Of inlined code of the loader, perf prints the line with the file of the caller.
    text = re.sub(r"^  (\S*/)?dl-[\w-]+\.[ch]:\d+$", "  LOADER", text, flags=re.M)
    lines = [line.rstrip() for line in text.splitlines()]
    # Later versions of perf print these records, too.
    return [line for line in lines
            if not re.match(r"\s+ffffffffffffffff( |$)| \.\.\. thread: | \.\.\.\.\.\. dso: |# captured on|# bpf_prog_info|# btf info of|# *\t?sub_prog", line)
            and "PERF_RECORD_LOST_SAMPLES" not in line]


# --- perf annotate -----------------------------------------------------------------------


def instructions(tool, recording, options):
    """Address, figure and text of each instruction with samples."""
    command = {"perf": ["perf", "annotate", "--stdio", "-s", "spin"],
               "stoke": ["stoke", "annotate", "-q", "--stdio", "-s", "spin"]}[tool]
    rows = []
    for line in run(*command, "-i", recording, *options.split()).splitlines():
        perf = re.match(r" *([0-9.]+) +: +([0-9a-f]+): +(.*?)( // .*)?$", line)
        ours = re.match(r"\*? *([0-9.]+)%? +([0-9a-f]{4,})  (\S.*)$", line)
        found = perf if tool == "perf" else ours
        if found and float(found[1]) > 0:
            code = re.sub(r"^([0-9a-f]{2} )+ *", "", found[3]) # --asm-raw
            rows.append(f"{found[2]} {found[1]} {' '.join(code.split())}")
    return rows


# --- The comparison ----------------------------------------------------------------------


FAULTS = "faults.txt"  # what differs, for a second run
GRAPH_SHARES = 0.25 # percent: a few stacks of a graph may be counted elsewhere


def is_equal(perf, stoke):
    """Rows are equal; of the call graphs all texts, and the shares nearly."""
    def shares(text):
        return [float(share) for share in re.findall(r"[0-9.]+(?=%)", text)]

    def texts(text):
        return re.sub(r"[0-9.]+%", "%", text)
    return len(perf) == len(stoke) and all(
        a == b or ("\n" in a and texts(a) == texts(b) and
                   all(abs(x - y) <= GRAPH_SHARES for x, y in zip(shares(a), shares(b))))
        for a, b in zip(perf, stoke))


class Comparison:
    def __init__(self):
        self.options, self.pairs, self.equal, self.missing = set(), 0, 0, set()
        self.faults = []

    def add(self, command, perf, stoke):
        if not perf:
            # perf refuses fields that were not recorded; stoke leaves them out with a note
            self.missing.add(command)
            return
        words = command.split()
        self.pairs += 1
        self.options |= {f"{words[0]} {word}" for word in words[1:] if word.startswith("-")}
        if is_equal(perf, stoke):
            self.equal += 1
            return
        lines = difflib.unified_diff(perf, stoke, "perf", "stoke", n=0, lineterm="")
        self.faults.append("\n".join([command, *("    " + line for _, line in zip(range(12), lines))]))


def recorded(names):
    """The recordings that could be made here."""
    return [name + ".data" for name in names.split() if os.path.exists(name + ".data")]


def cases(table, prefix=""):
    """Recording and options. Each option is compared on one of the recordings of its list, in
    turn, because perf takes long; on all of them with $ALL_RECORDINGS."""
    for names, every in table:
        files = recorded(names)
        values = {name: values_of(name) for name in files}
        for number, options in enumerate(every if files else []):
            chosen = files if os.environ.get("ALL_RECORDINGS") else [files[number % len(files)]]
            for recording in chosen:
                yield recording, prefix + options, prefix + options.format(**values[recording])


def chosen(work):
    """In a second run, what differed in the first one: of each, recording and options."""
    if not os.path.exists(FAULTS):
        return work
    with open(FAULTS, encoding="utf-8") as file:
        again = file.read().splitlines()
    return [w for w in work if key_of(w) in again]


def key_of(work):
    what, _, recording, pattern, _ = work
    return f"{what} -i {recording} {pattern}"


def main():
    c = Comparison()
    work = [("report", report_rows, *case) for case in cases(REPORTS, FLAT)]
    work += [("report", report_rows, *case) for case in cases(GRAPHS)]
    work += [("report --hierarchy", hierarchy, *case) for case in cases(HIERARCHIES)]
    work += [("script", script_lines, *case) for case in cases(SCRIPTS)]
    work += [("annotate", instructions, *case) for case in cases([("plain stacks", ANNOTATIONS)])]
    every, work, different = len(work), chosen(work), []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = pool.map(lambda w: [w[1](tool, w[2], w[4]) for tool in ("perf", "stoke")], work)
        for w, (perf, stoke) in zip(work, results):
            faults = len(c.faults)
            c.add(f"{w[0]} -i {w[2]} {w[4]}", perf, stoke)
            if len(c.faults) > faults:
                different.append(key_of(w))
    print(f"{len(c.options)} options, {c.pairs} comparisons, {c.equal} equal, {len(c.missing)} refused by perf")
    print("\n".join(c.faults or sorted(c.missing)))
    assert len(work) < every or c.equal > 200, "too few comparisons"
    with open(FAULTS, "w", encoding="utf-8") as file:
        file.write("\n".join(different))
    sys.exit(1 if c.faults else 0)


main()
