#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of code that a Java virtual machine compiled, requested from it while it runs; and processes
that look like such machines: they are not ended, and the recording ends in time."""

import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import tap

SOURCE = os.path.join(tap.SOURCE_ROOT, "tests", "record", "Work.java")
NAMES = ("double Work.first", "long Work.second")
# Of the samples; the rest is from before the first map, or was interpreted.
LEAST = 0.3

# A process with a library of that name, which burns CPU time for some seconds. Prints its id.
FAKE = """
import mmap, os, signal, socket, sys, threading, time
answer = sys.argv[2]
file = open(sys.argv[1], "rb")
code = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
path = "/tmp/.java_pid%d" % os.getpid()
def serve():
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    client = server.accept()[0]
    client.recv(100)
    client.send(answer.encode() * int(sys.argv[3]))
    client.close()
def on_signal(number, frame):
    if answer == "link":
        os.symlink("/etc/passwd", path)
    elif answer:
        threading.Thread(target=serve, daemon=True).start()
if answer != "unhandled":
    signal.signal(signal.SIGQUIT, on_signal)
print(os.getpid(), flush=True)
end = time.time() + 5
while time.time() < end:
    sum(range(10000))
if os.path.lexists(path):
    os.unlink(path)
print("ended")
"""


def fails(text):
    raise RuntimeError(text)


def need(condition, text):
    return condition or fails(text)


class Java:
    """Compiles the program once; records it in several ways."""

    def __init__(self, folder, binary):
        self.folder = folder
        self.data = os.path.join(folder, "java.data")
        self.command = [binary, "-cp", folder, "Work"]
        compiler = os.path.join(os.path.dirname(os.path.realpath(binary)), "javac")
        status, _, err = tap.run([compiler, "-d", folder, SOURCE])
        need(status == 0, err.decode("utf-8", "replace"))

    @contextlib.contextmanager
    def started(self, *options):
        words = [self.command[0], *options, *self.command[1:], "60"]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            try:
                yield process, int(process.stdout.readline())
            finally:
                process.kill()

    def record(self, *words):
        status, out, err = tap.run([tap.STOKE, "record", "-F", "499", "-o", self.data, *words])
        text = err.decode("utf-8", "replace")
        need(status == 0, f"status {status}: {text}")
        return out.decode("utf-8", "replace"), text

    def share_named(self):
        """Of all samples, those in the program's functions."""
        status, out, err = tap.run([tap.STOKE, "fold", "-q", self.data])
        need(status == 0, err.decode("utf-8", "replace"))
        total, counts = 0, dict.fromkeys(NAMES, 0)
        for line in out.decode("utf-8", "replace").splitlines():
            stack, count = line.rsplit(" ", 1)
            total += int(count)
            for name in NAMES:
                counts[name] += int(count) if name in stack else 0
        need(all(counts.values()), f"of {total} samples: {counts}")
        return sum(counts.values()) / max(total, 1)

    def named(self):
        share = self.share_named()
        need(share > LEAST, f"{share:.2f} of the samples are in named functions")


def left_files(pid):
    return glob.glob(f"/tmp/perf-{pid}.map") + glob.glob(f"/tmp/.attach_pid{pid}")


def case_command(java):
    out, _ = java.record("--", *java.command, "5")
    java.named()
    need(not left_files(out.split()[0]), f"left: {left_files(out.split()[0])}")


def case_process(java):
    with java.started() as (process, pid):
        java.record("-p", str(pid), "--duration", "3")
        need(process.poll() is None, "the process ended")
        need(not left_files(pid), f"left: {left_files(pid)}")
    java.named()


def case_own_map(java):
    with java.started() as (process, pid):
        path = f"/tmp/perf-{pid}.map"
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write("10 10 own\n")
            java.record("-p", str(pid), "--duration", "1")
            with open(path, encoding="utf-8") as file:
                need(file.read() == "10 10 own\n", "the map was changed")
        finally:
            os.unlink(path)
        need(process.poll() is None, "the process ended")


def case_not_requested(java):
    with java.started() as (_, pid):
        java.record("--interpreters", "none", "-p", str(pid), "--duration", "1")
        need(not os.path.exists(f"/tmp/.java_pid{pid}"), "a request was sent")


def case_disabled(java):
    with java.started("-XX:+DisableAttachMechanism") as (process, pid):
        _, err = java.record("-p", str(pid), "--duration", "2")
        need("-XX:+DisableAttachMechanism is set" in err, err)
        process.kill()
        need(b"thread dump" not in process.stdout.read(), "a thread dump was written")


def fake(folder, answer, repeat, expected):
    library = os.path.join(folder, "libjvm.so")
    shutil.copy(os.path.realpath(sys.executable), library)
    words = [sys.executable, "-c", FAKE, library, answer, repeat]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        pid = process.stdout.readline().decode().strip()
        status, _, err = tap.run([tap.STOKE, "record", "-o", os.path.join(folder, "fake.data"),
                                  "-p", pid, "--duration", "2"])
        text = err.decode("utf-8", "replace")
        need(status == 0 and expected in text and "\x1b" not in text, f"status {status}: {text}")
        need(process.stdout.read().strip() == b"ended", "the process was ended")
        need(not left_files(pid), f"left: {left_files(pid)}")


FAKES = {
    "does not handle the signal": ("unhandled", "0", ""),
    "handles it and does nothing": ("", "0", ""),
    "has a link as its socket": ("link", "0", ""),
    "writes no map": ("0\n", "1", "it wrote no /tmp/perf-"),
    "refuses": ("1\nno such \x1b[31mcommand\n", "1", "no such "),
    "answers without end": ("0", "2000", "Compiler.perfmap: no answer"),
}


def check(report, name, case, *arguments):
    try:
        case(*arguments)
        report.ok(name)
    except RuntimeError as error:
        report.not_ok(name, str(error))


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory(prefix="stoke-test-") as folder:
        status, _, err = tap.run([tap.STOKE, "record", "-o", os.path.join(folder, "try.data"), "true"])
        if status != 0:
            report.skip("Java", "stoke cannot record here: " + err.decode("utf-8", "replace")[:80])
            return report.done()
        binary = shutil.which("java")
        cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_")}
        if binary and shutil.which("javac"):
            java = Java(folder, binary)
            for name, case in cases.items():
                check(report, f"Java: {name}", case, java)
        else:
            report.skip("Java", "no JDK")
        for name, words in FAKES.items():
            check(report, f"a process that {name}", fake, folder, *words)
    return report.done()


sys.exit(main())
