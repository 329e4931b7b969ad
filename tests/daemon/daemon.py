#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoke daemon under a known load and faults: shares are the program's; a store
that cannot be written is written later; the clock is set."""

import contextlib
import ctypes
import datetime
import glob
import math
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import tap

SECONDS = float(os.environ.get("STOKE_TRUTH_SECONDS", "0"))  # of the known load, at least
RATE = 19 if SECONDS else 199
UNIT = os.path.join(tap.SOURCE_ROOT, "tools", "systemd", "stoke.service.in")
WAIT = 120  # seconds until an event counts as missing
SHARES = {"alpha": 50, "beta": 30, "gamma_": 15, "delta": 5}
SIGMA = 6  # of a share: one of 10^8 correct runs fails
ERROR = 0.02  # of a share: each function runs a few microseconds longer

# Each function uses its share of the CPU time of the thread, as the kernel counts it. The length
# of a round is random, so that the program is never in step with the sampling period.
LOAD = """
#include <time.h>
static long used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}
static volatile unsigned long x;
static unsigned long state;
static long unit;
#define F(name, share) \\
    __attribute__((noinline)) void name(void) \\
    { \\
        for (long end = used() + share * unit; used() < end;) \\
            for (int i = 0; i < 2000; i++) x += (unsigned long)i; \\
        x++; \\
    }
F(alpha, 50) F(beta, 30) F(gamma_, 15) F(delta, 5)
int main(void)
{
    for (;;) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        unit = 4000 + (long)(state >> 33) % 8000;
        alpha(); beta(); gamma_(); delta();
    }
}
"""


# A program that waits for a second, as often as its argument says.
NAPS = """
#include <stdlib.h>
#include <time.h>
int main(int count, char **words)
{
    struct timespec t = {1, 0};
    (void)count;
    for (int i = atoi(words[1]); i > 0; i--)
        nanosleep(&t, NULL);
}
"""
NAP, NAP_COUNT = 1, 3
LOAD_NAME, NAPS_NAME, COUNTED_NAME = map(tap.own_name, ("shares", "naps", "counted"))
CAP_SYS_ADMIN, CAP_BPF, PR_CAPBSET_DROP = 21, 39, 24  # linux/capability.h, linux/prctl.h

# A file system that becomes read-only while files on it are open, as after a fault of its disk.
READ_ONLY = """
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int refuses(void)
{
    if (syscall(SYS_faccessat, AT_FDCWD, getenv("READ_ONLY_WHILE"), F_OK) != 0)
        return 0;
    errno = EROFS;
    return 1;
}
static int open_any(const char *path, int flags, va_list more)
{
    const char *mark = getenv("READ_ONLY_WHILE");
    int is_there = strncmp(path, mark, (size_t)(strrchr(mark, '/') - mark)) == 0;
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    if (is_there && (flags & (O_ACCMODE | O_CREAT)) != O_RDONLY && refuses())
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int fd = open_any(path, flags, more);
    va_end(more);
    return fd;
}
int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int fd = open_any(path, flags, more);
    va_end(more);
    return fd;
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return refuses() ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    return refuses() ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}
int ftruncate(int fd, off_t size)
{
    return refuses() ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}
int ftruncate64(int fd, off64_t size)
{
    return refuses() ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}
