#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Properties of all importers:

  late keys     a JSON profile is detected by its keys, even after a large array, in any
                order, from a file, a pipe or compressed
  no profile    files of other kinds are rejected, and the message lists formats
  totals        the sum of weights is the total in the file, or a warning says so
  cut, damaged  the readable part is written, and the status is 1
"""

import base64
import bz2
import csv
import gzip
import io
import json
import os
import random
import re
import sys
import tarfile
import tempfile
import zlib

import tap

IMPORTS = os.path.join(tap.SOURCE_ROOT, "tests", "import")
PADDING = 100_000  # numbers before the keys: more than the head that is read first
results = tap.Tap()


def fold(path, *more, stdin=None):
    return tap.run([tap.STOKE, "fold", *more, path], stdin=stdin)


def folded_lines(out):
    return sorted(out.decode("utf-8", "replace").splitlines())


# --- Late keys ---------------------------------------------------------------------------

JSON_CASES = [
    "cpuprofile/plain", "cpuprofile/old", "dhat/plain", "dhat/ad-hoc", "heapprofile/plain", "firefox/gecko",
    "firefox/processed", "ghcjson/plain", "gprof2dot/plain", "safari/plain", "speedscope/plain",
    "stackprof/plain", "stackprof/objects", "trace-event/plain", "trace-event/node",
    "trace-event/samples", "v8log/plain",
]


def padded(value, last):
    """The same document with a large array before its keys; also at the end, if `last`."""
    if not isinstance(value, dict):
        return value
    numbers = list(range(PADDING))
    return {"aa": numbers, **value, **({"zz": numbers} if last else {})}


def turned(value):
    """The same with the keys of all objects in reverse."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [turned(item) for item in value]
    return value


WAYS = ("file", "gzip", "pipe")


def check_variant(path, text, expected, way):
    with (gzip.open(path, "wt", 1) if way == "gzip" else open(path, "w", encoding="utf-8")) as file:
        file.write(text)
    if way == "pipe":
        with open(path, "rb") as file:
            status, out, err = fold("-", "-q", stdin=file)
    else:
        status, out, err = fold(path, "-q")
    if status == 0 and folded_lines(out) == expected:
        return ""
    return f"{way}: status {status}: {err.decode()[:300]}\n" + tap.difference(
        "\n".join(expected).encode(), b"\n".join(sorted(out.splitlines())))


def late_keys(folder):
    for number, case in enumerate(JSON_CASES):
        source = os.path.join(IMPORTS, case + ".in")
        status, out, err = fold(source, "-q")
        with open(source, encoding="utf-8") as file:
            document = json.load(file)
        variants = {
            "plain": document,
            "late": padded(document, False),
            "turned": turned(document),
            "late, turned": padded(turned(document), False),
            "turned, then late": turned(padded(document, True)),
        }
        # Each variant is read in two of the ways, and each format in all of them.
        for turn, (name, variant) in enumerate(variants.items(), number):
            why = "" if status == 0 else err.decode()
            for i, indent in enumerate((None, 1)):
                way = WAYS[(turn + i) % len(WAYS)]
                path = os.path.join(folder, "profile.json" + ".gz" * (way == "gzip"))
                why = why or check_variant(path, json.dumps(variant, indent=indent),
                                           folded_lines(out), way)
            results.result(f"{case}: {name}", why)


# --- Files that are not profiles ----------------------------------------------------------

def lines_of(count, make):
    return "".join(make(i) + "\n" for i in range(count))


def csv_of(rows, delimiter=","):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def zip_of(names, compressed=False):
    import zipfile
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, text in names.items():
            archive.writestr(name, text)
    return out.getvalue()


