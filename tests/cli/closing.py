# SPDX-License-Identifier: Apache-2.0
"""closing.py STORE: a daemon that has closed its server and is about to end. It ends after the
first connection, which it refuses to answer."""

import fcntl
import os
import socket
import struct
import sys

STORE = sys.argv[1]
server = socket.create_server(("127.0.0.1", 0))
lock = os.open(STORE + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
address = os.open(STORE + ".live", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
fcntl.fcntl(address, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
os.write(address, f"http://127.0.0.1:{server.getsockname()[1]}\n{'0' * 32}\n".encode())
print("ready", flush=True)
server.accept()[0].close()