int unlink(const char *path)
{
    return refuses() ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int rename(const char *from, const char *to)
{
    return refuses() ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}
"""

# A clock that is set while the daemon runs: the file has the seconds that are added to it. After a
# suspension the clock of the time since the start is ahead, too; the monotonic clock is not.
CLOCK = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
    char text[32] = "";
    int got = (int)syscall(SYS_clock_gettime, clock, t);
    int set = clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME;
    int fd = set ? (int)syscall(SYS_openat, AT_FDCWD, getenv("CLOCK_SET"), O_RDONLY) : -1;
    if (fd >= 0) {
        if (syscall(SYS_read, fd, text, sizeof text - 1) > 0 && (clock == CLOCK_REALTIME || atol(text) > 0))
            t->tv_sec += atol(text);
        syscall(SYS_close, fd);
    }
    return got;
}
"""
BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"  # as in Europe/Berlin

# A disk that takes long to write a copy of the store.
SLOW = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void wait_for(int fd)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) <= 0 || !strstr(path, ".again"))
        return;
    for (int i = 0; i < 60000 && access(getenv("SLOW_WHILE"), F_OK) == 0; i++)
        usleep(2000);
}
int fsync(int fd)
{
    wait_for(fd);
    return (int)syscall(SYS_fsync, fd);
}
int fdatasync(int fd)
{
    wait_for(fd);
    return (int)syscall(SYS_fdatasync, fd);
}
"""


# A disk that takes a second for each fsync. What it has then is in PATH.synced: a machine that
# crashes loses the rest.
SYNCED = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void copy_file(int fd)
{
    char link[64], path[4096] = "", copy[4200], part[4200], bytes[65536];
    off_t at = 0;
    ssize_t n;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) <= 0 || !strstr(path, getenv("SYNCED_NAME")))
        return;
    snprintf(copy, sizeof copy, "%s.synced", path);
    snprintf(part, sizeof part, "%s.part", path);
    int out = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while ((n = pread(fd, bytes, sizeof bytes, at)) > 0 && write(out, bytes, (size_t)n) == n)
        at += n;
    close(out);
    rename(part, copy);
    usleep(1000000);
}
int fsync(int fd)
{
    int got = (int)syscall(SYS_fsync, fd);
    copy_file(fd);
    return got;
}
int fdatasync(int fd)
{
    int got = (int)syscall(SYS_fdatasync, fd);
    copy_file(fd);
    return got;
}
"""


def until(condition, what):
    end = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not in {WAIT} s")
        time.sleep(0.05)


@contextlib.contextmanager
def daemon(store, *words, prefix=(), **how):
    """A running daemon, which is killed at the end, and what it has said so far."""
    with tempfile.TemporaryFile() as err:
        process = subprocess.Popen([*prefix, tap.STOKE, "daemon", "--store", store, "--window",
                                    "1", *words], stderr=err, **how)

        last = []

        def said():
            return last[0] if last else os.pread(err.fileno(), 1 << 16, 0).decode("utf-8", "replace")
        try:
            until(lambda: "Hz into" in said() or process.poll() is not None, "start")
            yield process, said
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            last.append(said())


def windows(store):
    """{id: (start, samples, data)}"""
    if not os.path.exists(store):
        return {}
    with contextlib.closing(sqlite3.connect(store, timeout=30)) as db:
        try:
            return {row[0]: row[1:] for row in
                    db.execute("SELECT id, start, samples, data FROM window")}
        except sqlite3.OperationalError:
            return {}  # the daemon was killed before it made the tables


def lost_of(before, store):
    """The windows that the store has no more. Those of ten minutes become one, after a while."""
    after = windows(store)
    with contextlib.closing(sqlite3.connect(store, timeout=30)) as db:
        packed = db.execute("SELECT start, end FROM window WHERE end - start > 60e9").fetchall()
    return [i for i, window in before.items() if after.get(i) != window
            and not any(start <= window[0] < end for start, end in packed)]


def samples_in(stored):
    return sum(samples for _, samples, _ in stored.values())


def stop(process):
    process.send_signal(signal.SIGTERM)
    return process.wait(WAIT)


def folded(store, *words, at="-1h", **how):
    status, out, err = tap.run([tap.STOKE, "fold", "--at", at, "--store", store, *words], **how)
    if status != 0 and b"no sample" in err:
        return  # not yet
    if status != 0:
        raise RuntimeError(err.decode("utf-8", "replace"))
    for line in out.decode("utf-8", "replace").splitlines():
        stack, _, weight = line.rpartition(" ")
        yield stack.split(";"), float(weight)


def counts(store, rate):
    """Samples of the load's functions."""
    per = dict.fromkeys(SHARES, 0)
    for stack, weight in folded(store, "--label", f"process={LOAD_NAME}"):
        for name in SHARES:
            per[name] += weight * rate / 1e9 if name in stack else 0
    return per


