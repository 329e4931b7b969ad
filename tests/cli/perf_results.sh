# SPDX-License-Identifier: Apache-2.0
# Options of perf report, script and annotate: the same result as perf's, on recordings made here.
. "$TESTS/cli/lib.sh"

export HOME=$PWD # perf writes its cache of files there: together with other tests it crashes
for tool in perf cc python3; do
    command -v $tool >/dev/null || {
        echo "skipped: no $tool"
        exit 77
    }
done
# Without a PLT, whose entries perf names in its own way.
cc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-plt -pthread \
    "$TESTS/cli/report_work.c" -o work
cp work other
strip -o bare work

record() { # NAME OPTION... COMMAND
    name=$1
    shift
    perf record -q -o "$name.data" "$@" >/dev/null 2>>err
}
make_recordings() {
: >err
record plain -F 2000 -e cpu-clock ./work || {
    echo "skipped: perf cannot record here: $(tail -n 1 err)"
    exit 77
}
record stacks -F 2000 -e cpu-clock -g ./work
record dumps -F 500 -e cpu-clock --call-graph dwarf,4096 ./work
record events -F 2000 -e cpu-clock,page-faults -g ./work
record processes -F 2000 -e cpu-clock sh -c './work & ./other & wait'
record bare -F 2000 -e cpu-clock ./bare
record memory -e page-faults -c 1 -d --phys-data ./work
record records -F 2000 -e cpu-clock -g --switch-events --namespaces --all-cgroups ./work
record groups -F 2000 -e '{cpu-clock,page-faults}' ./work
# Branches between functions of the program, and from the kernel; no CPU here records them.
python3 - <<'PY'
import os, subprocess, sys
sys.path.insert(0, os.environ["TESTS"])
import perf.make_perf_data as m
work = os.path.realpath("work")
symbols = [line.split() for line in subprocess.run(["nm", work], stdout=subprocess.PIPE, text=True, check=True)
           .stdout.splitlines()]
at = {name: int(address, 16) for address, kind, name in (s for s in symbols if len(s) == 3) if kind in "Tt"}
rec = m.Recording([m.Attr(0, 0, sample_type=m.USUAL & ~m.CALLCHAIN | m.BRANCH_STACK, name="cycles", branches=1 << 3)])
rec.mmap2(100, 0x10000, 0x8000, 0, work, time=1)
rec.comm(100, 100, "work", time=2)
names = ["spin", "first", "second", "again", "memory", "calls", "main"]
for n in range(300):
    words = []
    for i in range(1 + n % 7):
        start, end = names[(n + i) % 7], names[(n * i + 3) % 7]
        flags = [1, 2, 2 | 4, 2 | 8][(n + i) % 4] | (n + i) % 3 << 4
        words += [0x10000 + at[start] + i, 0x10000 + at[end], flags]
    rec.sample(5 + n, 0x10000 + at["spin"], extra={m.BRANCH_STACK: rec.words([len(words) // 3, *words])})
open("branches.data", "wb").write(rec.file())
PY
# Only where there is a file system of tracepoints, and for all processes.
record points -e syscalls:sys_enter_munmap ./work || rm -f points.data
record all -a -F 500 -e cpu-clock -e sched:sched_switch ./work || rm -f all.data
}
make_recordings
python3 "$TESTS/cli/perf_results.py" && exit
# Each recording has a few samples in code that perf names in its own way, such as the start of
# the loader, so what differs is compared again: a fault of an option is in every recording.
echo "again, with other recordings"
make_recordings
python3 "$TESTS/cli/perf_results.py"