def tar_of(names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in names.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def no_profiles(r):
    """Files of many kinds, by name."""
    word = lambda: "".join(r.choice("abcdefghijklmnop") for _ in range(r.randint(2, 9)))
    number = lambda: r.randint(0, 99999)
    stamp = lambda i: f"2026-11-22 18:{i // 60 % 60:02}:{i % 60:02}"
    rows = [[i, word(), number(), r.random()] for i in range(300)]
    source = "\n".join(f"    {word()} = {word()}({number()}); {word()} += {number()};"
                       for _ in range(200))
    return {
        "table.csv": csv_of([["id", "name", "count", "share"], *rows]),
        "semicolons.csv": csv_of([["id", "name", "count"], *rows], ";"),
        "spaces.csv": lines_of(300, lambda i: f"{i}, {word()} {word()}, {number()}"),
        "decimal.csv": lines_of(300, lambda i: f"{stamp(i)};{word()} {word()};3,{i}"),
        "named.csv": lines_of(300, lambda i: f'"{word()}"; "{word()}"; {number()}'),
        "table.tsv": csv_of(rows, "\t"),
        "xperf.csv": "BeginHeader\n" + lines_of(
            200, lambda i: f"  SampledProfile, {number()}, System ({i}), {i}, {number()}, "
                           f"ntoskrnl.exe!0x{number():x}, {i % 4}"),
        "package.json": json.dumps({"name": "x", "version": "1.0", "scripts": {"a": "b"},
                                    "dependencies": {word(): "1" for _ in range(90)}}),
        "pretty.json": json.dumps([{"id": i, "n": number()} for i in range(200)], indent=2),
        "numbers.json": json.dumps(list(range(40000))),
        "api.json": json.dumps({"meta": {"page": 1}, "data": [{"id": 1, "type": "x"}]}),
        "geo.json": json.dumps({"type": "FeatureCollection", "features": []}),
        "records.jsonl": lines_of(200, lambda i: json.dumps({"ts": i, "level": word()})),
        "notebook.ipynb": json.dumps({"cells": [], "metadata": {}, "nbformat": 4}, indent=1),
        "system.log": lines_of(300, lambda i: f"Nov 22 18:00:{i % 60:02} host {word()}[{i}]:"
                                              f" {word()} took {number()}"),
        "app.log": lines_of(300, lambda i: f"{stamp(i)} INFO {word()} done in {number()}"),
        "iso.log": lines_of(300, lambda i: f"2026-11-22T18:00:00.{i:03}Z {word()} {number()}"),
        "access-query.log": lines_of(300, lambda i: f'10.0.0.{i % 250} - - [22/Nov/2026:18:00:00 '
                                     f'+0000] "GET /a;b?x={i} HTTP/1.1" 200 {i * 17}'),
        "compiler.log": lines_of(30, lambda i: f'a.c:{i}:3: error: expected ";" before {i}'),
        "access.log": lines_of(300, lambda i: f'10.0.0.{i % 250} - - [22/Nov/2026:18:00:00 '
                                              f'+0000] "GET /{word()} HTTP/1.1" 200 {i}'),
        "semicolons.log": lines_of(300, lambda i: f"{word()} {word()}; {word()}; {number()}"),
        "key_value.log": lines_of(300, lambda i: f"level=info msg={word()} n={number()}"),
        "program.c": "#include <stdio.h>\nint main(void)\n{\n" + source + "\n}\n",
        "program.py": lines_of(200, lambda i: f"{word()} = {word()}({number()})"),
        "program.js": lines_of(200, lambda i: f"const {word()} = {number()};"),
        "program.s": lines_of(200, lambda i: f"\tmov eax, {i} ; {word()} {number()}"),
        "header.h": lines_of(200, lambda i: f"#define {word().upper()} {number()}"),
        "style.css": lines_of(200, lambda i: f".{word()} {{ margin: {i}px; top: 0; }}"),
        "dump.sql": lines_of(200, lambda i: f"INSERT INTO t VALUES ({i}, '{word()}');"),
        "mail.eml": "From: a@example.org\nTo: b@example.org\nSubject: numbers 5\n"
                    "Date: Sun, 22 Nov 2026 18:00:00 +0000\n\nHello,\n" +
                    lines_of(90, lambda i: f"{word()} {word()} {word()} {word()} {i}"),
        "mail.mbox": lines_of(50, lambda i: f"From {word()}@x Sun Nov 22 18:00:00 2026\n"
                                            f"Subject: {word()}\n\n{word()} {word()}\n"),
        "readme.md": "# Title\n\n" + lines_of(90, lambda i: f"- item {word()}: {i}"),
        "list.md": "# Title\n\n" + lines_of(90, lambda i: f"- {word()} {i}"),
        "stars.md": lines_of(90, lambda i: f"* see {word()} {i}"),
        "numbered.md": lines_of(90, lambda i: f"{i}. {word()} {number()}"),
        "quotation.txt": lines_of(90, lambda i: f"> {word()} {i}"),
        "stacks.mbox": "From a@x Sun Nov 22 18:00:00 2026\nSubject: b\n\n" +
                       lines_of(90, lambda i: f"{word()};{word()} {i}"),
        "prose.txt": lines_of(90, lambda i: " ".join(word() for _ in range(9)) + "."),
        "page.html": "<!doctype html>\n<html><body>" + lines_of(90, lambda i: f"<p>{i}"),
        "drawing.xml": "<?xml version='1.0'?>\n<a>" + lines_of(90, lambda i: f"<b>{i}</b>"),
        "settings.ini": "[main]\n" + lines_of(90, lambda i: f"{word()} = {number()}"),
        "settings.yaml": lines_of(90, lambda i: f"{word()}: {number()}"),
        "stat.txt": lines_of(90, lambda i: f"cpu{i} {number()} {number()} {number()} {i}"),
        "sizes.txt": lines_of(90, lambda i: f"{number()}\t./{word()}/{word()}"),
        "counts.txt": lines_of(90, lambda i: f"{i:7} {word()}"),
        "numbers.txt": lines_of(90, lambda i: str(number())),
        "random.bin": r.randbytes(50_000),
        "zeros.bin": bytes(5000),
        "picture.png": b"\x89PNG\r\n\x1a\n" + zlib.compress(r.randbytes(9000)),
        "program.elf": b"\x7fELF\x02\x01\x01" + r.randbytes(9000),
        "text.gz": gzip.compress(lines_of(90, lambda i: f"{word()} = {i}").encode()),
        "text.bz2": bz2.compress(b"a b c\n" * 50),
        "archive.tar": tar_of({"a": "x 5\n" * 9, "b": "y"}),
        "empty.callgrind": "version: 1\ncreator: x\ncmd: y\nevents: Ir\nsummary: 0\n",
        "not-very.sleepy": zip_of({"Stats.txt": "Filename: a.exe\nDuration: 1.2\nSamples: 345\n",
                                   "Readme.txt": "sym0 sym0\n" * 9}),
        "symbols.txt": lines_of(90, lambda i: f'sym{i} "a.exe" "{word()}" "a.cpp" {i}'),
        "encoded.pem": "-----BEGIN CERTIFICATE-----\n" +
                       base64.encodebytes(r.randbytes(900)).decode(),
        "change.diff": "--- a\n+++ b\n@@ -1,3 +1,3 @@\n" +
                       lines_of(90, lambda i: f"+{word()} {word()}({i});"),
        "stacks.diff": "--- a\n+++ b\n@@ -1,90 +1,90 @@\n" +
                       lines_of(90, lambda i: f"{r.choice('+- ')}{word()};{word()} {i}"),
        "git.diff": "diff --git a/x b/x\nindex 12..34 100644\n--- a/x\n+++ b/x\n" +
                    lines_of(90, lambda i: f"+{word()};{word()} {i}"),
        "plain.diff": lines_of(90, lambda i: f"{i}c{i}\n< {word()} {i}\n---\n> {word()} 1"),
        "lua.jp": "45%  main\n  -- 80%  a\n  -- 20%  b\n30%  work\n  -- 100%  c\n",
    }


CANDIDATES = re.compile(r"--format|unpack it first|stoke does not read it")


def check_refused(path):
    status, out, err = fold(path)
    text = err.decode("utf-8", "replace")
    if tap.crashed(status):
        return tap.crashed(status)
    if status == 0:
        return "it is accepted:\n" + out.decode("utf-8", "replace")[:300]
    return "" if CANDIDATES.search(text) else "neither formats nor what it is are named:\n" + text


def refuses(folder):
    kinds = no_profiles(random.Random(14))
    for name, content in kinds.items():
        for file_name in (name, "input"):  # the suffix makes no difference
            path = os.path.join(folder, file_name)
            with open(path, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
            why = check_refused(path)
            if why:
                break
        results.result(f"refused: {name}", why)


# --- Text that is folded nevertheless -----------------------------------------------------

FOLDED = {
    "one": "f 1\n",
    "no line end": "main;f 12",
    "fractions": "main;f 1.5\nmain;g 0.25\nmain 2e3\n",
    "two counts": "main;f 1 2\nmain;g 3 0\n",
    "CRLF": "main;f 1\r\nmain;g 2\r\n",
    "comments": "# made by hand\nmain;f 1\n# end\n",
    "broken lines": "main;f 1\nmain;g\nmain;h 3\n\nmain;i 4\n",
    "empty frames": "main;;f 1\n;g 2\n",
    "spaces": "my program;operator new(unsigned long) 3\nmy program;f (a b) 4\n",
    "C++": "main;std::map<int, int>::find(int const&) const 5\nstd::sort<int*>(int*) 5\n",
    "unsigned": "unsigned long f<int, char>(int) const 5\nvoid g() 6\n",
    "Java": "java.lang.Thread.run;com.x.Y$Z.lambda$main$0 5\n[idle] 3\n",
    "brackets": "[unknown];[kernel.kallsyms] 5\n{main};a.php:12 7\n",
    "locations": "main (a.py:12);f (b.py:3) 4\n<module> (a.py:5) 3\n",
    "kernel": "swapper;do_idle_[k];mwait_[k] 5\n",
    "space before": " main;f 1\n main;g 2\n",
    "signs": "-;+ 1\n*;> 2\n- 3\n",
    "negative": "main;f -1\nmain;g 3\n",
}


def accepts(folder):
    for name, text in FOLDED.items():
        path = os.path.join(folder, "stacks")
        for encoding in ("utf-8", "utf-16"):
            with open(path, "wb") as file:
                file.write(text.encode(encoding))
            status, _, err = fold(path)
            why = "" if status == 0 else f"{encoding}: status {status}: {err.decode()}"
            if why:
                break
        results.result(f"folded: {name}", why)


# --- Totals ------------------------------------------------------------------------------

def random_callgrind(r):
    """A call graph as written by valgrind: (text, total)."""
    files = [f"file{i}.c" for i in range(r.randint(1, 4))]
    functions = [(f"f{i % 7}" if r.random() < 0.3 else f"f{i}", r.choice(files))
                 for i in range(r.randint(2, 25))]
    functions = list(dict.fromkeys(functions))
    inclusive, blocks = {}, []
    for at in range(len(functions) - 1, -1, -1):
        name, file = functions[at]
        lines, total, here = [f"fl={file}", f"fn={name}"], 0, file
        for _ in range(r.randint(1, 6)):
            if r.random() < 0.4:
                here = r.choice(files)
                lines.append(f"{r.choice(['fi', 'fe'])}={here}")
            later = [f for f in functions[at + 1:] if inclusive.get(f)]
            if later and r.random() < 0.6:
                callee = r.choice(later)
                cost = r.randint(0, inclusive[callee])
                inclusive[callee] -= cost
                called = [f"cfn={callee[0]}"]
                if callee[1] != here or r.random() < 0.3:
                    called.insert(r.randint(0, 1), f"cfi={callee[1]}")
                lines += [*called, "calls=1 1", f"{r.randint(1, 99)} {cost}"]
                total += cost
            else:
                cost = r.randint(0, 1000)
                lines.append(f"{r.randint(1, 99)} {cost}")
                total += cost
        own = sum(int(line.split()[1]) for before, line in zip(lines, lines[1:])
                  if line[0].isdigit() and not before.startswith("calls="))
        inclusive[functions[at]] = total
        blocks.append(("\n".join(lines), own))
    r.shuffle(blocks)
    total = sum(own for _, own in blocks)
    return (f"# callgrind format\nevents: Ir\nsummary: {total}\n\n" +
            "\n\n".join(text for text, _ in blocks) + f"\n\ntotals: {total}\n"), total


def sum_of(out):
    return sum(float(line.rsplit(b" ", 1)[1]) for line in out.splitlines())


def check_total(path, total, *more):
    status, out, err = fold(path, *more)
    if tap.crashed(status) or (status and total):
        return f"status {status}: {err.decode()}"
    got = sum_of(out)
    if got != total and b"add up to" not in err:
        return f"the sum is {got}, the file states {total}\n{err.decode()}"
    return ""


def callgrind_totals(folder):
    path = os.path.join(folder, "callgrind.out")
    for seed in range(60):
        text, total = random_callgrind(random.Random(seed))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        why = check_total(path, total)
        if not why and b"add up to" in fold(path)[2]:
            why = "a warning about the total, which is right"
        if why:
            results.not_ok(f"totals: callgrind, seed {seed}", why)
            return
    results.ok("totals: 60 callgrind files")


def v8_totals(folder):
    """Samples of V8 and stackprof profiles: the stated number, and fewer."""
    path = os.path.join(folder, "profile.json")
    for seed in range(40):
        r = random.Random(seed)
        count = r.randint(1, 50)
        nodes = [{"id": i + 1, "callFrame": {"functionName": f"f{i}", "url": "a.js",
                                             "lineNumber": r.randint(-1, 5)},
                  "children": [i + 2] if i < 5 else []} for i in range(6)]
        deltas = [r.randint(0, 900) for _ in range(count)]
        missing = seed % 3 == 0
        samples = [9 if missing and i == count // 2 else r.randint(1, 6)
                   for i in range(count)]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"nodes": nodes, "startTime": 5, "endTime": 5 + sum(deltas),
                       "samples": samples, "timeDeltas": deltas}, file)
        lost = deltas[count // 2 + 1] if missing and count // 2 + 1 < count else 0
        why = check_total(path, (sum(deltas[1:]) - lost) * 1000)
        if not why and (b"add up to" in fold(path)[2]) != (lost > 1):
            why = f"lost {lost} us, and the warning does not agree"
        if why:
            results.not_ok(f"totals: V8, seed {seed}", why)
            return
    results.ok("totals: 40 V8 profiles")


def stackprof_totals(folder):
    path = os.path.join(folder, "profile.json")
    for mode in ("cpu", "wall", "object"):
        r = random.Random(mode)
        frames = {str(i): {"name": f"f{i}"} for i in range(9)}
        raw, deltas, count = [], [], 0
        for _ in range(50):
            stack = [r.randrange(9) for _ in range(r.randint(1, 6))]
            times = r.randint(1, 4)
            raw += [len(stack), *stack, times]
            deltas += [r.randint(1, 99999) for _ in range(times)]
            count += times
        total = {"cpu": count * 1_000_000, "wall": sum(deltas) * 1000, "object": count}
        for said in (count, count + 7):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"mode": mode, "interval": 1000, "samples": said, "frames": frames,
                           "raw": raw, "raw_timestamp_deltas": deltas}, file)
            why = check_total(path, total[mode])
            if not why and (b"add up to" in fold(path)[2]) != (said != count):
                why = "the warning does not agree"
            results.result(f"totals: stackprof {mode}, {said - count} missing", why)


