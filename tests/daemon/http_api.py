#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke daemon --listen: metrics as OpenMetrics, history as profiles of several formats, labels, a
profile that go tool pprof reads; and requests that are refused."""

import base64
import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time

import daemon as copies
import tap

TOKEN = "0123456789abcdef0123"
VALUE = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z]+="([^"\\]|\\.)*",?)+\})? [-+.e0-9]+$')


class Daemon:
    """A daemon of the test's own, on a free port."""

    def __init__(self, folder, *options, env=None):
        self.errors = os.path.join(folder, "errors")
        with open(self.errors, "wb") as file:
            self.process = subprocess.Popen(
                [tap.STOKE, "daemon", "--store", os.path.join(folder, "h.db"), "--window", "1",
                 "--rate", "97", "--listen", "127.0.0.1:0", *options], stderr=file, env=env)
        self.port = None

    def report(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def wait(self):
        """True if it serves; false if it ended."""
        while self.process.poll() is None:
            match = re.search(r"HTTP is served on port (\d+)", self.report())
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

    def fields(self, path):
        """The fields of the head of a reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=tap.TIMEOUT)
        connection.request("GET", path)
        fields = dict(connection.getresponse().getheaders())
        connection.close()
        return fields

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(tap.TIMEOUT)


def expect(got, right, what=""):
    if got != right:
        raise AssertionError(f"{what}: {got!r}, not {right!r}")


def restricted(daemon):
    """The threads that answer requests cannot execute programs, and the daemon has few rights."""
    states = []
    for thread in os.listdir(f"/proc/{daemon.process.pid}/task"):
        with open(f"/proc/{daemon.process.pid}/task/{thread}/status", encoding="utf-8") as file:
            states.append(dict(line.split(":\t", 1) for line in file if ":\t" in line))
    if "Seccomp" not in states[0]:
        return "no filters in this kernel"
    filtered = sum(state["Seccomp"].strip() == "2" for state in states)
    assert filtered >= 3, states
    # CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG
    allowed = 1 << 38 | 1 << 19 | 1 << 2 | 1 << 34
    raises_priority = 1 << 23  # CAP_SYS_NICE, of the thread that copies records
    # CAP_BPF and CAP_IPC_LOCK, of those that do not answer requests: the daemon opens its counters again
    loads, locks = 1 << 39, 1 << 14
    for state in states:
        rights = int(state["CapEff"], 16) & ~allowed
        answers = state["Seccomp"].strip() == "2"
        assert rights == 0 or (not answers and
                               rights & ~locks in (0, raises_priority, loads)), states
    return f"{filtered} of {len(states)} threads"


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
    assert "stoke_store_failing 0" in lines and "stoke_store_fixes_total 0" in lines
    return f"{len(lines)} lines, {len(families)} families"


def history(daemon):
    """Samples of a program that we start, once its windows are stored. A process has the name of
    its parent until it executes sh: these samples can be the only ones of the first window."""
    end = time.monotonic() + 120
    while True:
        status, _, body = daemon.get("/api/profile?from=-5m&to=now&format=folded&label=process=sh")
        expect(status, 200, body)
        stacks = body.decode().split("\n")[:-1]
        weights = {True: 0, False: 0}
        for stack in stacks:
            weights[stack.startswith("sh;")] += float(stack.rpartition(" ")[2])
        if weights[True] > weights[False]:
            return f"{len(stacks)} stacks"
        assert time.monotonic() < end, stacks[:3]
        time.sleep(0.2)


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


def usage(daemon):
    status, kind, body = daemon.get("/api/usage?from=-5m")
    expect((status, kind), (200, "application/json"))
    found = json.loads(body)
    expect(sorted(found), ["container", "process", "service"])
    assert found["process"]["sh"] > 0, found  # a busy machine gives it little
    expect(list(found["process"].values()), sorted(found["process"].values(), reverse=True))
    expect(json.loads(daemon.get("/api/usage?from=100&to=200")[2]), {})
    expect(daemon.get("/api/usage?from=x")[0], 400)
    return f"{len(found['process'])} processes"


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
    # a reading that is very late leaves seconds without values
    read = [i for i in range(reply["count"]) if names["cpu.user"][i] is not None]
    seconds = [sum(names["cpu." + mode][i] for mode in modes) for i in read]
    cpus = names["cpu.count"][read[0]]
    # a tick is 10 ms; on a loaded machine a reading is late, and its neighbour has the rest
    mean = sum(seconds) / len(seconds)
    assert abs(mean - 1000 * cpus) < 150 * cpus, seconds
    busy = sum(names["cpu." + mode][i] for mode in modes[:6] for i in read) / sum(seconds)
    truth = (after[0] - before[0]) / (after[1] - before[1])
    assert abs(busy - truth) < 0.3, (busy, truth)
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) * 1024
    expect({names["memory.total"][i] for i in read}, {total})
    assert "memory.free" not in names, names.keys()
    _, everything = columns(daemon, f"from={int(start)}&to={int(end)}")
    assert {"disk.read", "net.in", "load.1", "core.0.user"} <= set(everything), everything.keys()
    _, minutes = columns(daemon, "from=-1d&name=cpu.user")
    assert any(value is not None for value in minutes.get("cpu.user", [])), "no minutes"
    return f"{len(everything)} metrics, CPU {busy:.0%}, /proc {truth:.0%}"


def page(daemon):
    """The live page: it may connect to its server only."""
    status, kind, body = daemon.get("/")
    if status == 500 and b"without its viewer" in body:
        return "built without the viewer"
    expect((status, kind), (200, "text/html; charset=utf-8"))
    policy = re.search(rb'Content-Security-Policy" content="([^"]+)"', body)[1].decode()
    assert policy.startswith("default-src 'none'; connect-src 'self';") and "unsafe-eval'" in policy, policy
    assert b'id="live"' in body
    return f"{len(body)} bytes"


def machine(daemon):
    status, kind, body = daemon.get("/api/status")
    expect((status, kind), (200, "application/json"))
    found = json.loads(body)
    expect(found["cpus"], os.cpu_count())
    assert found["rate"] == 97 and found["daemon"]["cpu_ns"] > 0 and found["store"]["bytes"] > 0, found
    store = found["store"]
    expect([store[name] for name in ("failing", "failures", "pending", "dropped", "fixed")],
           [False, 0, 0, 0, 0], "the store")
    end = time.monotonic() + 60
    while True: # the first reading has no rates
        status, kind, body = daemon.get("/api/processes")
        expect((status, kind), (200, "application/json"))
        rows = {row["pid"]: row for row in json.loads(body)["processes"]}
        if rows[daemon.busy]["cpu"] > 0 or time.monotonic() > end:
            break
        time.sleep(1)
    status, kind, body = daemon.get("/api/kernel")
    expect((status, kind), (200, "application/json"))
    found = json.loads(body)
    names = {row["name"]: row["count"] for row in found["softirqs"]}
    assert names["TIMER"] > 0 and found["time"] > 0 and found["interrupts"], found
    if os.path.exists("/proc/buddyinfo"):
        assert all(zone["zone"] and zone["free"] for zone in found["buddy"]) and found["buddy"], found
    if os.access("/proc/slabinfo", os.R_OK):
        sizes = [cache["bytes"] for cache in found["slab"]]
        assert 0 < len(sizes) <= 100 and sizes == sorted(sizes, reverse=True), sizes
    row = rows[daemon.busy]
    assert row["name"] == "sh" and 0 < row["cpu"] <= 1100 and row["rss"] > 0, row
    return f"{len(rows)} processes, sh {row['cpu']} ms/s"


def events(daemon):
    """Each second has an event with its metrics."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=tap.TIMEOUT)
    connection.request("GET", "/api/live")
    reply = connection.getresponse()
    expect((reply.status, reply.getheader("Content-Type")), (200, "text/event-stream"))
    seconds = []
    while len(seconds) < 3:
        line = reply.fp.readline().decode()
        if line.startswith("data: "):
            event = json.loads(line[6:])
            seconds.append(event["start"])
            assert "cpu.user" in {metric["name"] for metric in event["metrics"]}, event
    connection.close()
    assert seconds == sorted(set(seconds)), seconds


def replies(daemon):
    """How many requests got a new reply so far, and how many shared the reply to another request."""
    _, _, body = daemon.get("/metrics")
    found = re.findall(rb'stoke_http_requests_total{reply="(made|shared)"} (\d+)', body)
    return {kind.decode(): int(count) for kind, count in found}


CLIENTS = 20


def many_clients(daemon):
    """What pages ask in a second is computed about once, however many pages are open."""
    now = int(time.time())
    paths = ["/api/processes", f"/api/profile?format=stoke&from={now - 30}&to={now}",
             "/api/metrics?from=-4s&to=now", "/api/status"]
    before, bodies = replies(daemon), {}

    def client():
        for path in paths:
            status, _, body = daemon.get(path)
            bodies.setdefault(path, []).append((status, body))
    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = replies(daemon)
    for path, all_bodies in bodies.items():
        expect([status for status, _ in all_bodies], [200] * CLIENTS, path)
    made, shared = (after[kind] - before[kind] for kind in ("made", "shared"))
    expect(made + shared, len(paths) * CLIENTS + 1) # and the request of these numbers
    # on a loaded machine some clients come when a reply is too old
    assert made <= len(paths) * CLIENTS // 2, (made, shared)
    assert len(set(bodies["/api/processes"])) <= CLIENTS // 2, "readings of the processes"
    # the arguments are part of a request
    one, other = (json.loads(daemon.get(f"/api/metrics?from=-{n}s&to=now")[2])["count"] for n in (4, 60))
    assert one < other, (one, other)
    return f"{made} replies for {made + shared} requests"


def compression(daemon):
    path = f"/api/metrics?from={int(time.time()) - 600}&to={int(time.time()) - 1}"
    _, _, plain = daemon.get(path)
    for encoding in ("gzip", "zstd", "br;q=1, gzip;q=0.5", "gzip;q=0", "identity"):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=tap.TIMEOUT)
        connection.request("GET", path, headers={"Accept-Encoding": encoding})
        reply = connection.getresponse()
        body = reply.read()
        used = reply.getheader("Content-Encoding")
        connection.close()
        expect(used, {"gzip": "gzip", "zstd": "zstd", "br;q=1, gzip;q=0.5": "gzip"}.get(encoding), encoding)
        if used == "gzip":
            expect(sorted(json.loads(gzip.decompress(body))), sorted(json.loads(plain)))
        if used == "zstd":
            expect(body[:4], b"\x28\xb5\x2f\xfd")
            assert len(body) < len(plain) / 2


