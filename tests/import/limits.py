#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bombs: small files that request a very large amount of memory, read with 1 GB of address space.
Each run ends in time, and reports the truncated data, or why the file cannot be read. Files whose
cost is a product of numbers in them take little more time than plain files of the same size.
Prints TAP."""

import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

from bombs import PRODUCTS
from codec.protobuf import field, number
from tap import STOKE, Tap, run_once

MEMORY = 1 << 30
SECONDS = 100
MB = 1 << 20
SANITIZED = "-fsanitize=" in open(os.path.join(os.environ.get("STOKE_BUILD", "build"),
                                               "build.ninja"), encoding="utf-8").read()


def repeat(piece, count):
    block = piece * max(1, MB // len(piece))
    each = len(block) // len(piece)
    while count > 0:
        yield block if count >= each else piece * count
        count -= each


def compressed(data):
    """Blocks of raw deflate that can be written after any others."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    return squeeze.compress(data) + squeeze.flush(zlib.Z_FULL_FLUSH)


def in_blocks(pieces):
    """Joins pieces of less than 64 kB to blocks of about 1 MB."""
    small, size = [], 0
    for piece in pieces:
        if len(piece) < 65536:
            small.append(piece)
            size += len(piece)
        if small and (size >= MB or len(piece) >= 65536):
            yield b"".join(small)
            small, size = [], 0
        if len(piece) >= 65536:
            yield piece
    yield b"".join(small)


def packed(path, pieces):
    """Writes a gzip file. A repeated block is compressed once."""
    check = size = 0
    before, blocks = None, b""
    with open(path, "wb") as file:
        file.write(b"\x1f\x8b\x08" + bytes(6) + b"\x03")
        for piece in in_blocks(pieces):
            if piece is not before:
                before, blocks = piece, compressed(piece)
            file.write(blocks)
            check, size = zlib.crc32(piece, check), size + len(piece)
        file.write(zlib.compressobj(6, zlib.DEFLATED, -15).flush())
        file.write(struct.pack("<II", check, size & 0xffffffff))


def pprof(locations, samples=1):
    """Samples of that many locations each, equal except the innermost one."""
    yield field(1, field(1, 1) + field(2, 2))
    for text in (b"", b"samples", b"count", b"main"):
        yield field(6, text)
    for i in range(1, samples + 2):
        yield field(5, field(1, i) + field(2, 3))
        yield field(4, field(1, i) + field(4, field(1, i) + field(2, i)))
    for i in range(samples):
        first, values = number(i + 2), field(2, number(1))
        ids = number(1 << 3 | 2) + number(len(first) + locations) + first
        yield number(2 << 3 | 2) + number(len(ids) + locations + len(values)) + ids
        yield from repeat(b"\x01", locations)
        yield values


SPEEDSCOPE = (b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":'
              b'{"frames":[{"name":"a"}]},"profiles":[{"type":"%s","name":"x","unit":'
              b'"none","startValue":0,"endValue":1,%s')


SPEEDSCOPE_FRAMES = SPEEDSCOPE[:SPEEDSCOPE.index(b"]},")]
CPUPROFILE = (b'{"startTime":0,"endTime":9,"nodes":[{"id":1,"callFrame":{"functionName":"a",'
              b'"scriptId":"0","url":"","lineNumber":0,"columnNumber":0}}],')
FIREFOX = (b'{"meta":{"version":24,"interval":1,"product":"x"},"libs":[],'
           b'"threads":[{"name":"a","pid":1,"tid":1')
STACKPROF = (b'{"version":1.2,"mode":"wall","interval":1000,"samples":1,"gc_samples":0,'
             b'"missed_samples":0,"frames":{"1":{"name":"a"}},"raw":[1,1,1')
MANY = 30_000_000


def array(head, item, tail, count=MANY):
    """One of whose items each takes far more memory than its two bytes."""
    yield head
    yield from repeat(item, count)
    yield tail


def section(tag, first, count, body):
    head = tag + struct.pack("<IIII", first, count, len(body), zlib.crc32(body))
    return head + struct.pack("<I", zlib.crc32(head)) + body


