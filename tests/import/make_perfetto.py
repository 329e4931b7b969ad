#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/import/perfetto/*.in: traces with the packets that src/import/perfetto.c reads, of
made-up programs. The fields are those of protos/perfetto/trace.

make_perfetto.py [FOLDER]: into another folder. The files are the same every time."""

import gzip
import os
import sys
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLEARED, NEEDED = 1, 2


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def message(*fields):
    """Pairs of a field's number and its value: a number, text, or the bytes of a message."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def string(number, text):
    return message((1, number), (2, text))


def frame(number, name=0, mapping=0, pc=0, source=0, line=0):
    fields = [(1, number), (2, name), (3, mapping), (4, pc), (5, source), (6, line)]
    return message(*[field for field in fields if field[1]])


def stack(number, *frames, packed=False):
    if packed:
        return message((1, number), (2, b"".join(map(varint, frames))))
    return message((1, number), *[(2, one) for one in frames])


class Trace:
    def __init__(self):
        self.data = b""
        self.time = 1_000_000_000

    def packet(self, *fields, sequence=2):
        self.time += 1000
        self.data += message((1, message((8, self.time), (10, sequence), *fields)))

    def perf(self, number, pid=7, tid=8, cpu=1, sequence=2):
        self.packet((66, message((1, cpu), (2, pid), (3, tid), (4, number))), (13, NEEDED),
                    sequence=sequence)


def interned():
    """Frames and stacks come before the names and mappings that they refer to."""
    return message(
        (7, stack(1, 1, 2, 3)), (7, stack(2, 1, 2, packed=True)), (7, stack(3, 1, 99)),
        (6, frame(1, 1, 1, 0x1000)), (6, frame(2, 0, 1, 0x2000)), (6, frame(3, 2, 2, 0x30)),
        (5, string(1, "main")), (5, string(2, "do_read(int)")),
        (19, message((1, 1), (2, 1), (7, 1), (7, 2))),
        (19, message((1, 2), (7, 3))),
        (16, string(1, bytes(range(20)))),
        (17, string(1, "bin")), (17, string(2, "server")), (17, string(3, "[kernel.kallsyms]")))


def timebase(**of):
    fields = {"period": 1, "frequency": 2, "tracepoint": 3, "counter": 4, "name": 10}
    return message((12, message((1, message(*[(fields[key], value) for key, value in of.items()])))))


def perf():
    """traced_perf: names of threads after the samples, lost records, a second writer."""
    t = Trace()
    t.packet((13, CLEARED), (42, 1), (59, timebase(frequency=100, counter=1)), (12, interned()))
    for number in (1, 1, 2, 3, 4):
        t.perf(number)
    t.packet((66, message((1, 0), (17, 12))))
    t.packet((66, message((1, 0), (2, 7), (3, 8), (18, 2))))
    t.packet((13, CLEARED), (59, timebase(period=1000, tracepoint=message((1, "sched:sched_switch")))),
             (12, message((7, stack(1, 1)), (6, frame(1, 1)), (5, string(1, "other")))), sequence=3)
    t.perf(1, pid=9, tid=9, sequence=3)
    t.packet((2, message((1, message((1, 7), (3, "/usr/bin/server"), (3, "-x"))),
                         (1, message((1, 9), (3, "idle"))), (2, message((1, 8), (2, "worker"), (3, 7))))))
    return t.data


def symbols():
    """Symbols at the end: inlined functions, the innermost first; a later one replaces one."""
    t = Trace()
    t.packet((13, CLEARED), (12, interned()))
    t.perf(1)
    t.perf(2)

    def line(name, path, number):
        return message((1, name), (2, path), (3, number))
    for inner in ("wrong", "read<int>(char)"):
        t.packet((61, message((1, "/bin/server"), (3, message(
            (1, 0x2000), (2, line(inner, "r.h", 3)), (2, line("serve(int)", "s.c", 40)))))))
    t.packet((61, message((1, "/bin/none"), (3, message((1, 0x1000), (2, line("none", "n.c", 1)))))))
    return t.data


