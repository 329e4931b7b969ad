# SPDX-License-Identifier: Apache-2.0
"""Files whose cost is a product of two numbers in them: many short references to one long item.
Each file exists twice with the same size and the same number of records: with `bomb` the
references name the long item, otherwise a short one."""

import random
import struct
import zlib

from codec.protobuf import field, number

LONG = 1 << 20


def message(tag, body):
    return number(tag << 3 | 2) + number(len(body)) + body


def pprof_head(*strings):
    yield field(1, field(1, 1) + field(2, 2))
    for text in (b"", b"samples", b"count", *strings):
        yield message(6, text)


def pprof_inlined(bomb):
    """20,000 samples of 1000 locations each; a location has up to 254 inlined frames."""
    draw = random.Random(1)
    yield from pprof_head(*(b"f%d" % i for i in range(128)))
    for i in range(1, 129):
        yield field(5, field(1, i) + field(2, i + 2))
    for i in range(1, 128):
        lines = [field(4, field(1, draw.randrange(128) + 1)) for _ in range(254)]
        if not bomb:
            lines = [field(4, field(1, i)), message(15, b"".join(lines))]
        yield message(4, field(1, i) + b"".join(lines))
    for _ in range(20_000):
        ids = bytes(draw.randrange(1, 128) for _ in range(4)) + b"\x01" * 996
        yield message(2, message(1, ids) + message(2, b"\x01"))


def pprof_functions(bomb, count=300_000):
    """Functions that all have one long name."""
    name = 4 if bomb else 3
    yield from pprof_head(b"f", b"x" * LONG)
    for i in range(1, count):
        yield field(5, field(1, i) + field(2, name))
        yield field(4, field(1, i) + field(4, field(1, i)))
    yield field(2, field(1, 1) + field(2, 1)) * count


def pprof_labels(bomb, key=b"thread", text=b"x", count=300_000):
    """Samples of one thread, whose name, or number, is long."""
    yield from pprof_head(key, b"1", text * LONG)
    yield field(5, field(1, 1) + field(2, 3))
    yield field(4, field(1, 1) + field(4, field(1, 1)))
    label = field(1, 3) + field(2, 5 if bomb else 4)
    yield field(2, field(1, 1) + field(2, 1) + field(3, label)) * count


def pprof_drop(bomb, count=4000):
    """Names that are compared with a pattern in which much is reached at each byte."""
    pattern = b"(a|a)*" * 300
    yield from pprof_head(pattern, b"b" * len(pattern))
    for i in range(count):
        yield message(6, b"a" * 4000 + b"%05d" % i)
    for i in range(1, count):
        yield field(5, field(1, i) + field(2, 4 + i))
        yield field(4, field(1, i) + field(4, field(1, i)))
        yield field(2, field(1, i) + field(2, 1))
    yield field(7, 3 if bomb else 4)


