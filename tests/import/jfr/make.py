#!/usr/bin/env python3
"""Writes the flight recordings beside it: make.py FOLDER. Two chunks, each with metadata,
a checkpoint of constants, and samples; every kind of text; and one that is damaged."""

import os
import struct
import sys


def whole(value):
    out = bytearray()
    for i in range(9):
        if i == 8:
            out.append(value & 0xff)
        elif value < 0x80:
            out.append(value)
            break
        else:
            out.append(value & 0x7f | 0x80)
            value >>= 7
    return bytes(out)


def utf8(text):
    return b"\x03" + whole(len(text.encode())) + text.encode()


def chars(text):
    return b"\x04" + whole(len(text)) + b"".join(whole(ord(c)) for c in text)


def event(kind, body):
    """The size counts itself: it is padded to four bytes, as the JVM does."""
    body = whole(kind) + body
    size = len(body) + 4
    padded = bytes([size & 0x7f | 0x80, size >> 7 & 0x7f | 0x80, size >> 14 & 0x7f | 0x80,
                    size >> 21])
    return padded + body


CLASSES = [  # number, name, fields: name, class, constant, array
    (10, "long", []), (11, "int", []), (12, "boolean", []), (13, "java.lang.String", []),
    (14, "float", []),
    (20, "java.lang.Thread", [("osName", 13, 0, 0), ("osThreadId", 10, 0, 0),
                              ("javaName", 13, 0, 0)]),
    (21, "jdk.types.Symbol", [("string", 13, 0, 0)]),
    (22, "java.lang.Class", [("name", 21, 1, 0), ("modifiers", 11, 0, 0)]),
    (23, "jdk.types.Method", [("type", 22, 1, 0), ("name", 21, 1, 0), ("hidden", 12, 0, 0)]),
    (24, "jdk.types.StackFrame", [("method", 23, 1, 0), ("lineNumber", 11, 0, 0)]),
    (25, "jdk.types.StackTrace", [("truncated", 12, 0, 0), ("frames", 24, 0, 1)]),
    (30, "jdk.ExecutionSample", [("startTime", 10, 0, 0), ("sampledThread", 20, 1, 0),
                                 ("stackTrace", 25, 1, 0), ("load", 14, 0, 0)]),
    (31, "jdk.ObjectAllocationSample", [("startTime", 10, 0, 0), ("eventThread", 20, 1, 0),
                                        ("stackTrace", 25, 1, 0), ("weight", 10, 0, 0)]),
    (32, "jdk.JavaMonitorEnter", [("startTime", 10, 0, 0), ("duration", 10, 0, 0),
                                  ("eventThread", 20, 1, 0), ("stackTrace", 25, 1, 0)]),
    (33, "jdk.CPULoad", [("startTime", 10, 0, 0), ("user", 14, 0, 0)]),
]


def metadata():
    names = []

    def name(text):
        if text not in names:
            names.append(text)
        return whole(names.index(text))

    def element(tag, attributes, children):
        return (name(tag) + whole(len(attributes)) +
                b"".join(name(k) + name(v) for k, v in attributes) +
                whole(len(children)) + b"".join(children))

    classes = []
    for number, title, fields in CLASSES:
        inside = [element("field", [("name", f), ("class", str(c))] +
                          ([("constantPool", "true")] if constant else []) +
                          ([("dimension", "1")] if array else []), [])
                  for f, c, constant, array in fields]
        classes.append(element("class", [("id", str(number)), ("name", title)], inside))
    tree = element("root", [], [element("metadata", [], classes),
                                element("region", [("locale", "en")], [])])
    texts = b"".join((chars if i % 3 else utf8)(text) for i, text in enumerate(names))
    return event(0, whole(0) * 3 + whole(len(names)) + texts + tree)


def pool(kind, values):
    return whole(kind) + whole(len(values)) + b"".join(
        whole(key) + value for key, value in values)


def checkpoint():
    symbols = ["Main", "java/util/ArrayList", "main", "add", "größe"]
    pools = [
        pool(21, [(i + 1, (chars if i % 2 else utf8)(s)) for i, s in enumerate(symbols)]),
        pool(22, [(1, whole(1) + whole(9)), (2, whole(2) + whole(1))]),
        pool(23, [(1, whole(1) + whole(3) + b"\0"), (2, whole(2) + whole(4) + b"\0"),
                  (3, whole(1) + whole(5) + b"\1")]),
        pool(20, [(1, utf8("main os") + whole(4001) + utf8("main")),
                  (2, utf8("GC Thread") + whole(4002) + b"\0")]),
        pool(25, [(1, b"\0" + whole(2) + whole(2) + whole(77) + whole(1) + whole(5)),
                  (2, b"\1" + whole(1) + whole(3) + whole(9)),
                  (3, b"\0" + whole(0))]),
    ]
    return event(1, whole(0) * 3 + b"\1" + whole(len(pools)) + b"".join(pools))


def chunk(samples):
    meta, body = metadata(), checkpoint() + b"".join(samples)
    at = 68 + len(body)
    head = struct.pack(">4sHHQQQQQQQI", b"FLR\0", 2, 1, at + len(meta), 68, at,
                       1700000000 * 10**9, 10**9, 1000, 10**6, 1)
    return head + body + meta


def cpu(ticks, thread, trace):
    return event(30, whole(ticks) + whole(thread) + whole(trace) + struct.pack(">f", 0.5))


def main():
    first = chunk([cpu(1000, 1, 1), cpu(11000, 1, 1), cpu(21000, 2, 2), cpu(31000, 1, 3),
                   event(31, whole(15000) + whole(1) + whole(1) + whole(1 << 20)),
                   event(32, whole(16000) + whole(250) + whole(1) + whole(2)),
                   event(33, whole(17000) + struct.pack(">f", 0.1))])
    second = chunk([cpu(5000, 1, 2), cpu(6000, 9, 9)])
    damaged = bytearray(first)
    damaged[68 + 4 + 6] = 0xff  # more pools than there are
    files = {"plain.in": first + second, "cut.in": first + second[:len(second) // 2],
             "damaged.in": bytes(damaged), "old.in": b"FLR\0\0\1\0\0" + first[8:]}
    for name, content in files.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(content)


main()
