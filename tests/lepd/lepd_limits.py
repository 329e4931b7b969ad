#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke daemon --lepd while clients misbehave, beside 1,200 processes, with a file of 1 MB in
/proc: how long others wait for SayHello, and whether the daemon grows. A busy machine delays all
programs: a server that only says hello has the same priority and is asked at the same time, and
what its clients wait is allowed in addition.

STOKE_LIMITS_SECONDS: of each measurement (0.5); from 2 on, all cases run."""

import contextlib
import json
import multiprocessing
import os
import resource
import select
import shutil
import socket
import subprocess
import tempfile
import time

import tap
from lepd_client import HELLO, Daemon, call, connect, lines_of, reply

SECONDS = os.environ.get("STOKE_LIMITS_SECONDS", "0.5")
LIMIT = 10000  # us: the 99th percentile
FLAME_LIMIT = 5000
TRIES = 8  # a busy machine delays one of the two servers
REQUEST_COST = 50  # us of CPU time: 20,000 requests per second of one CPU
LONG = 2.0
MEMORY = 65536  # KiB
GROWTH = 8192  # KiB: sampling grows at the same time
SLOW, VANISHED, PROCESSES = 1000, 1000, 1200
TEXT_SIZE = 1 << 20
BRACKETS = 1 << 30
TCP_REPAIR = 19  # linux/tcp.h
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
IDLE = min(10000, FILES - 200) if FILES != resource.RLIM_INFINITY else 10000
SANITIZED = "-fsanitize=" in open(os.path.join(os.environ.get("STOKE_BUILD", "build"),
                                               "build.ninja"), encoding="utf-8").read()

# --- Measuring ------------------------------------------------------------------------------


class Hello:
    """Clients that measure; and the server to compare with."""

    def __init__(self, folder, nice):
        self.program, self.nice = os.path.join(folder, "hello"), nice
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", self.program,
                        os.path.join(tap.SOURCE_ROOT, "tests", "lepd", "hello.c")], check=True)
        self.server = self.start("serve")
        self.port = int(self.server.stdout.readline())

    def start(self, *words):
        def prefer():
            with contextlib.suppress(PermissionError):
                os.setpriority(os.PRIO_PROCESS, 0, self.nice)
        return subprocess.Popen([self.program, *map(str, words)], stdout=subprocess.PIPE,
                                preexec_fn=prefer)

    def ask(self, *requests):
        """(requests, median, 99th percentile, longest wait in us) of clients at the same time."""
        clients = [self.start(*words) for words in requests]
        texts = [client.communicate(timeout=tap.TIMEOUT)[0].split() for client in clients]
        assert all(len(words) == 4 for words in texts), texts
        return [[int(word) for word in words] for words in texts]

    def stop(self):
        self.server.kill()
        self.server.communicate()


def waits(hello, daemon, limit):
    """What one client waits that asks each millisecond."""
    for _ in range(TRIES):
        ours, other = hello.ask((daemon.port, 1, SECONDS, 1000), (hello.port, 1, SECONDS, 1000))
        if ours[2] <= limit + other[2]:
            break
    said = (f"SayHello {ours[1] / 1e3:.2f} ms, 99% in {ours[2] / 1e3:.2f} ms; another server: "
            f"{other[1] / 1e3:.2f} and {other[2] / 1e3:.2f} ms")
    assert ours[2] <= limit + other[2], said
    return said


def cpu_time(daemon):
    """Seconds of all its threads."""
    total = 0
    for task in os.listdir(f"/proc/{daemon.process.pid}/task"):
        with open(f"/proc/{daemon.process.pid}/task/{task}/schedstat", encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def speed(hello, daemon):
    """Requests of 50 clients with one at a time. The CPU time of each says how many one CPU
    answers, also if this machine is busy."""
    before = cpu_time(daemon)
    count, _median, longest, _most = hello.ask((daemon.port, 50, SECONDS, 0))[0]
    cost = (cpu_time(daemon) - before) * 1e6 / count
    said = (f"{count / float(SECONDS):.0f} requests/s by 50 clients, 99% in {longest / 1e3:.2f} ms; "
            f"{cost:.1f} us of CPU time each, so one CPU answers {1e6 / cost:.0f}/s")
    assert SANITIZED or cost <= REQUEST_COST, said
    return said


# --- Clients that misbehave: each is a process, which reports what it has done ------------------


def send_some(sock, data):
    """False if the connection has ended."""
    try:
        sock.send(data)
    except BlockingIOError:
        pass
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def ask_for_flames(daemon, done):
    with connect(daemon) as sock:
        while True:
            sock.sendall(b'{"method":"GetCmdPerfFlame"}{"method":"GetCmdProcrank"}')
            while sock.recv(1 << 16)[-3:] != b"\n}\n":
                pass
            done.value += 1


def hold_idle(daemon, done):
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    clients = []
    for _ in range(IDLE):
        clients.append(connect(daemon))
        done.value += 1
    select.select([], [], [])


def send_and_never_read(daemon, done):
    clients = [connect(daemon) for _ in range(20)]
    for sock in clients:
        sock.setblocking(False)
    while True:
        for sock in clients:
            send_some(sock, HELLO * 1000)
        done.value += 1
        time.sleep(0.01)


def send_single_bytes(daemon, done):
    """One request of each of 100 clients takes about 20 turns."""
    clients = [connect(daemon) for _ in range(100)]
    while True:
        for at in range(len(HELLO)):
            for sock in clients:
                sock.sendall(HELLO[at:at + 1])
            time.sleep(0.001)
        for sock in clients:
            assert b"Hello!" in reply(sock)
            done.value += 1


def send_brackets(daemon, done):
    """The server answers the first ones with an error, and reads what follows for some time."""
    data = b"[" * (1 << 20)
    while True:
        with connect(daemon) as sock, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while True:
                done.value += sock.send(data)


def read_slowly(daemon, done):
    """Ask for the longest text, and read 100 bytes of it each second."""
    clients = []
    for _ in range(SLOW):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", daemon.port))
        sock.sendall(b'{"method":"GetProcVmallocinfo"}' * 3)
        clients.append(sock)
        done.value += 1
    while True:
        for sock in clients:
            sock.recv(100)
        time.sleep(1)


def vanish(daemon, done):
    """Connections whose client is gone without a word, in the middle of a request, or waiting for
    a long reply."""
    while True:
        for i in range(VANISHED):
            sock = connect(daemon)
            sock.sendall(b'{"method":"GetProcVmalloc' + b'info"}' * (i % 2))
            sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)  # its end is not sent
            sock.close()
            done.value += 1
        time.sleep(1)


def come_and_go(daemon, done):
    while True:
        connect(daemon).close()
        done.value += 1


def ask_for_all(daemon, done):
    """All methods from 20 clients, and then always one of them again."""
    names = call(daemon, "ListAllMethod").split()
    request = "".join(json.dumps({"method": name}) for name in names).encode()
    clients = [connect(daemon) for _ in range(20)]
    for sock in clients:
        sock.sendall(request)
    while True:
        for sock in select.select(clients, [], [])[0]:
            for _ in range(sock.recv(1 << 16).count(b"lepdendstring")):
                sock.sendall(json.dumps({"method": names[done.value % len(names)]}).encode())
                done.value += 1


def may_vanish():
    with socket.socket() as sock:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        except PermissionError:
            return False
    return True


# What the clients do, and how much of it before the others are measured.
MISBEHAVIOURS = {
    "flame calls": (ask_for_flames, 1),
    f"{IDLE} idle connections": (hold_idle, IDLE),
    "clients that send and never read": (send_and_never_read, 5),
    "requests one byte at a time": (send_single_bytes, 100),
    "1 GB of brackets": (send_brackets, 1),
    "1,000 clients that read slowly": (read_slowly, SLOW),
    "connections without a client": (vanish, VANISHED),
    "clients that come and go": (come_and_go, 100),
    "all methods": (ask_for_all, 100),
}


@contextlib.contextmanager
def running(daemon, names):
    """[(misbehaviour, its count)] while they run; they have done what comes first."""
    acts = []
    try:
        for name in names:
            act, first = MISBEHAVIOURS[name]
            done = multiprocessing.Value("q", 0, lock=False)
            process = multiprocessing.Process(target=act, args=(daemon, done), daemon=True)
            process.start()
            acts.append((process, done, first, name))
        for process, done, first, name in acts:
            until(lambda d=done, f=first: d.value >= f, f"{name}: not begun", process)
        yield acts
    finally:
        for process, *_ in acts:
            process.kill()
            process.join()


def until(condition, what, process=None):
    end = time.monotonic() + 120
    while not condition():
        assert process is None or process.is_alive(), f"{what}: the client has ended"
        assert time.monotonic() < end, what
        time.sleep(0.02)


def beside(hello, daemon, name):
    with running(daemon, [name]) as ((process, done, _first, _name),):
        said = waits(hello, daemon, FLAME_LIMIT if name == "flame calls" else LIMIT)
        if name == "1 GB of brackets":
            until(lambda: done.value >= BRACKETS, "1 GB was not read", process)
        assert process.is_alive(), "the client has ended"
    with connect(daemon) as sock:
        sock.sendall(HELLO)
        assert b"Hello!" in reply(sock)
    return said


def all_beside(hello, daemon, names):
    """All of them at once, twice: the daemon does not grow the second time. The second time takes
    minutes, until clients that do nothing are disconnected: by default they are there once."""
    grown = []
    if float(SECONDS) < LONG:
        with running(daemon, names):
            said = waits(hello, daemon, LIMIT)
        assert SANITIZED or daemon.resident() < MEMORY, f"{daemon.resident() >> 10} MiB resident"
        return said
    for _ in range(2):
        with running(daemon, names):
            said = waits(hello, daemon, LIMIT)
        until(lambda: connections(daemon) < 10, "connections remain")
        grown.append(daemon.resident())
    said += f"; {grown[0] >> 10} MiB resident, then {grown[1] >> 10}"
    assert SANITIZED or grown[1] - grown[0] < GROWTH, said
    return said


def connections(daemon):
    folder = f"/proc/{daemon.process.pid}/fd"
    count = 0
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(os.path.join(folder, name)).startswith("socket:")
    return count


# --- Long texts -------------------------------------------------------------------------------


def many_processes(hello, daemon, folder):
    """Their tables are complete, and others do not wait for them."""
    program = os.path.join(folder, "many")
    subprocess.run(["cc", "-O1", "-x", "c", "-", "-o", program], check=True,
                   input=b"#include <sys/prctl.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                         b"int main(int n, char **w) { (void)n; for (int i = atoi(w[1]); i; i--)"
                         b" if (fork() == 0) { prctl(PR_SET_PDEATHSIG, 9); pause(); _exit(0); }"
                         b" write(1, w[1], 1); pause(); }")
    with subprocess.Popen([program, str(PROCESSES)], stdout=subprocess.PIPE) as parent:
        try:
            parent.stdout.read(1)
            for method in ("GetCmdTop", "GetCmdProcrank"):
                until(lambda m=method: sum("many" in line for line in lines_of(daemon, m))
                      > PROCESSES, f"{method} has not all processes")
            call(daemon, "GetCmdIotop")
            return waits(hello, daemon, LIMIT)
        finally:
            parent.kill()


def long_text(hello, daemon):
    """It is complete, for 100 clients at once, and others do not wait for it."""
    text = call(daemon, "GetProcVmallocinfo")
    assert len(text) == TEXT_SIZE, len(text)
    before = daemon.resident()
    clients = [connect(daemon) for _ in range(100)]
    for sock in clients:
        sock.sendall(b'{"method":"GetProcVmallocinfo"}')
    said = waits(hello, daemon, LIMIT)
    for sock in clients:
        size, end = 0, b""
        while end != b"\n}\n":
            data = sock.recv(1 << 20)
            assert data, "the connection ended"
            size, end = size + len(data), (end + data)[-3:]
        assert size > TEXT_SIZE, size
        sock.close()
    grown = daemon.resident() - before
    assert SANITIZED or grown < GROWTH, f"the daemon grew by {grown} KiB"
    return said


@contextlib.contextmanager
def long_file(folder):
    """The words before a command that give it 1 MB of /proc/vmallocinfo; none if that needs
    rights."""
    path = os.path.join(folder, "vmallocinfo")
    line = b"0xffffc90000000000-0xffffc90000002000    8192 hpet_enable+0x36/0x4a0 phys=1\n"
    with open(path, "wb") as file:
        file.write((line * (TEXT_SIZE // len(line) + 1))[:TEXT_SIZE])
    words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/vmallocinfo && exec "$@"',
             path]
    status = tap.run([*words, "true"])[0] if shutil.which("unshare") else 1
    yield words if status == 0 else []


# --- Cases ------------------------------------------------------------------------------------


def checked(report, name, check, *args):
    try:
        said = check(*args)
        report.ok(f"{name}: {said}")
    except (AssertionError, OSError, ValueError) as error:
        report.not_ok(name, f"{type(error).__name__}: {error}")


def run_cases(report, hello, daemon, folder, has_long_file):
    names = [name for name in MISBEHAVIOURS
             if name != "connections without a client" or may_vanish()]
    checked(report, "requests", speed, hello, daemon)
    for name in names:
        checked(report, name, beside, hello, daemon, name)
    if len(names) < len(MISBEHAVIOURS):
        report.skip("connections without a client", "it needs CAP_NET_ADMIN")
    checked(report, "all of them", all_beside, hello, daemon, names)
    checked(report, f"{PROCESSES} processes", many_processes, hello, daemon, folder)
    if has_long_file:
        checked(report, "a text of 1 MB", long_text, hello, daemon)
    else:
        report.skip("a text of 1 MB", "no file can be mounted")


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder, long_file(folder) as words:
        daemon = Daemon(folder, 19, words)
        if not daemon.wait():
            report.skip("stoke daemon --lepd", "the daemon cannot run here: " +
                        " ".join(daemon.report().split()))
            report.done()
            return
        hello = Hello(folder, os.getpriority(os.PRIO_PROCESS, daemon.process.pid))
        try:
            run_cases(report, hello, daemon, folder, bool(words))
        finally:
            hello.stop()
            status = daemon.stop()
        report.result("the daemon ends well", "" if status == 0 else f"{status}: {daemon.report()}")
    report.done()


main()
