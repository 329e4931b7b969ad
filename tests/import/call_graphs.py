#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles without stacks, and gprof2dot's inputs: the sum of the weights and each function's self
time are those of the file; shares are those of gprof2dot, if the corpus is available."""

import cProfile
import json
import marshal
import os
import random
import re
import sys
import tempfile

import tap

CASES = os.path.join(tap.CORPUS, "gprof2dot")
results = tap.Tap()


def fold(path, *more):
    return tap.run([tap.STOKE, "fold", *more, path])


def sums(out):
    """The self and total weight of each frame; a frame counts once per stack."""
    self_sum, total = {}, {}
    for line in out.decode("utf-8", "replace").splitlines():
        stack, _, weight = line.rpartition(" ")
        frames = stack.split(";")
        self_sum[frames[-1]] = self_sum.get(frames[-1], 0) + float(weight)
        for frame in set(frames):
            total[frame] = total.get(frame, 0) + float(weight)
    return self_sum, total


# --- pstats ---------------------------------------------------------------------------------

def label(key):
    file, line, name = key
    if (file, line) == ("~", 0):
        return name
    parts = re.split(r"[/\\]", file)
    folder = name == "<module>" or parts[-1].startswith("__")
    return f"{name} ({'/'.join(parts[-2 if folder else -1:])}:{line})"


def expected_self(stats):
    expected = {}
    for key, value in stats.items():
        weight = round(value[2] * 1e9)
        if weight:
            expected[label(key)] = expected.get(label(key), 0) + weight
    return expected


def walk(depth):
    return sorted(walk(depth - 1) + [depth]) if depth else []


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def real_stats():
    profile = cProfile.Profile()
    profile.runcall(lambda: (walk(50), even(60), [len(str(i)) for i in range(300)]))
    profile.create_stats()
    return profile.stats


def random_stats(r):
    """A graph with cycles, in which the numbers need not agree."""
    keys = [(f"m{i % 3}.py", i, f"f{i}") for i in range(r.randint(1, 30))]
    time = lambda: r.choice([0.0, 1e-9, r.randint(0, 10 ** 9) / 1e9])
    numbers_only = r.random() < 0.3
    stats = {}
    for key in keys:
        callers = {caller: r.randint(1, 9) if numbers_only else
                   (r.randint(1, 9), 1, time(), time())
                   for caller in r.sample(keys, r.randint(0, min(4, len(keys))))}
        stats[key] = (1, r.randint(1, 50), time(), time(), callers)
    return stats


def check_stats(path, stats, versions=(0, 2, 4)):
    expected, first = expected_self(stats), None
    for version in versions:
        with open(path, "wb") as file:
            marshal.dump(stats, file, version)
        status, out, err = fold(path)
        if not expected:
            return "" if status == 1 else f"version {version}: status {status}, expected 1"
        if status:
            return f"version {version}: status {status}: {err.decode()}"
        if sums(out)[0] != expected:
            return f"version {version}: self times are {sums(out)[0]}, not {expected}"
        first = first or out
        if out != first:
            return f"version {version}: another output than version 0"
    return ""


def pstats(folder):
    path = os.path.join(folder, "x.pstats")
    results.result("pstats: cProfile, marshal versions 0 to 4", check_stats(path, real_stats(), range(5)))
    for seed in range(40):
        why = check_stats(path, random_stats(random.Random(seed)))
        if why:
            results.not_ok(f"pstats: seed {seed}", why)
            return
    results.ok("pstats: 40 random graphs")


IMPORTS = "import asyncio, ast, copy, email.message, json, re\n" \
          "copy.deepcopy([{'a': [1, [2, 3]]}] * 20)\n" \
          "ast.dump(ast.parse('f(g(h(1 + 2), [3]))'))\n" \
          "re.compile('(a|b(c|d(e|f)))+')\n"


def drawn(text):
    """Of a call graph in dot: total and self shares by function, shares by call."""
    names, functions, calls = {}, {}, {}
    for number, words in re.findall(r'^\tn(\d+) \[label="(.*?)", tooltip', text, re.M):
        name, total, own = words.split("\\n")[:3]
        names[number] = name
        functions[name] = float(total.strip("()%")), float(own.strip("()%"))
    for caller, callee, words in re.findall(r'^\tn(\d+) -> n(\d+) \[label="(.*?)"', text, re.M):
        share = [float(word.strip(" %")) for word in words.split("\\n") if "%" in word]
        calls[names[caller], names[callee]] = share[0] if share else None
    return functions, calls


def wrong_shares(stats, text):
    """gprof2dot draws the cumulative times that the file states, of functions and of calls."""
    functions, calls = drawn(text)
    whole = sum(value[2] for value in stats.values())
    percent = lambda time: min(100, 100 * time / whole)
    for key, (_, _, own, total, callers) in stats.items():
        got = functions.get(label(key), (-1, -1))
        if abs(got[0] - percent(total)) > 0.02 or abs(got[1] - percent(own)) > 0.02:
            return f"{label(key)}: {got}, not {percent(total):.2f} and {percent(own):.2f}"
        for caller, value in callers.items():
            got = calls.get((label(caller), label(key)))
            if got is None or abs(got - percent(value[3])) > 0.02:
                return f"{label(caller)} -> {label(key)}: {got}, not {percent(value[3]):.2f}"
    return ""


def pstats_drawn(folder):
    """Programs with functions that call themselves, directly and through others."""
    path = os.path.join(folder, "x.pstats")
    program = os.path.join(folder, "imports.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(IMPORTS)
    tap.output([sys.executable, "-m", "cProfile", "-o", path, program])
    with open(path, "rb") as file:
        stats = marshal.load(file)
    draw = [tap.STOKE, "callgraph", "-q", "-n", "0", "-e", "0"]
    text = tap.output([*draw, path])
    results.result("pstats: shares of functions and calls, with cycles", wrong_shares(stats, text))
    counts = {glob: len(drawn(tap.output([*draw, "-z", glob, path]))[0])
              for glob in ("copy:*:deepcopy", "deepcopy", "deepcopy (copy.py:*")}
    why = "" if len(set(counts.values())) == 1 and min(counts.values()) > 1 else str(counts)
    results.result("pstats: three spellings of a function", why)


def pstats_cut(folder):
    """Beginnings of a file, and files with one other byte."""
    path = os.path.join(folder, "x.pstats")
    whole = marshal.dumps(random_stats(random.Random(7)))[:500]
    variants = [whole[:size] for size in range(0, len(whole), 7)]
    r = random.Random(1)
    for _ in range(60):
        at = r.randrange(len(whole))
        variants.append(whole[:at] + r.randbytes(1) + whole[at + 1:])
    for number, content in enumerate(variants):
        with open(path, "wb") as file:
            file.write(content)
        status, _, err = fold(path, "--format", "pstats")
        if status != 1 or not err:
            results.not_ok("pstats: truncated and damaged",
                           f"variant {number}: status {status}\n{err.decode()}")
            return
    results.ok("pstats: truncated and damaged")


def hostile(count):
    """Functions that share one dict of callers, and one long name."""
    name = b"z\x01x"
    long_name = b"u" + (5_000).to_bytes(4, "little") + b"y" * 5_000
    number = lambda i: b"i" + i.to_bytes(4, "little")
    value = b")\x04" + b"i\1\0\0\0" * 4
    key = lambda i, text: b")\x03" + name + number(i) + text
    callers = b"\xfb" + b"".join(key(i, name) + value for i in range(count)) + b"0"
    numbers = b"i\1\0\0\0" * 4
    first = key(0, bytes([long_name[0] | 0x80]) + long_name[1:])
    yield b"{" + first + b")\x05" + numbers + callers
    for i in range(1, count):
        yield key(i, b"r\0\0\0\0") + b")\x05" + numbers + b"r\1\0\0\0"
    yield b"0"


def pstats_hostile(folder):
    path = os.path.join(folder, "x.pstats")
    with open(path, "wb") as file:
        file.write(b"".join(hostile(2_000)))
    status, out, err = fold(path)
    why = tap.crashed(status)
    if not why and b"more callers than the limit" not in err:
        why = f"status {status}, without a warning\n{err.decode()[-500:]}"
    results.result("pstats: shared callers and names", why)
    deep = b"{" + b"(\1\0\0\0" * 100_000
    huge = b"{(\xff\xff\xff\x7fz\1ai\1\0\0\0z\1b"
    for name, content in (("deep", deep), ("huge", huge)):
        with open(path, "wb") as file:
            file.write(content)
        status, _, err = fold(path, "--format", "pstats")
        results.result(f"pstats: {name}", "" if status == 1 and err else f"status {status}")


# --- gprof2dot's JSON -----------------------------------------------------------------------

def json_sums(folder):
    """The weights of each event are the costs of the file, also with the functions last."""
    path = os.path.join(folder, "x.json")
    r = random.Random(5)
    costs = [{"description": "Memory", "unit": "bytes"}, {"description": "Calls"}]
    functions = [{"name": f"f{i}", "module": f"m{i % 2}"} for i in range(9)]
    events = [{"callchain": [r.randrange(9) for _ in range(r.randint(1, 6))],
               "cost": [r.randint(0, 10 ** 9), r.randint(0, 9)]} for _ in range(300)]
    keys = {"version": 0, "costs": costs, "functions": functions, "events": events}
    for order in (list(keys), list(keys)[::-1]):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({key: keys[key] for key in order}, file)
        for i, name in enumerate(("Memory", "Calls")):
            expected = {}
            for event in events:
                leaf = functions[event["callchain"][0]]["name"]
                expected[leaf] = expected.get(leaf, 0) + event["cost"][i]
            got = sums(fold(path, "-q", "--event", name)[1])[0]
            why = "" if got == expected else f"self: {got}, not {expected}"
            results.result(f"json: {name}, {order[0]} first", why)


# --- gprof2dot's shares ----------------------------------------------------------------------

def dot_nodes(path):
    """The shares (total, self) in percent, by the first lines of the label."""
    nodes = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r'\t\S+ \[.*\blabel="(.*?)\\n([\d.]+)%\\n\(([\d.]+)%\)', line)
            if match and "->" not in line.split("[")[0]:
                nodes[match[1]] = float(match[2]), float(match[3])
    return nodes


def json_labels(text):
    """Without the module, which is the first line."""
    return [text.split("\\n")[-1]]


def pstats_labels(text):
    """gprof2dot omits the suffix of the file, if it has one."""
    module, line, name = text.split(":", 2)
    return [name] if module == "~" else [f"{name} ({module}{py}:{line})" for py in ("", ".py")]


def check_shares(case, expected, names_of, slack, totals=None):
    """`slack`: how far, in percent of the whole, a total may differ: where functions call each
    other, their totals depend on how the graph becomes stacks. `totals`: the right shares of
    functions whose totals gprof2dot only estimates."""
    path = os.path.join(CASES, case)
    if not os.path.exists(path):
        results.skip(f"shares: {case}", "skipped: no corpus")
        return
    status, out, err = fold(path)
    self_sum, total = sums(out)
    whole, wrong = sum(self_sum.values()), []
    nodes = dot_nodes(os.path.join(CASES, "expected", expected))
    for text, (total_share, self_share) in nodes.items():
        name = next((name for name in names_of(text) if name in total), text)
        total_share = (totals or {}).get(name, total_share)
        ours = [100 * by.get(name, 0) / whole for by in (total, self_sum)]
        if abs(ours[0] - total_share) > slack or abs(ours[1] - self_share) > 0.0051:
            wrong.append(f"{name}: {ours}, gprof2dot: {total_share}, {self_share}")
    if status or not nodes:
        wrong.append(f"status {status}, {len(nodes)} nodes\n{err.decode()}")
    results.result(f"shares: {case}, {len(nodes)} nodes", "\n".join(wrong))


def main():
    with tempfile.TemporaryDirectory() as folder:
        pstats(folder)
        pstats_drawn(folder)
        pstats_cut(folder)
        pstats_hostile(folder)
        json_sums(folder)
    check_shares("pstats/memtrail.pstats", "pstats.memtrail.dot", pstats_labels, 0.05)
    # Both stacks contain b and c: 100%. gprof2dot has 75%, an estimate for the cycle.
    check_shares("json/cycle.json", "json.cycle.dot", json_labels, 25.01)
    check_shares("json/memtrail.leaked.json", "json.memtrail.leaked.dot", json_labels, 0.0051)
    # cycfn1 and cycfn2 call each other; the stacks state when cycfn1 is active
    check_shares("sleepy/val3_sleepy.sleepy", "sleepy.val3_sleepy.dot",
                 lambda text: [text.split("\\n")[-1]], 0.0051, totals={"cycfn1": 67.73})
    results.done()


main()