def check_shares(store, rate):
    """Known shares, within the interval of their samples."""
    per = counts(store, rate)
    n = sum(per.values())
    if n == 0:
        return "no samples of the load"
    wrong = []
    for name, percent in SHARES.items():
        p = percent / 100
        if abs(per[name] / n - p) > SIGMA * math.sqrt(p * (1 - p) / n) + ERROR:
            wrong.append(f"{name}: {100 * per[name] / n:.1f}% of {n:.0f}, not {percent}%")
    return "; ".join(wrong)


def not_counted(store, said):
    """Why the windows do not have exactly the samples that the sampler has counted."""
    counted = re.search(r"(\d+) samples were taken", said)
    stored = sum(w[1] for w in windows(store).values())
    if counted and stored == int(counted[1]) > 0:
        return []
    return [f"{stored} samples are stored: {said}"]


def check_truth(folder):
    store = os.path.join(folder, "truth.db")
    with daemon(store, "--rate", str(RATE)) as (process, said):
        time.sleep(SECONDS)
        until(lambda: sum(w[1] > RATE / 10 for w in windows(store).values()) > 8, "windows")
        # a process at low priority reads the names
        until(lambda: sum(counts(store, RATE).values()) > 20, "named samples of the load")
        status = stop(process)
    if status != 0:
        return f"it ended with {status}: {said()}"
    wrong = not_counted(store, said())
    if wrong:
        return wrong[0]
    stored = sum(w[1] for w in windows(store).values())
    read = sum(weight for _, weight in folded(store)) * RATE / 1e9
    if abs(read - stored) > 0.01 * stored:
        return f"{stored} samples are stored, and {read:.0f} are read"
    per = counts(store, RATE)
    print("#", {name: f"{100 * count / sum(per.values()):.2f}%" for name, count in per.items()},
          f"of {sum(per.values()):.0f} samples of the load, {stored} of all processes")
    return check_shares(store, RATE)


def check_recovery(folder):
    """Another process locks the store: the daemon continues, and stores later."""
    store = os.path.join(folder, "locked.db")
    with daemon(store) as (process, said):
        until(lambda: windows(store), "the first window")
        with contextlib.closing(sqlite3.connect(store, isolation_level=None, timeout=60)) as db:
            db.execute("BEGIN IMMEDIATE")
            until(lambda: "sampling continues" in said(), "a message")
            db.execute("ROLLBACK")
        until(lambda: "written again; nothing is lost" in said(), "storing again")
        status = stop(process)
    return "" if status == 0 else f"it ended with {status}: {said()}"


def remove(store):
    for name in glob.glob(store + "*"):
        os.remove(name)


def move(store):
    os.rename(store, store.replace(".db", "-old.sqlite"))


def replace(store):
    with open(store + ".text", "w", encoding="utf-8") as out:
        out.write("no store\n" * 1000)
    os.rename(store + ".text", store)


def overwrite(store):
    with open(store, "r+b") as out:
        out.write(os.urandom(8192))


def remove_log(store):
    os.remove(store + "-wal")


def truncate_index(store):
    os.truncate(store + "-shm", 0)


def truncate_part(store):
    os.truncate(store + "-shm", 4096)  # with the header


def overwrite_index(store):
    with open(store + "-shm", "r+b") as out:
        out.write(os.urandom(32768))


def overwrite_log(store):
    """All of the log; what the store has without it must remain."""
    with open(store + "-wal", "r+b") as out:
        out.write(os.urandom(os.path.getsize(store + "-wal")))


def overwrite_log_end(store):
    """The last page of the log; the file may also have older ones after it."""
    with open(store + "-shm", "rb") as file:
        last = struct.unpack_from("=I", file.read(20), 16)[0]
    with open(store + "-wal", "r+b") as out:
        out.seek(32 + (last - 1) * (24 + 4096) + 24)
        out.write(os.urandom(4096))


# What happens to the store, what the daemon says, and where the windows from before are then.
# After the damage of the file itself they are in what is left of it.
FAULTS = [("removed", remove, "was removed: it was written again", ""),
          ("moved", move, "was moved: another one", "-old.sqlite"),
          ("replaced", replace, "replaced the store, which is now", ".db.removed-*Z"),
          ("damaged", overwrite, "was damaged: it is now", None),
          ("without its log", remove_log, "log of the store was removed", ""),
          ("without the index of its log", truncate_index, "it was written again, and nothing", ""),
          ("with a part of this index", truncate_part, "it was written again, and nothing", ""),
          ("with another index", overwrite_index, "it was written again, and nothing", "")]