def random_sleepy(r):
    """A capture of Very Sleepy in one of its three forms: (files, nanoseconds by folded stack)."""
    form, count = r.randrange(3), r.randint(1, 9)
    names = [f"f{i}" if r.random() < 0.8 else f"ns::f{i} <int, {i}>" for i in range(count)]
    ids = [f"sym{i}" if form == 0 else f"0x{0x401000 + i:x}" for i in range(count)]
    symbols = "".join(f'{ids[i]} "demo" "{names[i]}" "a.cpp" {i}\r\n' for i in range(count))
    expected, stacks, total = {}, [], 0
    for _ in range(r.randint(1, 40)):
        stack = [r.randrange(count) for _ in range(r.randint(1, 12))]
        times = [r.randint(1, 3_000_000) for _ in range(r.randint(1, 4) if form == 2 else 1)]
        key = ";".join(names[i] for i in reversed(stack))
        expected[key] = expected.get(key, 0) + sum(times) * 1000
        total += sum(times)
        words = " ".join(ids[i] for i in stack)
        seconds = [f"{time // 1_000_000}.{time % 1_000_000:06}" for time in times]
        if form == 2:
            threads = "".join(f" {tid + 1} {time}" for tid, time in enumerate(seconds))
            stacks.append(f" {words}\r\n{threads}\r\n")
        else:
            stacks.append(f"{seconds[0]} {words}\r\n")
    return {"Stats.txt": "Filename: ?\r\n", "Symbols.txt": symbols,
            "IPCounts.txt": f"{total // 1_000_000}.{total % 1_000_000:06}\r\n",
            "Callstacks.txt": "".join(stacks), "Version 0.91 required": ""}, expected


