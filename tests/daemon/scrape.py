#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke server --scrape asks programs for /debug/pprof, also hostile ones, and ends while one is silent."""

import http.server
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

import tap

REFUSED = [("scrape_configs:\n", "no targets: add static_configs"),
           ("what: 1\n", "line 1: unknown key 'what'"),
           ("scrape_configs:\n- job_name: a\n  scrape_timeout: 5s\n", "line 3: unknown key 'scrape_timeout'"),
           ("scrape_configs:\n- job_name: a\n  scrape_interval: 1s\n", "line 3: invalid scrape_interval"),
           ("scrape_configs:\n- job_name: a\n  scheme: ftp\n", "invalid scheme"),
           ("scrape_configs:\n- job_name: a\n  profiles: [nothing]\n", "unknown profile 'nothing'"),
           ("scrape_configs:\n- job_name: a\n  static_configs:\n  - targets: ['a/b:1']\n", "line 4: invalid target"),
           ("scrape_configs:\n- job_name: a\n  static_configs:\n  - targets: host:1\n", "a list in brackets"),
           ("scrape_configs:\n- job_name: a\n  targets: ['a:1']\n", "is in no list"),
           ("\tscrape_configs:\n", "line 1: a tab"), ("words\n", "line 1: no 'key: value'"),
           ("- job_name:\n", "the job has no name"), ("", "is empty")]


class Target(http.server.BaseHTTPRequestHandler):
    body = b""
    paths = []
    release = threading.Event()

    def do_GET(self):
        Target.paths.append((self.server.name, self.path))
        if self.server.name == "silent":
            Target.release.wait(tap.TIMEOUT)
            return
        body = {"garbage": b"\x1f\x8b\x08\x00 this is no profile"}.get(self.server.name, Target.body)
        status = 500 if self.server.name == "failing" else 200
        self.send_response(status)
        self.end_headers()
        try:
            if self.server.name == "endless":
                for _ in range(80):
                    self.wfile.write(bytes(1 << 20))
            else:
                self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def start_target(name):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    server.daemon_threads = True
    server.name = name
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"127.0.0.1:{server.server_address[1]}"


def wait_for(condition, what):
    end = time.monotonic() + tap.TIMEOUT / 2
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.05)


def expect(ok, what):
    if not ok:
        raise AssertionError(what)


def refused(folder):
    for text, message in REFUSED:
        with open("wrong", "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([tap.STOKE, "server", "--store", "w.db", "--scrape", "wrong", "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=tap.TIMEOUT, check=False, cwd=folder)
        expect(done.returncode == 1 and message in done.stderr, f"{text!r}: {done.stderr}")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def scraped(_):
    with open("in.folded", "w", encoding="utf-8") as file:
        file.write("main;parse 70\nmain;serve 30\n")
    Target.body = subprocess.run([tap.STOKE, "convert", "--to", "pprof", "-o", "-", "in.folded"],
                                 capture_output=True, check=True).stdout
    names = ["good", "other", "failing", "garbage", "endless", "silent"]
    at = {name: start_target(name) for name in names}
    with open("scrape.yml", "w", encoding="utf-8") as file:
        file.write(f"""# targets
global:
  scrape_interval: 1h
scrape_configs:
  - job_name: 'shop'   # a comment
    scrape_interval: 5s
    profiles: [profile, "goroutine"]
    static_configs:
      - targets: ['{at["good"]}']
        labels:
          region: "west # 1"
      - labels:
          host: h2
        targets:
        - {at["other"]}
  - job_name: hostile
    scrape_interval: 5s
    static_configs:
    - targets: [{", ".join(at[n] for n in names[2:])}, "127.0.0.1:1"]
""")
    with open("errors", "w", encoding="utf-8") as errors:
        server = subprocess.Popen([tap.STOKE, "server", "--store", "s.db", "--scrape", "scrape.yml",
                                   "--listen", "127.0.0.1:0"], stderr=errors)
    try:
        wait_for(lambda: "served on port" in text_of("errors") or server.poll() is not None, "no server")
        port = re.search(r"served on port (\d+)", text_of("errors"))[1]
        asked = lambda name: [path for who, path in Target.paths if who == name]
        wait_for(lambda: len(asked("good")) >= 4 and len(asked("other")) >= 2 and asked("silent"), Target.paths)
        expect(set(asked("good")) == {"/debug/pprof/profile?seconds=4", "/debug/pprof/goroutine"}, asked("good"))
        for name in ["failing", "garbage", "endless"]:
            wait_for(lambda: f"cannot scrape http://{at[name]}" in text_of("errors"), f"{name}: {text_of('errors')}")
        wait_for(lambda: "cannot scrape http://127.0.0.1:1:" in text_of("errors"), text_of("errors"))
        expect("the status 500" in text_of("errors"), text_of("errors"))
        base = f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(base + "/api/profile?from=-5m&format=folded&label=region=west*", timeout=60) as reply:
            folded = reply.read().decode()
        expect(re.search(r"^main;parse \d+", folded, re.MULTILINE) is not None, folded)
        with urllib.request.urlopen(base + "/api/labels", timeout=60) as reply:
            labels = reply.read().decode()
        expect('"region":["west # 1"]' in labels and '"service":["shop"]' in labels and "hostile" not in labels and
               '"h2"' in labels and at["good"] in labels, labels)
        with urllib.request.urlopen(base + "/metrics", timeout=60) as reply:
            metrics = reply.read().decode()
        stored = int(re.search(r'stoke_intake_requests_total{entrance="scrape",result="stored"} (\d+)', metrics)[1])
        expect(stored >= 4, metrics)
    finally:
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        status = server.wait(tap.TIMEOUT)
        Target.release.set()
    expect(status == 0 and time.monotonic() - began < 20, f"{status}, {time.monotonic() - began} s")


def main():
    t = tap.Tap()
    with tempfile.TemporaryDirectory(prefix="stoke-scrape-") as folder:
        os.chdir(folder)
        done = subprocess.run([tap.STOKE, "store", "init", "--store", "s.db"], capture_output=True, text=True, check=False)
        if done.returncode:
            t.skip("scraping", done.stderr.strip())
            t.done()
        for name, test in [("wrong files are refused", refused), ("targets are scraped", scraped)]:
            try:
                test(folder)
                why = ""
            except AssertionError as error:
                why = str(error) or "failed"
            t.result(name, why)
    t.done()


if __name__ == "__main__":
    main()