def cpu_time(pid):
    """Seconds of user time of a process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")


def newest(daemon):
    """Samples are served before their window is stored, also to the first client."""
    with tempfile.TemporaryDirectory() as folder:
        other = Daemon(folder, "--window", "3000")
        if not other.wait():
            return "no second daemon"
        enough = cpu_time(daemon.busy) + 1  # some 19 samples
        while cpu_time(daemon.busy) < enough:
            time.sleep(0.05)
        path = "/api/profile?from=-60s&format=folded&label=process=sh"
        status, _, first = other.get(path)
        _, _, second = other.get(path)
        other.stop()
    assert status == 200 and b"sh;" in first, first
    counts = [sum(int(line.rpartition(b" ")[2]) for line in body.splitlines())
              for body in (first, second)]
    assert counts[1] >= counts[0], counts
    return None


def call(daemon, method, request=None, raw=None):
    """A call of Pyroscope's querier: JSON, or the bytes of a message."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=tap.TIMEOUT)
    kind = "application/proto" if raw is not None else "application/json"
    connection.request("POST", "/querier.v1.QuerierService/" + method,
                       json.dumps(request or {}) if raw is None else raw, {"Content-Type": kind})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body if raw is not None else json.loads(body)


def fields(message):
    """The fields of a message of protocol buffers: (number, value) pairs."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if message[at - 1] < 128:
                return value, at
    at, out = 0, []
    while at < len(message):
        tag, at = varint(at)
        if tag & 7 == 0:
            value, at = varint(at)
        else:
            size, at = (8, at) if tag & 7 == 1 else varint(at)
            value, at = message[at:at + size], at + size
        out.append((tag >> 3, value))
    return out


def check_levels(names, levels, total):
    """The bars of a level are inside of those above, and their totals add up."""
    above = [(0, total)]
    for level in levels:
        x, bars = 0, []
        for i in range(0, len(level), 4):
            offset, size, own, name = level[i:i + 4]
            x += offset
            assert any(left <= x and x + size <= right for left, right in above), (x, size)
            assert own <= size and names[name] is not None
            bars.append((x, x + size))
            x += size
        above = bars
    expect(sum(levels[0][1::4]), total)


def pyroscope(daemon):
    """What Grafana's data source asks, in both encodings."""
    kind = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
    now = int(time.time() * 1000) - 8000 # newer samples may still arrive
    span = {"start": str(now - 300000), "end": now}
    status, reply = call(daemon, "ProfileTypes", span)
    expect((status, [one["ID"] for one in reply["profileTypes"]]), (200, [kind]))
    expect(call(daemon, "LabelNames", span)[1]["names"][0], "service_name")
    values = call(daemon, "LabelValues", {**span, "name": "process"})[1]["names"]
    assert "sh" in values and values == sorted(values), values
    query = {**span, "profile_typeID": kind, "labelSelector": '{process="sh", host!~"no.*"}'}
    status, reply = call(daemon, "SelectMergeStacktraces", query)
    graph = reply["flamegraph"]
    levels = [[int(v) for v in level["values"]] for level in graph["levels"]]
    check_levels(graph["names"], levels, int(graph["total"]))
    assert "sh" not in graph["names"] or int(graph["total"]) > 0
    few = call(daemon, "SelectMergeStacktraces", {**query, "maxNodes": 3})[1]["flamegraph"]
    assert sum(len(level["values"]) // 4 for level in few["levels"]) <= 6, few
    expect(few["total"], graph["total"])
    check_levels(few["names"], [[int(v) for v in level["values"]] for level in few["levels"]], int(few["total"]))
    _, reply = call(daemon, "SelectSeries", {**query, "step": 10, "groupBy": ["process"]})
    series = reply["series"][0]
    expect(series["labels"], [{"name": "process", "value": "sh"}])
    expect(round(sum(point["value"] for point in series["points"])), int(graph["total"]))
    # the same as a message: type 1, selector 2, start 3, end 4
    def varint(value):
        out = b""
        while value > 127:
            out, value = out + bytes([value & 127 | 128]), value >> 7
        return out + bytes([value])
    text = query["labelSelector"].encode()
    raw = (b"\x0a" + varint(len(kind)) + kind.encode() + b"\x12" + varint(len(text)) + text +
           b"\x18" + varint(now - 300000) + b"\x20" + varint(now))
    status, body = call(daemon, "SelectMergeStacktraces", raw=raw)
    expect(status, 200)
    inside = dict(fields(dict(fields(body))[1]))
    expect(inside[3], int(graph["total"]))
    status, reply = call(daemon, "SelectHeatmap", span)
    expect((status, reply["code"]), (501, "unimplemented"))
    for selector in ("{", '{a="b}', "{a}", '{=""}', '{a=~"("}'):
        expect(call(daemon, "SelectMergeStacktraces", {**query, "labelSelector": selector})[0], 400, selector)
    status, _, body = daemon.get(f"/pyroscope/render?from=now-5m&until=now&query={kind}%7Bprocess%3D%22sh%22%7D")
    expect(status, 200, body)
    bearer = json.loads(body)["flamebearer"]
    check_levels(bearer["names"], bearer["levels"], bearer["numTicks"])
    return f"{len(graph['names'])} names"


def post(daemon, path, value=None):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=tap.TIMEOUT)
    connection.request("POST", path, body=json.dumps(value) if value is not None else b"")
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body