DAMAGED_LOGS = [("all of it", overwrite_log), ("its end", overwrite_log_end)]


def check_fault(folder, name, harm, message, location):
    """The daemon continues by itself, and nothing that was stored before is lost."""
    store = os.path.join(folder, name.replace(" ", "-") + ".db")
    with daemon(store) as (process, said):
        until(lambda: len(windows(store)) >= 2, "two windows")
        before = {start: data for start, _, data in windows(store).values()}
        harm(store)
        until(lambda: message in said() or process.poll() is not None, name)
        last = max(before)
        until(lambda: any(start > last for start, _, _ in windows(store).values())
              or process.poll() is not None, "a window after it")
        status = stop(process)
        said = said()
    if status != 0:
        return f"it ended with {status}: {said}"
    if location is None:
        aside = glob.glob(store + ".damaged-*Z")
        return "" if len(aside) == 1 else f"moved aside: {aside}"
    where = glob.glob(store.replace(".db", location) if location else store)
    found = {start: data for path in where for start, _, data in windows(path).values()}
    lost = [start for start in before if found.get(start) != before[start]]
    return f"{len(lost)} of {len(before)} windows are lost, in {where}: {said}" if lost else ""


def without_log(folder, store):
    """The windows of the store itself."""
    alone = os.path.join(folder, "alone.db")
    shutil.copy(store, alone)
    found = {start: data for start, _, data in windows(alone).values()}
    remove(alone)
    return found


def check_log(folder, name, harm):
    """A damaged log: what the store itself has remains, and the daemon continues."""
    store = os.path.join(folder, name.replace(" ", "-") + "-log.db")
    with daemon(store) as (process, said):
        until(lambda: len(windows(store)) >= 2, "two windows")
        with contextlib.closing(sqlite3.connect(store, timeout=60)) as db:
            db.execute("PRAGMA wal_checkpoint")
        count = len(windows(store))
        until(lambda: len(windows(store)) > count, "a window in the log")
        before = without_log(folder, store)
        harm(store)
        until(lambda: "log of the store was damaged" in said() or process.poll() is not None, name)
        last = max(before)
        until(lambda: any(start > last for start, _, _ in windows(store).values())
              or process.poll() is not None, "a window after it")
        status = stop(process)
        said = said()
    found = {start: data for start, _, data in windows(store).values()}
    wrong = [f"lost: {start}" for start in before if found.get(start) != before[start]]
    with contextlib.closing(sqlite3.connect(store)) as db:
        wrong += [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    if not re.search(r"what was stored after .* UTC is lost", said):
        wrong.append("no time")
    if glob.glob(store + ".damaged-*"):
        wrong.append("the store was moved aside")
    return "" if status == 0 and len(before) >= 2 and not wrong else f"{status}: {wrong}: {said}"


def preloaded(folder, name, source, variable):
    """A store; a file that makes the fault while it exists; the environment."""
    store, shim, mark = (os.path.join(folder, name + end) for end in (".db", ".so", ".mark"))
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", shim],
                   input=source.encode(), check=True)
    return store, mark, {**os.environ, "LD_PRELOAD": shim, variable: mark}


def create(path):
    with open(path, "wb"):
        pass


