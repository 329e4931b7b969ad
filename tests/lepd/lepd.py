#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke daemon --lepd with a client that does what each page of LEPV does: every panel gets its
data, and the tables agree with the commands of this machine. Then clients that attack the
server: nobody else waits, and nothing grows."""

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time

import tap
from lepd_client import HELLO, Daemon, call, connect, lines_of, reply

# --- LEPV's panels (continuous.md, section 7) -----------------------------------------------


def cpu_stat(daemon):
    lines = lines_of(daemon, "GetCmdMpstat")[3:]
    data = {}
    for line in lines:
        if not line.strip():
            break
        values = line.split()
        data[values[-11]] = [float(v) for v in values[-10:]]
    assert "all" in data and "0" in data, data
    assert all(abs(sum(values) - 100) < 0.2 or sum(values) == 0 for values in data.values()), data
    return f"{len(data) - 1} CPUs, idle {data['all'][-1]:.0f}%"


def cpu_softirq(daemon):
    block = call(daemon, "GetCmdMpstat-I").split("\n\n")[3]
    header, *rows = block.split("\n")
    names = header.split()[2:]
    assert names[-1] == "RCU/s" and names[-2] == "HRTIMER/s" and names[-4] == "TASKLET/s", names
    assert names[-7] == "NET_RX/s" and names[-8] == "NET_TX/s", names
    assert len(rows) == os.cpu_count() or len(rows) >= 1
    return f"{len(rows)} CPUs, RCU {rows[0].split()[-1]}/s"


def cpu_load(daemon):
    values = [float(v) for v in call(daemon, "GetProcLoadavg").split()[:3]]
    return f"{values}"


def cpu_top(daemon):
    header, *rows = lines_of(daemon, "GetCmdTop")
    names = header.split()
    assert names == "PID USER PRI NI VSZ RSS S %CPU %MEM TIME CMD".split(), names
    shares = [float(row.split()[7]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    return f"{len(rows)} processes"


def memory_status(daemon):
    pairs = dict(line.split(":") for line in lines_of(daemon, "GetProcMeminfo"))
    total = int(pairs["MemTotal"].replace("kB", ""))
    for name in ("MemFree", "Buffers", "Cached"):
        assert 0 <= int(pairs[name].replace("kB", "")) <= total
    return f"{total // 1024} MB"


def memory_procrank(daemon):
    lines = lines_of(daemon, "GetCmdProcrank")[1:]
    pss = 0
    for line in lines:
        if re.match(r"\W+-+\W+-+\W-+.*", line):
            break
        values = line.split()
        pss += int(values[3][:-1])
        assert int(values[1][:-1]) >= 0 and int(values[4][:-1]) >= 0
    assert lines[-1].startswith("RAM:") and " total" in lines[-1]
    total = lines[-3].strip()
    assert total.endswith("TOTAL") and int(total.split()[-3][:-1]) >= pss > 0, total
    return f"PSS {pss // 1024} MB"


def io_status(daemon):
    lines = call(daemon, "GetCmdIostat").split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("Device:"))
    columns = lines[at].split()
    assert columns[5:7] == ["rkB/s", "wkB/s"] and columns[-1] == "%util", columns
    disks = [line.split() for line in lines[at + 1:] if line.strip()]
    assert all(len(disk) == 14 for disk in disks), disks
    return f"{len(disks)} disks"


def io_top(daemon):
    lines = lines_of(daemon, "GetCmdIotop")
    head = re.compile(r"\W*TID\W+PRIO\W+USER\W+DISK READ\W+DISK WRITE\W+SWAPIN\W+IO\W+COMMAND\W*")
    at = next(i for i, line in enumerate(lines) if head.match(line.strip()))
    rows = [line for line in lines[at + 1:] if line.strip()]
    for row in rows:
        assert len(re.findall(r"\s*\d+\.\d{2}\s*[G|M|K|B]\/s\s+", row)) == 2, row
        assert len(re.findall(r"\s*\d+\.\d{2}\s*\%\s+", row)) == 2, row
    return f"{len(rows)} processes"


def perf_table(daemon):
    lines = lines_of(daemon, "GetCmdPerfCpuclock")
    at = next(i for i, line in enumerate(lines) if line.startswith("# Overhead"))
    rows = [line.split() for line in lines[at + 3:] if line.strip()]
    rows = [row for row in rows if len(row) >= 5 and "%" in row[0]]
    assert rows, "no rows"
    assert abs(sum(float(row[0][:-1]) for row in rows) - 100) < 1 + 0.005 * len(rows), rows
    return f"{len(rows)} rows, first {' '.join(rows[0])}"


def perf_flame(daemon):
    """The tree as LEPV makes it."""
    root, path, samples = {}, [], 0
    for line in call(daemon, "GetCmdPerfFlame").split("\n"):
        if line and not line[0].isspace() and not line.startswith("#"):
            path = [line.split()[0]]
            samples += 1
        elif line.strip() and not line.startswith("#"):
            parts = line.split()
            path.append(parts[2] if parts[1] == "[unknown]" else parts[1])
        elif path:
            node = root
            for name in path[:1] + path[:0:-1]:
                node = node.setdefault(name, {})
            path = []
    assert samples > 0 and root and not any("+0x" in name for name in root), samples
    return f"{samples} samples, {len(root)} commands"


PANELS = {
    "cpu.stat": cpu_stat, "cpu.softirq": cpu_softirq, "cpu.avgload": cpu_load, "cpu.top": cpu_top,
    "memory.status": memory_status, "memory.procrank": memory_procrank, "io.status": io_status,
    "io.top": io_top, "perf.cpuclock": perf_table, "perf.flame": perf_flame,
}


def eventually(check, *args):
    """Samples and rates arrive seconds after the first request for them; and what two programs
    show may change between them."""
    end = time.monotonic() + 60
    while True:
        try:
            return check(*args)
        except (AssertionError, StopIteration, AttributeError, TypeError, ValueError,
                LookupError) as error:
            if time.monotonic() > end:
                raise AssertionError(f"{type(error).__name__}: {error}") from error
            time.sleep(0.2)


# --- Beside the commands --------------------------------------------------------------------


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, LC_ALL="C")).stdout


def beside_free(daemon):
    ours, theirs = call(daemon, "GetCmdFree").split("\n"), output("free").split("\n")
    assert ours[0] == theirs[0], (ours[0], theirs[0])
    a, b = ours[1].split(), theirs[1].split()
    assert a[:2] == b[:2] and len(a) == len(b), (a, b)
    assert ours[2].split()[1] == theirs[2].split()[1]


def beside_df(daemon):
    ours = [line.split() for line in lines_of(daemon, "GetCmdDf")]
    theirs = [line.split() for line in output("df", "-k").strip().split("\n")]
    assert ours[0] == theirs[0], (ours[0], theirs[0])
    sizes = {line[0]: line[1] for line in theirs[1:]}
    disks = [line for line in ours[1:] if line[0].startswith("/dev/")]
    assert all(sizes.get(line[0]) == line[1] for line in disks), (ours, theirs)
    assert len(disks) == sum(name.startswith("/dev/") for name in sizes), (ours, theirs)


def beside_ps(daemon):
    """A process that we start is shown as ps shows it."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    columns = (0, 1, 2, 3, 4, 6, 9)

    def shown():
        rows = [line.split() for line in lines_of(daemon, "GetCmdTop")]
        ours = [row for row in rows if row[0] == str(sleeper.pid)]
        theirs = output("ps", "-p", str(sleeper.pid), "-o",
                        "pid,user,pri,ni,vsize,rss,s,%cpu,%mem,time,cmd").split("\n")[1].split()
        assert ours and ours[0][10:] == theirs[10:], (ours, theirs)
        assert [ours[0][i] for i in columns] == [theirs[i] for i in columns], (ours, theirs)

    try:
        eventually(shown)
    finally:
        sleeper.kill()
        sleeper.wait()


