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
# Only where there is a file system of tracepoints, and for all processes.
record points -e syscalls:sys_enter_munmap ./work || rm -f points.data
record all -a -F 500 -e cpu-clock -e sched:sched_switch ./work || rm -f all.data
python3 "$TESTS/cli/perf_results.py"