def sleepy_totals(folder):
    """The time of each stack, also of files without their end."""
    path = os.path.join(folder, "capture.sleepy")
    for seed in range(40):
        r = random.Random(seed)
        files, expected = random_sleepy(r)
        content = zip_of(files, compressed=seed % 2 == 0)
        with open(path, "wb") as file:
            file.write(content)
        status, out, err = fold(path)
        got = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.decode().splitlines()}
        why = "" if status == 0 and got == expected and not err else f"expected {expected}\ngot {got}\n{err.decode()}"
        part = content[:r.randrange(len(content))]
        with open(path, "wb") as file:
            file.write(part)
        status, out, err = fold(path, "--format", "sleepy")
        for line in out.decode().splitlines():
            stack, weight = line.rsplit(" ", 1)
            if not why and int(weight) > expected.get(stack, 0) and b"does not list" not in err:
                why = f"{len(part)} bytes: more in {stack}: {weight}"
        if not why and status != 1:
            why = f"{len(part)} of {len(content)} bytes: status {status}"
        if why:
            results.not_ok(f"totals: Very Sleepy, seed {seed}", why)
            return
    results.ok("totals: 40 captures of Very Sleepy, whole and cut")


def random_marks(r):
    """Nested begins and ends of one thread, with the marks of each time in any order: (events, weight of
    the innermost of each time)."""
    events, open_names, weights, now = [], [], {}, 0
    for _ in range(r.randint(2, 40)):
        now += 10
        for _ in range(r.randint(0, 2)):
            if open_names:
                events.append(("E", now, open_names.pop()))
        if r.random() < 0.7:
            name = f"f{len(events)}"
            events.append(("B", now, name))
            open_names.append(name)
        if open_names:
            key = ";".join(open_names)
            weights[key] = weights.get(key, 0) + 10_000
    now += 10
    while open_names:
        events.append(("E", now, open_names.pop()))
    r.shuffle(events)
    events.sort(key=lambda event: event[1])
    return events, weights