def beside_mpstat(daemon):
    ours, theirs = lines_of(daemon, "GetCmdMpstat"), output("mpstat", "-P", "ALL", "1", "1").split("\n")
    assert ours[2].split()[1:] == theirs[2].split()[1:], (ours[2], theirs[2])
    assert len(ours[3]) == len(theirs[3]), (ours[3], theirs[3])
    assert [l.split()[1] for l in ours[3:5]] == [l.split()[1] for l in theirs[3:5]]


def beside_iostat(daemon):
    """Averages since boot: the columns that all versions of iostat have."""
    ours = [line.split() for line in lines_of(daemon, "GetCmdIostat") if line]
    theirs = [line.split() for line in output("iostat", "-d", "-x", "-k").split("\n") if line]
    rates = {line[0]: dict(zip(theirs[1], line)) for line in theirs[2:]}
    for row in ours[2:]:
        disk = dict(zip(ours[1], row))
        for name in ("r/s", "w/s", "rkB/s", "wkB/s"):
            a, b = float(disk[name]), float(rates[row[0]][name])
            assert abs(a - b) <= 0.1 * max(a, b) + 1, (row[0], name, a, b)


COMMANDS = {"free": beside_free, "df": beside_df, "ps": beside_ps, "mpstat": beside_mpstat,
            "iostat": beside_iostat}

# --- Attacks --------------------------------------------------------------------------------