def gaps(store, said=None):
    """Times between windows, and other faults of the file. If all samples that the daemon has counted
    are stored, a window may be missing: on a busy machine it was late, and they are in the next one."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        found = db.execute("PRAGMA integrity_check").fetchone()[0]
        spans = db.execute("SELECT start, end FROM window ORDER BY start").fetchall()
    times = [start - end for (_, end), (start, _) in zip(spans, spans[1:]) if start - end > 5e8]
    times = [] if said and not not_counted(store, said) else times
    return ([f"gaps of {times} ns"] if times else []) + ([found] if found != "ok" else [])


def lost_windows(store, before):
    return [f"lost: {before[i][0]}" for i in lost_of(before, store)]


def set_clock(mark, seconds):
    with open(mark + ".new", "w", encoding="ascii") as out:
        out.write(str(seconds))
    os.rename(mark + ".new", mark)


def check_clock(folder):
    """The clock is set forward, as after a suspension, and back: each sample is stored and read
    once, in the time that the clock showed."""
    store, mark, env = preloaded(folder, "clock", CLOCK, "CLOCK_SET")
    hour, spans, begin = 3600, [], time.time()
    with daemon(store, env=env) as (process, said):
        for offset in (0, hour, -2 * hour, -2 * hour - 2, 0):
            set_clock(mark, offset)
            spans.append((begin + offset - 600, begin + offset + 600))
            since = time.time()
            until(lambda f=since + offset: sum(w[0] / 1e9 >= f for w in windows(store).values()
                                               if w[0] / 1e9 < f + 600) >= 2,
                  f"windows {offset} s from now")
        status = stop(process)
        said = said()
    wrong = not_counted(store, said)
    stored = sum(w[1] for w in windows(store).values())
    parts = [sum(weight for _, weight in folded(store, at=f"@{int(a)}..@{int(b)}")) * 19 / 1e9
             for a, b in sorted(set(spans)) if (a, b) != spans[3]]
    if len(parts) != 3 or min(parts) < 1 or abs(sum(parts) - stored) > 0.01:
        wrong.append(f"{stored} samples are stored, {parts} are read")
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said}"


# Moments at which local time is set, and the ends of these days, of 25 and 23 hours. The spans of
# each line are all of that time.
DAYLIGHT = {
    "the end of daylight saving time": (
        "2026-10-25T01:00:00Z", ("2026-10-25",),
        ("2026-10-25T00:00..2026-10-25T02:30", "2026-10-25T02:30..2026-10-25T23:00")),
    "the end of the day of 25 hours": ("2026-10-25T23:00:00Z", ("2026-10-25", "2026-10-26")),
    "the begin of daylight saving time": (
        "2027-03-28T01:00:00Z", ("2027-03-28",),
        ("2027-03-28T00:00..2027-03-28T03:00", "2027-03-28T03:00..2027-03-28T23:00")),
    "the end of the day of 23 hours": ("2027-03-28T22:00:00Z", ("2027-03-28", "2027-03-29")),
}


def check_daylight(folder, name, moment, *divisions):
    """Days and parts of them add up where local time is set forward or back."""
    store, mark, env = preloaded(folder, name.replace(" ", "-"), CLOCK, "CLOCK_SET")
    env["TZ"] = BERLIN
    change = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    set_clock(mark, int(change - time.time()) - 4)
    with daemon(store, env=env) as (process, said):
        until(lambda: any(w[0] / 1e9 >= change + 2 for w in windows(store).values()), "windows")
        status = stop(process)
        said = said()
    wrong = not_counted(store, said)
    stored = sum(w[1] for w in windows(store).values())
    for spans in divisions:
        read = [sum(weight for _, weight in folded(store, at=at, env=env)) * 19 / 1e9
                for at in spans]
        if abs(sum(read) - stored) > 0.01:
            wrong.append(f"{stored} samples are stored, {read} are read of {spans}")
    before = sum(w[0] / 1e9 < change for w in windows(store).values())
    if not 0 < before < len(windows(store)):
        wrong.append("the windows are not on both sides")
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said}"


def check_late(folder):
    """A daemon that does not run for several windows: all samples of a window are in its time."""
    store = os.path.join(folder, "late.db")
    with daemon(store) as (process, said):
        until(lambda: len(windows(store)) >= 2, "windows")
        process.send_signal(signal.SIGSTOP)
        time.sleep(4.3)  # the time that it does not run is what is tested
        process.send_signal(signal.SIGCONT)
        count = len(windows(store))
        until(lambda: len(windows(store)) >= count + 3, "windows after it")
        status = stop(process)
        said = said()
    wrong = not_counted(store, said)
    stored = sum(w[1] for w in windows(store).values())
    with contextlib.closing(sqlite3.connect(store)) as db:
        ends = [row[0] / 1e9 for row in db.execute("SELECT end FROM window ORDER BY end")]
    for at in {round(end) for end in ends[:-1]}:
        read = [sum(weight for _, weight in folded(store, at=span)) * 19 / 1e9
                for span in (f"@{at - 3600}..@{at}", f"@{at}..@{at + 3600}")]
        if abs(sum(read) - stored) > 0.01:
            wrong.append(f"{stored} samples are stored, {read} are read before and after @{at}")
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said}"


def check_budget(folder):
    """The rate falls to what the budget permits, and each window has its own."""
    store = os.path.join(folder, "budget.db")
    with daemon(store, "--rate", "997", "--max-cpu", "0.02%") as (process, said):
        until(lambda: "the budget does not permit more" in said(), "a lower rate")
        count = len(windows(store))
        until(lambda: len(windows(store)) >= count + 2, "windows with that rate")
        status = stop(process)
    with contextlib.closing(sqlite3.connect(store)) as db:
        rows = db.execute("SELECT rate, samples FROM window ORDER BY start").fetchall()
    rates = [rate for rate, _ in rows]
    stored = sum(samples / rate for rate, samples in rows)
    read = sum(weight for _, weight in folded(store)) / 1e9
    wrong = gaps(store, said())
    if rates != sorted(rates, reverse=True) or rates[0] != 997 or rates[-1] > 997 / 2:
        wrong.append(f"rates {rates}")
    if abs(read - stored) > 0.01 * stored:
        wrong.append(f"{stored:.3f} s are stored, {read:.3f} s are read")
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said()}"


def check_copy(folder):
    """While a copy is written, sampling continues; at the end it is waited for."""
    store, mark, env = preloaded(folder, "slow", SLOW, "SLOW_WHILE")
    with daemon(store, env=env) as (process, said):
        until(lambda: windows(store), "the first window")
        create(mark)
        remove(store)
        until(lambda: "is being written again: " in said(), "a message of the copy")
        os.remove(mark)
        until(lambda: "written again; nothing is lost" in said(), "the end of the copy")
        before = windows(store)
        create(mark)
        remove(store)
        until(lambda: said().count("is being written again: ") > 1, "a message of the second copy")
        process.send_signal(signal.SIGTERM)
        os.remove(mark)
        status = process.wait(WAIT)
        said = said()
    wrong = gaps(store, said) + lost_windows(store, before) if os.path.exists(store) else ["no store"]
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said}"


def check_read_only(folder):
    """Writes fail, and files cannot be made: the daemon continues, and stores later."""
    store, mark, env = preloaded(folder, "readonly", READ_ONLY, "READ_ONLY_WHILE")
    with daemon(store, env=env) as (process, said):
        until(lambda: windows(store), "the first window")
        create(mark)
        until(lambda: "Read-only file system; sampling continues" in said(), "a message")
        before = windows(store)
        os.remove(mark)
        until(lambda: "written again; nothing is lost" in said(), "storing again")
        status = stop(process)
        said = said()
    wrong = gaps(store, said) + lost_windows(store, before)
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said}"


def check_crash(folder):
    """Each fsync takes a second: no sample is lost. The machine crashes, and what was not synced is
    lost: no window that was stored is, and the daemon continues."""
    store, _mark, env = preloaded(folder, "synced", SYNCED, "SYNCED_NAME")
    env["SYNCED_NAME"] = "synced.db"
    with daemon(store, env=env) as (process, said):
        until(lambda: len(windows(store)) >= 4, "windows")
        wrong = gaps(store)
        before = windows(store)
        process.kill()
        process.wait()
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(store + end)
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{store}{end}.synced", store + end)
        wrong += gaps(store) + lost_windows(store, before)
    with daemon(store) as (process, said):
        until(lambda: len(windows(store)) > len(before), "a window after the crash")
        status = stop(process)
        said = said()
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said}"


def waits(store, thread=None):
    """The ns of all waits in the store, or of those of threads with that name."""
    return sum(weight for stack, weight in folded(store, "--event", "off-cpu")
               if thread in (None, stack[0]))


def least_wait(said):
    """Shorter waits were not stored at some time, in seconds: the daemon raises the limit if there
    are many waits."""
    return max([float(ms) / 1000 for ms in re.findall(r"at least ([0-9.]+) ms", said)], default=0)


def has_reason(store):
    """Whether naps are known as such; the names of the kernel's functions come late."""
    return any("[sleep]" in stack for stack, _ in
               folded(store, "--event", "off-cpu", "--label", f"process={NAPS_NAME}"))