STOKE_HEAD = b"\x89STOKE\r\n" + struct.pack("<II", 1, 0)


def stoke_file(rows):
    """A chain of stacks, each below the one before it."""
    yield STOKE_HEAD
    yield section(b"STRS", 1, 1, b"\x01a")
    yield section(b"FRMS", 1, 1, b"\x01\x00\x00\x00\x00\x00")
    for first in range(1, rows + 1, 65536):
        count = min(65536, rows + 1 - first)
        parents = (b"\x00" if first == 1 else b"\x01") + b"\x01" * (count - 1)
        yield section(b"STKS", first, count, parents + b"\x01" * count)
    yield section(b"EVTS", 1, 1, b"\x01\x00")
    last = number(2 * rows)
    yield section(b"SMPS", 0, 1, b"\x01\x00\x00\x01" + last + b"\x01\x02")
    yield section(b"END ", 0, 0, b"")


def stoke_rows(tag, count, body):
    """A section that states a number of rows."""
    yield STOKE_HEAD
    if tag != b"STRS":
        yield section(b"STRS", 1, 1, b"\x01a")
    yield section(tag, 0 if tag == b"SMPS" else 1, count, body)


XML = b'<?xml version="1.0"?>\n'
XML_ROW = (b'<trace-query-result><node><schema name="time-profile"><col><mnemonic>time</mnemonic>'
           b'</col></schema><row><sample-time id="1" fmt="x">5</sample-time><thread id="2" '
           b'fmt="t"/><weight id="3">1</weight><backtrace id="4">')
XML_END = b"</backtrace></row></node></trace-query-result>"
MASSIF = b"desc: x\ncmd: x\ntime_unit: i\n"
MASSIF_SNAPSHOT = (b"#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=1\n"
                   b"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n")


def entities():
    """Each entity is ten of the one before it."""
    yield XML + b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    for i in range(12):
        yield b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10)
    yield b']>\n<trace-query-result><node name="&m;">&m;</node></trace-query-result>'


def jfr(size):
    yield b"FLR\0" + struct.pack(">HHQ", 2, 1, size + 68) + bytes(size + 52)


