#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke server: agents push profiles as Pyroscope's and OpenTelemetry's do, byte by byte as their
protocols define them; commands and the API read them back. Requests that are refused say why."""

import gzip
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.parse

import tap

TOKEN = "0123456789abcdef0123"
NOW = int(time.time())
SPAN = ["--at", f"@{NOW - 3000}..@{NOW + 900}"]


def expect(got, right, what=""):
    if got != right:
        raise AssertionError(f"{what}: {got!r}, not {right!r}")


# --- Protocol buffers ------------------------------------------------------------------------

def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A number, or bytes, text, or a list of numbers (packed)."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, list):
        value = b"".join(varint(v) for v in value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


class Strings:
    def __init__(self):
        self.items = [""]

    def __call__(self, text):
        if text not in self.items:
            self.items.append(text)
        return self.items.index(text)


def pprof(types, samples, period=None, time_ns=0, labels=()):
    """types: [(type, unit)]; samples: [(stack from the leaf on, values)]."""
    s = Strings()
    out = b"".join(field(1, field(1, s(t)) + field(2, s(u))) for t, u in types)
    names = sorted({name for stack, _ in samples for name in stack})
    for stack, values in samples:
        label = b"".join(field(3, field(1, s(k)) + (field(2, s(v)) if isinstance(v, str) else field(3, v)))
                         for k, v in labels)
        out += field(2, field(1, [names.index(n) + 1 for n in stack]) + field(2, list(values)) + label)
    for i, name in enumerate(names):
        out += field(4, field(1, i + 1) + field(4, field(1, i + 1)))
        out += field(5, field(1, i + 1) + field(2, s(name)))
    if period:
        out += field(11, field(1, s(period[0])) + field(2, s(period[1]))) + field(12, period[2])
    if time_ns:
        out += field(9, time_ns)
    return out + b"".join(field(6, text) for text in s.items)


def push(*series):
    """series: (labels, [(profile, id)])"""
    out = b""
    for labels, profiles in series:
        out += field(1, b"".join(field(1, field(1, k) + field(2, v)) for k, v in labels) +
                     b"".join(field(2, field(1, p) + (field(2, i) if i else b"")) for p, i in profiles))
    return out


def otlp(version, stacks, values, times=(), attributes=(), resource=(), kind=("samples", "count"),
         period=("cpu", "nanoseconds", 10000000), profile_id=b"", time_ns=None, extra=b""):
    """One profile, in the field numbers of 1.9 or 1.10. Each stack, from the leaf on, is a sample."""
    s = Strings()
    names = sorted({name for stack in stacks for name in stack})
    functions = field(3, b"") + b"".join(field(3, field(1, s(n))) for n in names)
    locations = field(2, b"") + b"".join(field(2, field(3, field(1, i + 1))) for i in range(len(names)))
    table = field(7, b"") + b"".join(field(7, field(1, [names.index(n) + 1 for n in k])) for k in stacks)
    known = field(6, b"") + b"".join(field(6, field(1, s(k)) + field(2, field(1, v))) for k, v in attributes)
    value_at, attribute_at = (2, 3) if version == 9 else (4, 2)
    samples = b""
    for i, value in enumerate(values):
        sample = field(1, i + 1)
        if value is not None:
            sample += field(value_at, value if isinstance(value, list) else [value])
        if attributes:
            sample += field(attribute_at, list(range(1, len(attributes) + 1)))
        if times:
            sample += field(5, b"".join(struct.pack("<Q", t) for t in times))
        samples += field(2, sample)
    profile = field(1, field(1, s(kind[0])) + field(2, s(kind[1]))) + samples
    profile += fixed(3, NOW * 10**9 - 20 * 10**9 if time_ns is None else time_ns) + field(4, 10 * 10**9)
    if period:
        profile += field(5, field(1, s(period[0])) + field(2, s(period[1]))) + field(6, period[2])
    if profile_id:
        profile += field(7, profile_id)
    dictionary = locations + functions + b"".join(field(5, t) for t in s.items) + known + table
    described = b"".join(field(1, field(1, k) + field(2, field(1, v))) for k, v in resource)
    return field(1, field(1, described) + field(2, field(2, profile + extra))) + field(2, dictionary)


def form(*parts):
    body = b"".join(b'--=_x\r\nContent-Disposition: form-data; name="%s"; filename="f"\r\n'
                    b"Content-Type: application/octet-stream\r\n\r\n%s\r\n" % (name.encode(), data)
                    for name, data in parts)
    return body + b"--=_x--\r\n", {"Content-Type": 'multipart/form-data; boundary="=_x"'}


def node(name, value, *below):
    return varint(len(name)) + name.encode() + varint(value) + varint(len(below)) + b"".join(below)


# --- The server ------------------------------------------------------------------------------

class Server:
    """A server of the test's own, on a free port."""

    def __init__(self, folder, *options, store="f.db"):
        self.store = os.path.join(folder, store)
        self.errors = os.path.join(folder, "errors")
        self.token = None
        with open(self.errors, "wb") as file:
            self.process = subprocess.Popen([tap.STOKE, "server", "--store", self.store, "--listen", "127.0.0.1:0",
                                             *options], stderr=file)
        self.port = None
        while self.process.poll() is None and not self.port:
            match = re.search(r"HTTP is served on port (\d+)", self.report())
            self.port = match and int(match[1])
            time.sleep(0.02)
        if not self.port:
            raise AssertionError(self.report())

    def report(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def ask(self, path, body=None, **fields):
        """Status, content type, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=tap.TIMEOUT)
        fields = {k.replace("_", "-"): v for k, v in fields.items()}
        connection.request("GET" if body is None else "POST", path, body, fields)
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        return reply.status, reply.getheader("Content-Type"), text

    def ingest(self, name, body, fields=None, **arguments):
        arguments = {"from": NOW - 20, "until": NOW - 10, "name": name, **arguments}
        query = urllib.parse.urlencode({k: v for k, v in arguments.items() if v is not None})
        return self.ask("/ingest?" + query, body, **(fields or {}))

    def push(self, body, kind="application/proto", **fields):
        return self.ask("/push.v1.PusherService/Push", body, **{"Content-Type": kind, **fields})

    def otlp(self, body, kind="application/x-protobuf", **fields):
        return self.ask("/v1development/profiles", body, **{"Content-Type": kind, **fields})

    def fold(self, *labels, event=None):
        """The stacks of the store, as {stack: weight}."""
        words = [word for label in labels for word in ("--label", label)]
        words += ["--event", event] if event else []
        done = subprocess.run([tap.STOKE, "fold", "--store", self.store, *SPAN, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=tap.TIMEOUT)
        if done.returncode:
            raise AssertionError(done.stderr)
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in done.stdout.splitlines()}

    def total(self, name, **labels):
        """A counter of /metrics."""
        requested = "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "} "
        for line in self.ask("/metrics")[2].decode().splitlines():
            if line.startswith(name + "_total" + requested):
                return int(line.rpartition(" ")[2])
        raise AssertionError(f"no {name}{requested}")

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(tap.TIMEOUT)


def taken(reply):
    expect(reply[0], 200, reply[2])


def refused(reply, *why, status=400):
    expect(reply[0], status, reply[2])
    for text in why:
        assert text.encode() in reply[2], reply[2]


# --- Pyroscope's /ingest ---------------------------------------------------------------------

def folded(server):
    taken(server.ingest("web.cpu{region=eu, hostname=h1}", "a;b 10\na;c 5\n\n", sampleRate=50))
    expect(server.fold("service=web"), {"a;b": 2e8, "a;c": 1e8})
    expect(server.fold("host=h1"), {"a;b": 2e8, "a;c": 1e8})
    expect(server.fold("region=eu", "host=h1", "service=web"), {"a;b": 2e8, "a;c": 1e8})
    taken(server.ingest("web.cpu{region=us}", gzip.compress(b"a;b 10\n"), format="groups"))
    expect(server.fold("region=us"), {"a;b": 1e8})
    taken(server.ingest("lines.wall", "x;y\nx;y\nz", format="lines", units="samples"))
    expect(server.fold("service=lines", event="wall"), {"x;y": 2e7, "z": 1e7})
    taken(server.ingest("mem.alloc_space", "m;n 4096\n", units="bytes"))
    expect(server.fold("service=mem", event="alloc_space"), {"m;n": 4096})
    taken(server.ingest("odd.name", "m 3\n", units="objects"))
    expect(server.fold("service=odd.name", event="objects"), {"m": 3})
    taken(server.ingest("renamed{service_name=real}", "q 1\n"))
    expect(server.fold("service=real"), {"q": 1e7})
    taken(server.ingest("mangled", "main;_ZN3app3runEv 7\n"))
    _, _, shown = server.ask(f"/api/profile?format=folded&from={NOW - 30}&to={NOW}&label=service%3Dmangled")
    expect(shown.split(b" ")[0], b"main;app::run")
    taken(server.ingest("empty", ""))
    taken(server.ask(f"/pyroscope/ingest?name=below&from={NOW - 20}", "q 1\n"))
    expect(server.fold("service=below"), {"q": 1e7})


def trees(server):
    tree = node("", 0, node("main", 1, node("f", 20, node("g", 3)), node("h", 4)))
    taken(server.ingest("tree", tree, format="tree"))
    expect(server.fold("service=tree"), {"main": 1e7, "main;f": 2e8, "main;f;g": 3e7, "main;h": 4e7})
    trie = node("", 0, node("ma", 0, node("in;f", 2, node("oo;g", 7)), node("x", 1)))
    taken(server.ingest("trie", trie, format="trie"))
    expect(server.fold("service=trie"), {"main;f": 2e7, "main;foo;g": 7e7, "max": 1e7})
    taken(server.ingest("typed", tree, {"Content-Type": "binary/octet-stream+tree"}))
    expect(len(server.fold("service=typed")), 4)
    refused(server.ingest("x", tree[:-1], format="tree"), "ends too early")
    refused(server.ingest("x", tree + b"\0", format="tree"), "bytes follow")
    refused(server.ingest("x", node("a", 1 << 60), format="trie"), "a value is too large")
    refused(server.ingest("x", b"\1a\0\x7f" + bytes(30), format="tree"), "more nodes below it")
    deep = b"\1a\0\1" * 3000 + b"\1a\1\0"
    refused(server.ingest("x", deep, format="tree"), "deeper than")


CPU = [("samples", "count"), ("cpu", "nanoseconds")]
HEAP = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]


def profiles(server):
    cpu = pprof(CPU, [(["leaf", "root"], [3, 30000000])], ("cpu", "nanoseconds", 10000000),
                labels=[("tier", "gold"), ("span_id", "12ab"), ("bytes", 77)])
    taken(server.ingest("raw", gzip.compress(cpu), format="pprof"))
    expect(server.fold("service=raw"), {"root;leaf": 3e7})
    expect(server.fold("service=raw", "tier=gold"), {"root;leaf": 3e7})
    labels = json.loads(server.ask(f"/api/labels?from={NOW - 60}&to=now")[2])
    assert "span_id" not in labels and "bytes" not in labels, labels
    taken(server.ingest("form", *form(("profile", cpu))))
    expect(server.fold("service=form"), {"root;leaf": 3e7})
    heap = pprof(HEAP, [(["malloc", "main"], [5, 500, 2, 200])])
    taken(server.ingest("heap", *form(("profile", gzip.compress(heap))), format="pprof"))
    for event, value in zip(("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"), (5, 500, 2, 200)):
        expect(server.fold("service=heap", event=event), {"main;malloc": value}, event)
    # what was allocated since the process started, and until the profile before
    config = json.dumps({"alloc_space": {"units": "bytes", "cumulative": True},
                         "inuse_space": {"units": "bytes", "display-name": "inuse_space", "aggregation": "average"}})
    later = pprof(HEAP, [(["malloc", "main"], [9, 800, 3, 300]), (["new", "main"], [1, 50, 1, 50])])
    taken(server.ingest("delta", *form(("prev_profile", heap), ("profile", later),
                                       ("sample_type_config", config.encode()))))
    expect(server.fold("service=delta", event="alloc_space"), {"main;malloc": 300, "main;new": 50})
    expect(server.fold("service=delta", event="inuse_space"), {"main;malloc": 300, "main;new": 50})
    config = json.dumps({"objects": {"display-name": "inuse_objects"}, "space": {"display-name": "inuse_space"}})
    node_heap = pprof([("objects", "count"), ("space", "bytes")], [(["f"], [4, 64])])
    taken(server.ingest("nodejs", *form(("profile", node_heap), ("sample_type_config", config.encode()))))
    expect(server.fold("service=nodejs", event="inuse_space"), {"f": 64})
    sampled = pprof([("samples", "count")], [(["f"], [4])])
    config = json.dumps({"samples": {"units": "samples", "display-name": "cpu", "sampled": True}})
    taken(server.ingest("sampled", *form(("profile", sampled), ("sample_type_config", config.encode())), sampleRate=20))
    expect(server.fold("service=sampled", event="cpu"), {"f": 2e8})
    taken(server.ingest("idle", pprof(CPU, []), format="pprof"))
    for name in ("jfr", "speedscope"):
        path = os.path.join(tap.SOURCE_ROOT, "tests", "import", name, "plain.in")
        with open(path, "rb") as file:
            taken(server.ingest("as-" + name, file.read(), format=name))
        assert server.fold("service=as-" + name), name
    refused(server.ingest("x", cpu[:-3], format="pprof"), "pprof data is damaged")
    refused(server.ingest("x", gzip.compress(cpu)[:-20], format="pprof"), "gzip")
    refused(server.ingest("x", *form(("profile", cpu), ("sample_type_config", b"[1]"))), "not a JSON object")


def wrong_ingests(server):
    before = server.total("stoke_intake_requests", entrance="ingest", result="refused")
    body = "a 1\n"
    cases = [(server.ingest(None, body), "no name"), (server.ingest("{a=b}", body), "no name"),
             (server.ingest("x{a=b", body), "do not end with"), (server.ingest("x{a}", body), "has no value"),
             (server.ingest("x{" + "k" * 2000 + "=v}", body), "longer than"),
             (server.ingest("x{" + ",".join(f"k{i}=v" for i in range(70)) + "}", body), "more than 64 labels"),
             (server.ingest("x", body, **{"from": "yesterday"}), "`from`"),
             (server.ingest("x", body, until=NOW - 4000), "ends before it begins"),
             (server.ingest("x", body, **{"from": NOW - 4000}), "longer than an hour"),
             (server.ingest("x", body, until=NOW + 3000, **{"from": NOW + 2990}), "ahead of this server's clock"),
             (server.ingest("x", body, until=1001, **{"from": 1000}), "older than what the store keeps"),
             (server.ingest("x", body, sampleRate="many"), "`sampleRate`"),
             (server.ingest("x", body, units="apples"), "unknown units 'apples'"),
             (server.ingest("x", body, format="svg"), "unknown format 'svg'"),
             (server.ingest("x", "a;b 1\nno count\n"), "line 2 has no count"),
             (server.ingest("x", "a 99999999999999\n"), "too large"),
             (server.ingest("x", " 12\n"), "count at its end"),
             (server.ingest("x", "garbage", format="pprof"), "pprof"),
             (server.ingest("x", "garbage", format="jfr"), ""),
             (server.ingest("x", "", format="pprof"), "body is empty"),
             (server.ingest("x", *form(("other", b"1"))), "no part `profile`"),
             (server.ingest("x", b"--y", {"Content-Type": "multipart/form-data"}), "no boundary"),
             (server.ingest("x", b"--y", {"Content-Type": "multipart/form-data; boundary=z"}), "does not occur"),
             (server.ingest("x", form(("profile", b"1"))[0][:-12], form()[1]), "does not end")]
    for reply, why in cases:
        refused(reply, why)
    expect(server.total("stoke_intake_requests", entrance="ingest", result="refused") - before, len(cases))
    expect(server.ask("/ingest?name=x")[0], 405)


# --- push.v1 ---------------------------------------------------------------------------------

def pushes(server):
    labels = [("__name__", "process_cpu"), ("service_name", "pushed"), ("pod", "p-1"), ("__session_id__", "9")]
    cpu = gzip.compress(pprof(CPU, [(["leaf", "root"], [3, 30000000])], time_ns=(NOW - 30) * 10**9))
    body = push((labels, [(cpu, "id-1"), (cpu, "id-2")]))
    taken(server.push(body))
    expect(server.fold("service=pushed", "pod=p-1"), {"root;leaf": 6e7})
    taken(server.push(gzip.compress(body), Content_Encoding="gzip"))  # sent again: known
    taken(server.push(push((labels, [(cpu, "id-2"), (cpu, "id-3")]))))
    expect(server.fold("service=pushed"), {"root;leaf": 9e7})
    expect(server.total("stoke_intake_profiles", entrance="push", result="repeated"), 3)
    taken(server.push(push((labels, [(cpu, None)]), (labels, [(cpu, None)]))))
    expect(server.fold("service=pushed"), {"root;leaf": 15e7})
    labels = [("service_name", "locks"), ("__name__", "mutex")]
    locks = pprof([("contentions", "count"), ("delay", "nanoseconds")], [(["Lock"], [2, 700])])
    taken(server.push(push((labels, [(locks, "a")]), ([("service_name", "locks"), ("__name__", "block")],
                                                      [(locks, "a")]))))
    for event, value in (("mutex_count", 2), ("mutex_duration", 700), ("block_duration", 700)):
        expect(server.fold("service=locks", event=event), {"Lock": value}, event)
    refused(server.push(push(([("service_name", "x")], [(cpu, "")]))), "no label __name__", "invalid_argument")
    refused(server.push(push(([("__name__", "x")], [(cpu, "")]))), "no label service_name")
    refused(server.push(push((labels, [(b"", "")]))), "no profile")
    refused(server.push(body[:-5]), "damaged")
    refused(server.push(push((labels, [(cpu[:-9], "")]))), "gzip")
    refused(server.push("{}", "application/json"), "application/proto", status=415)
    taken(server.push(push((labels, []))))


# --- OTLP ------------------------------------------------------------------------------------

RESOURCE = [("service.name", "otel"), ("host.name", "h2"), ("process.command_args", "--password=x")]


def opentelemetry(server):
    stacks = [["leaf", "root"], ["other", "root"]]
    for version in (9, 10):
        for thread, more in {"": [], "t1;": [("thread.name", "t1"), ("x", "y")]}.items():
            service = f"otel-{version}-{thread}"
            taken(server.otlp(otlp(version, stacks, [3, 1], attributes=more,
                                   resource=[("service.name", service)] + RESOURCE[1:])))
            expect(server.fold("service=" + service, "host=h2"),
                   {thread + "root;leaf": 3e7, thread + "root;other": 1e7}, service)
    assert b"password" not in server.ask(f"/api/labels?from={NOW - 100}&to=now")[2]
    # without values each timestamp is one sample: only field 2 is there, with attributes
    times = [(NOW - 15) * 10**9, (NOW - 14) * 10**9, (NOW - 14) * 10**9 + 5]
    taken(server.otlp(gzip.compress(otlp(10, stacks, [None, None], times, [("thread.name", "t"), ("a", "b")],
                                         [("service.name", "times")])), Content_Encoding="gzip"))
    expect(server.fold("service=times"), {"t;root;leaf": 3e7, "t;root;other": 3e7})
    taken(server.otlp(otlp(9, stacks[:1], [[4, 5, 6]], times, (), [("service.name", "pairs")])))
    expect(server.fold("service=pairs"), {"root;leaf": 15e7})
    off = otlp(10, stacks[:1], [12345], kind=("off_cpu", "nanoseconds"), period=None, profile_id=bytes(range(16)),
               resource=[("service.name", "off")], attributes=[("process.executable.name", "exe")])
    taken(server.otlp(off))
    taken(server.otlp(off))  # sent again
    expect(server.fold("service=off", "process=exe", event="off-cpu"), {"root;leaf": 12345})
    expect(server.total("stoke_intake_profiles", entrance="otlp", result="repeated"), 1)
    good = otlp(10, stacks, [3, 1], attributes=[("a", "b")], resource=RESOURCE)
    refused(server.otlp(good[:-3]), "damaged")
    refused(server.otlp(otlp(10, stacks, [1, 1, 1], attributes=[("a", "b")])), "unknown stack")
    refused(server.otlp(otlp(10, stacks[:1], [[1, 2]], times, [("a", "b")])), "values and timestamps")
    refused(server.otlp(otlp(10, stacks, [1, 1], time_ns=5)), "older than what the store keeps")
    refused(server.otlp(otlp(10, stacks, [1, 1], kind=("", "count"))), "no sample type")
    refused(server.otlp(otlp(10, stacks, [1, 1], extra=field(3, [1, 2]))), "1.7")
    mixed = otlp(10, stacks, [3, 1], attributes=[("a", "b")],
                 extra=field(2, field(1, 1) + field(2, [1]) + field(3, [1])))
    refused(server.otlp(mixed), "different versions")
    refused(server.otlp("{}", "application/json"), "application/x-protobuf", status=415)
    taken(server.otlp(b""))


# --- All entrances ---------------------------------------------------------------------------

def bombs(server):
    """Small bodies that unpack to much; large ones."""
    bomb = gzip.compress(b"a" * (80 << 20), 9)
    refused(server.ingest("x", bomb), "unpacks to more than 64 MiB")
    refused(server.push(bomb), "unpacks to more than 64 MiB")
    refused(server.otlp(bomb), "unpacks to more than 64 MiB")
    labels = [("service_name", "x"), ("__name__", "x")]
    part = gzip.compress(bytes([0x32, 0x80, 0x80, 0x80, 8]) + b"a" * (16 << 20), 9)
    reply = server.push(push((labels, [(part, "")] * 5)))
    refused(reply, "")
    with socket.create_connection(("127.0.0.1", server.port), timeout=tap.TIMEOUT) as client:
        client.sendall(b"POST /ingest?name=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n")
        sent = 0
        while sent < 99000000:
            sent += client.send(bytes(min(1 << 20, 99000000 - sent)))
        reply = client.recv(100)
    assert b" 413 " in reply, reply
    expect(server.ask("/api/status")[0], 200)


def read_back(server):
    """The API and the exits have what was pushed."""
    status, _, body = server.ask(f"/api/profile?from={NOW - 60}&to=now&format=folded&label=service=web")
    expect(status, 200)
    assert b"a;b" in body, body
    expect(len(body.splitlines()), 2, body)
    call = "/querier.v1.QuerierService/"
    span = {"start": str((NOW - 100) * 1000), "end": str((NOW + 100) * 1000)}
    types = json.loads(server.ask(call + "ProfileTypes", json.dumps(span), Content_Type="application/json")[2])
    names = [one["ID"] for one in types["profileTypes"]]
    space = "memory:alloc_space:bytes:space:bytes"
    assert {"process_cpu:cpu:nanoseconds:cpu:nanoseconds", "wall:wall:nanoseconds:wall:nanoseconds", space,
            "mutex:delay:nanoseconds:contentions:count"} <= set(names) and len(names) == len(set(names)), names
    for kind, total in ((space, 4096), (names[0], 0)):
        query = {**span, "profile_typeID": kind, "labelSelector": '{service_name="mem"}'}
        graph = json.loads(server.ask(call + "SelectMergeStacktraces", json.dumps(query),
                                      Content_Type="application/json")[2])["flamegraph"]
        expect(int(graph["total"]), total, kind)
    query = urllib.parse.quote(space + '{service_name="mem"}')
    shown = json.loads(server.ask(f"/pyroscope/render?from={NOW - 60}&until=now&query={query}")[2])
    expect((shown["flamebearer"]["numTicks"], shown["metadata"]["units"]), (4096, "bytes"))
    status, _, body = server.ask(f"/api/profile?from={NOW - 60}&to=now&label=service=web")
    expect((status, gzip.decompress(body)[:1]), (200, b"\x0a"))
    expect(server.ask("/")[0], 200)
    described = json.loads(server.ask("/api/openapi.json")[2])["paths"]
    for path in ("/ingest", "/push.v1.PusherService/Push", "/v1development/profiles"):
        assert "post" in described[path], described.keys()
    expect(json.loads(server.ask("/api/status")[2])["store"]["failing"], False)


def again(folder):
    """A server that was stopped has stored all; another one continues; two are refused."""
    server = Server(folder)
    try:
        taken(server.ingest("again", "a;b 10\n"))
        done = subprocess.run([tap.STOKE, "server", "--store", server.store, "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True, check=False, timeout=tap.TIMEOUT)
        assert done.returncode == 1 and "another process writes it" in done.stderr, done.stderr
        reader = Server(folder, "--read-only")
        try:
            refused(reader.ingest("again", "a;b 10\n"), status=501)
            assert b"a;b" in reader.ask(f"/api/profile?from={NOW - 60}&to=now&format=folded")[2]
        finally:
            expect(reader.stop(), 0)
        server.process.kill()
        server.process.wait()
        server = Server(folder)
        taken(server.ingest("again", "a;b 10\n"))
        expect(server.fold("service=again"), {"a;b": 2e8})
    finally:
        expect(server.stop(signal.SIGINT), 0)


def tokens(folder):
    path = os.path.join(folder, "token")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TOKEN + "\n")
    server = Server(folder, "--token-file", path)
    try:
        for header, status in (({}, 401), ({"Authorization": "Bearer " + TOKEN[:-1]}, 401),
                               ({"Authorization": "Bearer " + TOKEN}, 200)):
            expect(server.ingest("x", "a 1\n", header)[0], status)
            expect(server.push(b"", **header)[0], status)
            expect(server.otlp(b"", **header)[0], status)
        expect(server.ingest("x", "a 1\n", {"Origin": "http://evil.example", "Authorization": "Bearer " + TOKEN})[0],
               403)
    finally:
        server.stop()
    done = subprocess.run([tap.STOKE, "server", "--store", server.store, "--listen", "0.0.0.0:0"],
                          stderr=subprocess.PIPE, text=True, check=False, timeout=tap.TIMEOUT)
    assert done.returncode == 1 and "--token-file" in done.stderr, done.stderr


def full(folder):
    """A store that cannot be written: agents are asked to send again, and nothing counts twice."""
    server = Server(folder)
    try:
        taken(server.ingest("first", "a 1\n"))
        os.chmod(folder, 0o700)
        resource = subprocess.run(["prlimit", "--pid", str(server.process.pid), "--fsize=4096:unlimited"],
                                  stderr=subprocess.PIPE, check=False)
        if resource.returncode:
            raise AssertionError(resource.stderr)
        labels = [("service_name", "late"), ("__name__", "process_cpu")]
        body = push((labels, [(pprof(CPU, [(["leaf"], [3, 30000000])]), "id-9")]))
        reply = server.push(body)
        refused(reply, "unavailable", status=503)
        expect(json.loads(server.ask("/api/status")[2])["store"]["failing"], True)
        expect(server.total("stoke_intake_requests", entrance="push", result="failed"), 1)
        subprocess.run(["prlimit", "--pid", str(server.process.pid), "--fsize=unlimited"], check=True)
        taken(server.push(body))
        expect(server.fold("service=late"), {"leaf": 3e7})
        assert "agents have to send again" in server.report(), server.report()
    finally:
        expect(server.stop(), 0)


def attempt(report, name, check, *arguments):
    try:
        check(*arguments)
        report.ok(name)
    except (AssertionError, OSError, ValueError, KeyError, http.client.HTTPException) as error:
        report.not_ok(name, f"{type(error).__name__}: {error}")


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        try:
            server = Server(folder)
        except AssertionError as error:
            report.skip("stoke server", " ".join(str(error).split()))
            report.done()
            return
        try:
            for name, check in {"/ingest: lines": folded, "/ingest: trees": trees, "/ingest: pprof": profiles,
                                "/ingest: refused": wrong_ingests, "push.v1": pushes, "OTLP": opentelemetry,
                                "bombs": bombs, "what was pushed is read back": read_back}.items():
                attempt(report, name, check, server)
        finally:
            status = server.stop()
        report.result("the server ends well", "" if status == 0 else f"{status}: {server.report()}")
    for name, check in {"a server after another": again, "a token": tokens,
                        "a store that cannot be written": full}.items():
        with tempfile.TemporaryDirectory() as folder:
            attempt(report, name, check, folder)
    report.done()


main()
