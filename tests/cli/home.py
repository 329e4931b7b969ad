# SPDX-License-Identifier: Apache-2.0
"""The requests of the home of stoke view: home.py ADDRESS PID, with PID a busy process of load.c."""

import atexit
import http.client
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

ADDRESS, PID = sys.argv[1], int(sys.argv[2])
PATIENCE = 120  # seconds, on a busy machine
url = urllib.parse.urlparse(ADDRESS)
HOST = url.netloc


def ask(method, path, body=None, **fields):
    """Status, type and body of a reply. Fields: names with _ for -."""
    client = http.client.HTTPConnection(HOST, timeout=PATIENCE)
    fields = {name.replace("_", "-"): value for name, value in fields.items()}
    if body is not None and "Content-Type" not in fields:
        fields["Content-Type"] = "application/json"
    client.request(method, path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body), fields)
    reply = client.getresponse()
    return reply.status, reply.getheader("Content-Type"), reply.read(), reply.getheader("Set-Cookie")


def check(what, got, *expected):
    if got not in expected:
        sys.exit(f"{what}: {got!r}, not {' or '.join(map(repr, expected))}")


def settings(**more):
    return {"target": "pids", "pids": [PID], "rate": 499, "duration": 0, **more}


# --- Only the page of this server, with the cookie --------------------------------------------------

ALL = [("GET", "/api/home", None), ("GET", "/api/processes", None), ("GET", "/api/recording", None), ("GET", "/api/opening", None),
       ("GET", "/home", None), ("GET", "/view/0123456789abcdef", None), ("POST", "/api/plan", settings()), ("POST", "/api/record", settings()),
       ("POST", "/api/stop", {}), ("POST", "/api/open", {"file": "0123456789abcdef"})]
for method, path, body in ALL:
    check(f"{path} without a cookie", ask(method, path, body)[0], 403)
    check(f"{path} with another cookie", ask(method, path, body, Cookie=f"stoke-{url.port}={'0' * 32}")[0], 403)
cookie = ask("GET", url.path)[3].split(";")[0]
for method, path, body in ALL:
    check(f"{path} by another name", ask(method, path, body, Cookie=cookie, Host="evil.example")[0], 421)
    for field, value in (("Origin", "http://evil.example"), ("Origin", f"https://{HOST}"), ("Origin", "http://localhost:1"), ("Origin", "null"),
                         ("Sec_Fetch_Site", "cross-site"), ("Sec_Fetch_Site", "same-site")):
        check(f"{path} with {field} {value}", ask(method, path, body, Cookie=cookie, **{field: value})[0], 403)
for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
    check(kind, ask("POST", "/api/record", json.dumps(settings()), Cookie=cookie, Content_Type=kind)[0], 403)
for method in ("OPTIONS", "PUT", "DELETE"):
    check(method, ask(method, "/api/record", Cookie=cookie)[0], 405)
check("GET of a request that changes", ask("GET", "/api/record", Cookie=cookie)[0], 404)
check("POST of a request that reads", ask("POST", "/api/home", {}, Cookie=cookie)[0], 404, 405)


def get(path):
    status, kind, body, _ = ask("GET", path, Cookie=cookie)
    check(path, status, 200)
    check(f"the type of {path}", kind, "application/json")
    return json.loads(body)


def post(path, body):
    status, kind, reply, _ = ask("POST", path, body, Cookie=cookie, Origin=f"http://{HOST}", Sec_Fetch_Site="same-origin")
    check(f"the type of {path}", kind, "application/json")
    return status, json.loads(reply)


# --- Invalid requests start nothing -----------------------------------------------------------------

gone = subprocess.Popen(["true"])
gone.wait()
for body in ("", "{", "[]", "7", '"x"', "null", '{"target"', "\0", '{"target": "machine"} x', "[" * 10000, '{"a":' * 1000):
    status, reply = post("/api/record", body)
    check(f"the body {body[:20]!r}", status, 400)
    assert reply["error"], reply
