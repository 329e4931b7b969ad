#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke heap -p: what a running program allocates is right to the byte, and the program behaves
as without it and is as before at the end, whatever happens. heap_attach.py PROGRAM. Prints TAP."""

import collections
import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import tap

PROGRAM = os.path.abspath(sys.argv[1])
LIBRARY = os.path.join(os.environ["STOKE_BUILD"], "src", "agents", "heap", "libstoke_heap_attach.so")
REPORT = tap.Tap()
FOLDER = tempfile.TemporaryDirectory()


# --- The program ---------------------------------------------------------------------------

class Target:
    """The program, which answers each line that it is sent."""

    def __init__(self, *threads, command=None):
        self.process = subprocess.Popen(command or [PROGRAM, *map(str, threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid
        self.output = []
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        self.output.append(line)
        return line

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        """The exit status and all output; the same as of an undisturbed run, or a reason."""
        self.process.stdin.close()
        self.output += self.process.stdout.readlines()
        status = self.process.wait(timeout=tap.TIMEOUT)
        expected = self.output[-1:] == ["end\n"] and not any("failed" in line for line in self.output)
        return "" if status == 7 and expected else f"exit status {status}, output {self.output}\n"


def file_sections(path):
    """{name: (address, size)} of an ELF file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x7fELF":
        return {}
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    base = rows[names][4] if count else 0
    return {data[base + row[0]:data.index(0, base + row[0])].decode(): (row[3], row[5]) for row in rows}


def entries(pid):
    """The bytes of .got and .got.plt of all objects of the process but the recorder's own."""
    found = {}
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in lines:
            fields = line.split(None, 5)
            if len(fields) < 6 or int(fields[2], 16) != 0 or not fields[5].startswith("/") or fields[5] in found \
                    or fields[5] == LIBRARY or fields[5].startswith("/memfd"):
                continue
            sections = file_sections(fields[5])
            kind = open(fields[5], "rb").read(18)[16]
            base = int(fields[0].split("-")[0], 16) if kind == 3 else 0
            found[fields[5]] = []
            for name in (".got", ".got.plt"):
                address, size = sections.get(name, (0, 0))
                if size:
                    memory.seek(base + address)
                    found[fields[5]].append(memory.read(size))
    return found


