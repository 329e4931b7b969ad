# SPDX-License-Identifier: Apache-2.0
"""Replies of stoke view on real sockets: viewer.py ADDRESS PAGE, with PAGE the file that it must
serve."""

import base64
import gzip
import re
import socket
import sys
import threading
import time

ADDRESS, PAGE = sys.argv[1:]
PORT = int(re.match(r"http://127\.0\.0\.1:(\d+)/[0-9a-f]{32}/$", ADDRESS)[1])
PATH = ADDRESS.split(str(PORT), 1)[1]
HOST = f"127.0.0.1:{PORT}"
HEAD_SECONDS = 5  # src/os/server.c


def connect(family=socket.AF_INET):
    client = socket.socket(family, socket.SOCK_STREAM)
    client.settimeout(30)
    client.connect(("::1" if family == socket.AF_INET6 else "127.0.0.1", PORT))
    return client


def read_all(client):
    pieces = []
    try:
        while piece := client.recv(1 << 20):
            pieces.append(piece)
    except ConnectionError:
        pass
    return b"".join(pieces)


class Reply:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1]) if raw else 0
        self.fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            assert name not in self.fields, name
            self.fields[name] = value
        if raw:
            assert int(self.fields["Content-Length"]) == len(self.body), (lines, len(self.body))
            assert self.fields["Cache-Control"] == "no-store"
            assert self.fields["X-Frame-Options"] == "DENY"
            assert self.fields["X-Content-Type-Options"] == "nosniff"


def ask(raw, family=socket.AF_INET):
    with connect(family) as client:
        try:
            client.sendall(raw)
        except ConnectionError:
            pass  # the answer is still to be read
        return Reply(read_all(client))


def get(path, host=HOST, cookie="", *more, family=socket.AF_INET):
    fields = [f"Host: {host}"] + ([f"Cookie: {cookie}"] if cookie else []) + list(more)
    return ask(("GET %s HTTP/1.1\r\n%s\r\n\r\n" % (path, "\r\n".join(fields))).encode("latin-1"), family)


def check(what, got, *expected):
    if got not in expected:
        sys.exit(f"{what}: {got}, not {' or '.join(map(str, expected))}")


with open(PAGE, "rb") as file:
    page = file.read()


# --- Wrong requests use nothing up ---------------------------------------------------------

check("no cookie", get("/").status, 403)
check("another token", get("/" + "0" * 32 + "/").status, 410)
check("part of the token", get(PATH[:-2]).status, 404)
check("below the token", get(PATH + "etc/passwd").status, 404)
for path in ("/favicon.ico", "/../", "//", "*", "http://x/", "", "/%00"):
    check(f"path {path!r}", get(path).status, 404, 400)
for host in (f"evil.example:{PORT}", f"localhost.evil.example:{PORT}", f"127.0.0.1.evil.example:{PORT}", f"localhost.:{PORT}",
             f"127.0.0.1@evil.example:{PORT}", f"evil.example#localhost:{PORT}", f"xlocalhost:{PORT}", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
             "127.0.0.1:99999999999", "127.0.0.1:80x", "127.0.0.1:-1", "127.0.0.2", "127.1", "0.0.0.0", "2130706433", "::1", "[::1", "[::1]x", "[::]",
             "[::ffff:127.0.0.1]", "local\thost", f"{HOST}, evil.example", ""):
    reply = get(PATH, host)
    check(f"host {host!r}", reply.status, 421)
    assert b"ssh -L" in reply.body and b"localhost" in reply.body, reply.body
