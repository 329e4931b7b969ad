#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ClickHouse store against a real server on loopback: clickhouse.py AGENT

What agents write is read back as a store in a file has it. Servers and agents are killed in the
middle: nothing is lost, nothing counts twice."""

import http.client
import http.server
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import tap

AGENT = os.path.abspath(sys.argv[1])
PASSWORD = "a 'password' \"of\" the test"
SPAN = ["--at", "@1790035000..@1790050000"]
CONFIG = """<?xml version="1.0"?>
<yandex>
<logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host>
<http_port>{1}</http_port><tcp_port>{2}</tcp_port>
<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path>
<users_config>{0}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>5368709</mark_cache_size>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex>
<profiles><default></default><reader><readonly>1</readonly></reader></profiles>
<quotas><default></default></quotas>
<users>
<admin><password>{0}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></admin>
<reader><password>{0}</password><networks><ip>127.0.0.1</ip></networks>
<profile>reader</profile><quota>default</quota></reader>
</users>
</yandex>
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    """A server of the test's own."""

    def __init__(self, folder):
        self.folder = folder
        self.port, tcp = free_ports(2)
        self.process = None
        self.write("config.xml", CONFIG.format(folder, self.port, tcp))
        self.write("users.xml", USERS.format(PASSWORD.replace("'", "&apos;")))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        """Returns when it answers."""
        with open(os.path.join(self.folder, "output"), "wb") as output:
            self.process = subprocess.Popen(
                ["clickhouse-server", "--config-file=" + os.path.join(self.folder, "config.xml")],
                stdout=output, stderr=output, cwd=self.folder)
        end = time.monotonic() + tap.TIMEOUT / 2
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended: {self.process.returncode}")
            try:
                if self.ask("SELECT 1") == "1":
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def ask(self, sql, database="default"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=tap.TIMEOUT)
        connection.request("POST", f"/?database={database}", sql,
                           {"X-ClickHouse-User": "admin", "X-ClickHouse-Key": PASSWORD})
        reply = connection.getresponse()
        text = reply.read().decode().strip()
        connection.close()
        if reply.status != 200:
            raise AssertionError(f"{sql}: {text}")
        return text

    def number(self, sql, database):
        return int(self.ask(sql, database))


