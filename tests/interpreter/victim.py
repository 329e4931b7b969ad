# SPDX-License-Identifier: Apache-2.0
"""A program with known stacks: threads in recursion, generators, methods, nested functions and a
function with a Chinese name, in locks, sleep, zlib and re. Prints the stacks of its
waiting threads as JSON, leaf first, for each line of standard input, until its end."""
import json
import os
import re
import sys
import threading
import time
import zlib

lock = threading.Lock()
lock.acquire()
gate = threading.Event()
ends = threading.Event()


def recursion(depth):
    if depth == 0:
        lock.acquire()
        return 0
    return 1 + recursion(depth - 1)


def generator(count):
    for i in range(count):
        gate.wait()
        yield i


class Counter:
    def method(self):
        return sum(self.values())

    def values(self):
        return list(x for x in generator(3))


def outer():
    def inner(key):
        time.sleep(1000)
        return key
    return sorted([3, 1], key=inner)


def 计算(数):
    return (lambda x: gate.wait(x))(数)


class Callback:
    def __getattr__(self, name):
        lock.acquire()

    def __lt__(self, other):
        return self.missing


def native_callback():
    min([Callback(),
         Callback()])


def compressing():
    data = b"x" * 1000000
    while not ends.is_set():
        zlib.compress(data, 9)


def matching():
    while not ends.is_set():
        re.sub("(a|b|ab)*c",
               lambda m: "", "ab" * 12)


def locals_of_exec():
    exec(compile("\n\ndef made():\n    lock.acquire()\nmade()\n", "<made>", "exec"), globals())


WAITING = [lambda: recursion(300), Counter().method, outer, lambda: 计算(1000), native_callback,
           locals_of_exec]


def stack_of(frame):
    frames = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append([name, code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return frames


def main():
    threads = [threading.Thread(target=f, daemon=True) for f in WAITING + [compressing, matching]]
    for thread in threads:
        thread.start()
    for line in sys.stdin:
        frames = sys._current_frames()
        stacks = [[t.native_id, stack_of(frames[t.ident])] for t in threads[:len(WAITING)]]
        del frames
        print(json.dumps({"waiting": stacks,
                          "computing": [t.native_id for t in threads[len(WAITING):]]}),
              flush=True)
    ends.set()
    os._exit(0)  # CPython 3.10 may crash while it ends and daemon threads still run


main()
