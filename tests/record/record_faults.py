#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke record under faults: writes that fail, targets that end, execute other programs or reuse
process ids, more threads than open files, users without rights. record.py kills and stops the
recorder itself."""

import contextlib
import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import record as recording
import tap

SOURCES = recording.SOURCES
FP = ["-O2", "-g", "-fno-omit-frame-pointer", "-pthread"]


def build(folder):
    for name, flags in (("fp", ["-fno-optimize-strlen"]), ("reuse", []), ("threads", [])):
        source = "shares" if name == "fp" else name
        tap.output(["cc", *FP, *flags, "-o", os.path.join(folder, name),
                          os.path.join(SOURCES, source + ".c")])
    for name in ("first", "second"):
        tap.output(["cc", *FP, f"-DNAME=only_in_{name}", "-o",
                          os.path.join(folder, name), os.path.join(SOURCES, "one.c")])
    tap.output(["cc", "-O2", "-shared", "-fPIC", "-o",
                      os.path.join(folder, "failing.so"), os.path.join(SOURCES, "failing.c"),
                      "-ldl"])


# --- Writes ------------------------------------------------------------------------------

def failing_once(folder, at, why, short):
    """The fault of a recorder whose writes fail from the `at`-th on; and whether it reached that
    write. The first writes are before samples: then there may be no file."""
    path = os.path.join(folder, "failing.data")
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    env = {**os.environ, "LD_PRELOAD": os.path.join(folder, "failing.so"),
           "FAIL_AT": str(at), "FAIL_WITH": str(why), "FAIL_SHORT": "1" if short else "0"}
    status, _, err = tap.run([tap.STOKE, "record", "-q", "-F", "4999", "--no-compress", "-o",
                              path, "-C", "0", "--duration", "0.1"], cwd=folder, env=env)
    message = err.decode("utf-8", "replace")
    reached = status != 0
    if not reached:
        return "", False
    if f"cannot write {path}: {os.strerror(why)}" not in message:
        return message, True
    left = [name for name in os.listdir(folder) if name.startswith("failing.data.")]
    if left:
        return f"{left} are left", True
    if os.path.exists(path):
        status, _, err = tap.run([tap.STOKE, "info", "-q", path])
        if status != 0:
            return f"it does not open: {err.decode()}", True
    return "", True


def has_recording(folder):
    return os.path.exists(os.path.join(folder, "failing.data"))


def check_writes(report, folder):
    for name, why, short in (("a full disk", errno.ENOSPC, False),
                             ("a disk that fails", errno.EIO, False),
                             ("a disk that takes half", errno.ENOSPC, True)):
        faults, at, opened, reached = [], 1, 0, True
        while reached and at < 40:
            fault, reached = failing_once(folder, at, why, short)
            opened += reached and has_recording(folder)
            if fault:
                faults.append(f"from write {at} on: {fault}")
            at += 1
        at -= 2
        if not opened:
            faults.append(f"no file is left of any of {at} runs")
        report.result(f"{name}, from each of {at} writes on: it is reported, and the file opens",
                      "\n".join(faults) or ("" if at >= 6 else "there are too few writes"))


# --- Targets -----------------------------------------------------------------------------

def used(pid):
    """The seconds of CPU time that a process has used; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(") ")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def runs_for(pid, seconds):
    """Waits until the process has used this additional CPU time, or has ended."""
    until = (used(pid) or 0) + seconds
    while (now := used(pid)) is not None and now < until:
        time.sleep(0.02)


def exists(path, recorder):
    """Waits until the recorder has begun its file."""
    while not os.path.exists(path) and recorder.poll() is None:
        time.sleep(0.02)