def speedscope_weights(bomb, count=300_000):
    """Lists of one weight each, for one long list of samples."""
    yield (b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{'
           b'"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","name":"x","unit":'
           b'"none","startValue":0,"endValue":1,"samples":[[0]')
    yield b",[0]" * count + b"]"
    yield (b',"weights":[1]' if bomb else b',"weighty":[1]') * count + b"}]}"


def firefox_threads(bomb, threads=20_000, frames=500_000):
    """Threads with a stack each, and one long table of frames for all."""
    yield (b'{"meta":{"version":24,"interval":1,"preprocessedProfileVersion":1},"libs":[],'
           b'"shared":{"stringArray":["a"],"funcTable":{"name":[0]},"frameTable":{"func":[0'
           + (b"" if bomb else b'],"none":[0'))
    yield b",0" * frames + b"]}},"
    yield b'"threads":[{}'
    yield b',{"stackTable":{"prefix":[null],"frame":[0]},"samples":{"stack":[0]}}' * threads
    yield b"]}"


def firefox_locations(bomb, count=200_000):
    """Frames of one long location."""
    which = b",1" if bomb else b",0"
    yield b'{"meta":{"version":24,"interval":1},"libs":[],"threads":[{"name":"a",'
    yield b'"stringTable":["f (a.js:1:2)","' + b"x" * LONG + b' (a.js:1:2)"],'
    yield b'"frameTable":{"location":[0' + which * count + b'],"line":[0' + b",1" * count + b"]},"
    yield b'"stackTable":{"prefix":[null' + b",null" * count + b'],"frame":[0,'
    yield b",".join(b"%d" % i for i in range(count)) + b"]},"
    yield b'"samples":{"stack":[0,0],"time":[0,1]}}]}'


def trace_threads(bomb, count=200_000):
    """Threads of a process with a long name."""
    yield b'{"traceEvents":[{"ph":"M","name":"process_name","pid":%d,"args":{"name":"' % (
        1 if bomb else 2)
    yield b"x" * LONG + b'"}}'
    yield b"".join(b',{"ph":"X","ts":1,"dur":2,"name":"a","pid":1,"tid":%d}' % i
                   for i in range(count)) + b"]}"


def trace_instants(bomb, count=300_000):
    """Events without a length, of a process with a long name."""
    yield b'{"traceEvents":[{"ph":"M","name":"process_name","pid":%d,"args":{"name":"' % (
        1 if bomb else 2)
    yield b"x" * LONG + b'"}}'
    yield b',{"ph":"i","ts":1,"name":"a","pid":1,"tid":1}' * count + b"]}"


def trace_profiles(bomb, count=100_000):
    """Pieces of profiles by V8, each of another profile."""
    yield b'{"traceEvents":[{"ph":"X","ts":1,"dur":2,"name":"a","pid":1,"tid":1}'
    yield b"".join(b',{"ph":"P","name":"ProfileChunk","ts":1,"pid":1,"tid":1,"id":"%06d",'
                   b'"args":{"data":{"cpuProfile":{"samples":[1]}}}}' % (i if bomb else 1)
                   for i in range(count)) + b"]}"


def callgrind_calls(bomb, count=30_000):
    """Functions that all call one function, which calls as many others."""
    yield b"# callgrind format\nevents: Ir\nfn=root\n1 1\n"
    for i in range(count):
        yield b"cfn=(%d) f%d\ncalls=1 1\n1 100000\n" % (i + 10, i)
    for i in range(count):
        yield b"fn=(%d)\n1 1\ncfn=%s\ncalls=1 1\n1 99999\n" % (i + 10, b"g" if bomb else b"k")
    yield b"fn=k\n1 1\nfn=g\n1 1\n"
    for i in range(count):
        yield b"cfn=(%d) h%d\ncalls=1 1\n1 1\n" % (i + 1000000, i)
    for i in range(count):
        yield b"fn=(%d)\n1 1\n" % (i + 1000000)


def callgrind_modules(bomb, count=100_000):
    """Functions of a module with a long name."""
    yield b"# callgrind format\nevents: Ir\nob=(1) " + b"x" * LONG + b"\nob=(2) y\nob=(%d)\n" % (
        1 if bomb else 2)
    yield b"fn=root\n1 1\n"
    for i in range(count):
        yield b"cfn=(%d) f%d\ncalls=1 1\n1 1000\n" % (i + 10, i)
    for i in range(count):
        yield b"fn=(%d)\n1 1000\n" % (i + 10)


def heaptrack_calls(bomb, count=200_000, frames=100_000):
    """Calls of an address at which many functions are inlined."""
    yield b"v 10400 2\nX ./a\ns main\ni 1 1 1 1 1\ni 1 1" + b" 1 1 1" * frames + b"\n"
    yield b"t %d 0\n" % (2 if bomb else 1) * count
    yield b"a 8 1\n+ 0\n"


def heaptrack_names(bomb, count=200_000):
    """Addresses in a function with a long name."""
    yield b"v 10400 2\nX ./a\ns main\ns f(" + b"a" * LONG + b")\n"
    yield b"i 1 1 %d 1 1\n" % (2 if bomb else 1) * count
    yield b"t 1 0\na 8 1\n+ 0\n"


def stoke_threads(bomb, count=300_000):
    """Threads and modules with one long name."""
    def section(tag, first, rows, body):
        head = tag + struct.pack("<IIII", first, rows, len(body), zlib.crc32(body))
        return head + struct.pack("<I", zlib.crc32(head)) + body
    name = b"\x02" if bomb else b"\x01"
    yield b"\x89STOKE\r\n" + struct.pack("<II", 1, 0)
    yield section(b"STRS", 1, 2, b"\x01" + number(LONG) + b"f" + b"x" * LONG)
    for first in range(1, count, 65536):
        rows = min(65536, count - first)
        yield section(b"MODS", first, rows, name * rows + b"\0" * rows)
        yield section(b"THRS", first, rows, b"\x01" * rows + b"\x02" * rows + name * rows)
    yield section(b"FRMS", 1, 1, b"\x01\x00\x00\x00\x00\x00")
    yield section(b"STKS", 1, 1, b"\0\x01")
    yield section(b"EVTS", 1, 1, b"\x01\x00")
    yield section(b"SMPS", 0, 1, b"\x01\x00\x00\x01\x02\x01\x02")
    yield section(b"END ", 0, 0, b"")


PRODUCTS = {
    "inlined.pb.gz": pprof_inlined,
    "functions.pb.gz": pprof_functions,
    "labels.pb.gz": pprof_labels,
    "numbers.pb.gz": lambda bomb: pprof_labels(bomb, b"tid", b"0"),
    "drop.pb.gz": pprof_drop,
    "weights-each.json.gz": speedscope_weights,
    "shared-frames.json.gz": firefox_threads,
    "locations.json.gz": firefox_locations,
    "processes.json.gz": trace_threads,
    "instants.json.gz": trace_instants,
    "chunks.json.gz": trace_profiles,
    "callees.out.gz": callgrind_calls,
    "modules.out.gz": callgrind_modules,
    "inlined.heaptrack.gz": heaptrack_calls,
    "names.heaptrack.gz": heaptrack_names,
    "threads.stoke.gz": stoke_threads,
}