def check_waits(folder):
    """The waits of a program are between what it requests and how long it runs; the sum of all
    waits is what the sampler counted."""
    store = os.path.join(folder, "waits.db")
    naps = build(folder, NAPS_NAME, NAPS)
    with daemon(store, "--off-cpu", "5") as (process, said):
        with subprocess.Popen([naps, "1000000"]) as load:
            until(lambda: has_reason(store) or least_wait(said()) > NAP, "the reason of a wait")
            load.kill()
        named = os.path.join(folder, COUNTED_NAME)
        os.rename(naps, named)
        begin = time.monotonic()
        subprocess.run([named, str(NAP_COUNT)], check=True)
        most = time.monotonic() - begin
        status = stop(process)
        said = said()
    own = waits(store, COUNTED_NAME) / 1e9
    counted = re.search(r"(\d+) waits were sampled, (\d+) ns", said)
    wrong = []
    least = NAP_COUNT * NAP if least_wait(said) < NAP else 0  # many others may wait
    if not least <= own <= most:
        wrong.append(f"{own} s, not between {least} and {most}")
    if not counted or waits(store) != int(counted[2]):
        wrong.append(f"{waits(store)} ns are stored")
    cpu = sum(weight for _, weight in folded(store, "--event", "cpu-clock"))
    if cpu <= 0:
        wrong.append("no CPU time")
    return "" if status == 0 and not wrong else f"{status}: {wrong}: {said}"


