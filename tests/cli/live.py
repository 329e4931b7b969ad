# SPDX-License-Identifier: Apache-2.0
"""The addresses of stoke live: live.py FIRST SECOND FILE PID, with FILE that of the daemon's address
and token."""

import http.client
import os
import sys
import urllib.parse

FIRST, SECOND, FILE, PID = sys.argv[1:]
with open(FILE, encoding="ascii") as file:
    ADDRESS, TOKEN = file.read().split("\n")[:2]
HOST = urllib.parse.urlparse(ADDRESS).netloc


def ask(address, method="GET", **fields):
    """Status, body, and the cookie that the reply sets."""
    url = urllib.parse.urlparse(address)
    client = http.client.HTTPConnection(HOST, timeout=120)
    client.request(method, url.path + (f"?{url.query}" if url.query else ""), headers=fields)
    reply = client.getresponse()
    return reply.status, reply.read().decode(), (reply.getheader("Set-Cookie") or "").split(";")[0]


def check(what, got, right):
    if got != right:
        sys.exit(f"{what}: {got!r}, not {right!r}")


check("without a token", ask("/api/status")[0], 401)
check("an invitation without a token", ask("/api/invite", "POST")[0], 401)
for address in (FIRST, SECOND):
    check("the token is in the address", TOKEN in address, False)
    check("another host", ask(address, Host="attacker.example")[0], 421)
    check("another path", ask(address.replace("/?", "/api/status?"))[0], 401)
    status, _, cookie = ask(address)
    check("the address", status, 303)
    check("with the cookie", ask("/api/status", Cookie=cookie)[0], 200)
    check("the address again", ask(address)[0], 401)
check("a wrong token", ask("/?token=" + "0" * 32)[0], 401)
check("an empty token", ask("/?token=")[0], 401)
check("GET", ask("/api/invite", Authorization=f"Bearer {TOKEN}")[0], 405)
check("a page of another site", ask("/api/invite", "POST", Cookie=cookie, Origin="http://attacker.example")[0], 403)
# the oldest invitations are replaced
paths = [ask("/api/invite", "POST", Authorization=f"Bearer {TOKEN}")[1].strip() for _ in range(9)]
check("different ones", len(set(paths)), 9)
check("the first of nine", ask(paths[0])[0], 401)
check("the others", {ask(path)[0] for path in paths[1:]}, {303})
# the list of processes shows no token
with open(f"/proc/{PID}/cmdline", "rb") as file:
    words = file.read()
check("the token is in the list of processes", TOKEN.encode() in words, False)
check("the command", words.split(b"\0")[1], b"daemon")
check("the folder", os.readlink(f"/proc/{PID}/cwd"), "/")