def trace_totals(folder):
    path = os.path.join(folder, "trace.json")
    for seed in range(60):
        events, weights = random_marks(random.Random(seed))
        if not weights:
            continue
        with open(path, "w", encoding="utf-8") as file:
            json.dump([{"ph": kind, "ts": time, "name": name, "pid": 1, "tid": 1}
                       for kind, time, name in events], file)
        status, out, err = fold(path)
        got = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
               for line in out.decode().splitlines()}
        if status or err or got != weights:
            results.not_ok(f"totals: trace events, seed {seed}",
                           f"{events}\nexpected {weights}\ngot {got}\n{err.decode()}")
            return
    results.ok("totals: 60 traces with marks of one time in any order")


def overlaps(folder):
    """Overlapping events: each has its own duration; the sum is the duration of their union."""
    path = os.path.join(folder, "trace.json")
    for seed in range(40):
        r = random.Random(seed)
        spans = [(r.randint(0, 40) * 10, r.randint(1, 20) * 10) for _ in range(8)]
        with open(path, "w", encoding="utf-8") as file:
            json.dump([{"ph": "X", "ts": start, "dur": length, "name": f"f{i}", "pid": 1,
                        "tid": 1} for i, (start, length) in enumerate(spans)], file)
        status, out, err = fold(path)
        totals, whole = {}, 0
        for line in out.decode().splitlines():
            stack, weight = line.rsplit(" ", 1)
            whole += float(weight)
            for name in set(stack.split(";")):
                totals[name] = totals.get(name, 0) + float(weight)
        covered = {t for start, length in spans for t in range(start, start + length)}
        expected = {f"f{i}": length * 1000 for i, (_, length) in enumerate(spans)}
        if status or totals != expected or whole != len(covered) * 1000:
            results.not_ok(f"totals: overlapping events, seed {seed}",
                           f"{spans}\nexpected {expected}, {len(covered) * 1000}\n"
                           f"got {totals}, {whole}\n{err.decode()}")
            return
    results.ok("totals: 40 traces with overlapping events")