def heap():
    """heapprofd: the sums of a later dump replace those of an earlier one; tables of Android 10 in
    the packet."""
    t = Trace()
    t.packet((13, CLEARED), (12, interned()))

    def row(number, **of):
        fields = {"allocated": 2, "freed": 3, "count": 5, "peak": 8}
        return (2, message((1, number), *[(fields[key], value) for key, value in of.items()]))
    t.packet((37, message((5, message((1, 7), row(1, allocated=100, freed=10, count=3))), (6, 1))))
    t.packet((37, message((5, message((1, 7), row(1, allocated=500, freed=200, count=9),
                                      row(2, allocated=64, freed=64, count=1), row(3, allocated=1, freed=2))),
                          (5, message((11, "com.android.art"), (1, 7), row(2, allocated=4096, count=2))))))
    t.packet((37, message((1, string(1, "old")), (1, string(2, "lib.so")), (4, message((1, 1), (7, 2))),
                          (2, frame(1, 1, 1, 0x10)), (3, stack(1, 1)),
                          (5, message((1, 12), row(1, peak=77))))), sequence=5)
    return t.data


def stacks():
    """StackSample, as Python's sampling profiler writes it; and a stack and a counter inline."""
    t = Trace()
    counter = message((2, "wall-time"), (3, 1))
    names = message((5, string(1, "run")), (5, string(2, "<GC>")), (18, string(1, "app.py")),
                    (6, frame(1, 1, source=1, line=12)), (6, frame(2, 2)), (7, stack(1, 1, 2)))
    t.packet((41, 1), (59, message((100, message((1, "python.wall"), (2, counter))))), (12, names),
             (135, message((1, message((2, 40), (3, 41))), (6, 1), (11, 1000000))), sequence=1)
    t.packet((135, message((1, message((2, 40), (3, 42))), (3, message((2, 3))), (5, message((2, 1), (2, 2))),
                           (9, message((2, "allocated"), (3, 4), (5, 1024))), (11, 3))), sequence=1)
    t.packet((60, message((1, 1), (4, message((1, 40), (2, 41), (5, "MainThread"))))), sequence=1)
    t.packet((135, message((1, message((2, 40), (3, 41))), (6, 1))), sequence=9)
    return t.data


def streaming():
    """Chrome: times as differences in microseconds, one of them negative."""
    t = Trace()
    t.packet((13, CLEARED), (44, message((1, 50), (2, 51), (5, "CrRendererMain"), (6, 5000))))
    t.packet((12, interned()), (54, message((1, 1), (1, 2), (1, 1), (2, 100), (2, 200), (2, -50))))
    t.packet((54, message((1, varint(2) + varint(2)), (2, varint(10)))))
    return t.data


def packed():
    """Compressed packets; packets that are damaged."""
    t = Trace()
    t.packet((13, CLEARED))
    inside = perf()
    t.packet((50, zlib.compress(inside)))
    t.packet((50, b"no deflated bytes"))
    t.packet((42, 1), (66, message((4, 1))))
    t.data += message((1, message((8, 5), (10, 2)) + b"\xff\xff"))
    return t.data


def cut():
    return perf()[:-60]


def large():
    """The first packet is larger than what the format is detected from."""
    t = Trace()
    names = b"".join(message((5, string(number, "function" * 20))) for number in range(3, 600))
    t.packet((13, CLEARED), (12, names + interned()))
    t.perf(1)
    return gzip.compress(t.data, mtime=0)


TRACES = {"perf": perf, "symbols": symbols, "heap": heap, "stacks": stacks, "streaming": streaming,
          "packed": packed, "cut": cut, "large": large}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TESTS, "import", "perfetto")
    os.makedirs(folder, exist_ok=True)
    for name, make in TRACES.items():
        with open(os.path.join(folder, name + ".in"), "wb") as out:
            out.write(make())


if __name__ == "__main__":
    main()