def recording_ends(daemon):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        state = json.loads(daemon.get("/api/recording")[2])
        if state["state"] not in ("waiting", "recording", "ending"):
            return state
        time.sleep(0.1)
    raise AssertionError(f"the recording does not end: {state}")


def on_demand(daemon):
    """A recording of a process; what cannot be requested."""
    expect(daemon.get("/api/recorded")[0], 404)
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        try:
            pids = {"target": "pids", "pids": [busy.pid]}
            for wrong in ({"target": "command", "command": ["true"]}, {"target": "machine"},
                          {**pids, "event": "page-faults"}, {**pids, "rate": 99999},
                          {**pids, "duration": 0}, {**pids, "duration": 301},
                          {**pids, "stacks": "no"}, {"target": "pids", "pids": []},
                          {"target": "pids", "pids": [2 ** 31 - 1]}, {**pids, "x": 1}, [], None):
                status, body = post(daemon, "/api/record", wrong)
                expect(status, 400, f"{wrong}: {body}")
            asked = {**pids, "rate": 999, "stacks": "dwarf", "duration": 60}
            status, body = post(daemon, "/api/record", asked)
            expect(status, 200, body)
            number = json.loads(body)["number"]
            expect(post(daemon, "/api/record", asked)[0], 409)
            end = time.monotonic() + 120
            while json.loads(daemon.get("/api/recording")[2]).get("seconds", 0) < 0.5:
                assert time.monotonic() < end, daemon.get("/api/recording")
                time.sleep(0.1)
            expect(post(daemon, "/api/record/stop")[0], 200)
            state = recording_ends(daemon)
            expect((state["state"], state["number"]), ("recorded", number), state)
        finally:
            busy.kill()
    status, kind, body = daemon.get("/api/recorded")
    expect((status, kind), (200, "application/octet-stream"))
    with tempfile.NamedTemporaryFile(suffix=".stoke") as file:
        file.write(body)
        file.flush()
        status, out, err = tap.run([tap.STOKE, "fold", file.name])
    expect(status, 0, err)
    assert out.startswith(b"sh;"), out[:200]
    return f"{state['seconds']:.1f} s"


