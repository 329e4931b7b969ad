# SPDX-License-Identifier: Apache-2.0
"""The speedup of a second thread: one program with one thread and with two threads, compared
with two simultaneous programs with one thread each, which show the limit of the machine.

The load of shared machines varies. Therefore the variants run in turn, and the result is the
median of the ratios of all turns."""

import os
import statistics
import subprocess
import tempfile
import time

TURNS = 15


def seconds_of(commands):
    """The time of commands that run simultaneously, each with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        running = [subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, XDG_CACHE_HOME=os.path.join(cache, str(number))))
            for number, command in enumerate(commands)]
        if any([process.wait() for process in running]):
            raise subprocess.CalledProcessError(1, commands[0])
        return time.perf_counter() - started


def ratio(one, other):
    """The time of one command divided by the time of the other."""
    return statistics.median(seconds_of([one]) / seconds_of([other]) for _ in range(TURNS))


class Cores:
    """`command` returns the arguments of the program for a -j option."""

    def __init__(self, command):
        turns = [self.turn(command) for _ in range(TURNS)]
        self.times = statistics.median(one / two for one, two, _ in turns)
        self.machine = statistics.median(2 * one / both for one, _, both in turns)
        self.bar = (f"{self.times:.2f}x one thread, >= 1.7 (two programs at once: "
                    f"{self.machine:.2f}x)", self.times >= 1.7)

    @staticmethod
    def turn(command):
        return (seconds_of([command("-j1")]), seconds_of([command("-j2")]),
                seconds_of([command("-j1")] * 2))
