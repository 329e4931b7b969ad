#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The optional parts of a build: the list of tools/parts, and the viewer's build where npm
fails: make reports the reason, tries again each time, and then builds it."""

import os
import re
import subprocess
import sys
import tempfile

import tap

LIST = os.path.join(tap.SOURCE_ROOT, "tools", "parts")
DEPS = os.path.join(tap.SOURCE_ROOT, "tools", "deps")

# These replace the tools that make the viewer.
TOOLS = {
    "clang": "exit 0",
    "wasm-opt": "exit 0",
    "node": "echo AGFzbQ==",  # the first bytes of a module
    "ninja": 'echo wasm >"$3/core.wasm"',
}
COMPILER_FAILS = """echo 'core.h:1: error: expected an identifier'
exit 1"""
TRIES_LOCK = """if flock -n "$3/../viewer.lock" true; then echo 'it is free' >&2; fi
echo wasm >"$3/core.wasm\""""
NPM_FAILS = """echo 'npm ERR! code ENOTFOUND' >&2
echo 'npm ERR! request to the registry failed' >&2
exit 1"""
# As the bundle with Graphviz: a module as text, and its use.
BUNDLE = f'a="{"0" * 100}";b??=c(d(a)),script();'
NPM_WORKS = f"""mkdir -p node_modules/.bin
cat >node_modules/.bin/esbuild <<'END'
#!/bin/sh
for word; do
    case $word in
    --outfile=*) file=${{word#--outfile=}}; mkdir -p "${{file%/*}}"; echo '{BUNDLE}' >"$file" ;;
    --metafile=*) echo '{{"inputs": {{}}, "outputs": {{}}}}' >"${{word#--metafile=}}" ;;
    esac
done
END
chmod +x node_modules/.bin/esbuild"""


def make_tool(folder, name, script):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, 0o755)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class ViewerBuild:
    """A copy of web/build.py that has its own node_modules."""

    def __init__(self, folder):
        self.tools = os.path.join(folder, "tools")
        self.out = os.path.join(folder, "out")
        self.web = os.path.join(folder, "web")
        for path in self.tools, self.out, self.web:
            os.mkdir(path)
        os.symlink(os.path.join(tap.SOURCE_ROOT, "src"), os.path.join(folder, "src"))
        for name in "build.py", "package.json", "package-lock.json", "core", "src", "licences":
            os.symlink(os.path.join(tap.SOURCE_ROOT, "web", name),
                       os.path.join(self.web, name))
        os.remove(os.path.join(self.web, "build.py"))
        with open(os.path.join(self.web, "build.py"), "w", encoding="utf-8") as file:
            file.write(read(os.path.join(tap.SOURCE_ROOT, "web", "build.py")))
        for name, script in TOOLS.items():
            make_tool(self.tools, name, script)

    def run(self, *words):
        env = dict(os.environ, PATH=self.tools + os.pathsep + os.environ["PATH"])
        env.pop("CI", None)
        return tap.run([sys.executable, os.path.join(self.web, "build.py"), "--out", self.out,
                        *words], env=env)

    def build(self):
        """The messages; the size of the page."""
        status, _, err = self.run("--version", "1")
        size = os.path.getsize(os.path.join(self.out, "viewer.html")) if status == 0 else -1
        return size, err.decode()

    def stamp(self):
        path = os.path.join(self.out, "again")
        self.run("--again", path)
        return read(path)


def check_viewer(report):
    with tempfile.TemporaryDirectory(prefix="stoke-parts-") as folder:
        viewer = ViewerBuild(folder)
        make_tool(viewer.tools, "npm", NPM_FAILS)
        size, said = viewer.build()
        installed = os.path.exists(os.path.join(viewer.web, "node_modules", ".installed"))
        report.result("a failed npm ci: the viewer is left out",
                      "" if size == 0 and not installed else f"{size} bytes, {installed}")
        missing = [word for word in ("npm ci", "status 1", "ENOTFOUND", "run make again")
                   if word not in said]
        report.result("a failed npm ci: the message says what failed",
                      f"no {missing} in\n{said}" if missing else "")
        first, second = viewer.stamp(), viewer.stamp()
        report.result("a failed npm ci: the next make tries again",
                      "" if first != second else "the stamp is the same")
        make_tool(viewer.tools, "npm", NPM_WORKS)
        size, said = viewer.build()
        report.result("then it is built", "" if size > 0 and not said else f"{size}\n{said}")
        first, second = viewer.stamp(), viewer.stamp()
        report.result("what is built is not built again",
                      "" if first == second else "the stamp changes")
        make_tool(viewer.tools, "ninja", COMPILER_FAILS)
        status, _, err = viewer.run("--version", "1")
        report.result("sources that do not compile are an error",
                      "" if status == 1 and b"core.h:1: error" in err else f"{status}\n{err}")


def check_two_builds(report):
    """While a build runs, nobody else can take its folder."""
    with tempfile.TemporaryDirectory(prefix="stoke-parts-") as folder:
        viewer = ViewerBuild(folder)
        make_tool(viewer.tools, "npm", NPM_WORKS)
        make_tool(viewer.tools, "ninja", TRIES_LOCK)
        size, said = viewer.build()
        report.result("a build has its folder alone",
                      "" if size > 0 and "it is free" not in said else f"{size}\n{said}")


def check_list(report):
    """Each missing part has a command with a set of tools/deps."""
    with tempfile.TemporaryDirectory(prefix="stoke-parts-") as folder:
        with open(os.path.join(folder, "build.ninja"), "w", encoding="utf-8"):
            pass
        status, out, err = tap.run([LIST, "list", folder])
        rows = re.findall(r"^  \S.*?  +(built|not built: (.*))$", out.decode(), re.MULTILINE)
        report.result("the list of an empty build",
                      "" if status == 0 and len(rows) == 7 and not any(
                          row == "built" for row, _ in rows) else (out + err).decode())
        unknown = [command for _, command in rows for name in
                   re.findall(r"^tools/deps (\S+)", command)
                   if tap.run([DEPS, "--list", name])[0] != 0]
        report.result("the commands for missing parts", "\n".join(unknown))
        os.makedirs(os.path.join(folder, "doc"))
        with open(os.path.join(folder, "doc", "stoke.1"), "w", encoding="utf-8") as file:
            file.write("page")
        out = tap.run([LIST, "list", folder])[1].decode()
        report.result("a part that is there",
                      "" if re.search(r"^  manual pages +built$", out, re.MULTILINE) else out)


def check_state(report):
    """A new or removed package changes the configuration of a build folder."""
    with tempfile.TemporaryDirectory(prefix="stoke-parts-") as folder:
        before = subprocess.run([DEPS, "--state"], stdout=subprocess.PIPE, check=True,
                                text=True).stdout
        make_tool(folder, "scdoc", "exit 0")
        path = folder + os.pathsep + os.environ["PATH"]
        after = subprocess.run([DEPS, "--state"], stdout=subprocess.PIPE, check=True,
                               text=True, env=dict(os.environ, PATH=path)).stdout
        expected = re.sub(r"^(no )?scdoc$", "scdoc", before, flags=re.MULTILINE)
        report.result("a package that is installed is seen",
                      tap.difference(expected.encode(), after.encode()))


def main():
    report = tap.Tap()
    check_list(report)
    check_state(report)
    check_viewer(report)
    check_two_builds(report)
    report.done()


main()