WRONG = {"integer": "x", "number": "x", "boolean": 1, "string": 1}  # for members of a body
CHECKED = {"from", "to", "until", "format", "seconds", "max-nodes"}  # arguments with other values


def without_twins(pairs):
    expect(len({key for key, _ in pairs}), len(pairs), f"names that occur twice: {pairs}")
    return dict(pairs)


def check_call(daemon, path, method, call):
    """The reply has the type that is described; wrong arguments are refused."""
    right = next(iter(call["responses"]["200"]["content"]))
    if method == "get" and right != "text/event-stream" and path != "/api/recorded":
        query = "?query=" if path == "/pyroscope/render" else ""
        status, kind, body = daemon.get(path + query)
        expect(status, 200, f"{path}: {body[:300]}")
        assert right == "*/*" or kind.split(";")[0] == right, f"{path}: {kind}, not {right}"
    other = "POST" if method == "get" else "GET"
    expect(daemon.get(path.replace("{method}", "LabelNames"), other)[0], 405, f"{other} {path}")
    for argument in call["parameters"]:
        if argument["name"] in CHECKED:
            expect(daemon.get(f"{path}?{argument['name']}=wrong")[0], 400, f"{path}: {argument}")
    members = call.get("requestBody", {}).get("content", {}).get("application/json", {})
    for name, member in members.get("schema", {}).get("properties", {}).items():
        kind = member["type"]
        value = 1 if kind == "array" else WRONG[kind]
        status, body = post(daemon, path, {name: value})
        expect(status, 400, f"{path}: {name}")
        assert f"'{name}'".encode() in body or kind == "integer", f"{path}: {name}: {body}"