class Case:
    """A database, and a spool for each agent."""

    def __init__(self, server, folder, name):
        self.server, self.name = server, name
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        done = self.stoke("store", "init", "--store", self.url())
        if done.returncode:
            raise AssertionError(done.stderr)

    def spool(self, host):
        return os.path.join(self.folder, "spool-" + host)

    def url(self, host="x", user="admin", more=""):
        return (f"clickhouse://{user}@127.0.0.1:{self.server.port}/{self.name}"
                f"?spool={self.spool(host)}{more}")

    def stoke(self, *words):
        return subprocess.run([tap.STOKE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=tap.TIMEOUT, check=False)

    def agent(self, host, windows, samples, more="", waits=True):
        return subprocess.Popen(
            [AGENT, self.url(host, more=more), host, str(windows), str(samples)] +
            ([self.spool(host)] if waits else []),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def fold(self, store, *more):
        done = self.stoke("fold", "--store", store, *SPAN, *more)
        if done.returncode:
            raise AssertionError(done.stderr)
        return sorted(done.stdout.split("\n"))

    def number(self, sql):
        return self.server.number(sql, self.name)

    def check_rows(self, samples):
        """Every block has all its rows once; the sum is that of the samples."""
        expect(self.number("SELECT sum(count) FROM samples"), samples, "samples")
        expect(self.number("SELECT sum(n) FROM (SELECT any(samples) AS n FROM windows GROUP BY "
                           "block)"), samples, "samples of windows")
        expect(self.server.ask(
            "SELECT block, count(), any(r) FROM (SELECT block FROM samples) ANY LEFT JOIN (SELECT block, any(rows) AS "
            "r FROM windows GROUP BY block) USING block GROUP BY block HAVING count() != any(r)",
            self.name), "", "blocks with lost or double rows")


def expect(got, right, what=""):
    if got != right:
        raise AssertionError(f"{what}: {got!r:.2000}, not {right!r:.2000}")


def compare(got, right, what):
    """Lines in any order."""
    expect((sorted(set(got) - set(right)), sorted(set(right) - set(got))), ([], []), what)
    expect(len(got), len(right), what)


def finish(agent):
    """The samples that the agent has stored."""
    output, errors = agent.communicate(timeout=tap.TIMEOUT)
    expect(agent.returncode, 0, errors)
    return samples_of(output)


def samples_of(output):
    found = re.findall(r"^window \d+ samples (\d+)$", output, re.MULTILINE)
    return int(found[-1]) if found else 0


def the_tables_are_created_and_checked(case):
    done = case.stoke("store", "check", "--store", case.url())
    expect(done.returncode, 0, done.stderr)
    expect(bool(re.search(r"^tables +version 2$", done.stdout, re.MULTILINE)), True, done.stdout)
    done = case.stoke("store", "init", "--store", case.url())
    expect(done.returncode, 0, done.stderr)
    done = case.stoke("store", "check", "--store", case.url(user="nobody"))
    expect((done.returncode, "STOKE_CLICKHOUSE_PASSWORD" in done.stderr), (1, True), done.stderr)
    done = case.stoke("store", "check", "--store",
                      case.url().replace("/" + case.name + "?", "/other?"))
    expect((done.returncode, "stoke store init" in done.stderr), (1, True), done.stderr)
    done = case.stoke("store", "check", "--store", case.url(user="admin:" + PASSWORD))
    expect((done.returncode, "ps" in done.stderr), (1, True), done.stderr)
    expect(PASSWORD in done.stderr, False, done.stderr)


def what_is_written_is_read_back(case):
    file = os.path.join(case.folder, "history.db")
    samples = 0
    for host in ["a", "b"]:
        subprocess.run([AGENT, file, host, "12", "300"], check=True, stdout=subprocess.DEVNULL)
        samples += finish(case.agent(host, 12, 300))
    case.check_rows(samples)
    reader = case.url(user="reader")
    for more in [[], ["--label", "service=service3"], ["--label", "host=b", "--label", "shard=1 id"]]:
        right = case.fold(file, *more)
        expect(len(right) > 20, True, f"{more}: {len(right)} stacks")
        compare(case.fold(reader, *more), right, f"{more}")
    for span in ["@1790035175..@1790035206", "@1790035200..@1790035201"]:
        right = [case.stoke("fold", "--store", s, "--at", span).stdout for s in (file, reader)]
        compare(right[1].split("\n"), right[0].split("\n"), span)
        expect(len(right[0]) > 100, True, span)
    done = case.stoke("store", "usage", "--store", reader)
    expect((done.returncode, f"{samples}, 24 lost" in done.stdout), (0, True), done.stdout)


def questions_of_a_fleet_have_the_same_answers(case):
    """As of a store in a file; hosts are a, b, c, d."""
    file = os.path.join(case.folder, "history.db")
    for host in "abcd":
        subprocess.run([AGENT, file, host, "3", "200"], check=True, stdout=subprocess.DEVNULL)
        finish(case.agent(host, 3, 200))
    for question, least in [(["top", "-n", "0"], 20), (["top", "--by", "host", "--sort", "self", "-n", "0"], 20),
                            (["function", "function*"], 5), (["function", "function*", "--by", "minute"], 2),
                            (["compare", "service=service1", "service=service2", "-n", "0"], 20),
                            (["compare", "host=a", "host=b", "--by", "service", "-n", "0"], 20),
                            (["outliers"], 5)]:
        answers = [case.stoke("fleet", *question, "--store", store, *SPAN)
                   for store in (file, case.url(user="reader"))]
        for done in answers:
            expect(done.returncode, 0, done.stderr)
        right, got = (done.stdout.split("\n") for done in answers)
        expect(len(right) > least, True, f"{question}: {right}")
        if question[0] == "outliers":  # functions with the same difference have no order
            right, got = ([line.split("(")[0] for line in lines] for lines in (right, got))
        compare(got, right, question)


def insert_again(case, blocks, resent=1):
    """As if the blocks of that query had been sent again, and their first insert executed."""
    case.server.ask("INSERT INTO samples_in (day, second, series, stack, block, count, weight) "
                    "SELECT day, second, series, stack, block, count, weight FROM samples "
                    f"WHERE block IN ({blocks})", case.name)
    mark_resent(case, blocks, resent)


def mark_resent(case, blocks, resent=1):
    case.server.ask("INSERT INTO windows (day, block, host, start, end, rate, rows, samples, "
                    "lost, dropped, resent, sent) SELECT day, block, host, start, end, rate, "
                    f"rows, samples, lost, dropped, toUInt32({resent}), sent FROM windows "
                    f"WHERE block IN ({blocks})", case.name)


VERSION_1 = """CREATE TABLE samples_1 (day Date, second UInt32, series UInt64, stack UInt64,
block UInt64, count UInt64, weight Float64, hour UInt32 MATERIALIZED toUInt32(intDiv(second, 3600)))
ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (hour, series, stack, second, block);
INSERT INTO samples_1 (day, second, series, stack, block, count, weight)
SELECT day, second, series, stack, block, count, weight FROM samples;
DROP TABLE schema_version;
CREATE TABLE schema_version (version UInt32)
ENGINE = ReplacingMergeTree PARTITION BY tuple() ORDER BY version;
INSERT INTO schema_version VALUES (1)"""
BEFORE_MIGRATION = """;DROP TABLE samples_view; DROP TABLE samples_in; DROP TABLE samples;
RENAME TABLE samples_1 TO samples"""


def tables_of_version_1_are_migrated(case):
    """Also if the migration was interrupted, after it had copied all rows but not said so. Blocks
    of agents wait for it."""
    samples = finish(case.agent("a", 12, 300))
    for number, statements in enumerate([VERSION_1 + BEFORE_MIGRATION, VERSION_1]):
        right = answers_by_span(case)
        for statement in statements.split(";"):
            case.server.ask(statement, case.name)
        done = case.stoke("fold", "--store", case.url(), *SPAN)
        expect((done.returncode, "stoke store init" in done.stderr), (1, True), done.stderr)
        host = f"b{number}"
        output, errors = case.agent(host, 3, 300, waits=False).communicate(timeout=tap.TIMEOUT)
        samples += samples_of(output)
        expect(sum(n.endswith(".samples") for n in os.listdir(case.spool(host))), 3, errors)
        done = case.stoke("store", "init", "--store", case.url())
        expect(done.returncode, 0, done.stderr)
        expect(answers_by_span(case), right, "after the migration")
        finish(case.agent(host, 0, 0))
        case.check_rows(samples)
        expect(case.number("SELECT count() FROM system.tables WHERE database = "
                           "currentDatabase() AND name = 'samples_1'"), 0, "old tables")


def a_row_has_few_bytes(case):
    """Of an hour of 50 hosts with the same 2 services, which have 20,000 stacks. Version 1 had 11."""
    case.server.ask("INSERT INTO samples_in SELECT toDate(20000), toUInt32(1728000000 + rand(1) % "
                    "3600) AS s, sipHash64(number % 100), sipHash64(number % 2, floor(10000 * "
                    "pow(rand(2) / 4294967296, 3))), sipHash64(intDiv(number, 2) % 50) + "
                    "bitShiftLeft(toUInt64(intDiv(s, 10)), 16), toUInt64(1 + (rand(3) % 20 = 0)) "
                    "AS n, n * 52631578. FROM numbers(1000000)", case.name)
    case.server.ask("OPTIMIZE TABLE samples PARTITION '2024-10-04' FINAL", case.name)
    rows, size = case.server.ask("SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE "
                                 f"active AND database = '{case.name}' AND table = 'samples'").split()
    expect(int(rows) > 900000, True, rows)
    expect(int(size) / int(rows) <= 6, True, f"{int(size) / int(rows)} bytes a row")


def answers_by_span(case):
    """Of whole windows, parts of them, seconds at their edges, and both days (midnight is
    @1790035200); with times and without."""
    spans = ["@1790035000..@1790050000", "@1790035173..@1790035177", "@1790035177..@1790035184",
             "@1790035179..@1790035180", "@1790035180..@1790035181", "@1790035195..@1790035205",
             "@1790035199..@1790035200", "@1790035200..@1790035201", "@1790035209..@1790035211"]
    answers = {}
    for span in spans:
        for word in ["fold", "report"] if span in spans[:3] else ["fold"]:
            done = case.stoke(word, "--store", case.url(), "--at", span)
            expect(done.returncode, 0, span + done.stderr)
            expect(len(done.stdout) > 100, True, span)
            answers[word + span] = sorted(done.stdout.split("\n"))
    return answers


def rows_that_were_inserted_twice_count_once(case):
    """Blocks that were sent again are grouped by block only if rows of them are double."""
    case.server.ask("SYSTEM STOP MERGES")
    try:
        for host in "ab":
            finish(case.agent(host, 5, 200))
        right = answers_by_span(case)
        blocks = case.server.ask("SELECT block FROM windows ORDER BY start, block", case.name).split()
        mark_resent(case, ",".join(blocks[::2]))
        expect(answers_by_span(case), right, "sent again, stored once")
        for more in [blocks[:1], blocks[3:5], blocks]:
            insert_again(case, ",".join(more))
            expect(answers_by_span(case), right, f"{len(more)} blocks are double")
        rows = case.number("SELECT count() FROM samples")
    finally:
        case.server.ask("SYSTEM START MERGES")
    for table in ("samples", "windows"):
        for day in ("2026-09-21", "2026-09-22"):
            case.server.ask(f"OPTIMIZE TABLE {table} PARTITION '{day}' FINAL", case.name)
    expect(case.number("SELECT count() FROM samples") < rows / 2, True, "merged rows")
    expect(answers_by_span(case), right, "after the merge")


def a_killed_server_loses_nothing(case):
    agents = [case.agent(host, 30, 200) for host in ("a", "b")]
    while case.number("SELECT count() FROM windows") < 4:
        time.sleep(0.01)
    for _ in range(2):
        case.server.kill()
        time.sleep(0.2)  # no event: the agents fail to connect, or wait
        case.server.start()
        time.sleep(0.2)
    case.check_rows(sum(finish(agent) for agent in agents))


def a_killed_agent_loses_nothing(case):
    agent = case.agent("a", 1000, 100)
    lines = [agent.stdout.readline() for _ in range(15)]
    agent.send_signal(signal.SIGKILL)
    rest, _ = agent.communicate(timeout=tap.TIMEOUT)
    acknowledged = samples_of("".join(lines) + rest)
    finish(case.agent("a", 0, 0))
    stored = case.number("SELECT sum(count) FROM samples")
    # the last window may be on the disk though the agent could not say so
    expect(acknowledged <= stored <= acknowledged + 200, True, f"{acknowledged}, {stored}")
    case.check_rows(stored)


def a_full_spool_counts_what_it_drops(case):
    case.server.kill()
    agent = case.agent("a", 24, 2000, "&spool-size=1", waits=False)
    output, errors = agent.communicate(timeout=tap.TIMEOUT)
    expect(agent.returncode, 0, errors)
    expect("spool is full" in output, True, output)
    expect("samples are in" in output, True, output)
    names = os.listdir(case.spool("a"))
    size = sum(os.path.getsize(os.path.join(case.spool("a"), name)) for name in names)
    expect(size <= 1 << 20, True, f"{size} bytes")
    blocks = sum(name.endswith(".samples") for name in names)
    case.server.start()
    finish(case.agent("a", 0, 0))
    stored = case.number("SELECT sum(count) FROM samples")
    case.check_rows(stored)
    expect(case.number("SELECT sum(n) FROM (SELECT any(dropped) AS n FROM windows GROUP BY "
                       "block)"), 24 - blocks, "dropped blocks")
    warnings = case.stoke("fold", "--store", case.url(), *SPAN).stderr
    expect("not stored" in warnings, False, warnings)


def a_damaged_block_does_not_stop_the_others(case):
    case.server.kill()
    agent = case.agent("a", 3, 100, waits=False)
    output, _ = agent.communicate(timeout=tap.TIMEOUT)
    names = sorted(n for n in os.listdir(case.spool("a")) if n.endswith(".samples"))
    with open(os.path.join(case.spool("a"), names[1]), "r+b") as file:
        file.seek(200)
        file.write(b"damaged")
    case.server.start()
    finish(case.agent("a", 0, 0))
    stored = case.number("SELECT sum(count) FROM samples")
    expect(0 < stored < samples_of(output), True, f"{stored} of {samples_of(output)}")
    expect(case.number("SELECT uniqExact(start) FROM windows"), 2, "windows")
    case.check_rows(stored)


def start_server(case):
    """stoke server over the store; its process and port."""
    errors = os.path.join(case.folder, "errors")
    with open(errors, "wb") as file:
        process = subprocess.Popen([tap.STOKE, "server", "--store", case.url("s"), "--listen", "127.0.0.1:0"],
                                   stderr=file)
    while process.poll() is None:
        with open(errors, encoding="utf-8") as file:
            match = re.search(r"served on port (\d+)", file.read())
        if match:
            return process, int(match[1])
        time.sleep(0.02)
    raise AssertionError("stoke server has ended")


def ask_server(port, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=tap.TIMEOUT)
    connection.request("POST" if body else "GET", path, body)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    expect(reply.status, 200, text)
    return text


def what_agents_push_is_stored(case):
    """Also while ClickHouse is down: then it is sent later."""
    process, port = start_server(case)
    now = int(time.time())
    path = f"/ingest?name=web.cpu{{hostname=h1}}&from={now - 20}&until={now - 10}&sampleRate=100"
    try:
        ask_server(port, path, "main;a 10\nmain;b 5\n")
        case.server.kill()
        ask_server(port, path, "main;a 7\n")
        case.server.start()
        until = time.monotonic() + tap.TIMEOUT / 2
        while case.number("SELECT sum(count) FROM samples") < 22 and time.monotonic() < until:
            time.sleep(0.05)
        case.check_rows(22)
        stacks = ask_server(port, f"/api/profile?from={now - 30}&to=now&format=folded&label=host=h1")
        expect(sorted(stacks.split()), sorted(["main;a", "170000000", "main;b", "50000000"]))
    finally:
        process.send_signal(signal.SIGTERM)
        expect(process.wait(tap.TIMEOUT), 0, "the status of the server")


class Recorder(http.server.BaseHTTPRequestHandler):
    """A server that has codecs and no tables; it remembers the statements."""
    statements = []

    def do_POST(self):
        sql = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.statements.append(sql)
        number = 1 if "compression_codec" in sql else 2 if "max(version)" in sql else 0
        body = struct.pack("<Q", number) if "FORMAT RowBinary" in sql else b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def a_newer_server_uses_codecs():
    """Which Debian does not have."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"clickhouse://admin@127.0.0.1:{server.server_port}/db"
    done = subprocess.run([tap.STOKE, "store", "init", "--store", url], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=tap.TIMEOUT)
    server.shutdown()
    expect(done.returncode, 0, done.stderr)
    created = [s for s in Recorder.statements if s.startswith("CREATE TABLE")]
    with_codecs = [re.findall(r"(\w+) [\w()]+ CODEC\(ZSTD\(1\)\)", s) for s in created]
    expect(sorted(sum(with_codecs, [])),
           sorted(["name", "module", "build_id", "file", "frames", "bytes", "name", "data", "stack",
                   "stream", "count", "weight"]))
    expect([s for s in created if "~" in s], [])


TESTS = [the_tables_are_created_and_checked, what_is_written_is_read_back,
         questions_of_a_fleet_have_the_same_answers,
         rows_that_were_inserted_twice_count_once, tables_of_version_1_are_migrated,
         a_row_has_few_bytes, a_killed_server_loses_nothing,
         a_killed_agent_loses_nothing, a_full_spool_counts_what_it_drops,
         a_damaged_block_does_not_stop_the_others, what_agents_push_is_stored]


def main():
    t = tap.Tap()
    try:
        a_newer_server_uses_codecs()
        why = ""
    except AssertionError as error:
        why = str(error) or "failed"
    t.result("a newer server uses codecs", why)
    if not shutil.which("clickhouse-server"):
        t.skip("the ClickHouse store", "clickhouse-server is missing (tools/deps ci)")
        t.done()
    os.environ["STOKE_CLICKHOUSE_PASSWORD"] = PASSWORD
    with tempfile.TemporaryDirectory(prefix="stoke-clickhouse-") as folder:
        server = Server(folder)
        try:
            server.start()
            for test in TESTS:
                if len(sys.argv) > 2 and sys.argv[2] not in test.__name__:
                    continue
                try:
                    test(Case(server, folder, test.__name__))
                    why = ""
                except AssertionError as error:
                    why = str(error) or "failed"
                t.result(test.__name__.replace("_", " "), why)
        finally:
            server.kill()
    t.done()


if __name__ == "__main__":
    main()