def perf_data():
    """A record of compressed records, which unpack to others without end."""
    attr = struct.pack("<IIQQQQ", 1, 128, 0, 1, 1 | 2 | 4, 0).ljust(128, b"\0")
    record = struct.pack("<IHH", 3, 0, 24) + struct.pack("<II", 1, 1) + b"x".ljust(8, b"\0")
    plain = record * ((200 * MB) // len(record))
    done = subprocess.run(["zstd", "-q", "-19", "-c"], input=plain, capture_output=True,
                          check=True).stdout
    records = b""
    for at in range(0, len(done), 60000):
        part = done[at:at + 60000]
        part += bytes(-len(part) % 8)
        records += struct.pack("<IHH", 81, 0, 8 + len(part)) + part
    head = b"PERFILE2" + struct.pack("<QQ", 104, 144)
    head += struct.pack("<QQQQQQ", 104, 144, 248, len(records), 0, 0) + bytes(32)
    yield head.ljust(104, b"\0") + attr + bytes(16) + records


BOMBS = {
    "pprof.pb.gz": lambda: pprof(300_000_000),
    "pprof-deep.pb.gz": lambda: pprof(20_000_000),
    "pprof-many.pb.gz": lambda: pprof(200_000, 500),
    "frames.folded.gz": lambda: (*repeat(b"a;", 100_000_000), b"leaf 1\n"),
    "deep.folded.gz": lambda: (*repeat(b"a;", 20_000_000), b"leaf 1\n"),
    "line.folded.gz": lambda: (b"a;b 1\n", *repeat(b"x" * 65536, 16384), b" 1\n"),
    "line.txt.gz": lambda: (b"main 1/1 1.0: 1 cycles:\n\t1000 ", *repeat(b"x" * 65536, 16384),
                            b" (x)\n\n"),
    "zeros.gz": lambda: repeat(bytes(65536), 16384),
    "nested.json.gz": lambda: (b'{"traceEvents":[', *repeat(b"[", 100_000_000)),
    "string.json.gz": lambda: (b'{"traceEvents":[{"ph":"X","name":"',
                               *repeat(b"y" * 65536, 8192), b'","ts":0,"dur":3}]}'),
    "sampled.json.gz": lambda: (SPEEDSCOPE % (b"sampled", b'"samples":[[0'),
                                *repeat(b",0", 50_000_000), b']],"weights":[1]}]}'),
    "evented.json.gz": lambda: (SPEEDSCOPE % (b"evented", b'"events":[{"type":"O","frame":0,'
                                              b'"at":0}'),
                                *repeat(b',{"type":"O","frame":0,"at":0}', 3_000_000),
                                b"]}]}"),
    "trace.json.gz": lambda: (b'{"traceEvents":[{}', *repeat(
        b',{"ph":"B","name":"a","ts":0,"pid":1,"tid":1}', 3_000_000), b"]}"),
    "callgrind.out.gz": lambda: (b"events: Ir\nfn=(1) ", *repeat(b"n" * 65536, 8192),
                                 b"\n1 1\n"),
    "calls.out.gz": lambda: (b"events: Ir\nfn=a\n1 1\n", *repeat(
        b"cfn=a\ncalls=1 1\n1 1\n", 3_000_000)),
    "frames.json.gz": lambda: array(SPEEDSCOPE_FRAMES, b",{}", b"]}}"),
    "weights.json.gz": lambda: array(SPEEDSCOPE % (b"sampled", b'"samples":[[0]],"weights":[1'),
                                     b",1", b"]}]}"),
    "profiles.json.gz": lambda: array(SPEEDSCOPE % (b"sampled", b'"samples":[[0]],"weights":[1]}'),
                                      b",{}", b"]}"),
    "samples.cpuprofile.gz": lambda: array(CPUPROFILE + b'"samples":[1', b",1", b"]}"),
    "deltas.cpuprofile.gz": lambda: array(CPUPROFILE + b'"samples":[1],"timeDeltas":[1', b",1",
                                          b"]}"),
    "nodes.cpuprofile.gz": lambda: array(CPUPROFILE[:-2], b",{}", b"]}"),
    "threads.json.gz": lambda: array(FIREFOX + b'}', b",{}", b"]}"),
    "stacks.json.gz": lambda: array(FIREFOX + b',"stackTable":{"prefix":[null', b",0", b"]}}]}"),
    "raw.json.gz": lambda: array(STACKPROF, b",1,1,1", b"]}"),
    "begun.json.gz": lambda: array(b'[{"ph":"B","name":"a","ts":0}', b',{"ph":"B","ts":0}', b"]",
                                   4_000_000),
    "strings.pb.gz": lambda: (*repeat(b"\x32\x00", MANY), *pprof(1)),
    "locations.pb.gz": lambda: (*pprof(1), *repeat(b"\x22\x00", MANY // 2)),
    "labels.pb.gz": lambda: (*pprof(1), field(2, field(1, 1) + field(2, 1) + b"\x1a\x00" * MANY)),
    "events.out.gz": lambda: (b"events: Ir", *repeat(b" a", MANY), b"\nfn=a\n1 1\n"),
    "attributes.xml.gz": lambda: (b'<?xml version="1.0"?>\n<trace-query-result><node',
                                  *repeat(b' a="b"', MANY // 3), b"></node></trace-query-result>"),
    "stacks.stoke": lambda: stoke_file(20_000_000),
    "zeros.jfr.gz": lambda: jfr(512 * MB),
    "tags.xml.gz": lambda: (b'<?xml version="1.0"?>\n<trace-query-result>',
                            *repeat(b"<node>", 20_000_000)),
    "entities.xml.gz": entities,
    "entity-list.xml.gz": lambda: (XML + b"<!DOCTYPE a [", *repeat(b'<!ENTITY a "b">', MANY // 3),
                                   b"]>\n<trace-query-result></trace-query-result>"),
    "text.xml.gz": lambda: (XML + XML_ROW, *repeat(b"&amp;", MANY), XML_END),
    "comment.xml.gz": lambda: (XML + b"<trace-query-result><!--", *repeat(b"x" * 65536, 4096)),
    "frames.xml.gz": lambda: (XML + XML_ROW, *repeat(b'<frame id="5" name="a"/>', MANY // 5),
                              XML_END),
    "deep.massif.gz": lambda: (MASSIF + MASSIF_SNAPSHOT, *(
        b" " * i + b"n1: 1 0x1: a (b.c:1)\n" for i in range(10_000))),
    "wide.massif.gz": lambda: (MASSIF + MASSIF_SNAPSHOT + b"n4000000000: 1 (heap)\n",
                               *repeat(b" n0: 1 0x1: a (b.c:1)\n", MANY // 6)),
    "snapshots.massif.gz": lambda: (MASSIF, *repeat(MASSIF_SNAPSHOT + b"n0: 1 (heap)\n",
                                                    MANY // 20)),
    "zstd.data": perf_data,
}
for tag in (b"STRS", b"MODS", b"FRMS", b"STKS", b"THRS", b"EVTS", b"LBLS", b"LSET", b"SMPS",
            b"FACT"):
    BOMBS[f"count-{tag.decode()}.stoke"] = lambda tag=tag: stoke_rows(tag, 0xffffffff, b"")
    BOMBS[f"rows-{tag.decode()}.stoke"] = lambda tag=tag: stoke_rows(tag, 10 << 20,
                                                                     b"\1" * (20 << 20))

# The required output: the stack is truncated, and its weight is not lost.
CUT = {"deep.folded.gz": "1\n", "pprof-deep.pb.gz": "1\n", "stacks.stoke": "1\n",
       "line.folded.gz": "a;b 1\n"}


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def check(name, path, command):
    """The fault of the run, or nothing."""
    with tempfile.TemporaryFile() as out:
        done = subprocess.run([STOKE, *command, path], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.PIPE, preexec_fn=limited, check=False)
        size = out.seek(0, 2)
        out.seek(max(0, size - 100))
        tail = out.read().decode("latin-1")
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        return f"it ended with {done.returncode}: {said[:300]}"
    if done.returncode == 1 and "error:" not in said:
        return "it failed and did not say why"
    if "out of memory" in said:
        return f"no limit held: {said[:300]}"
    if name in CUT and command == ["fold"]:
        if done.returncode != 0 or not tail.endswith(CUT[name]):
            return f"readable data was lost: {tail} {said[:300]}"
        if "limit" not in said:
            return f"no message about the limit: {said[:300]}"
    return ""


def test_bombs(tap, folder):
    for name, pieces in BOMBS.items():
        path = os.path.join(folder, name)
        packed_by_name = name.endswith((".gz", ".stoke"))
        try:
            if packed_by_name:
                packed(path, pieces())
            else:
                with open(path, "wb") as file:
                    file.writelines(pieces())
        except FileNotFoundError:
            tap.skip(name, "zstd is missing")
            continue
        for command in (["fold"], ["flamegraph"]):
            tap.result(f"{name}: {command[0]}", check(name, path, command))
        os.remove(path)


# Processor seconds: a bomb takes at most this time, and at most this factor of a plain file.
# Unlimited work takes minutes.
TIMES = 6
MORE_SECONDS = 10


def seconds_of(path):
    """Processor time to read the file; the status, and the messages."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([STOKE, "info", path], stdin=subprocess.DEVNULL, capture_output=True,
                          preexec_fn=limited, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, done.returncode, done.stderr.decode(errors="replace")


def test_products(tap, folder):
    for name, pieces in PRODUCTS.items():
        took, status, said = {}, {}, {}
        path = os.path.join(folder, name)
        for bomb in (False, True):
            packed(path, pieces(bomb))
            took[bomb], status[bomb], said[bomb] = seconds_of(path)
        os.remove(path)
        most = took[False] * TIMES + MORE_SECONDS
        fault = ""
        if status[False] != 0:
            fault = f"the plain file cannot be read: {said[False][:300]}"
        elif status[True] not in (0, 1) or "out of memory" in said[True]:
            fault = f"it ended with {status[True]}: {said[True][:300]}"
        elif took[True] > most:
            fault = f"it took {took[True]:.1f} s, a plain file {took[False]:.1f} s"
        tap.result(f"{name}: processor time", fault)


def test_packing(tap, folder):
    """The same bytes in every packing."""
    text = b"a;" * 20_000_000 + b"leaf 7\n"
    path = os.path.join(folder, "x.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.folded", text)
    CUT["x.zip"] = "7\n"
    tap.result("zip: fold", check("x.zip", path, ["fold"]))
    try:
        done = subprocess.run(["zstd", "-q", "-c"], input=text, capture_output=True,
                              check=True).stdout
    except FileNotFoundError:
        tap.skip("zstd: fold", "zstd is missing")
        return
    path = os.path.join(folder, "x.zst")
    with open(path, "wb") as file:
        file.write(done)
    CUT["x.zst"] = "7\n"
    tap.result("zstd: fold", check("x.zst", path, ["fold"]))


def frames_of(args, data):
    status, out, err = run_once([STOKE, "fold", *args, "-"], input=data)
    return status, out.count(b";") + 1, err.decode()


def test_option(tap):
    """A recursion of 500,000 frames is not truncated; --limits raises the limit for deeper ones."""
    status, frames, err = frames_of([], b"a;" * 499_999 + b"b 1\n")
    tap.result("500,000 frames are not truncated", "" if (status, frames, err) == (0, 500_000, "")
               else f"{status} {frames} {err[:200]}")
    deep = b"a;" * 1_999_999 + b"b 1\n"
    status, frames, err = frames_of([], deep)
    tap.result("2,000,000 frames are truncated, with a warning", "" if status == 0 and
               frames == 1 << 20 and "limit" in err else f"{status} {frames} {err[:200]}")
    for limits in ("x2", "none"):
        status, frames, err = frames_of(["--limits", limits], deep)
        tap.result(f"--limits {limits} keeps them", "" if (status, frames, err) ==
                   (0, 2_000_000, "") else f"{status} {frames} {err[:200]}")
    samples = b"a 1/1 %d.0: 1 cycles:\n" + b"\t1 f (/a)\n" * 1_100_000 + b"\n"
    status, _, err = run_once([STOKE, "report", "-"], input=samples % 1 + samples % 2)
    tap.result("perf script: both truncated stacks are reported", "" if status == 0 and
               "2 stacks are truncated" in err.decode() else f"{status} {err[:200]}")
    status, _, err = run_once([STOKE, "info", "--json", "-"], input=deep)
    facts = json.loads(_)
    tap.result("info reports the cut stack", "" if "limit" in json.dumps(facts)
               else "it does not")
    status, out, _ = run_once([STOKE, "report", "-"], input=deep)
    tap.result("report reports the cut stack", "" if b"limit" in out or b"cut" in out
               else "it does not")


# With one of the built-in keys in front, the next eight bytes of a name had no influence
# on its hash, and stacktext.c and folded.c identify names by their hashes.
KEY = struct.pack("<Q", 0xa0761d6478bd642f)


def test_hash_keys(tap):
    """Each process has its own hash keys, so names with equal hashes cannot be computed."""
    names = [KEY + bytes([i]) * 8 + b"x" * 40 for i in range(65, 75)]
    lines = b"".join(name + b" 1\n" for name in names)
    status, out, err = run_once([STOKE, "fold", "-"], input=lines)
    tap.result("names with equal hashes are different frames", "" if status == 0 and
               len(out.splitlines()) == len(names) else f"{status} {out} {err[:300]}")


def main():
    tap = Tap()
    test_hash_keys(tap)
    if SANITIZED:
        tap.skip("bombs", "sanitizers take more address space than that")
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        test_bombs(tap, folder)
        test_products(tap, folder)
        test_packing(tap, folder)
    test_option(tap)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