# A program whose functions are Python's.
PYTHON = """
def inner_function(n):
    return sum(i * i for i in range(n))
def outer_function():
    return inner_function(2000)
while True:
    outer_function()
"""
PYTHON_STACK = ["<module>", "outer_function", "inner_function"]


def has_python(store):
    """Whether samples have the functions of the program, the caller first."""
    return any([name for name in stack if name in PYTHON_STACK] == PYTHON_STACK
               for stack, _ in folded(store))


def check_python(folder):
    """Functions of Python are in the history; with --interpreters none they are not."""
    program = os.path.join(folder, "program.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(PYTHON)
    with subprocess.Popen([sys.executable, program]) as load:
        try:
            store = os.path.join(folder, "python.db")
            with daemon(store) as (process, said):
                until(lambda: has_python(store), "functions of Python")
                status = stop(process)
            if status:
                return said()
            store = os.path.join(folder, "native.db")
            with daemon(store, "--interpreters", "none") as (process, said):
                until(lambda: any("python" in stack[0] for stack, _ in folded(store)), "samples")
                status = stop(process)
            found = [stack for stack, _ in folded(store) if PYTHON_STACK[-1] in stack]
            return said() if status else f"with --interpreters none: {found}" if found else ""
        finally:
            load.kill()


def check_interpreters(report, folder):
    with daemon(os.path.join(folder, "try-python.db")) as (_process, said):
        why = re.search(r"functions of Python .* not stored: .*", said())
    if why:
        report.skip("functions of Python", why[0])
    else:
        report.result("functions of Python", check_python(folder))


def without_rights():
    """Drops the capabilities that load eBPF programs."""
    libc = ctypes.CDLL(None)
    for capability in (CAP_BPF, CAP_SYS_ADMIN):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def check_no_rights(folder):
    """The daemon says why it has no waits and no interpreters, and samples CPU time."""
    store = os.path.join(folder, "no-rights.db")
    with daemon(store, "--off-cpu", preexec_fn=without_rights) as (process, said):
        until(lambda: windows(store), "a window")
        status = stop(process)
        said = said()
    right = all(f"{what} are not stored: " in said for what in ("waits", "interpreters")) and "CAP_BPF" in said
    return "" if status == 0 and right else f"{status}: {said}"


def rights_of_unit():
    """The words before a command that give it the rights of the systemd unit."""
    with open(UNIT, encoding="utf-8") as file:
        found = re.search(r"^AmbientCapabilities=(.*)$", file.read(), re.MULTILINE)
    names = "-all" + "".join(f",+{name[4:].lower()}" for name in found[1].split())
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
            "--bounding-set=" + names, "--inh-caps=" + names, "--ambient-caps=" + names]