def protections(pid):
    """The mappings with their rights, of all objects that the program had."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if ".so" in line and "libstoke_heap_attach" not in line]


# --- The recorder ---------------------------------------------------------------------------

class Recorder:
    """stoke heap -p, from when it records."""

    def __init__(self, pid, *options, name="heap.stoke"):
        self.path = os.path.join(FOLDER.name, name)
        self.process = subprocess.Popen([tap.STOKE, "heap", *options, "-p", str(pid), "-o", self.path],
                                        stderr=subprocess.PIPE, text=True)
        self.messages = self.process.stderr.readline()

    @property
    def records(self):
        return "recording the heap" in self.messages

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.finish()

    def finish(self):
        self.messages += self.process.stderr.read()
        return self.process.wait(timeout=tap.TIMEOUT)


def folded(path, event):
    status, out, err = tap.run([tap.STOKE, "fold", "-q", "--event", event, path])
    assert status == 0, err.decode()
    rows = collections.Counter()
    for line in out.decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        rows[tuple(stack.split(";"))] += float(weight)
    return rows


def below(rows, function):
    return sum(weight for stack, weight in rows.items() if function in stack)


def compare(path, expected):
    why = ""
    for event, function, value in expected:
        rows = folded(path, event)
        got = below(rows, function)
        if got != value:
            why += f"{event} of {function}: {got}, not {value}\n" + \
                "\n".join(f"{';'.join(s)} {w}" for s, w in rows.items() if function in s) + "\n"
    return why


def compare_entries(before, after):
    why = ""
    for path, tables in before.items():
        for number, table in enumerate(tables):
            other = after[path][number]
            why += "".join(f"{path}: table {number}, entry {i // 8}: {table[i:i + 8].hex()} {other[i:i + 8].hex()}\n"
                           for i in range(0, len(table), 8) if table[i:i + 8] != other[i:i + 8])
    return why


# --- Tests ------------------------------------------------------------------------------------

KNOWN = 1000 * 100 + 7 * 1000 + 10 + 5500 + 300 + 310 + 640 + 302 + 301 + 21
KNOWN_LEAKED = 7 * 1000 + 1000 + 300 + 310 + 640 + 302 + 301 + 21


def check_truth(threads):
    """Attached in the middle: right to the byte, and each entry is restored."""
    target = Target(*threads)
    for line in ("known", "many", "forked"):  # the dynamic linker resolves functions at their first call
        target.send(line)
    before, rights = entries(target.pid), protections(target.pid)
    recorder = Recorder(target.pid, "--full")
    changed = compare_entries(before, entries(target.pid))
    for line in ("known", "old", "many", "forked", "known", "lazy"):
        target.send(line)
    status = recorder.stop()
    why = "" if status == 0 and recorder.records else f"{status} {recorder.messages}\n"
    why += "" if threads[0] or "300 releases of blocks from before" in recorder.messages else recorder.messages
    why += "" if "heap_attach:" in changed and "libc.so" in changed else f"not replaced: {changed!r}\n"
    why += compare_entries(before, entries(target.pid))
    why += "" if rights == protections(target.pid) else "rights of mappings differ\n"
    for line in ("known", "lazy"):
        target.send(line)
    why += target.end()
    why += compare(recorder.path, [
        ("allocated", "known", 2 * KNOWN), ("allocations", "known", 2 * (1000 + 7 + 11 + 6)),
        ("leaked", "known", 2 * KNOWN_LEAKED), ("allocated", "release_old", 4000),
        ("leaked", "release_old", 4000), ("allocated", "known_thread", 8 * 500 * 20),
        ("allocated", "forked", 11 * 77), ("allocated", "main", 2 * KNOWN + 4000 + 11 * 77 + 2 * 333)])
    REPORT.result(f"right to the byte, and restored, with threads {threads}", why)


LOADED = """
#include <stdlib.h>
__attribute__((noinline)) void *loaded(size_t size) { void *volatile block = malloc(size); return block; }
"""


def compiler():
    return shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")


def build(name, source, *options):
    path = os.path.join(FOLDER.name, name)
    subprocess.run([compiler(), "-O1", "-x", "c", "-", "-o", path, *options], check=True, input=source.encode())
    return path


def check_loaded():
    """Libraries that are loaded and unloaded while the program is recorded."""
    library = build("libloaded.so", LOADED, "-shared", "-fPIC")
    target = Target(1, 0, 0)
    recorder = Recorder(target.pid, "--full")
    for _ in range(3):
        for line in (f"load {library}", "call", "unload"):
            target.send(line)
    for line in (f"load {library}", "call"):
        target.send(line)
    while_recorded = entries(target.pid)
    why = "" if recorder.stop() == 0 else recorder.messages
    why += "" if compare_entries(while_recorded, entries(target.pid)).count("libloaded") == 1 else \
        "the entry of the library was not replaced or not restored\n"
    for line in ("call", "unload", f"load {library}", "call"):
        target.send(line)
    why += target.end()
    why += compare(recorder.path, [("allocated", "loaded", 4 * 9 * 50), ("leaked", "loaded", 4 * 9 * 50)])
    REPORT.result("libraries that are loaded later", why)


def check_child():
    """A child that was forked while the program is recorded is restored, too."""
    target = Target(1, 0, 0)
    target.send("forked")
    recorder = Recorder(target.pid, "--full")
    child, _, _ = sorted([target.send("stay"), target.read(), target.read()])
    child = int(child)
    why = "" if recorder.stop() == 0 else recorder.messages
    why += compare_entries(entries(target.pid), entries(child))
    os.kill(child, signal.SIGKILL)
    why += target.end() + compare(recorder.path, [("leaked", "stay", 3 * 88)])
    REPORT.result("a child that remains is restored", why)


def check_repeated():
    """Nothing disturbs the threads: signals, errno, registers, sleeps. Each recording is right."""
    target = Target(3, 3, 1)
    for line in ("ticks", "known", "many", "forked"):
        target.send(line)
    before, why = entries(target.pid), ""
    for number, mode in enumerate([("--full",), ("--sample", "5000"), ("--full",), (), ("--full",)]):
        recorder = Recorder(target.pid, *mode, name=f"{number}.stoke")
        target.send("known")
        target.send("many")
        why += "" if recorder.stop() == 0 else recorder.messages
        why += compare_entries(before, entries(target.pid))
    why += target.end()
    for number in (0, 2, 4):
        why += compare(os.path.join(FOLDER.name, f"{number}.stoke"), [
            ("leaked", "known", KNOWN_LEAKED), ("allocated", "known", KNOWN),
            ("allocated", "known_thread", 8 * 500 * 20)])
    REPORT.result("recorded five times, its threads are not disturbed", why)


def check_sampled():
    """The estimate of a Poisson sample: each block of size s, of n, is sampled with probability p, and
    the variance of its sum is n s^2 (1 - p) / p. Beyond 6.5 sigma is 1 in 10^10."""
    target, mean, size, count = Target(0, 0, 0), 2000, 100, 20 * 1000
    recorder = Recorder(target.pid, "--sample", str(mean), "--seed", "1")
    for _ in range(20):
        target.send("known")
    why = "" if recorder.stop() == 0 else recorder.messages
    why += target.end()
    p = 1 - 2.718281828459045 ** (-size / mean)
    bound = 6.5 * size * (count * (1 - p) / p) ** 0.5
    got = below(folded(recorder.path, "allocated"), "known") - 20 * (KNOWN - 100 * 1000)
    if abs(got - size * count) > bound * 1.1:  # the larger blocks vary, too
        why += f"{got}, not {size * count} +- {bound}\n"
    REPORT.result("samples are within their interval", why)


def wait_until(condition):
    deadline = time.monotonic() + tap.TIMEOUT / 2
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def children(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]
    return []


def check_killed(with_guardian):
    """The recorder is killed: the program continues, is restored by the guardian, and can be recorded again."""
    target = Target(2, 2, 1)
    for line in ("known", "many", "forked"):
        target.send(line)
    before = entries(target.pid)
    recorder = Recorder(target.pid, "--full")
    if with_guardian:
        for guardian in children(recorder.process.pid):
            os.kill(guardian, signal.SIGKILL)
    recorder.stop(signal.SIGKILL)
    why = ""
    if not with_guardian and not wait_until(lambda: not compare_entries(before, entries(target.pid))):
        why += "not restored\n"
    for _ in range(30):  # more than a buffer of records
        target.send("known")
    again = Recorder(target.pid, "--full")
    target.send("known")
    why += "" if again.stop() == 0 else again.messages
    why += compare_entries(before, entries(target.pid))
    why += target.end()
    why += compare(again.path, [("leaked", "known", KNOWN_LEAKED), ("allocated", "known", KNOWN)])
    REPORT.result("recorder killed" + (", and its guardian" if with_guardian else ""), why)


def check_ends():
    target = Target(1, 1, 1)
    recorder = Recorder(target.pid, "--full")
    target.send("known")
    why = target.end()
    why += "" if recorder.finish() == 0 else recorder.messages
    why += compare(recorder.path, [("leaked", "known", KNOWN_LEAKED)])
    REPORT.result("the program ends while it is recorded", why)
    target = Target(1, 1, 1)
    recorder = Recorder(target.pid, "--full")
    target.send("known")
    target.process.kill()
    why = "" if target.process.wait() == -9 and recorder.finish() == 0 else recorder.messages
    why += compare(recorder.path, [("leaked", "known", KNOWN_LEAKED)])
    REPORT.result("the program is killed while it is recorded", why)
    target = Target(1, 0, 0)
    recorder = Recorder(target.pid, "--duration", "0.05")
    why = "" if recorder.finish() == 0 and "runs as before" in recorder.messages else recorder.messages
    REPORT.result("--duration", why + target.end())


# --- What is refused --------------------------------------------------------------------------

WAITS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
int main(void) {
  char c; BEFORE; if (write(1, "ready\\n", 6) != 6) return 1;
  while (read(0, &c, 1) > 0) free(malloc(10));
  if (write(1, "end\\n", 4) != 4) return 1;
  return 7; }
"""
FILTER = ("struct sock_filter f[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}; struct sock_fprog p = {1, f}; "
          "prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)")
