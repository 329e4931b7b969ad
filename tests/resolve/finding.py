#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The search for the files that a recording names: at the recorded path, in perf's cache (which
perf record fills), below --symfs, and debug files beside them and in other folders. Each case has
its own home, and so its own cache."""

import os
import re
import shutil
import struct
import subprocess
import tempfile

import tap

SOURCE = """
static volatile unsigned sink;
static inline __attribute__((always_inline)) void inlined_work(unsigned n)
{ for (unsigned i = 0; i < n; i++) sink = sink * 31 + i; }
static __attribute__((noipa)) void hidden_function(unsigned n)
{ inlined_work(n); sink++; }
int main(void) { for (int i = 0; i < 700; i++) { hidden_function(100000); sink++; } }
"""
NAMED = "hidden_function;inlined_work"


class Case:
    """A folder with a program that is recorded, and a home."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        self.env = dict(os.environ, HOME=os.path.join(self.folder, "home"),
                        DEBUGINFOD_URLS="")
        self.env.pop("XDG_CACHE_HOME", None)
        self.env.pop("PERF_CONFIG", None)  # perf's cache of files is below this HOME
        os.makedirs(self.at("home"))
        self.write("a.c", SOURCE)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, *command):
        status, out, err = tap.run(command, cwd=self.folder, env=self.env)
        if status != 0:
            raise RuntimeError(f"{' '.join(command)}: {err.decode('utf-8', 'replace')}")
        return out

    def build(self, *flags, name="app"):
        self.run("gcc", "-O2", "-g", *flags, "-o", name, "a.c")

    def split(self, link=True):
        """app without and app.debug with debug information."""
        self.run("objcopy", "--only-keep-debug", "app", "app.debug")
        self.run("strip", "app")
        if link:
            self.run("objcopy", "--add-gnu-debuglink=app.debug", "app")

    def record(self, program="app", cached=True):
        self.run("perf", "record", "-q", "-F", "999", "-g", "-o", "perf.data",
                 *([] if cached else ["--no-buildid-cache"]), self.at(program))

    def move(self, name, *to):
        os.makedirs(os.path.dirname(self.at(*to)), exist_ok=True)
        shutil.move(self.at(name), self.at(*to))

    def fold(self, *options):
        """(stacks, messages)"""
        status, out, err = tap.run([tap.STOKE, "fold", *options, "perf.data"],
                                   cwd=self.folder, env=self.env)
        out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        return out, f"status {status}\n{err}"


def named(case, *options, expected=True):
    """Empty if the functions have their names (or, if not expected, have none)."""
    out, err = case.fold(*options)
    return "" if out and (NAMED in out) == expected and \
        ("hidden_function" in out) == expected else f"{err}\n{out[:1500]}"


# --- Cached names -----------------------------------------------------------------------