def described(daemon):
    """The description is of all addresses, and each is as it is described."""
    status, kind, body = daemon.get("/api/openapi.json")
    expect((status, kind), (200, "application/json"))
    found = json.loads(body, object_pairs_hook=without_twins)
    expect(found["openapi"], "3.1.0")
    assert found["info"]["title"] and found["info"]["version"], found["info"]
    calls = {(path, method): call for path, methods in found["paths"].items()
             for method, call in methods.items()}
    listed = daemon.get("/nothing")[2].decode().split("\n")[1:-1]
    expect({f"{method.upper()} {path.replace('{method}', '*')}" for path, method in calls}, set(listed))
    names = [call["operationId"] for call in calls.values()]
    expect(len(names), len(set(names)), "names of calls")
    for (path, method), call in calls.items():
        check_call(daemon, path, method, call)
    return f"{len(calls)} calls"


def refused(daemon):
    expect(daemon.get("/metrics", Host="attacker.example")[0], 421, "another host")
    expect(daemon.get("/metrics", Host="localhost.attacker.example:80")[0], 421, "another host")
    expect(daemon.get("/metrics", Origin="http://attacker.example")[0], 403, "another origin")
    expect(daemon.get("/metrics", Origin="null")[0], 403, "another origin")
    expect(daemon.get("/metrics", Host=f"localhost:{daemon.port}",
                      Origin=f"http://localhost:{daemon.port}")[0], 200, "its own origin")
    expect(daemon.get("/metrics", method="DELETE")[0], 405, "another method")
    expect(daemon.get("/nothing")[0], 404, "another path")
    expect(daemon.get("/metrics", method="POST")[0], 405, "another method")
    expect(daemon.get("/querier.v1.QuerierService/ProfileTypes")[0], 405, "another method")
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
            basic = base64.b64encode(f"any:{TOKEN}".encode()).decode()
            got += [daemon.get("/metrics", Authorization="Basic " + basic)[0],
                    daemon.get(f"/?token={TOKEN}1")[0], daemon.get("/", Cookie="a=b")[0]]
            cookie = daemon.fields(f"/?token={TOKEN}")["Set-Cookie"]
            got += [daemon.get("/metrics", Cookie=cookie.split(";")[0])[0],
                    daemon.get("/metrics", Cookie=cookie.split(";")[0] + "x")[0]]
        finally:
            daemon.stop()
    report.result("a token", "" if got == [401, 200, 401, 401, 200, 401, 401, 200, 401] and
                  "HttpOnly; SameSite=Strict" in cookie else f"{got} {cookie}")