OTHER_MALLOC = """
static char room[1 << 20]; static unsigned long used;
void *malloc(unsigned long size) { used += (size + 31) & ~15ul; return room + used - ((size + 31) & ~15ul); }
void free(void *block) { (void)block; }
void *calloc(unsigned long n, unsigned long size) { return malloc(n * size); }
void *realloc(void *block, unsigned long size) { (void)block; return malloc(size); }
"""


# Executes itself again and again, with a pause in which its thread could be used. Prints when it starts.
STARTS = '''
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words)
{
    struct timespec pause = {0, 1000000};
    int left = atoi(words[1]);
    char next[16];
    if (left == 600)
        puts("starts"), fflush(stdout);
    nanosleep(&pause, 0);
    sprintf(next, "%d", left - 1);
    if (left > 0)
        execl(words[0], words[0], next, (char *)0);
    puts("end");
    return 7;
}
'''

ACCEPTED = "no process ", "has ended", "all are in the C library"


def check_starts():
    """A process that executes another program at any moment of the attachment is not disturbed."""
    program, why = build("starts", STARTS, "-w"), ""
    for _ in range(8):
        target = Target(command=[program, "600"])
        recorder = Recorder(target.pid, "--duration", "0.01")
        status = recorder.finish()
        if status != 0 and not any(text in recorder.messages for text in ACCEPTED):
            why += f"{status} {recorder.messages}"
        why += target.end()
    REPORT.result("a process that executes other programs meanwhile", why)