def check_unit(folder):
    """With the rights of the systemd unit, waits and samples of all processes are stored."""
    os.mkdir(os.path.join(folder, "unit"))
    os.chmod(folder, 0o755)
    os.chown(os.path.join(folder, "unit"), 65534, 65534)
    store = os.path.join(folder, "unit", "unit.db")
    with daemon(store, "--off-cpu", prefix=rights_of_unit()) as (process, said):
        until(lambda: any(LOAD_NAME in stack for stack, _ in folded(store)), "samples of root")
        until(lambda: waits(store) > 0, "waits")
        status = stop(process)
    wrong = "only your own" in said() or "not stored" in said()
    return "" if status == 0 and not wrong else f"{status}: {said()}"


def check_all_waits(report, folder):
    with daemon(os.path.join(folder, "try-waits.db"), "--off-cpu") as (_process, said):
        why = re.search(r"waits are not stored: .*", said())
    if why:
        report.skip("waits", why[0])
        return
    report.result("waits", check_waits(folder))
    report.result("waits without rights", check_no_rights(folder))
    if os.geteuid() or tap.run(["sh", "-c", "command -v setpriv"])[0]:
        report.skip("the rights of the systemd unit", "it takes root and setpriv")
    else:
        report.result("the rights of the systemd unit", check_unit(folder))


@contextlib.contextmanager
def small_disk(folder):
    path = os.path.join(folder, "disk")
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", path], check=True,
                   stderr=subprocess.PIPE)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def check_disk(path):
    """Windows wait in memory until there is space."""
    store = os.path.join(path, "history.db")
    with daemon(store) as (process, said):
        until(lambda: windows(store), "the first window")
        filler = os.path.join(path, "filler")
        with contextlib.suppress(OSError), open(filler, "wb", 0) as out:
            while True:
                out.write(bytes(4096))
        until(lambda: "sampling continues" in said(), "a full disk")
        os.remove(filler)
        until(lambda: "written again; nothing is lost" in said(), "storing again")
        status = stop(process)
    with contextlib.closing(sqlite3.connect(store)) as db:
        found = db.execute("PRAGMA integrity_check").fetchone()[0]
    return "" if status == 0 and found == "ok" else f"{status}, integrity {found}: {said()}"


def check_small_disk(report, folder):
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(small_disk(folder))
        except (OSError, subprocess.CalledProcessError) as error:
            report.skip("a full disk", f"no file system can be mounted: {error}")
            return
        report.result("a full disk", check_disk(path))


def build(folder, name, source):
    path = os.path.join(folder, name)
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-x", "c", "-", "-o", path],
                   input=source.encode(), check=True)
    return path


def why_not(folder):
    """Why the daemon does not run here."""
    with daemon(os.path.join(folder, "try.db")) as (process, said):
        return said().strip() if process.poll() is not None else ""


def main():
    report = tap.Tap()
    with tempfile.TemporaryDirectory(prefix="stoke-test-") as folder:
        why = why_not(folder)
        if why:
            report.skip("daemon", why.split("\n")[0])
            report.done()
        with subprocess.Popen([build(folder, LOAD_NAME, LOAD)]) as load:
            try:
                report.result("shares of a known load", check_truth(folder))
                report.result("a store that cannot be written", check_recovery(folder))
                report.result("a file system that becomes read-only", check_read_only(folder))
                report.result("a crash of the machine, and a slow disk", check_crash(folder))
                report.result("a clock that is set", check_clock(folder))
                for name, words in DAYLIGHT.items():
                    report.result(name, check_daylight(folder, name, *words))
                report.result("a daemon that is late", check_late(folder))
                report.result("a budget of CPU time", check_budget(folder))
                report.result("a copy of the store that takes long", check_copy(folder))
                for name, *rest in FAULTS:
                    report.result(f"a store that is {name}", check_fault(folder, name, *rest))
                for name, harm in DAMAGED_LOGS:
                    report.result(f"a damaged log: {name}", check_log(folder, name, harm))
                check_all_waits(report, folder)
                check_interpreters(report, folder)
                check_small_disk(report, folder)
            finally:
                load.kill()
    report.done()


if __name__ == "__main__":
    main()
