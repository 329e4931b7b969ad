# SPDX-License-Identifier: Apache-2.0
"""The CPythons of this machine."""

import glob
import os

import tap


def installed():
    """Each CPython 3 of this machine once: {its real path: (major, minor)}."""
    found = {}
    names = ["python3"] + [f"python3.{minor}" for minor in range(8, 15)]
    folders = os.environ.get("PATH", "").split(":") + ["/usr/bin"]
    paths = [os.path.join(folder, name) for folder in folders for name in names]
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths += glob.glob(os.path.join(root, "versions", "3.*", "bin", "python3"))
    for path in paths:
        path = os.path.realpath(path)
        if path in found or not os.access(path, os.X_OK) or "shims" in path:
            continue
        status, out, _ = tap.run([path, "-c", "import sys, zlib\n"
                                  "print(sys.implementation.name, *sys.version_info[:2])"])
        words = out.decode().split()
        if status == 0 and words and words[0] == "cpython":
            found[path] = (int(words[1]), int(words[2]))
    return found