def check_killed(report, folder):
    """A killed target ends the recording, which is complete."""
    path = os.path.join(folder, "target.data")
    recorder = subprocess.Popen([tap.STOKE, "record", "-q", "-F", "999", "-g", "fp", "-o", path,
                                 "./fp", "100000", "1", "5"], cwd=folder,
                                stderr=subprocess.PIPE)
    child = ""
    while not child and recorder.poll() is None:
        child = tap.run(["pgrep", "-x", "-P", str(recorder.pid), "fp"])[1].decode().strip()
        time.sleep(0.05)
    if child:
        runs_for(int(child), 0.4)
        os.kill(int(child), signal.SIGKILL)
    message = recorder.communicate(timeout=tap.TIMEOUT)[1].decode()
    work = sum(recording.of_program(recording.stacks(path)).values())
    report.result("the target is killed: the recording ends with its status",
                  "" if recorder.returncode == 137 and work > 50 else
                  f"status {recorder.returncode}, {work} samples: {message}")


def check_exec(report, folder):
    """Samples of a process that executes several programs belong to the right one."""
    path = recording.record(folder, "exec.data", "-F", "999", "-g", "fp", "sh", "-c",
                            "./first; exec ./second")
    found = recording.stacks(path)
    report.result("a target that executes another program: each has its own functions",
                  mixed(found, {"first": "only_in_first", "second": "only_in_second"}))


def mixed(found, expected):
    """Stacks that mix functions of different programs."""
    wrong = []
    for name, function in expected.items():
        own = sum(n for s, n in found.items() if s[0] == name and function in s)
        foreign = {f for s in found if s[0] == name for f in s
                   if f.startswith("only_in") and f != function}
        unknown = sum(n for s, n in found.items() if s[0] == name and
                      all(f.startswith("[") for f in s[1:]))
        if own < 50 or foreign or unknown > 0.05 * own:
            wrong.append(f"{name}: {own} in {function}, others' {foreign}, {unknown} unknown")
    return "\n".join(wrong)


def check_reuse(report, folder):
    path = os.path.join(folder, "reuse.data")
    status, out, err = tap.run([tap.STOKE, "record", "-q", "-F", "999", "-g", "fp", "-o", path,
                                "./reuse", "./first", "./second"], cwd=folder)
    if status == 77:
        report.skip("a process id used three times", "the system chooses the ids")
        return
    found = recording.stacks(path, "--only-pid", out.decode().strip()) if not status else {}
    report.result("a process id used three times: each process has its own functions", err.decode() if status else
                  mixed(found, {"first": "only_in_first", "second": "only_in_second",
                                "reuse": "only_in_parent"}))


def check_deleted(report, folder):
    """A program that is deleted while it runs has names."""
    program = os.path.join(folder, "fleeting")
    shutil.copy(os.path.join(folder, "fp"), program)
    load = subprocess.Popen([program, "100000", "1", "5"], stdout=subprocess.DEVNULL)
    os.remove(program)
    try:
        for how in ("fp", "dwarf"):
            recording.record(folder, "gone.folded", "-F", "999", "-g", how, "-p",
                             str(load.pid), "--duration", "1")
            with open(os.path.join(folder, "gone.folded"), encoding="utf-8") as file:
                lines = file.read().splitlines()
            named = [line for line in lines if ";main;" in line and "takes_" in line]
            report.result(f"a program that was deleted, {how}: named",
                          "" if named else "\n".join(lines[:5]) or "nothing")
    finally:
        load.kill()
        load.wait()