def check_refused(what, target, message):
    """The message names the reason, and the program continues."""
    recorder = Recorder(target.pid)
    status = recorder.finish()
    why = "" if status == 1 and message in recorder.messages else f"{status} {recorder.messages!r}\n"
    REPORT.result(f"refused: {what}", why + target.end())


def check_refusals():
    target = Target(1, 1, 1)
    recorder = Recorder(target.pid, name="first.stoke")
    check_refused("another recording has not ended", target, "is recorded already")
    REPORT.result("the first recording is not disturbed", "" if recorder.finish() == 0 else recorder.messages)
    target = Target(command=["sh", "-c", f"echo $$; exec {tap.STOKE} heap -q -o {FOLDER.name}/own.stoke {PROGRAM} 0"])
    target.read()
    recorded = wait_until(lambda: children(target.pid))[0]
    target.pid = recorded
    check_refused("recorded from its start", target, "is recorded since its start")
    check_refused("a filter of system calls", Target(command=[build("filtered", WAITS, "-DBEFORE=" + FILTER)]),
                  "filter of system calls")
    check_refused("its own malloc", Target(command=[
        build("other", OTHER_MALLOC + WAITS, "-DBEFORE=(void)0", "-fno-builtin", "-w", "-rdynamic")]),
        "does not use the C library's malloc")
    with contextlib.suppress(subprocess.CalledProcessError):
        check_refused("a static program", Target(command=[build("static", WAITS, "-DBEFORE=(void)0", "-static")]),
                      "static programs cannot be recorded")
    target = Target(0, 0, 0)
    why = target.end()
    status, _, err = tap.run([tap.STOKE, "heap", "-p", str(target.pid)])
    why += "" if status == 1 and b"no process" in err else f"{status} {err}"
    REPORT.result("refused: a process that has ended", why)


# --- Containers -------------------------------------------------------------------------------

def check_containers():
    """Recorded are processes that see the same library, also from the inside of their namespaces.
    Others are refused with what to do."""
    if not shutil.which("unshare") or tap.run(["unshare", "-m", "-p", "-f", "true"])[0] != 0:
        REPORT.skip("processes in other namespaces", "no namespaces can be made here")
        return
    target = Target(command=["unshare", "-m", PROGRAM, "0", "0", "0"])
    recorder = Recorder(target.pid, "--full")
    target.send("known")
    status = recorder.stop()
    why = "" if status == 0 else recorder.messages
    why += target.end() + compare(recorder.path, [("allocated", "known", KNOWN), ("leaked", "known", KNOWN_LEAKED)])
    REPORT.result("in another mount namespace that has the library", why)

    hide = f"mount -t tmpfs none {os.path.dirname(LIBRARY)} && exec {PROGRAM} 0 0 0"
    check_refused("in a mount namespace without the library", Target(command=["unshare", "-m", "sh", "-c", hide]),
                  "it is in another root folder, such as a container's: run stoke there")

    target = Target(command=["unshare", "-p", "-f", PROGRAM, "0", "0", "0"])
    target.pid = wait_until(lambda: children(target.process.pid))[0]
    check_refused("in another PID namespace", target, "is in another PID namespace, such as a container")

    path = os.path.join(FOLDER.name, "inside.stoke")
    script = (f"mkfifo {FOLDER.name}/in; {PROGRAM} 0 0 0 < {FOLDER.name}/in & exec 3> {FOLDER.name}/in; "
              f"{tap.STOKE} heap --full -p $! --duration 0.1 -o {path} || exit 3; exec 3>&-; wait $!")
    status, out, err = tap.run(["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", script])
    why = "" if status == 7 and out.endswith(b"end\n") and os.path.exists(path) else f"{status} {out} {err.decode()}"
    REPORT.result("with stoke in the same PID namespace", why)


def main():
    if not os.path.exists(LIBRARY):
        REPORT.skip("stoke heap -p", "libstoke_heap_attach.so is not built here")
        REPORT.done()
    with FOLDER:
        check_truth((0, 0, 0))
        check_truth((2, 2, 1))
        check_child()
        check_repeated()
        check_sampled()
        check_killed(False)
        check_killed(True)
        check_ends()
        check_containers()
        if compiler():
            check_loaded()
            check_starts()
            check_refusals()
    REPORT.done()


main()
