#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of this folder, object by object, as CPython's Python/marshal.c describes the
format."""

import os
import struct

FOLDER = os.path.dirname(os.path.abspath(__file__))


def i32(value):
    return b"i" + struct.pack("<i", value)


def text(value, kind=b"z"):
    size = struct.pack("<B" if kind == b"z" else "<i", len(value.encode()))
    return kind + size + value.encode()


def sequence(*items):
    return b")" + bytes([len(items)]) + b"".join(items)


def old_sequence(*items):
    return b"(" + struct.pack("<i", len(items)) + b"".join(items)


def mapping(items):
    return b"{" + b"".join(key + value for key, value in items) + b"0"


def double(value):
    return b"g" + struct.pack("<d", value)


def decimal(value):
    digits = repr(value).encode()
    return b"f" + bytes([len(digits)]) + digits


def shared(item):
    return bytes([item[0] | 0x80]) + item[1:]


def reference(index):
    return b"r" + struct.pack("<i", index)


def key(file, line, name):
    return sequence(text(file), i32(line), text(name))


MAIN = ("shop/shop.py", 1, "<module>")
ADD = ("shop/shop.py", 10, "add")
ADD_OTHER = ("shop/basket.py", 3, "add")
INIT = ("shop/basket/__init__.py", 1, "<module>")
LEN = ("~", 0, "<built-in method builtins.len>")


def numbers(*values):
    return [i32(value) if isinstance(value, int) else double(value) for value in values]


def plain():
    """Two callers of one function; seconds with nine decimals."""
    value = lambda *v: sequence(*numbers(*v[:4]), mapping(v[4]))
    called = lambda *v: sequence(*numbers(*v))
    return mapping([
        (key(*MAIN), value(1, 1, 0.000001001, 0.000010001, [])),
        (key(*INIT), value(1, 1, 0.0000005, 0.0000005, [
            (key(*MAIN), called(1, 1, 0.0000005, 0.0000005))])),
        (key(*ADD), value(4, 4, 0.000003, 0.000005, [
            (key(*MAIN), called(4, 4, 0.000003, 0.000005))])),
        (key(*ADD_OTHER), value(2, 2, 0.000002, 0.0000035, [
            (key(*MAIN), called(2, 2, 0.000002, 0.0000035))])),
        (key(*LEN), value(8, 8, 0.0000035, 0.0000035, [
            (key(*ADD), called(5, 5, 0.000002, 0.000002)),
            (key(*ADD_OTHER), called(3, 3, 0.0000015, 0.0000015))])),
    ])


def references():
    """Shared keys, texts and numbers; a long integer; recursive functions."""
    file, name = shared(text("shop.py")), shared(text("walk"))
    walk = shared(sequence(file, i32(5), name))  # 0; 1 and 2 are the texts
    visit = shared(sequence(reference(1), shared(i32(9)), text("visit")))  # 4, 5
    three = b"l" + struct.pack("<iH", 1, 3)
    return mapping([
        # the time is 3, because its bytes come before those of the caller
        (walk, sequence(i32(1), three, shared(double(0.00001)), double(0.00003), mapping([
            (reference(0), sequence(i32(1), i32(1), double(0), double(0.00001))),
            (visit, sequence(i32(1), i32(1), double(0), double(0.00001)))]))),
        (reference(4), sequence(reference(5), reference(5), reference(3), double(0.00002),
                                mapping([(reference(0), sequence(*numbers(2, 2, 0.0, 0.00002)))
                                         ]))),
    ])


def python2():
    """Version 0: decimal texts; and interned strings, to which 'R' refers. The profile module:
    only the number of calls for each caller."""
    main = old_sequence(text("shop.py", b"t"), i32(1), text("<module>", b"t"))
    add = old_sequence(b"R" + struct.pack("<i", 0), i32(10), text("add", b"s"))
    length = old_sequence(text("~", b"s"), i32(0), text("len", b"s"))
    again = old_sequence(b"R" + struct.pack("<i", 0), i32(1), b"R" + struct.pack("<i", 1))
    value = lambda calls, self, total, callers: old_sequence(
        i32(calls), i32(calls), decimal(self), decimal(total), mapping(callers))
    return mapping([
        (main, value(1, 1e-06, 1e-05, [])),
        (add, value(3, 5e-06, 8e-06, [(again, i32(3))])),
        (length, value(4, 4e-06, 4e-06, [(again, i32(1)), (add, i32(3))])),
    ])


def code(numbers_before, name, inner, since_3_11=False):
    """A code object that contains another one, or None, among its constants."""
    bytes_of = lambda content: b"s" + struct.pack("<i", len(content)) + content
    line = struct.pack("<i", 1)
    names = sequence(text("x"), text("y"))
    start = bytes_of(b"d\x00S\x00") + sequence(inner, i32(7)) + names
    if since_3_11:
        rest = names + bytes_of(b"  ") + text("w.py") + text(name) + text(name) + line + bytes_of(b"t") + bytes_of(b"")
    else:
        rest = names + sequence() + sequence() + text("w.py") + text(name) + line + bytes_of(b"t")
    return b"c" + struct.pack("<%di" % numbers_before, *([0] * (numbers_before - 1) + [64])) + start + rest


def of_module(layout):
    """python -m profile: the name of the first function is the code object of the module; the
    second time a reference to it."""
    inner = code(*layout[:1], "inner", b"N", *layout[1:])
    module = sequence(text("profile"), i32(0), shared(code(*layout[:1], "<module>", inner, *layout[1:])))
    again = sequence(text("profile"), i32(0), reference(0))
    value = lambda calls, self, total, callers: sequence(
        i32(calls), i32(calls), double(self), double(total), mapping(callers))
    return mapping([
        (module, value(1, 1e-06, 5e-06, [])),
        (key(*ADD), value(2, 4e-06, 4e-06, [(again, i32(2))])),
    ])


def awkward():
    """Values that are not times, a key that is not one, and no code."""
    value = lambda *v: sequence(*v, mapping([]))
    return mapping([
        (key(*MAIN), value(*numbers(1, 1, 0.000002, 0.000002))),
        (key(*ADD), value(i32(1), i32(1), double(-0.5), double(0.1))),
        (key(*ADD_OTHER), value(i32(1), i32(1), double(float("nan")), text("x"))),
        (text("add"), value(*numbers(1, 1, 1.0, 1.0))),
        (key("a.py", 2, "f"), b"N"),
        (key("C:\\lib\\__main__.py", 2, "g;h\n"), value(*numbers(1, 1, 0.000001, 0.000001))),
    ])


def main():
    cases = {"plain": plain(), "references": references(), "python2": python2(),
             "awkward": awkward(), "cut": plain()[:-60],
             "damaged": plain().replace(b"z\x1e<built-in", b"c\x1e<built-in", 1),
             "code-2.7": of_module((4,)), "code-3.7": of_module((5,)),
             "code-3.9": of_module((6,)), "code-3.11": of_module((5, True)),
             "code-cut": of_module((5, True))[:-60]}
    for name, content in cases.items():
        with open(os.path.join(FOLDER, name + ".in"), "wb") as file:
            file.write(content)


main()
