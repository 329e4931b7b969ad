# SPDX-License-Identifier: Apache-2.0
# Samples of tracepoints weigh their periods: rows, totals and stacks have perf report's values, on
# recordings made here. stoke script prints what perf script prints.
. "$TESTS/cli/lib.sh"

export HOME=$PWD # perf writes its cache of files there: together with other tests it crashes
for tool in perf cc python3; do
    command -v $tool >/dev/null || {
        echo "$tool is missing"
        exit 77
    }
done
cc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread "$TESTS/cli/report_work.c" \
    -o work

# recorded NAME OPTION...: makes NAME.data, or skips the test.
recorded() {
    name=$1
    shift
    perf record -q -g -o "$name.data" "$@" ./work >/dev/null 2>err || {
        echo "perf cannot record tracepoints here: $(tail -n 1 err)"
        exit 77
    }
}

# By rate: a sample stands for the system calls since the one before it. With a period the kernel
# samples each hit, which counts 1, or the ns that the event states.
recorded rate -F 500 -e raw_syscalls:sys_enter
recorded each -c 3 -e sched:sched_switch
recorded stated -c 1000 -e sched:sched_stat_runtime
recorded both -F 500 -e raw_syscalls:sys_enter -e cpu-clock
python3 "$TESTS/cli/report_perf.py" tracepoints rate.data stated.data

# total NAME [EVENT]: the sum of all weights and that of perf report's periods.
total() {
    perf report --stdio -g none --no-children -F period,sym -i "$1.data" 2>/dev/null |
        awk -v event="${2-}" '/^# Samples:/ {shown = index($0, event)}
            shown && /^ *[0-9]/ {n += $1} END {printf "%.0f\n", n}' >want
    stoke fold -q ${2:+--event "$2"} "$1.data" |
        awk '{n += $NF} END {printf "%.0f\n", n}' >got
    [ "$(cat want)" -gt 0 ] || fail "perf has no periods of $1"
    same want got
    echo "$1 ${2-}: $(cat got)"
}
for name in rate each stated; do
    total $name
done
total both raw_syscalls:sys_enter
total both cpu-clock

# The stated time is in ns. A count of samples remains possible.
stoke report -q stated.data >out
says '^# sched:sched_stat_runtime: [0-9.]* m*s in [0-9,]* samples$' out
stoke flamegraph -q rate.data -o out
says ' events of raw_syscalls:sys_enter in [0-9,]* samples' out
perf script -G -F event -i rate.data 2>/dev/null | wc -l >want
stoke fold -q --count-samples rate.data | awk '{n += $NF} END {print n}' >got
same want got

# The text has the periods only if they are asked for; then it makes the same profile.
for name in rate stated; do
    for fields in comm,pid,tid,cpu,time,event,trace comm,pid,tid,cpu,time,period,event,trace; do
        perf script -F $fields -i $name.data 2>/dev/null >want
        stoke script -q -F $fields -i $name.data >got
        same want got
    done
    stoke script -q --no-inline -F $fields,ip,sym,dso -i $name.data | stoke fold -q - >got
    stoke fold -q --no-inline $name.data >want
    same want got
done