check("two hosts", get(PATH, HOST, "", f"Host: {HOST}").status, 421)
check("no host", ask(f"GET {PATH} HTTP/1.1\r\n\r\n".encode()).status, 421)
check("a host with a space", ask(f"GET {PATH} HTTP/1.1\r\nHost : {HOST}\r\n\r\n".encode()).status, 421)
for method in ("POST", "HEAD", "OPTIONS", "get", "CONNECT"):
    reply = ask(f"{method} {PATH} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
    check(method, reply.status, 405)
    check("Allow", reply.fields["Allow"], "GET")
for raw in (b"GET", b"GET / HTTP/2", b"\0\1\2", b"GET  /  HTTP/1.1", b"PRI * HTTP/2.0\r\n\r\nSM", b"\x16\x03\x01\x02\x00"):
    check(repr(raw), ask(raw + b"\r\n\r\n").status, 400)
for raw in (b"GET " + b"x" * 100000, b"GET / HTTP/1.1\r\nHost: " + HOST.encode() + b"\r\nCookie: " + b"x" * 40000 + b"\r\n\r\n"):
    check("too long", ask(raw).status, 431)


# --- The address is exchanged for a cookie, once -------------------------------------------

reply = get(PATH)
check("the address", reply.status, 303)
check("leads to", reply.fields["Location"], "/")
match = re.fullmatch(rf"(stoke-{PORT}=[0-9a-f]{{32}}); Path=/; HttpOnly; SameSite=Strict", reply.fields["Set-Cookie"])
assert match, reply.fields
cookie = match[1]
key = cookie.partition("=")[2]
assert key not in ADDRESS
reply = get(PATH)
check("the address, again", reply.status, 410)
assert b"used already" in reply.body and b"Set-Cookie" not in reply.body and "Set-Cookie" not in reply.fields
check("the address, again, from the browser that has the cookie", get(PATH, HOST, cookie).status, 303)
reply = get("/", HOST, cookie)
check("with the cookie", reply.status, 200)
# It has a home: it may connect to its server.
# The profile is compressed faster, because the browser waits for it.
def with_profile(text):
    return re.sub(rb'(?<=data-state="">)([A-Za-z0-9+/=]+)(?=</script>)',
                  lambda found: gzip.decompress(base64.b64decode(found[1])), text)


bare = reply.body.replace(b" connect-src 'self';", b"", 1).replace(b'<script type="text/plain" id="home"></script>', b"")
assert with_profile(bare) == with_profile(page), "the page served is not the page written"
page = reply.body
check("with a query", get("/?x=1", HOST, cookie).status, 200)
check("among other cookies", get("/", HOST, f"a=b; {cookie};stoke-1=x").status, 200)
check("two of the name", get("/", HOST, f"stoke-{PORT}=0; {cookie}").status, 200)
for wrong in (cookie[:-1], cookie + "0", cookie.upper(), f"stoke-{PORT}=", f"stoke-{PORT}", key, f"x{cookie}", f"stoke-{PORT + 1}={key}", ";" * 1000):
    check(f"cookie {wrong[:40]!r}", get("/", HOST, wrong).status, 403)
check("cookie, other name", get("/", f"evil.example:{PORT}", cookie).status, 421)

# Other names of the machine, and a port that is forwarded: the cookie is the one of the port
# that the browser sees.
for host in ("localhost", "LOCALHOST", "127.0.0.1", "[::1]"):
    for seen in (PORT, 9123, 1, 65535):
        check(f"{host}:{seen}", get("/", f"{host}:{seen}", f"stoke-{seen}={key}").status, 200)
    check(f"{host}", get("/", host, f"stoke-80={key}").status, 200)
try:
    check("by IPv6", get("/", f"[::1]:{PORT}", cookie, family=socket.AF_INET6).status, 200)
except OSError:
    pass  # this machine has no such program

# A link on another site comes without the cookie: the server redirects it to its own page.
reply = get("/", HOST, "", "Sec-Fetch-Site: cross-site")
check("from another site", reply.status, 200)
assert b"/?again" in reply.body and len(reply.body) < 1000
check("led on", get("/?again", HOST, "", "Sec-Fetch-Site: cross-site").status, 403)


# --- Nobody holds others up ----------------------------------------------------------------

def page_comes(what):
    before = time.monotonic()
    check(what, get("/", HOST, cookie).status, 200)
    passed = time.monotonic() - before
    if passed > HEAD_SECONDS - 0.5:  # less than idle connections have
        sys.exit(f"{what}: the page took {passed:.1f} s")


request = f"GET / HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookie}\r\n\r\n".encode()

# Clients that do not read; their windows are smaller than the page.
stalled = []
for _ in range(8):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(60)
    client.connect(("127.0.0.1", PORT))
    client.sendall(request)
    stalled.append(client)
page_comes("beside readers that stall")
check("a stalled reader that continues", Reply(read_all(stalled.pop())).status, 200)

# Connections without a request, more than the server accepts, and requests that come by bytes.
idle = [connect() for _ in range(200)]
page_comes("beside idle connections")
drops = connect()
began = time.monotonic()


def trickle():
    try:
        for byte in request[:-1] * 100:
            drops.sendall(bytes([byte]))
            time.sleep(0.1)
    except OSError:
        pass


threading.Thread(target=trickle, daemon=True).start()
page_comes("beside a request that comes by bytes")
check("a request that comes by bytes", read_all(drops), b"")
passed = time.monotonic() - began
if not HEAD_SECONDS - 1 < passed < HEAD_SECONDS + 10:
    sys.exit(f"the request that comes by bytes was dropped after {passed:.1f} s")
for client in idle:
    check("an idle connection", read_all(client), b"")

# Many at once: all get the page.
def load(out):
    out.append(get("/", HOST, cookie).body == page)


results = []
threads = [threading.Thread(target=load, args=(results,)) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("sixteen at once", results, [True] * 16)
