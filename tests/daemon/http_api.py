#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke daemon --listen: metrics as OpenMetrics, history as profiles of several formats, labels, a
profile that go tool pprof reads; and requests that are refused."""

import gzip
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import tap

TOKEN = "0123456789abcdef0123"
VALUE = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z]+="([^"\\]|\\.)*",?)+\})? [-+.e0-9]+$')


class Daemon:
    """A daemon of the test's own, at a free port."""

    def __init__(self, folder, *options):
        self.errors = os.path.join(folder, "errors")
        with open(self.errors, "wb") as file:
            self.process = subprocess.Popen(
                [tap.STOKE, "daemon", "--store", os.path.join(folder, "h.db"), "--window", "1",
                 "--rate", "97", "--listen", "127.0.0.1:0", *options], stderr=file)
        self.port = None

    def report(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def wait(self):
        """True if it serves; false if it ended."""
        while self.process.poll() is None:
            match = re.search(r"HTTP is served at port (\d+)", self.report())
            if match:
                self.port = int(match[1])
                return True
            time.sleep(0.05)
        return False

    def get(self, path, method="GET", **fields):
        """Status, content type, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=tap.TIMEOUT)
        connection.request(method, path, headers=fields)
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, reply.getheader("Content-Type"), body

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(tap.TIMEOUT)


def expect(got, right, what=""):
    if got != right:
        raise AssertionError(f"{what}: {got!r}, not {right!r}")


def metrics(daemon):
    status, kind, body = daemon.get("/metrics")
    expect(status, 200)
    assert kind.startswith("application/openmetrics-text"), kind
    lines = body.decode().split("\n")
    expect(lines[-2:], ["# EOF", ""])
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    expect(len(families), len(set(families)), "families occur once")
    bad = [line for line in lines[:-2] if not line.startswith("# ") and not VALUE.match(line)]
    expect(bad, [])
    cpus = [line for line in lines if line.startswith("system_cpu_seconds_total{")]
    expect(len(cpus) % 10, 0)
    assert any(line.startswith("process_cpu_seconds_total ") for line in lines)
    return f"{len(lines)} lines, {len(families)} families"


def history(daemon):
    """Samples of a program that we start, once its window is stored."""
    end = time.monotonic() + 120
    body = b""
    while b"sh;" not in body and time.monotonic() < end:
        status, _, body = daemon.get("/api/profile?from=-5m&to=now&format=folded&label=process=sh")
        expect(status, 200, body)
        time.sleep(0.2)
    stacks = body.decode().strip().split("\n")
    assert stacks[0], "no samples of sh"
    # a process has the name of its parent until it executes sh
    weights = {True: 0, False: 0}
    for stack in stacks:
        weights[stack.startswith("sh;")] += float(stack.rpartition(" ")[2])
    assert weights[True] > weights[False], stacks[:3]
    return f"{len(stacks)} stacks"


def formats(daemon):
    status, kind, body = daemon.get("/api/profile?from=-5m&format=speedscope")
    expect((status, kind), (200, "application/json"))
    assert json.loads(body)["profiles"]
    status, kind, body = daemon.get("/api/profile?from=-5m&format=svg")
    expect((status, kind), (200, "image/svg+xml"))
    assert b"<svg" in body
    status, _, body = daemon.get("/api/profile?from=-5m")
    assert status == 200 and gzip.decompress(body), status


def labels(daemon):
    status, kind, body = daemon.get("/api/labels")
    expect((status, kind), (200, "application/json"))
    found = json.loads(body)
    assert "sh" in found["process"] and found["host"], found
    return f"{len(found)} keys"


def go_pprof(daemon):
    if not shutil.which("go"):
        return "no go"
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            ["go", "tool", "pprof", "-top", "-symbolize=none",
             f"http://127.0.0.1:{daemon.port}/debug/pprof/profile?seconds=300"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
            env=dict(os.environ, HOME=home, PPROF_TMPDIR=home, GOFLAGS="-mod=mod", GOTOOLCHAIN="local"))
    assert done.returncode == 0 and "flat%" in done.stdout, done.stderr
    return done.stdout.split("\n")[0]


def columns(daemon, query):
    status, kind, body = daemon.get("/api/metrics?" + query)
    expect((status, kind), (200, "application/json"), body)
    reply = json.loads(body)
    for metric in reply["metrics"]:
        expect(len(metric["values"]), reply["count"], metric["name"])
    return reply, {metric["name"]: metric["values"] for metric in reply["metrics"]}


def cpu_ticks():
    """Busy and all time of the CPUs: ms."""
    with open("/proc/stat", encoding="ascii") as file:
        modes = [int(word) * 10 for word in file.readline().split()[1:9]]
    return sum(modes) - modes[3] - modes[4], sum(modes)


def stored_metrics(daemon):
    """CPU time of some seconds as /proc/stat has it; memory; disks. Then the store alone has them."""
    before, start = cpu_ticks(), time.time()
    time.sleep(4)
    after, end = cpu_ticks(), time.time()
    reply = names = {}
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        reply, names = columns(daemon, f"from={int(start)}&to={int(end) + 1}&name=cpu&name=memory.total")
        if names and names["cpu.user"][-1] is not None:
            break
        time.sleep(0.2)
    expect((reply["start"], reply["step"]), (int(start), 1))
    modes = ("user", "nice", "system", "irq", "softirq", "steal", "idle", "iowait")
    seconds = [sum(names["cpu." + mode][i] for mode in modes) for i in range(reply["count"])]
    cpus = names["cpu.count"][0]
    # a tick is 10 ms; on a loaded machine a reading is late, and its neighbour has the rest
    mean = sum(seconds) / len(seconds)
    assert abs(mean - 1000 * cpus) < 150 * cpus, seconds
    busy = sum(sum(names["cpu." + mode]) for mode in modes[:6]) / sum(seconds)
    truth = (after[0] - before[0]) / (after[1] - before[1])
    assert abs(busy - truth) < 0.3, (busy, truth)
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) * 1024
    expect(set(names["memory.total"]), {total})
    assert "memory.free" not in names, names.keys()
    _, everything = columns(daemon, f"from={int(start)}&to={int(end)}")
    assert {"disk.read", "net.in", "load.1", "core.0.user"} <= set(everything), everything.keys()
    _, minutes = columns(daemon, "from=-1d&name=cpu.user")
    assert any(value is not None for value in minutes.get("cpu.user", [])), "no minutes"
    return f"{len(everything)} metrics, CPU {busy:.0%}, /proc {truth:.0%}"


def refused(daemon):
    expect(daemon.get("/metrics", Host="attacker.example")[0], 421, "another host")
    expect(daemon.get("/metrics", Host="localhost.attacker.example:80")[0], 421, "another host")
    expect(daemon.get("/metrics", Origin="http://attacker.example")[0], 403, "another origin")
    expect(daemon.get("/metrics", Origin="null")[0], 403, "another origin")
    expect(daemon.get("/metrics", Host=f"localhost:{daemon.port}",
                      Origin=f"http://localhost:{daemon.port}")[0], 200, "its own origin")
    expect(daemon.get("/metrics", method="DELETE")[0], 405, "another method")
    expect(daemon.get("/nothing")[0], 404, "another path")
    expect(daemon.get("/api/profile?format=nothing")[0], 400, "an unknown format")
    for span in ("from=x", "from=now&to=-5m", "to=-5y", "from=-99999999999999999999s", "from=0&to=now"):
        expect(daemon.get("/api/profile?" + span)[0], 400, span)
    expect(daemon.get("/api/profile?from=-5m&label=nothing=x")[0], 400, "an unknown label")
    for seconds in ("0", "-1", "x", "99999999999"):
        expect(daemon.get("/debug/pprof/profile?seconds=" + seconds)[0], 400, seconds)
    expect(daemon.get("/" + "a" * 20000)[0] in (404, 414, 431), True, "a long path")


def token(report):
    """A token that is required is required."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TOKEN + "\n")
        daemon = Daemon(folder, "--token-file", path)
        try:
            if not daemon.wait():
                report.not_ok("a token", daemon.report())
                return
            got = [daemon.get("/metrics")[0], daemon.get("/metrics", Authorization="Bearer " + TOKEN)[0],
                   daemon.get("/metrics", Authorization="Bearer " + TOKEN[:-1])[0],
                   daemon.get("/metrics", Authorization=TOKEN)[0]]
        finally:
            daemon.stop()
    report.result("a token", "" if got == [401, 200, 401, 401] else str(got))


def starts(report):
    """Other addresses need a token."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([tap.STOKE, "daemon", "--store", os.path.join(folder, "h.db"), "--listen",
                               "0.0.0.0:0"], stderr=subprocess.PIPE, text=True, check=False,
                              timeout=tap.TIMEOUT)
    good = done.returncode == 1 and "--token-file" in done.stderr
    report.result("an address of the network needs a token", "" if good else done.stderr)


def run_cases(report, daemon):
    for name, check in {"metrics": metrics, "history": history, "formats": formats, "labels": labels,
                        "metrics of seconds": stored_metrics,
                        "go tool pprof": go_pprof, "refused requests": refused}.items():
        try:
            said = check(daemon)
            report.ok(f"{name}{': ' + said if said else ''}")
        except (AssertionError, OSError, ValueError, KeyError, IndexError) as error:
            report.not_ok(name, f"{type(error).__name__}: {error}")


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(folder)
        if not daemon.wait():
            report.skip("stoke daemon --listen", "the daemon cannot run here: " +
                        " ".join(daemon.report().split()))
            report.done()
            return
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        try:
            run_cases(report, daemon)
        finally:
            busy.kill()
            busy.wait()
            status = daemon.stop()
        report.result("the daemon ends well", "" if status == 0 else f"{status}: {daemon.report()}")
    token(report)
    starts(report)
    report.done()


main()