# --- Truncated files ----------------------------------------------------------------------

def cut_files(folder):
    text = "".join(f"main;f{i % 97};g{i % 1009};h{i} {i * 7919 % 1000003 + 1}\n" for i in range(20000))
    plain = os.path.join(folder, "stacks.folded")
    with open(plain, "w", encoding="utf-8") as file:
        file.write(text)
    known = set(text.splitlines())
    packed = {"gzip": gzip.compress(text.encode())}
    stoke = os.path.join(folder, "stacks.stoke")
    tap.run([tap.STOKE, "convert", "--to", "stoke", "-o", stoke, plain])
    with open(stoke, "rb") as file:
        packed["stoke"] = file.read()
    for kind, content in packed.items():
        why, most = "", 0
        for part in [*range(20, 400, 20), *range(380, 400)]:
            path = os.path.join(folder, "cut")
            with open(path, "wb") as file:
                file.write(content[:len(content) * part // 400])
            status, out, err = fold(path)
            lines = out.decode("utf-8", "replace").splitlines()
            most = max(most, len(lines))
            if status != 1 or b"truncated" not in err or b"byte" not in err:
                why = f"{part}/400: status {status}: {err.decode()}"
            elif len(set(lines) - known) > 1:  # the last line is truncated, too
                why = f"{part}/400: not in the file: {sorted(set(lines) - known)[:3]}"
        if not why and most < len(known) // 4:  # a .stoke file's samples are at its end
            why = f"only {most} of {len(known)} stacks are read of what is there"
        results.result(f"cut: {kind}", why)


CUT_CASES = [*(case + ".in" for case in JSON_CASES), "pprof/cpu.in", "xctrace/plain.in", "jfr/plain.in"]


def check_part(path, content, what):
    """A truncated file: status 1, and an error that reports it."""
    with open(path, "wb") as file:
        file.write(content)
    status, out, err = fold(path)
    if status != 1 or b"error" not in err:
        return f"{what}: status {status}, {len(out)} bytes: {err.decode('utf-8', 'replace')}"
    if b"is incomplete" not in err and out:
        return f"{what}: {len(out)} bytes of output: {err.decode('utf-8', 'replace')}"
    return ""


def is_whole(part):
    """An array of trace events may end after any event without its bracket."""
    part = part.strip().rstrip(b",")
    try:
        json.loads(part + b"]")
    except ValueError:
        return part == b"["
    return part.startswith(b"[")


def cut_profiles(folder):
    for case in CUT_CASES:
        with open(os.path.join(IMPORTS, case), "rb") as file:
            content = file.read().rstrip()
        if case.endswith("trace-event/node.in"):
            content = content[:2500] + b"]}"  # few bytes contain many events
        path = os.path.join(folder, "cut" + os.path.splitext(case)[1])
        options = ["--format", case.split("/")[0]]
        status, _, err = fold(os.path.join(IMPORTS, case), *options)
        why = "" if status == 0 else err.decode()
        r = random.Random(case)
        for _ in range(25):
            part = content[:r.randrange(1, len(content))]
            if not why and not is_whole(part):
                why = check_part(path, part, f"{len(part)} of {len(content)} bytes")
        results.result(f"cut: {case}", why)


def damaged_profiles(folder):
    path = os.path.join(folder, "damaged.json")
    for case in JSON_CASES:
        with open(os.path.join(IMPORTS, case + ".in"), encoding="utf-8") as file:
            text = json.dumps(json.load(file))
        keys = [m.start() + 1 for m in re.finditer(r'(?<!\\)": ', text)]
        why, r = "", random.Random(case)
        for at in r.sample(keys, min(20, len(keys))):
            bent = text[:at] + ";" + text[at + 1:]
            why = why or check_part(path, bent.encode(), f"';' at {at}")
        results.result(f"damaged: {case}", why)


# --- Traces without durations ---------------------------------------------------------------

def events_counted(folder):
    """If no event of a trace has a duration, each has weight 1."""
    path = os.path.join(folder, "trace.json")
    for seed in range(40):
        r = random.Random(seed)
        events, expected = [], {}
        for i in range(r.randint(1, 30)):
            name, time = f"f{r.randrange(5)}", r.randint(0, 99)
            kind = r.choice("iIXBR")
            event = {"ph": kind, "ts": time, "name": name, "pid": 1, "tid": i if kind == "B" else 1}
            events += [event] if kind != "X" else [{**event, "dur": 0}]
            events += [{**event, "ph": "E"}] if kind == "B" else []
            events += [{"ph": "C", "ts": time, "name": "n", "pid": 1, "args": {"v": i}}] * r.randrange(2)
            expected[name] = expected.get(name, 0) + 1
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events if seed % 2 else {"traceEvents": events}, file)
        status, out, err = fold(path)
        got = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.decode().splitlines()}
        if status or got != expected or b"each has weight 1" not in err:
            results.not_ok(f"events without a length, seed {seed}", f"expected {expected}\ngot {got}\n{err.decode()}")
            return
    results.ok("events without a length: 40 traces")


def main():
    with tempfile.TemporaryDirectory() as folder:
        late_keys(folder)
        refuses(folder)
        accepts(folder)
        callgrind_totals(folder)
        v8_totals(folder)
        stackprof_totals(folder)
        sleepy_totals(folder)
        trace_totals(folder)
        overlaps(folder)
        events_counted(folder)
        cut_files(folder)
        cut_profiles(folder)
        damaged_profiles(folder)
    results.done()


if __name__ == "__main__":
    sys.exit(main())