def check_cached_names(report, folder):
    """Names are read from the cache the second time; damaged entries are not used."""
    case = Case(folder, "cached")
    case.run("perf", "record", "-q", "-F", "9999", "-g", "-o", "perf.data", "gcc", "-O2",
             "-c", "-o", os.devnull, case.at("a.c"))
    cache = case.at("home", ".cache", "stoke", "names")

    def state():
        return {name: os.stat(os.path.join(cache, name)).st_mtime_ns
                for name in (os.listdir(cache) if os.path.isdir(cache) else [])}

    first, before = case.fold(), state()
    report.result("names are cached", "" if before and "cc1" in first[0] else str(first))
    second = case.fold()
    report.result("the second run finds all of them",
                  "" if second == first and state() == before else str(second))
    for name in before:
        with open(os.path.join(cache, name), "r+b") as file:
            file.seek(os.path.getsize(file.name) // 2)
            file.write(b"damaged")
    third, after = case.fold(), state()
    wrong = [name for name in before if before[name] == after.get(name)]
    report.result("damaged entries are replaced",
                  "" if third == first and not wrong else str((third, wrong)))
    other = case.fold("--demangle", "no", "--no-inline")
    report.result("names with other options have their own entries",
                  "" if set(before) < set(state()) and case.fold() == first
                  else str(other))


# --- Not shadowed by perf's cache --------------------------------------------------------

def check_debug_link(report, folder):
    for where in ("app.debug", ".debug/app.debug"):
        case = Case(folder, "link" + where.replace("/", "-"))
        case.build()
        case.split()
        case.record()
        if where != "app.debug":
            case.move("app.debug", where)
        report.result(f"{where} beside the program, the cache has a stripped copy",
                      named(case))
    case.move(".debug/app.debug", "debug" + case.at("app.debug"))
    os.unlink(case.at("app"))
    report.result("the recorded path below --debug-dir, the program is only in the cache",
                  named(case, "--debug-dir", case.at("debug")))


def check_symfs(report, folder):
    case = Case(folder, "symfs")
    case.build()
    case.run("cp", "app", "app.full")
    case.run("strip", "app")
    case.record()
    report.result("a stripped program has no names", named(case, expected=False))
    case.move("app.full", "root" + case.at("app"))
    report.result("--symfs has the program with names, the cache without",
                  named(case, "--symfs", case.at("root")))


def check_cache(report, folder):
    case = Case(folder, "cache")
    case.build()
    case.record()
    case.run("strip", "-o", "stripped", "app")  # the cache has links, not copies
    case.move("stripped", "app")
    report.result("the program was stripped since, the cache has it whole", named(case))
    case.run("gcc", "-O0", "-o", "other", "a.c")
    case.move("other", "app")
    report.result("another program lies there, the cache has the recorded one",
                  named(case))
    shutil.rmtree(case.at("home", ".debug"))
    report.result("another program lies there, and there is no cache",
                  named(case, expected=False))


def check_symbols_only(report, folder):
    """A file with only symbols does not end the search for debug information."""
    case = Case(folder, "symbols")
    case.build()
    case.run("cp", "app", "full")
    case.split(link=False)
    case.run("objcopy", "--strip-debug", "full", "app.symbols")
    case.run("objcopy", "--add-gnu-debuglink=app.symbols", "app")
    case.record()
    out, err = case.fold()
    report.result("a linked file with symbols only: its symbols",
                  "" if "hidden_function" in out and "inlined_work" not in out
                  else err + out[:1000])
    build_id = case.run("readelf", "-n", "app").decode().split("Build ID: ")[1].split()[0]
    cached = case.at("home", ".debug", ".build-id", build_id[:2], build_id[2:])
    shutil.copy(case.at("app.debug"), os.path.join(cached, "debug"))
    report.result("and its debug information from the cache", named(case))


def check_packages(report, folder):
    name = "a .dwp beside the program, which is in the cache, too"
    if not shutil.which("dwp"):
        report.skip(name, "there is no dwp")
        return
    case = Case(folder, "package")
    case.build("-gdwarf-4", "-gsplit-dwarf")
    case.run("dwp", "-e", "app", "-o", "app.dwp")
    for file in os.listdir(case.folder):
        if file.endswith(".dwo"):
            os.unlink(case.at(file))
    case.record()
    report.result(name, named(case))
    case.move("app.dwp", "moved")
    os.unlink(case.at("app"))
    out, err = case.fold()
    report.result("the same without the package: symbols, and nothing inlined",
                  "" if "hidden_function" in out and "inlined_work" not in out
                  else err + out[:1000])
    report.result("and one message names the missing file",
                  "" if err.count(".dwo") == 2 and "no inlined functions for 1 binary:" in err else err)
    case.move("moved", "app.dwp")
    report.result("a .dwp beside the path of a program that is only in the cache",
                  named(case))
    shutil.copy(case.at("app.dwp"), case.at("root.dwp"))
    case.move("root.dwp", "root" + case.at("app.dwp"))
    os.unlink(case.at("app.dwp"))
    report.result("a .dwp below --symfs", named(case, "--symfs", case.at("root")))


def check_dwz(report, folder):
    name = "dwz's file by a relative link from beside the recorded path"
    if not shutil.which("dwz"):
        report.skip(name, "there is no dwz")
        return
    case = Case(folder, "dwz")
    case.build()
    case.build("-DOTHER", name="other")
    os.mkdir(case.at("shared"))
    case.run("dwz", "-r", "-m", "shared/common.dbg", "app", "other")
    case.record()
    report.result(name, named(case))
    os.unlink(case.at("shared", "common.dbg"))
    out, err = case.fold()
    report.result("dwz's file is missing: reported, and all frames have names",
                  "" if "hidden_function" in out and "common.dbg" in err and
                  "[unknown]_[i]" not in out and ";;" not in out else err + out[:1000])
    case.run("objcopy", "--strip-debug", "--keep-section=.gnu_debugaltlink", "app")
    case.record()
    _, err = case.fold()
    report.result("a program without debug information, as Debian ships it, does not miss it",
                  err if "common.dbg" in err else "")


def check_kernel(report, folder):
    case = Case(folder, "kernel")
    case.run("perf", "record", "-q", "-F", "999", "-g", "-o", "perf.data", "dd",
             "if=/dev/zero", "of=/dev/null", "bs=1", "count=200000")
    shutil.rmtree(case.at("home", ".debug"), ignore_errors=True)
    out, err = case.fold()
    nameless = "[[kernel.kallsyms]]"
    if not re.search(r"vfs_|ksys_|do_syscall_64|entry_SYSCALL_64", out):
        report.skip("the symbols of another kernel", "those of this one are hidden")
        return
    with open(case.at("perf.data"), "rb") as file:
        data = file.read()
    here = os.uname().release
    other = ("9" if here[0] != "9" else "8") + here[1:]
    with open(case.at("perf.data"), "wb") as file:
        file.write(data.replace(here.encode(), other.encode()))
    out, err = case.fold()
    report.result("the symbols of another kernel are missing: reported, with the option to use",
                  "" if nameless in out and other in err and "--kallsyms" in err
                  else err + out[:1000])


# --- Files of other programs ------------------------------------------------------------

def check_sums(report, folder):
    """Programs without a build ID: the checksum of the link decides."""
    case = Case(folder, "sums")
    case.build("-Wl,--build-id=none")
    case.split()
    case.record()
    report.result("a debug file by its link, without build IDs", named(case))
    with open(case.at("app.debug"), "ab") as file:
        file.write(b"and more")
    report.result("a debug file with another checksum is refused",
                  named(case, expected=False))


def check_nameless(report, folder):
    """A file without a build ID where stoke searches one with it."""
    case = Case(folder, "nameless")
    case.build()
    case.run("cp", "app", "full")
    case.split(link=False)
    case.record()
    build_id = case.run("readelf", "-n", "app").decode().split("Build ID: ")[1].split()[0]
    where = os.path.join("debug", ".build-id", build_id[:2], build_id[2:] + ".debug")
    case.move("app.debug", where)
    report.result("a debug file by build ID",
                  named(case, "--debug-dir", case.at("debug")))
    case.run("objcopy", "--remove-section=.note.gnu.build-id", "full", where)
    report.result("one without a build ID at its path is refused",
                  named(case, "--debug-dir", case.at("debug"), expected=False))
    shutil.rmtree(case.at("home", ".debug"))
    shutil.copy(case.at(where), case.at("other"))
    case.move("other", "app")
    report.result("a program without a build ID at the path of one that has it",
                  named(case, expected=False))


# --- Debug files that mean harm -----------------------------------------------------------

# A small recording and its files (make_recording.py): inlined functions are only in the debug
# file.
WHOLE = os.path.join(tap.SOURCE_ROOT, "tests", "fuzz", "recording")


class Hostile:
    """A folder for --symfs, with the program and its debug file."""

    def __init__(self, folder, name):
        self.root = os.path.join(folder, "hostile", name)
        os.makedirs(self.at("bin"))
        shutil.copy(os.path.join(WHOLE, "prog"), self.at("bin", "prog"))
        shutil.copy(os.path.join(WHOLE, "prog.debug"), self.at("bin", "prog.debug"))

    def at(self, *names):
        return os.path.join(self.root, *names)

    def section(self, name, content, program="prog"):
        with open(self.at("section"), "wb") as file:
            file.write(content)
        path = self.at("bin", program)
        tap.run(["objcopy", "--remove-section", name, path])
        status, _, err = tap.run(["objcopy", "--add-section", f"{name}={self.at('section')}",
                                  path])
        if status != 0:
            raise RuntimeError(err.decode())

    def check(self, expected):
        """Empty if the debug file was used, or (if not expected) was not used."""
        status, out, err = tap.run(
            [tap.STOKE, "fold", "--symfs", self.root, os.path.join(WHOLE, "perf.data")],
            env=dict(os.environ, HOME=self.root, DEBUGINFOD_URLS="", XDG_CACHE_HOME=""))
        taken = b"leaf;mix_[i]" in out
        return "" if status == 0 and b"prog;" in out and taken == expected \
            else f"status {status}\n{err.decode()}\n{out.decode()}"


def link_to(path, crc=b"\0\0\0\0"):
    raw = path.encode() + b"\0"
    return raw + b"\0" * (-len(raw) % 4) + crc


def check_hostile(report, folder):
    report.result("a debug file beside the program", Hostile(folder, "none").check(True))
    for what, path in (("a path upwards", "../evil/prog.debug"), ("an absolute path", None),
                       ("a path downwards", "evil/prog.debug"), ("two dots", ".."),
                       ("a name of 5000 bytes", "x" * 5000), ("no name", "")):
        h = Hostile(folder, what.replace(" ", "-"))
        for where in ("evil", os.path.join("bin", "evil")):
            os.makedirs(h.at(where))
            shutil.copy(h.at("bin", "prog.debug"), h.at(where, "prog.debug"))
        os.unlink(h.at("bin", "prog.debug"))
        h.section(".gnu_debuglink", link_to(h.at("evil", "prog.debug") if path is None
                                            else path))
        report.result(f"a debug link with {what} is refused", h.check(False))
    h = Hostile(folder, "fifo")
    os.unlink(h.at("bin", "prog.debug"))
    os.mkfifo(h.at("bin", "prog.debug"))
    report.result("a FIFO is not read as a debug file, and stoke does not wait for it", h.check(False))
    check_hostile_ids(report, folder)
    check_hostile_alternate(report, folder)


def check_hostile_ids(report, folder):
    def note(build_id, size=None):
        return struct.pack("<III", 4, len(build_id) if size is None else size, 3) + \
            b"GNU\0" + build_id

    for what, content in (("another build ID", note(b"\xab" * 20)),
                          ("no build ID", note(b"")),
                          ("a build ID of 4000 bytes", note(b"\xab" * 4000)),
                          ("a build ID longer than the file", note(b"\xab" * 20, 2**32 - 1)),
                          ("a path for a build ID", note(b"../../../../../bin/sh"))):
        h = Hostile(folder, what.replace(" ", "-").replace("/", "-"))
        h.section(".note.gnu.build-id", content, "prog.debug")
        report.result(f"a debug file with {what} is refused", h.check(False))
        h = Hostile(folder, what.replace(" ", "-").replace("/", "-") + "-of-both")
        h.section(".note.gnu.build-id", content, "prog.debug")
        h.section(".note.gnu.build-id", content)
        status = h.check(True) and h.check(False)  # debug file used or not, but no crash
        report.result(f"{what} in the program, too", status)


def check_hostile_alternate(report, folder):
    """dwz's file is searched by a build ID and by a path. The path may lead upwards from
    the folder of the debug file, but not out of the folder that replaces the root."""
    for what, path in (("upwards", "../" * 40 + "etc/passwd"), ("a device", "/dev/zero"),
                       ("a name of 5000 bytes", "x" * 5000)):
        h = Hostile(folder, "alternate-" + what.replace(" ", "-"))
        h.section(".gnu_debugaltlink", path.encode() + b"\0" + b"\xab" * 20, "prog.debug")
        report.result(f"dwz's file by a link {what} is not used", h.check(True))


# --- Deleted programs -----------------------------------------------------------

def check_deleted(report, folder):
    """The program was deleted while it ran, and is recorded after that."""
    case = Case(folder, "deleted")
    case.write("a.c", SOURCE.replace("< 700", "< 70000"))
    case.build()
    with subprocess.Popen([case.at("app")]) as process:
        try:
            os.unlink(case.at("app"))  # Popen returns when it runs
            case.run("perf", "record", "-q", "-g", "-o", "perf.data", "-p",
                     str(process.pid), "sleep", "1")
            report.result("a deleted program is read from its process", named(case))
            case.run("gcc", "-O0", "-g", "-o", "app", "a.c")
            report.result("and not from the program that replaced it", named(case))
        finally:
            process.kill()
    report.result("once the process is gone, the program that replaced it is not used",
                  named(case, expected=False))


def check_gone(report, folder):
    """The debug file with the build ID exists, the program does not."""
    for flags in ([], ["-no-pie"], ["-Wl,-z,noseparate-code"]):
        case = Case(folder, "gone" + "".join(flags))
        case.build(*flags)
        build_id = case.run("readelf", "-n", "app").decode()
        build_id = build_id.split("Build ID: ")[1].split()[0]
        case.split(link=False)
        case.record()
        out, _ = case.fold()
        shutil.rmtree(case.at("home", ".debug"))
        os.unlink(case.at("app"))
        case.move("app.debug", os.path.join("debug", ".build-id", build_id[:2],
                                            build_id[2:] + ".debug"))
        out, err = case.fold("--debug-dir", case.at("debug"), "--srcline")
        good = re.search(r"hidden_function[^;]*a\.c:6[^;]*;inlined_work[^;]*a\.c:4", out)
        report.result(f"the debug file of a program that is gone: {' '.join(flags) or 'PIE'}",
                      "" if good and "missing on this machine" not in err
                      else err + out[:1000])


# --- What the user names -----------------------------------------------------------------

def check_options(report, folder):
    case = Case(folder, "options")
    case.build()
    case.record()
    with open(case.at("random"), "wb") as file:
        file.write(bytes(range(256)) * 400)
    case.run("strip", "-o", "stripped", "app")
    case.write("kallsyms", "ffffffff81000000 T _text\n")
    os.mkfifo(case.at("fifo"))
    for option, value, why in (
            ("--kallsyms", "/nope", "No such file"), ("--kallsyms", "random", "no symbols"),
            ("--kallsyms", "fifo", "regular"), ("--kallsyms", ".", "regular"),
            ("--vmlinux", "/nope", "No such file"), ("--vmlinux", "random", "ELF"),
            ("--vmlinux", "stripped", "no symbol table"), ("--vmlinux", "fifo", "regular"),
            ("--debug-dir", "/nope", "No such file"), ("--debug-dir", "app", "directory"),
            ("--symfs", "/nope", "No such file"), ("--symfs", "app", "directory")):
        out, err = case.fold(option, value)
        good = "status 0" not in err and not out and option in err and value in err and \
            why in err
        report.result(f"{option} {value} is an error", "" if good else err + out[:500])
    out, err = case.fold("--kallsyms", "kallsyms", "--vmlinux", "app", "--debug-dir", ".",
                         "--symfs", "/")
    report.result("what is there is none", "" if NAMED in out and "status 0" in err
                  else err + out[:500])


# --- Code that was made while the program ran --------------------------------------------

def check_jitdump(report, folder):
    case = Case(folder, "jitdump")
    case.run("gcc", "-O1", "-o", "app",
             os.path.join(tap.SOURCE_ROOT, "tests", "truth", "jitdump.c"))

    def record(*options):
        """(the process's number, where its code was, the dump)"""
        pid, room = case.run("perf", "record", "-q", "-F", "999", *options, "-o",
                             "perf.data", case.at("app"), "240").split()
        return pid.decode(), int(room, 16), case.at(f"jit-{pid.decode()}.dump")

    def samples(*options):
        """{function: samples}, and all messages"""
        out, err = case.fold("--count-samples", *options)
        counts = {}
        for line in out.splitlines():
            stack, _, count = line.rpartition(" ")
            for name in stack.split(";"):
                counts[name] = counts.get(name, 0) + int(count)
        return counts, err + out[:1500]

    record("-k", "mono", "-g")
    counts, text = samples()
    report.result("a jitdump names code, and what was written over it later",
                  "" if counts.get("second_code", 0) > 20 and
                  counts.get("first_code", 0) > counts["second_code"] * 3 // 2 else text)
    counts, text = samples("--srcline")
    report.result("its lines", "" if any("first.script:7" in name for name in counts)
                  and "second_code" in counts else text)
    pid, room, dump = record("-g")
    counts, text = samples()
    report.result("by another clock: what was at an address last",
                  "" if counts.get("first_code", 0) > 20 and
                  counts.get("second_code", 0) > counts["first_code"] * 3 // 2 else text)
    perf_map = f"/tmp/perf-{pid}.map"
    with open(perf_map, "w", encoding="utf-8") as file:
        file.write(f"{room:x} 2000 name_of_the_map\n")
    try:
        refused_dumps(report, case, samples, dump)
    finally:
        os.unlink(perf_map)
    _, _, dump = record("-g")
    os.unlink(dump)
    counts, text = samples()
    report.result("neither jitdump nor perf map: reported once, with the reason",
                  "" if text.count(dump) == 1 and "No such file" in text else text)


def refused_dumps(report, case, samples, dump):
    """Dumps that are rejected: the perf map gives the names."""
    moved = case.at("moved.dump")
    shutil.move(dump, moved)

    def refused(what, why):
        counts, text = samples()
        report.result(f"a jitdump that is {what} is rejected: the perf map gives the names",
                      "" if "name_of_the_map" in counts and "first_code" not in counts
                      and dump in text and why in text else text)
        os.unlink(dump)

    os.symlink(moved, dump)
    refused("a symbolic link", "symbolic link")
    os.mkfifo(dump)
    refused("a FIFO", "not a regular file")
    with open(dump, "wb") as file:
        file.write(os.urandom(4096))
    refused("none", "not a jitdump")
    if os.getuid() == 0:
        shutil.copy(moved, dump)
        os.chown(dump, 12345, 12345)
        refused("of another user", "its owner is user 12345")
    else:
        report.skip("a jitdump that is of another user", "needs root")


def main():
    report = tap.Tap()
    missing = [tool for tool in ("perf", "gcc", "objcopy", "strip", "readelf")
               if not shutil.which(tool)]
    status, _, _ = (1, "", "") if missing else \
        tap.run(["perf", "record", "-o", os.devnull, "true"])
    with tempfile.TemporaryDirectory(prefix="stoke-finding-") as folder:
        if status != 0:
            report.skip("finding", " and ".join(missing or ["perf record"]) + " is missing")
        else:
            check_debug_link(report, folder)
            check_cached_names(report, folder)
            check_symfs(report, folder)
            check_cache(report, folder)
            check_symbols_only(report, folder)
            check_packages(report, folder)
            check_dwz(report, folder)
            check_sums(report, folder)
            check_nameless(report, folder)
            check_hostile(report, folder)
            check_deleted(report, folder)
            check_gone(report, folder)
            check_kernel(report, folder)
            check_options(report, folder)
            if os.uname().machine == "x86_64":
                check_jitdump(report, folder)
            else:
                report.skip("jitdump", "the code that the test runs is x86-64's")
    report.done()


main()