def encrypted(report):
    """HTTPS with a certificate of the test's own."""
    if not shutil.which("openssl"):
        report.skip("HTTPS", "openssl is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        cert, key = os.path.join(folder, "cert"), os.path.join(folder, "key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
                       stderr=subprocess.PIPE, check=True)
        daemon = Daemon(folder, "--cert", cert, "--key", key)
        try:
            if not daemon.wait():
                report.not_ok("HTTPS", daemon.report())
                return
            context = ssl.create_default_context(cafile=cert)
            connection = http.client.HTTPSConnection("localhost", daemon.port, timeout=tap.TIMEOUT, context=context)
            connection.request("GET", "/api/status", headers={"Origin": f"https://localhost:{daemon.port}"})
            reply = connection.getresponse()
            body = reply.read()
            good = reply.status == 200 and json.loads(body)["host"] != ""
            connection.close()
        finally:
            daemon.stop()
        done = subprocess.run([tap.STOKE, "daemon", "--store", os.path.join(folder, "o.db"), "--listen", "127.0.0.1:0",
                               "--cert", cert], stderr=subprocess.PIPE, text=True, check=False, timeout=tap.TIMEOUT)
    report.result("HTTPS", "" if good and done.returncode == 1 and "--key" in done.stderr else f"{body} {done.stderr}")