def counters_most():
    """The number of threads that can have a counter on each CPU: each is an open file."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 10000 if most == resource.RLIM_INFINITY else most // os.cpu_count() - 200


def check_threads(report, folder):
    """Ten thousand threads: started during the recording, and before it."""
    for how in ("command", "pid"):
        path = os.path.join(folder, "threads.data")
        count = 10000 if how == "command" else min(10000, counters_most())
        words = ["./threads", str(count), "700"]
        load = None
        if how == "pid":
            words[2] = "100000"
            load = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=folder)
            load.stdout.readline()
            words = ["-p", str(load.pid), "--duration", "2"]
        status, _, err = tap.run([tap.STOKE, "record", "-q", "-F", "499", "-g", "fp", "-o", path,
                                  *words], cwd=folder)
        if load:
            load.kill()
            load.wait()
        if status == 77:
            report.skip(f"{count} threads, {how}", "the system has no room for them")
            continue
        busy = sum(n for s, n in recording.stacks(path).items() if "busy_one" in s) \
            if status == 0 else 0
        report.result(f"{count} threads, {how}: {busy} samples of the two that work",
                      "" if busy > 20 else f"status {status}: {err.decode()}")


# --- What was lost -----------------------------------------------------------------------

def check_lost(report, folder):
    """Rings that overrun: the sum of lost and recorded samples is the number of all samples."""
    path = os.path.join(folder, "lost.data")
    load = subprocess.Popen(["./fp", "1200", "1", "60"], cwd=folder, stdout=subprocess.PIPE)
    load.send_signal(signal.SIGSTOP)
    recorder = subprocess.Popen([tap.STOKE, "record", "-F", "4999", "-g", "fp", "-m", "32K",
                                 "-o", path, "-p", str(load.pid)], stderr=subprocess.PIPE,
                                cwd=folder)
    exists(path, recorder)
    load.send_signal(signal.SIGCONT)
    runs_for(load.pid, 0.2)
    recorder.send_signal(signal.SIGSTOP)
    while not os.waitid(os.P_PID, load.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        time.sleep(0.05)
    _, _, usage = os.wait4(load.pid, 0)
    recorder.send_signal(signal.SIGCONT)
    message = recorder.communicate()[1].decode()
    info = recording.stoke("info", path).replace(",", "")
    lost = int((re.search(r"lost +([0-9]+)", info) or [0, 0])[1])
    recorded = int((re.search(r"samples +([0-9]+)", info) or [0, 0])[1])
    ran = (usage.ru_utime + usage.ru_stime) * 4999
    # the time before the counters were open is in neither number; while a virtual machine does
    # not run, the clock of the samples advances
    report.result(f"{lost} lost and {recorded} recorded, of {ran:.0f} at most",
                  "" if lost > 100 and 0.75 * ran < lost + recorded < 1.2 * ran else message)


def check_clock(report, folder):
    """If this process has a clock with an offset, as in a migrated container, samples still are
    in the file at once."""
    name = "a clock that is behind the kernel's"
    path = os.path.join(folder, "clock.data")
    words = ["unshare", "-T", "--monotonic", "-100"]
    if os.geteuid() != 0 or tap.run([*words, "true"])[0] != 0:
        report.skip(name, "there are no time namespaces here")
        return
    load = subprocess.Popen(["./fp", "100000", "1", "5"], cwd=folder)
    recorder = subprocess.Popen([*words, tap.STOKE, "record", "-q", "-F", "999", "-g", "fp",
                                 "-o", path, "-p", str(load.pid)])
    recorded, end = 0, time.monotonic() + 60
    while recorded <= 50 and time.monotonic() < end and recorder.poll() is None:
        time.sleep(1)
        with contextlib.suppress(RuntimeError):  # there may be no samples yet
            recorded = sum(recording.of_program(recording.stacks(path)).values())
    recorder.kill()
    recorder.wait()
    load.kill()
    load.wait()
    report.result(f"{name}: {recorded} samples", "" if recorded > 50 else "samples are missing")


ONLINE = "/sys/devices/system/cpu/cpu1/online"


def check_hotplug(report, folder):
    """A CPU that is offline for less than the interval of the checks is recorded again."""
    name = "a CPU that goes offline and comes back"
    if "STOKE_HOTPLUG" not in os.environ or not os.access(ONLINE, os.W_OK):
        report.skip(name, "STOKE_HOTPLUG=1 takes one offline for a moment")
        return
    for how in (["-e", "cpu-clock,page-faults"], ["-e", "cpu-clock", "--bpf"],
                ["-e", "cpu-clock", "--off-cpu"], ["-e", "cpu-clock", "--off-cpu", "-o", "-"]):
        path = os.path.join(folder, "hotplug.data")
        with open(path, "wb") as stream:
            recorder = subprocess.Popen(
                [tap.STOKE, "record", "-q", "-a", "-F", "499",
                 *(how if "-o" in how else [*how, "-o", path]), "--duration", "7"], stdout=stream)
        time.sleep(1.5)
        try:
            for value in ("0", "1"):
                with open(ONLINE, "w", encoding="ascii") as file:
                    file.write(value)
                gone = time.clock_gettime(time.CLOCK_MONOTONIC)
        finally:
            with contextlib.suppress(OSError), open(ONLINE, "w", encoding="ascii") as file:
                file.write("1")
        recorder.wait()
        done = tap.run([tap.STOKE, "script", "-G", "-F", "cpu,time,event", path])
        lines = [line for line in done[1].decode().splitlines() if "cpu-clock" in line]
        times = [float(line.split()[1].rstrip(":")) for line in lines if "[001]" in line]
        later = sum(t > gone + 3.5 for t in times)
        why = "" if later > 200 else f"{later} samples of {len(times)} after it"
        if b"unknown event" in done[2]:
            why = done[2].decode()
        report.result(f"{name}: {' '.join(how)}", why)


# --- Users without rights ----------------------------------------------------------------

PARANOID = "/proc/sys/kernel/perf_event_paranoid"


@contextlib.contextmanager
def paranoid(value):
    """Sets the value, restores it at the end; False if it cannot be set."""
    with open(PARANOID, encoding="ascii") as file:
        before = file.read().strip()
    try:
        if before != value:
            with open(PARANOID, "w", encoding="ascii") as file:
                file.write(value)
        yield True
    except OSError:
        yield False
    finally:
        if before != value:
            with contextlib.suppress(OSError), open(PARANOID, "w", encoding="ascii") as file:
                file.write(before)


def as_nobody(*words):
    """Runs stoke as user nobody, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="stoke-nobody-") as folder:
        os.chmod(folder, 0o777)
        # nobody gets a copy: the build folder may be readable for root only
        for name in (tap.STOKE, "first"):
            shutil.copy(name, folder)
        os.chmod(os.path.join(folder, "stoke"), 0o755)
        command = "cd " + folder + " && exec ./stoke " + " ".join(words)
        return tap.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                        "--no-new-privs", "sh", "-c", command])


