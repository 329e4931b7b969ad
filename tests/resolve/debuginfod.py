#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debug files from a server: records a program, removes its debug information and serves it from a
debuginfod of the test; names and inlined functions are found again."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

import tap

SOURCE = """
static volatile unsigned sink;
static inline __attribute__((always_inline)) void inlined_work(unsigned n)
{ for (unsigned i = 0; i < n; i++) sink = sink * 31 + i; }
static __attribute__((noinline)) void hidden_function(unsigned n)
{ inlined_work(n); sink++; }
int main(void) { for (int i = 0; i < 3000; i++) { hidden_function(100000); sink++; } }
"""


def run(*command, **more):
    status, out, err = tap.run(command, **more)
    if status != 0:
        raise RuntimeError(f"{' '.join(command)}: {err.decode('utf-8', 'replace')}")
    return out


def prepare(folder):
    """A stripped program and its recording; the debug file in folder/served."""
    served = os.path.join(folder, "served")
    os.mkdir(served)
    with open(os.path.join(folder, "a.c"), "w") as out:
        out.write(SOURCE)
    run("gcc", "-O2", "-g", "-Wl,--build-id", "-o", "program", "a.c", cwd=folder)
    run("objcopy", "--only-keep-debug", "program", "served/program.debug", cwd=folder)
    run("strip", "program", cwd=folder)
    run("perf", "record", "-q", "-g", "-F", "999", "-o", "perf.data", "./program",
        cwd=folder)
    return served


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def has_file(url, build_id):
    try:
        with urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo", timeout=60) as reply:
            return bool(reply.read())
    except OSError:  # it does not answer yet, or has not read the file yet
        return False


def serve(folder, served):
    """A server that has the debug file. Another program can take the port before it: then it ends,
    and is started again with another port."""
    notes = run("readelf", "-n", "program", cwd=folder).decode()
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    until, server = time.monotonic() + tap.TIMEOUT / 2, None
    while time.monotonic() < until:
        if not server or server.poll() is not None:
            port = free_port()
            url = f"http://127.0.0.1:{port}"
            server = subprocess.Popen(
                ["debuginfod", "-p", str(port), "-d", ":memory:", "-F", served], cwd=folder,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if has_file(url, build_id):
            break
        time.sleep(0.1)
    return server, url


def fold(folder, url, *options):
    env = dict(os.environ, DEBUGINFOD_URLS=url, HOME=folder,
               DEBUGINFOD_CACHE_PATH=os.path.join(folder, "cache"),
               XDG_CACHE_HOME=os.path.join(folder, "cache"))
    return run(tap.STOKE, "fold", "-q", *options, "perf.data", cwd=folder, env=env).decode()


def check(t, folder, served):
    server, url = serve(folder, served)
    try:
        without = fold(folder, url, "--no-debuginfod")
        fetched = fold(folder, url)
    finally:
        server.kill()
        server.wait()
    again = fold(folder, url)
    dead = fold(folder, "http://127.0.0.1:9", "--no-inline")

    def holds(name, ok, text):
        t.result(name, "" if ok else "stoke fold gave:\n" + text[:2000])

    holds("--no-debuginfod asks no server",
          without and "hidden_function" not in without, without)
    holds("names and inlined functions come from the server",
          ";hidden_function" in fetched and ";inlined_work" in fetched, fetched)
    holds("fetched files are cached", again == fetched, again)
    holds("a server that does not answer is no failure", "program" in dead, dead)


def main():
    t = tap.Tap()
    missing = [tool for tool in ("perf", "gcc", "debuginfod") if not shutil.which(tool)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            served = None if missing else prepare(folder)
        except RuntimeError as failure:
            missing = [f"a recording ({failure})"]
        if missing:
            t.skip("debuginfod", " and ".join(missing) + " is missing")
        else:
            check(t, folder, served)
    t.done()


main()