def triggered(folder):
    """A threshold that every machine crosses: it is recorded, marked and listed."""
    daemon = Daemon(folder, "--trigger-memory", "0.001%", "--trigger-seconds", "1")
    try:
        assert daemon.wait(), daemon.report()
        while "sampling at 97 Hz again" not in daemon.report():
            assert daemon.process.poll() is None, daemon.report()
            time.sleep(0.05)
        marks = json.loads(daemon.get("/api/triggers")[2])["triggers"]
        assert len(marks) == 1 and marks[0]["from"] < marks[0]["to"], marks
        assert (marks[0]["name"], marks[0]["unit"]) == ("memory", "%"), marks
        expect(daemon.get("/api/triggers?from=x")[0], 400)
    finally:
        daemon.stop()
    store = os.path.join(folder, "h.db")
    with contextlib.closing(sqlite3.connect(store)) as db:
        rates = {rate for rate, in db.execute("SELECT rate FROM window")}
    # The kernel may allow less than 999; an idle machine may have no window at 97.
    assert rates <= {97, max(rates)} and 97 < max(rates) <= 999, rates
    status, out, err = tap.run([tap.STOKE, "info", "--store", store])
    expect(status, 0, err)
    assert re.search(rb"^triggers +1$", out, re.M) and b"  memory " in out, out
    assert "trigger.memory is " in daemon.report(), daemon.report()


def absent(folder):
    """While a store that was removed is written again, which is slow here, clients are to ask again."""
    store, mark, env = copies.preloaded(folder, "h", copies.SLOW, "SLOW_WHILE")
    daemon = Daemon(folder, env=env)
    try:
        assert daemon.wait(), daemon.report()
        copies.until(lambda: copies.windows(store), "the first window")
        copies.create(mark)
        copies.remove(store)
        for path in ("/api/profile?from=-50m", "/api/labels?from=-50m", "/api/metrics?from=-50m",
                     "/debug/pprof/profile?seconds=3000", "/pyroscope/render?from=now-50m"):
            status, _, body = daemon.get(path)
            assert status == 503 and b"cannot be read now" in body, (path, status, body)
        fields = daemon.fields("/api/profile?from=-40m")
        expect(fields.get("Retry-After"), "1", fields)
        expect(daemon.get("/api/status")[0], 200)
        expect(daemon.get("/api/profile?from=x")[0], 400)
        copies.until(lambda: "is being written again" in daemon.report(), "a message of the copy")
        status, _, body = daemon.get("/api/profile?from=-45m")
        assert status == 503 and b"is being written again" in body, (status, body)
        os.remove(mark)
        copies.until(lambda: "nothing is lost" in daemon.report(), "the end of the copy")
        expect(daemon.get("/api/profile?from=-55m")[0], 200)
    finally:
        daemon.stop()


def in_folder(report, name, check):
    """A case with a daemon of its own."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(folder)
            report.ok(name)
        except (AssertionError, OSError, ValueError, KeyError, RuntimeError) as error:
            report.not_ok(name, f"{type(error).__name__}: {error}")


def starts(report):
    """Other addresses need a token."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([tap.STOKE, "daemon", "--store", os.path.join(folder, "h.db"), "--listen",
                               "0.0.0.0:0"], stderr=subprocess.PIPE, text=True, check=False,
                              timeout=tap.TIMEOUT)
    good = done.returncode == 1 and "--token-file" in done.stderr
    report.result("an address of the network needs a token", "" if good else done.stderr)


def run_cases(report, daemon):
    for name, check in {"metrics": metrics, "history": history, "formats": formats, "labels": labels, "usage": usage,
                        "metrics of seconds": stored_metrics, "restrictions": restricted,
                        "page": page, "machine": machine, "events": events, "compression": compression, "many clients": many_clients,
                        "samples that are not stored": newest, "pyroscope": pyroscope,
                        "go tool pprof": go_pprof, "recordings on demand": on_demand,
                        "the description of the interface": described,
                        "refused requests": refused}.items():
        try:
            said = check(daemon)
            report.ok(f"{name}{': ' + said if said else ''}")
        except (AssertionError, OSError, ValueError, KeyError, IndexError) as error:
            report.not_ok(name, f"{type(error).__name__}: {error}")