for wrong in ({"target": "everything"}, {"target": 1}, {"pids": []}, {"pids": [0]}, {"pids": [-1]}, {"pids": [1.5]}, {"pids": ["x"]},
              {"pids": [gone.pid]}, {"pids": [PID, 2**31]}, {"pids": [PID] * 1025}, {"pids": PID}, {"rate": 0}, {"rate": 1e9}, {"rate": "fast"}, {"duration": -1},
              {"duration": 1e9}, {"stacks": "all"}, {"event": "-a"}, {"event": "cycles; id"}, {"event": "x" * 300}, {"event": None}, {"off_cpu": 1},
              {"target": "command", "command": []}, {"target": "command", "command": [""]}, {"target": "command", "command": ["-o", "x"]},
              {"target": "command", "command": "true"}, {"target": "command", "command": ["a\0b"]}, {"target": "command", "command": ["x"] * 300}, {"output": "/etc/passwd"}):
    status, reply = post("/api/record", settings(**wrong))
    check(f"the setting {str(wrong)[:60]}", status, 400)
    assert reply["error"], reply
check("a body that is too large", ask("POST", "/api/plan", "x" * 40000, Cookie=cookie)[0], 431)
check("an encoded body", ask("POST", "/api/plan", "0\r\n\r\n", Cookie=cookie, Transfer_Encoding="chunked")[0], 400)
check("an invalid length", ask("POST", "/api/plan", "x", Cookie=cookie, Content_Length="1x")[0], 400)
check("nothing was started", get("/api/recording"), {"state": "none"})
check("files", sorted(os.listdir(".")), ["two-events.perf"])


# --- The machine ------------------------------------------------------------------------------------

home = get("/api/home")
check("the folder", home["folder"], os.path.realpath("."))
check("the CPUs", home["cpus"], len(os.sched_getaffinity(0)), os.cpu_count())
[recent] = [one for one in home["recent"] if one["name"] == "two-events.perf"]
check("its size", recent["size"], os.path.getsize("two-events.perf"))
time.sleep(0.5)  # the load uses the CPU meanwhile
[busy] = [one for one in get("/api/processes")["processes"] if one["pid"] == PID]
check("its name", busy["name"], "load")
assert busy["cpu"] is None or busy["cpu"] >= 0, busy
until = time.monotonic() + PATIENCE
while not busy["cpu"]:
    assert time.monotonic() < until, busy
    time.sleep(0.2)
    [busy] = [one for one in get("/api/processes")["processes"] if one["pid"] == PID]
assert 0 < busy["cpu"] < 150 and 0 < busy["memory"] < 1 << 30, busy
processes = get("/api/processes")["processes"]
assert "kthreadd" not in {one["name"] for one in processes}, processes

# A name that is not valid UTF-8: JSON contains replacement characters; the file name omits them.
HOSTILE = b")</script>\n\xff\"\\/"
hostile = subprocess.Popen([sys.executable, "-c", f"import ctypes, time; ctypes.CDLL(None).prctl(15, {HOSTILE!r}); print(flush=True); time.sleep(9999)"], stdout=subprocess.PIPE)
atexit.register(hostile.kill)
assert hostile.stdout.readline()
found = []
while not found:  # a reading is retained for a while
    found = [one["name"] for one in get("/api/processes")["processes"] if one["pid"] == hostile.pid]
check("a hostile name", found, [")</script>\n\ufffd\"\\/"])
_, plan = post("/api/plan", settings(pids=[hostile.pid]))
assert " -o ___script____/-" not in plan["command"] and re.search(r" -o _[\w.-]+\.stoke ", plan["command"]), plan


# --- The command line -------------------------------------------------------------------------------

status, plan = post("/api/plan", settings(duration=2.5, off_cpu=True, children=False, event="cpu-clock", stacks="fp"))
check("a plan", status, 200)
assert re.fullmatch(rf"stoke record --bundle -o load-\d{{8}}-\d{{6}}\.stoke -F 499 -g fp -e cpu-clock --off-cpu -i --duration 2\.5 -p {PID}", plan["command"]), plan
status, plan = post("/api/plan", {"target": "command", "command": ["sh", "-c", "echo it's $HOME; id"], "duration": 0})
assert plan["command"].endswith(" -- sh -c 'echo it'\\''s $HOME; id'"), plan
status, plan = post("/api/plan", {"target": "command", "command": ["true"], "heap": True, "duration": 0})
assert plan["command"].endswith(" -g auto --heap -- true"), plan
_, plan = post("/api/plan", settings(heap=True, duration=3, off_cpu=True))  # alone: what is for samples of CPU time does not apply
assert re.fullmatch(rf"stoke heap -o load-\d{{8}}-\d{{6}}\.stoke --duration 3 -p {PID}", plan["command"]), plan
refused = post("/api/plan", settings(heap=True, pids=[PID, hostile.pid]))
check("the heap of two processes", (refused[0], refused[1]["error"]), (400, "the heap of 2 processes cannot be recorded at once"))
check("without the process that has ended", post("/api/plan", settings(pids=[gone.pid, PID]))[1]["command"].split()[-1], str(PID))
check("the machine", post("/api/plan", {"target": "machine"})[1]["command"].split()[-1], "-a")