def check_nobody(report, folder):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        report.skip("user nobody", "needs root, and setpriv")
        return
    os.chdir(folder)
    for value in ("2", "4"):
        with paranoid(value) as is_set:
            if not is_set:
                report.skip(f"user nobody, perf_event_paranoid {value}", "it cannot be set")
                continue
            status, _, err = as_nobody("record", "-F", "999", "-o", "n.folded", "./first",
                                       "&& cat n.folded")
            message = err.decode()
            own = "kernel code is not sampled" in message and status == 0
            # Debian's kernels refuse it at 3 and more
            refused = status == 1 and f"perf_event_paranoid is {value}" in message
            report.result(f"user nobody, perf_event_paranoid {value}: own program",
                          "" if own or (value == "4" and refused) else f"{status}: {message}")
            status, _, err = as_nobody("record", "-q", "-a", "--duration", "0.1")
            message = err.decode()
            report.result(f"user nobody, perf_event_paranoid {value}: the whole machine is refused, with "
                          "the setting's name and value",
                          "" if status == 1 and re.search(
                              f"perf_event_paranoid is {value}", message) and
                          "try:" in message else f"{status}: {message}")
            status, _, err = as_nobody("record", "-q", "-p", "1", "--duration", "0.1")
            report.result(f"user nobody, perf_event_paranoid {value}: the process of another user "
                          "is refused", "" if status == 1 and b"try:" in err else
                          f"{status}: {err.decode()}")


def main():
    report = tap.Tap()
    folder = tempfile.mkdtemp(prefix="stoke-faults-")
    try:
        if not shutil.which("cc"):
            report.skip("faults", "no compiler")
            report.done()
        status, _, err = tap.run([tap.STOKE, "record", "-q", "-o", "try.data", "true"],
                                 cwd=folder)
        if status != 0:
            report.skip("faults", err.decode().splitlines()[0])
            report.done()
        build(folder)
        for check in (check_writes, check_killed, check_exec, check_reuse, check_deleted,
                      check_threads, check_lost, check_clock, check_hotplug, check_nobody):
            check(report, folder)
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    report.done()


main()
