# SPDX-License-Identifier: Apache-2.0
"""A daemon of a test's own with --lepd, and a client as LEPV's."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import tap

PIECE = 2048  # LEPV's recv
END = b"lepdendstring"
HELLO = b'{"method": "SayHello"}'


class Daemon:
    """A daemon of the test's own, at a free port."""

    def __init__(self, folder, rate=97, prefix=()):
        self.errors = os.path.join(folder, "errors")
        with open(self.errors, "wb") as file:
            self.process = subprocess.Popen(
                [*prefix, tap.STOKE, "daemon", "--store", os.path.join(folder, "h.db"), "--window",
                 "2", "--rate", str(rate), "--lepd", "127.0.0.1:0"], stderr=file)
        self.port = None

    def report(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def wait(self):
        """True if it serves; false if it ended."""
        while self.process.poll() is None:
            match = re.search(r"connect to port (\d+)", self.report())
            if match:
                self.port = int(match[1])
                return True
            time.sleep(0.05)
        return False

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(tap.TIMEOUT)


def connect(daemon):
    return socket.create_connection(("127.0.0.1", daemon.port), tap.TIMEOUT)


def call(daemon, method):
    """A result as LEPV's client gets it: pieces up to the one with the end, which it removes."""
    with connect(daemon) as sock:
        sock.sendall(json.dumps({"method": method}).encode())
        received = b""
        while True:
            data = sock.recv(PIECE)
            if not data:
                raise AssertionError(f"{method}: the connection ended after {received[-80:]!r}")
            received += data
            if END in received and received.endswith(b"}\n"):
                break
            if received == b"{\n}\n":
                return None
        return json.loads(received.replace(END, b""))["result"]


def lines_of(daemon, method):
    result = call(daemon, method)
    return result.strip().split("\n") if result is not None else []


def reply(sock):
    """The next reply of a connection."""
    received = b""
    while not received.endswith(b"\n}\n"):
        data = sock.recv(1)
        if not data:
            break
        received += data
    return received