# --- A recording ------------------------------------------------------------------------------------

def cpu_time(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(path, *states):
    until = time.monotonic() + PATIENCE
    while (state := get(path))["state"] not in states:
        assert time.monotonic() < until, state
        time.sleep(0.1)
    return state


status, state = post("/api/record", settings())
check("recording", (status, state["state"], state["title"]), (200, "recording", "load"))
status, reply = post("/api/record", settings())
check("two at once", status, 409)
assert "in progress" in reply["error"], reply
until, used = time.monotonic() + PATIENCE, cpu_time(PID)
while cpu_time(PID) < used + 0.5:
    assert time.monotonic() < until, get("/api/recording")
    time.sleep(0.1)
check("still recording", get("/api/recording")["state"], "recording")
check("stopped", post("/api/stop", {})[1]["state"], "ending", "recorded")
state = wait_for("/api/recording", "recorded", "failed")
assert state["state"] == "recorded", state
assert "samples of" in state["messages"], state
folded = subprocess.run(["stoke", "fold", "-q", state["name"]], capture_output=True, text=True, check=True).stdout
assert ";main;middle;leaf" in folded, folded
check("in the list", [one["id"] for one in get("/api/home")["recent"] if one["name"] == state["name"]], [state["file"]])

# Its page.
for wrong in ({"file": state["file"], "before": 7}, {"file": state["file"], "before": "../x"}, {"file": state["file"], "before": "0" * 16},
              {"file": state["file"] + "0"}, {}, {"file": 1}, {"file": "../../etc/passwd"}, {"file": "x" * 1000}, {"file": "/etc/passwd"}):
    check(f"opening {str(wrong)[:40]}", post("/api/open", wrong)[0], 400, 404)
check("an unknown file", post("/api/open", {"file": "0" * 16})[0], 404)
check("a page that is not made", b'id="profile"' in ask("GET", f"/view/{state['file']}", Cookie=cookie)[2].split(b"</script>")[-3], False)
check("opening", post("/api/open", {"file": state["file"]})[1]["state"], "opening", "opened")
wait_for("/api/opening", "opened")
status, kind, page, _ = ask("GET", f"/view/{state['file']}", Cookie=cookie)
check("its page", (status, kind), (200, "text/html; charset=utf-8"))
assert f'id="profile" data-name="{state["name"]}"'.encode() in page and b'id="home"' in page
check("the home", b'data-name="' in ask("GET", "/home", Cookie=cookie)[2].split(b'id="home"')[1].split(b"<script>")[0], False)
post("/api/open", {"file": recent["id"]})
wait_for("/api/opening", "opened")

# A comparison has both; it is not the page of one of them.
status, opening = post("/api/open", {"file": state["file"], "before": recent["id"]})
check("opening a comparison", (status, opening["file"], opening["before"]), (200, state["file"], recent["id"]))
wait_for("/api/opening", "opened")
page = ask("GET", f"/view/{state['file']}/{recent['id']}", Cookie=cookie)[2]
assert f'id="profile" data-name="{state["name"]}"'.encode() in page and b'id="profile-before" data-name="two-events.perf"' in page
for other in (state["file"], recent["id"], f"{recent['id']}/{state['file']}", f"{state['file']}/{'0' * 16}"):
    check(f"the page {other}", b'data-name="' in ask("GET", f"/view/{other}", Cookie=cookie)[2].split(b'id="home"')[1].split(b"<script>")[0], False)


# What the files contain.

def about(name):
    """The description, once there is one."""
    until = time.monotonic() + PATIENCE
    while True:
        [one] = [one for one in get("/api/home")["recent"] if one["name"] == name]
        if one["about"]:
            return one["about"]
        assert time.monotonic() < until, one
        time.sleep(0.05)


of = about(state["name"])
assert of["program"] == "load" and of["format"] == "perf-data" and of["samples"] > 0 and 0 < of["seconds"] < 3600, of
assert f"-p {PID}" in of["command"] and of["events"][0]["unit"] == "ns" and of["events"][0]["total"] > 0 and "large" not in of, of
of = about("two-events.perf")
check("events", [(one["name"], one["total"] > 0) for one in of["events"]], [("cycles", True), ("page-faults", True)])
check("program and command", (of["program"], of["host"], of["command"].split()[0]), ("cron", "build7", "/usr/bin/perf"))
with open("changing.folded", "w", encoding="utf-8") as file:
    file.write("a;b 3\n")
check("samples", about("changing.folded")["events"], [{"name": "samples", "unit": "samples", "total": 3}])
with open("changing.folded", "a", encoding="utf-8") as file:
    file.write("a;c 40\n")
check("samples of the changed file", about("changing.folded")["events"][0]["total"], 43)
for name, content in (("bad.pprof", b"\0" * 100), ("bad.stoke", b"\x89STOKE\r\n"), ("bad.folded", b"a\n")):
    with open(name, "wb") as file:
        file.write(content)
    assert about(name)["error"], name
    os.remove(name)

# Of large files only the header, or the beginning.
subprocess.run(["stoke", "record", "-q", "-e", "cpu-clock", "-o", "large.data", "sh", "-c", "exec ../load 300"], check=False)
os.truncate("large.data", 1 << 30)
of = about("large.data")
assert of["large"] is True and "samples" not in of and of["command"].endswith("../load 300") and of["seconds"] > 0, of
check("its event", [one["name"] for one in of["events"]], ["cpu-clock"])
with open("large.perf", "w", encoding="utf-8") as file:
    with open("two-events.perf", encoding="utf-8") as small:
        text = small.read() + "\n"
    file.write(text * ((17 << 20) // len(text)))
of = about("large.perf")
assert of["large"] is True and "samples" not in of and of["format"] == "perf", of
assert "total" not in of["events"][0], of
with open("large.folded", "wb") as file:
    file.truncate(1 << 30)
check("a large file of nothing", about("large.folded"), {"large": True})
for name in ("large.data", "large.perf", "large.folded", "changing.folded"):
    os.remove(name)

# A file that cannot be read, and one that is not there any more.
with open("bad.stoke", "w", encoding="utf-8") as file:
    file.write("nothing")
[bad] = [one for one in get("/api/home")["recent"] if one["name"] == "bad.stoke"]
post("/api/open", {"file": bad["id"]})
assert "bad.stoke" in wait_for("/api/opening", "failed")["messages"]
os.remove("bad.stoke")
check("a file that is gone", post("/api/open", {"file": bad["id"]})[0], 404)

# A command: its output does not fill a pipe, its status does not matter.
post("/api/record", {"target": "command", "command": ["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exec ../load 100"], "duration": 0})
state = wait_for("/api/recording", "recorded", "failed")
check("a command", (state["state"], state["title"]), ("recorded", "sh"))
status, _ = post("/api/record", {"target": "command", "command": ["./missing"]})
state = wait_for("/api/recording", "failed")
assert "missing" in state["messages"], state

# A process that ends ends its recording.
post("/api/record", settings(pids=[hostile.pid], event="page-faults"))
hostile.kill()
hostile.wait()
state = wait_for("/api/recording", "recorded", "failed")
assert state["state"] == "recorded" or state["messages"], state

# Stopped while it starts: it ends, and nothing is left or a reason is given.
for _ in range(5):
    post("/api/record", settings())
    post("/api/stop", {})
    state = wait_for("/api/recording", "recorded", "failed")
    assert state["state"] == "recorded" or state["messages"], state
check("temporary files", [name for name in os.listdir(".") if not name.endswith((".stoke", "two-events.perf"))], [])

# Of many files, the newest are listed.
for i in range(300):
    with open(f"old-{i}.folded", "w", encoding="utf-8") as file:
        file.write("a 1\n")
    os.utime(f"old-{i}.folded", (1000 + i, 1000 + i))
listed = [one["name"] for one in get("/api/home")["recent"]]
check("the number of files", len(listed), 200)
check("the newest", [name for name in listed if name.startswith("old")][:2], ["old-299.folded", "old-298.folded"])
check("which are described", ["about" in one for one in get("/api/home")["recent"]], [True] * 12 + [False] * 188)
assert "two-events.perf" in listed and "old-1.folded" not in listed, listed

# A recording that still runs when the server ends.
check("the last", post("/api/record", settings())[0], 200)