def hello_order(daemon):
    """A flame call does not block another connection, nor a slow one a quick one."""
    times = []
    with connect(daemon) as slow, connect(daemon) as quick:
        for _ in range(50):
            slow.sendall(b'{"method":"GetCmdProcrank"}{"method":"GetCmdPerfFlame"}')
            started = time.perf_counter()
            quick.sendall(HELLO)
            assert b"Hello!" in reply(quick)
            times.append(time.perf_counter() - started)
        ends, tail = 0, b""
        while ends < 100:
            data = slow.recv(1 << 16)
            assert data, f"the connection ended after {ends} replies"
            ends += (tail + data).count(b"\n}\n")
            tail = (tail + data)[-2:]
    times.sort()
    return f"median {times[25] * 1e3:.2f} ms, longest {times[-1] * 1e3:.2f} ms"


def byte_by_byte(daemon):
    with connect(daemon) as sock:
        for byte in HELLO:
            sock.sendall(bytes([byte]))
        assert b"Hello!" in reply(sock)


def pipelined(daemon):
    with connect(daemon) as sock:
        sock.sendall(HELLO + b'{"method":"GetProcVersion","id":7}' + HELLO)
        replies = [reply(sock) for _ in range(3)]
    assert b"Hello!" in replies[0] and b"Linux version" in replies[1], replies
    assert b'"id":\t7' in replies[1] and b"Hello!" in replies[2], replies


def half_closed(daemon):
    with connect(daemon) as sock:
        sock.sendall(b'{"method":"GetProcVersion"}')
        sock.shutdown(socket.SHUT_WR)
        assert b"Linux version" in reply(sock)
        assert sock.recv(1) == b""


def brackets(daemon):
    """300,000 brackets get an error, and the server goes on."""
    with connect(daemon) as sock:
        try:
            sock.sendall(b"[" * 300000)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert b"-32700" in reply(sock)


def long_results(daemon):
    """Nothing is truncated, and slow clients get everything."""
    with open("/proc/vmallocinfo", "rb") as file:
        size = len(file.read())
    with connect(daemon) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(b'{"method":"GetProcVmallocinfo"}')
        received = b""
        while not received.endswith(b"\n}\n"):
            received += sock.recv(1000)
        result = json.loads(received)
    length = len(result["result"]) if "result" in result else 0
    assert length > size / 2, (length, size)
    return f"{length} bytes"


def idle_connections(daemon):
    """Held all at once; the daemon answers beside them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 10000
    if hard != resource.RLIM_INFINITY and hard < count + 200:
        count = hard - 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, hard))
    before, clients = daemon.resident(), []
    try:
        for _ in range(count):
            clients.append(connect(daemon))
        clients[0].sendall(HELLO)
        clients[-1].sendall(HELLO)
        assert b"Hello!" in reply(clients[0]) and b"Hello!" in reply(clients[-1])
        grown = daemon.resident() - before
    finally:
        for sock in clients:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert grown < 20 * count, f"{grown} KiB for {count} connections"
    return f"{count} connections take {grown} KiB"


def flood(daemon):
    """A client that sends and never receives; another is answered meanwhile."""
    before = daemon.resident()
    with connect(daemon) as flooder:
        flooder.setblocking(False)
        sent = 0
        while True:
            try:
                sent += flooder.send(HELLO * 1000)
            except BlockingIOError:
                break
        byte_by_byte(daemon)
        grown = daemon.resident() - before
    assert grown < 200000, grown  # sampling grows at the same time
    return f"{sent >> 10} KiB sent, the daemon grew by {grown} KiB"


ATTACKS = {
    "SayHello beside flame calls": hello_order, "a request one byte at a time": byte_by_byte,
    "pipelined requests": pipelined, "a client that closes its side": half_closed,
    "300,000 brackets": brackets, "a long result for a slow client": long_results,
    "idle connections": idle_connections, "a flood of requests": flood,
}


def all_methods(daemon):
    names = call(daemon, "ListAllMethod").split()
    assert len(names) == 32, names
    missing = [name for name in names if call(daemon, name) is None]
    return f"{len(names)} methods, not available here: {' '.join(missing) or 'none'}"


def checked(report, name, check, *args):
    try:
        said = check(*args)
        report.ok(f"{name}{': ' + said if said else ''}")
    except (AssertionError, OSError, ValueError, KeyError, IndexError) as error:
        report.not_ok(name, f"{type(error).__name__}: {error}")


def run_cases(report, daemon):
    checked(report, "all methods", all_methods, daemon)
    for name, panel in PANELS.items():
        checked(report, f"LEPV's panel {name}", eventually, panel, daemon)
    for name, check in COMMANDS.items():
        if shutil.which(name):
            checked(report, f"beside {name}", eventually, check, daemon)
        else:
            report.skip(f"beside {name}", f"no {name}")
    for name, attack in ATTACKS.items():
        if name.startswith("a long") and os.geteuid() != 0:
            report.skip(name, "root alone reads /proc/vmallocinfo")
        else:
            checked(report, name, attack, daemon)


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(folder)
        if not daemon.wait():
            report.skip("stoke daemon --lepd", "the daemon cannot run here: " +
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
    report.done()


main()
