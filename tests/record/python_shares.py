# SPDX-License-Identifier: Apache-2.0
"""A program with known shares, for interpreters.py: THREADS threads spend 50, 30, 15 and 5 percent of
their rounds in four functions, below DEPTH recursive calls, until all of them have used
MILLISECONDS of CPU time.
  python_shares.py MILLISECONDS THREADS DEPTH
All four do the same work, so that their shares of the rounds are their shares of the time. The work
is Python code, generators, and C extensions, one of which calls Python code again."""

import json
import random
import re
import sys
import threading
import time
import zlib

TEXT = json.dumps({"numbers": list(range(20)), "name": "\u540d\u524d"})


def numbers(count):
    for i in range(count):
        yield i * i % 7


def replace(match):
    return str(len(match.group()))


def work(rounds):
    for _ in range(rounds):
        sum(numbers(random.randrange(20, 60)))
        json.loads(TEXT)
        re.sub("[0-9]+", replace, TEXT)
        zlib.crc32(TEXT.encode())


def takes_50():
    work(10)


def takes_30():
    work(6)


def takes_15():
    work(3)


def takes_5():
    work(1)


def rounds(until):
    while time.process_time() < until:
        takes_50()
        takes_30()
        takes_15()
        takes_5()


def below(depth, until):
    if depth:
        below(depth - 1, until)
    else:
        rounds(until)


def main():
    milliseconds, threads, depth = map(int, sys.argv[1:])
    until = time.process_time() + milliseconds / 1000
    others = [threading.Thread(target=below, args=(depth, until)) for _ in range(threads - 1)]
    for thread in others:
        thread.start()
    below(depth, until)
    for thread in others:
        thread.join()


main()