def off_cpu(folder):
    """Waits are an event of their own, and the sums of all are in the metrics."""
    daemon = Daemon(folder, "--off-cpu", "5")
    napping = subprocess.Popen(["sh", "-c", "while :; do sleep 1; done"])
    try:
        assert daemon.wait(), daemon.report()
        if "waits are not stored" in daemon.report():
            return  # this kernel or user cannot: daemon.py says so
        status, body, query = 0, b"", "/api/profile?from=-5m&format=folded&event="
        while b"sleep;" not in body:
            status, _, body = daemon.get(query + "off-cpu")
            assert status in (200, 404, 500), body  # there may be no samples yet
            time.sleep(0.2)
        expect(daemon.get(query + "nothing")[0], 400)
        waited = [line for line in daemon.get("/metrics")[2].decode().split("\n")
                  if line.startswith("stoke_waited_seconds_total ")]
        assert float(waited[0].split()[1]) > 0, waited
        state = json.loads(daemon.get("/api/status")[2])
        assert state["least_wait_ns"] >= 5000000, state
    finally:
        napping.kill()
        napping.wait()
        ended = daemon.stop()
    expect(ended, 0, daemon.report())


def note(daemon, path, body, headers):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=tap.TIMEOUT)
    connection.request("POST", path, json.dumps(body), headers)
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    return reply.status, text


def notes(folder):
    """Notes are written with the token, stored, listed by span, and removed."""
    path = os.path.join(folder, "token")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TOKEN + "\n")
    head = {"Authorization": "Bearer " + TOKEN}
    for count in (2, 1):  # the second daemon reads what the first one stored
        daemon = Daemon(folder, "--token-file", path)
        try:
            assert daemon.wait(), daemon.report()
            if count == 2:
                expect(note(daemon, "/api/note", {"text": "first", "time": 1790000000}, head)[0], 200)
                expect(note(daemon, "/api/note", {"text": "z\u00fcrich"}, head)[0], 200)
                for wrong in ({"text": ""}, {"text": "a\nb"}, {"text": "x" * 501}, {"text": 1}, {}, []):
                    expect(note(daemon, "/api/note", wrong, head)[0], 400, str(wrong))
                expect(note(daemon, "/api/note", {"text": "no token"}, {})[0], 401)
            listed = json.loads(daemon.get("/api/notes?from=1780000000", **head)[2])["notes"]
            expect([n["text"] for n in listed], ["first", "z\u00fcrich"][2 - count:])
            old = json.loads(daemon.get("/api/notes?from=1790000000&to=1790000001", **head)[2])["notes"]
            expect(len(old), count - 1)
            if count == 2:
                expect(note(daemon, "/api/note/remove", {"number": old[0]["number"]}, head)[0], 200)
                expect(note(daemon, "/api/note/remove", {"number": old[0]["number"]}, head)[0], 400)
        finally:
            daemon.stop()
    daemon = Daemon(folder)
    try:
        assert daemon.wait(), daemon.report()
        expect(note(daemon, "/api/note", {"text": "no token"}, {})[0], 403)
        expect(len(json.loads(daemon.get("/api/notes?from=1780000000")[2])["notes"]), 1)
    finally:
        daemon.stop()


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
        daemon.busy = busy.pid
        try:
            run_cases(report, daemon)
        finally:
            busy.kill()
            busy.wait()
            status = daemon.stop()
        report.result("the daemon ends well", "" if status == 0 else f"{status}: {daemon.report()}")
    token(report)
    encrypted(report)
    starts(report)
    in_folder(report, "triggers", triggered)
    in_folder(report, "waits", off_cpu)
    in_folder(report, "notes", notes)
    if shutil.which("cc"):
        in_folder(report, "a store that is written again", absent)
    else:
        report.skip("a store that is written again", "no compiler")
    report.done()


main()
