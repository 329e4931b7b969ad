# SPDX-License-Identifier: Apache-2.0
# stoke record: targets, messages, and the content of the file. tests/record/record.py compares the
# figures with those of perf and with the known shares of a program.
. "$TESTS/cli/lib.sh"
load=
trap 'kill $load 2>/dev/null || :' EXIT # in case of failure, the recorded processes end

stoke record -q -o try.data true 2>err || {
    says 'paranoid\|no perf events'
    echo "skipped: the kernel does not let us record"
    exit 77
}

makes_load

# A command: its exit status, the messages, the content of the file.
status 3 stoke record ./load 300
says '^stoke: [0-9]* samples\? of c[a-z-]*\(:u\)* in [0-9.]* s at [0-9]* Hz, [0-9.]* kB in perf.data$'
[ ! -s out ] || fail "it prints something"
stoke fold -q perf.data >folded
says '^load;.*main;middle;leaf [0-9]*$' folded
status 0 stoke info perf.data
says '^command  *[^ ]*stoke record ./load 300$' out
says '^rate  *[0-9]* samples per second' out
says_not 'unknown *[1-9][0-9]' out # a sample of 30 may be of the dynamic linker

# A terminal without escape codes.
if command -v python3 >/dev/null; then
    TERM=dumb status 3 on_terminal 80 24 stoke record -o dumb.data ./load 300
    says 'samples, .* per second' out
    says_not "$(printf '\033')" out
fi

# -F auto: the default for a command only.
status 3 stoke record -F auto -o auto.data ./load 100
says ' s at [0-9]* Hz, '
status 0 stoke info auto.data
says '^rate  *\(99\|199\|499\|997\) samples per second' out
status 0 stoke record -e page-faults -o auto.data sh -c 'exit 0'
says_not ' Hz' err
status 2 stoke record -F auto -c 5 -o auto.data ./load 100
says 'by a count of events (-c), not by both'
status 2 stoke record -F often -o auto.data ./load 100
says "invalid rate 'often'"
says 'from 1 to 1000000, max or auto'

# An existing file becomes FILE.old; a child is followed over fork and exec.
cp perf.data first.data
status 0 stoke record -q -F 999 ./load 200 fork
[ ! -s err ] || fail "-q says something: $(cat err)"
same first.data perf.data.old
stoke script -q -G -F comm,pid perf.data | sort | uniq -c | awk '$1 > 20' >out
[ "$(wc -l <out)" = 2 ] || fail "the child is not in the recording: $(stoke script -q -G -F comm,pid perf.data | sort | uniq -c)"

# Drawn at once, and no recording left.
rm perf.data perf.data.old
status 3 stoke record -F 499 -o out.svg ./load 200
says 'samples\? of' err
says '<title>leaf ' out.svg
status 3 stoke record -q -F 499 -o out.folded ./load 200
says ';leaf [0-9]*$' out.folded
[ ! -e perf.data ] || fail "there is a recording"

# Options end with the command, and -- is not part of it.
status 0 stoke record -q -g -o a.data sh -c 'exit 0' -g
status 7 stoke record -q -o a.data -- sh -c 'exit "$1"' sh 7
status 137 stoke record -q -o a.data sh -c 'kill -9 $$'

# records_leaf FILE WORDS...: records until the program has run meanwhile: it may not on a busy
# machine.
records_leaf() {
    file=$1
    shift
    for _ in $(seq 100); do
        stoke record "$@" -o "$file" >out 2>err || {
            says 'more counters' # another test has thousands of threads of this user
            sleep 1
            continue
        }
        stoke fold -q "$file" >folded 2>>err || : # there may be no samples
        ! grep -q ';leaf [0-9]*$' folded || return 0
    done
    fail "no samples of the program: $(cat folded err)"
}

# A process that runs: its end is the recording's, or --duration.
./load &
load=$!
was=$load
records_leaf p.data -p $load --duration 0.5
says 'samples\? of'
status 0 stoke record -q -t $load --duration 0.3 -o t.data
rm p.data
stoke record -q -p $load -o p.data 2>err &
recorder=$!
attached $recorder
runs_for $load 20
kill $load
wait $recorder || fail "the recorder ended with $?: $(cat err)"
wait $load || :
load=
[ "$(stoke script -q -G -F pid p.data | sort -u | tr -d ' ')" = $was ] ||
    fail "another than $was was recorded: $(stoke script -q -G -F comm,pid p.data | sort | uniq -c)"

# Stacks unwound while recording: as deep as those from dumps in the file, and far smaller.
cc -O2 -g -fomit-frame-pointer "$TESTS/cli/load.c" -o plain
for keep in '' --keep-stacks; do
    status 3 stoke record -q -F 999 -g dwarf --no-compress $keep -o "dwarf$keep.data" \
        ./plain 200
    stoke fold -q --count-samples "dwarf$keep.data" >folded
    says '^plain;_start;__libc_start_main[^;]*;.*;main;middle;leaf [0-9]*$' folded
    [ "$(awk '!/;main;/ {n += $NF} END {print n + 0}' folded)" -lt 20 ] ||
        fail "stacks are broken: $(cat folded)"
done
[ $(($(wc -c <dwarf.data) * 10)) -lt "$(wc -c <dwarf--keep-stacks.data)" ] ||
    fail "unwinding saves too little"
status 3 stoke record -g dwarf,128 -F 999 -o cut.data ./plain 100
says '% of stacks are truncated: .*(-g dwarf,512 dumps more'
status 0 stoke info cut.data
says '^truncated  *[1-9][0-9]* stacks' out

# A bundle contains all names, and needs no files of this machine.
mkdir elsewhere.root
cp load loaned
status 3 stoke record --bundle -F 999 ./loaned 200
says '^stoke: perf.stoke is written, [0-9.]* kB$'
rm loaned
for command in report flamegraph; do
    status 0 stoke "$command" perf.stoke
    says 'middle' out
done
status 0 stoke fold -q --symfs elsewhere.root --kallsyms /dev/null perf.stoke
says '^loaned;.*main;middle;leaf [0-9]*$' out
status 0 stoke info perf.stoke
says '^format  *perf-data' out
says '^rate  *999 samples per second' out
status 3 stoke record -q -F 999 -o named.stoke ./load 50
status 0 stoke fold -q named.stoke
says '^load;.*main;middle;leaf [0-9]*$' out
status 3 stoke record -q -F 999 --bundle -o other.name ./load 50
status 0 stoke fold -q other.name

# Without stacks, and by another event.
status 3 stoke record -q -g none -o none.data ./load 100
stoke fold -q none.data >folded
says_not ';main;' folded
status 3 stoke record -e page-faults -c 1 -o faults.data ./load 1
says 'samples\? of page-faults'

# Tracepoints: their fields are in the file, with the format of the kernel.
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
    status 0 stoke record -q -e sched:sched_switch,raw_syscalls:sys_enter -o trace.data \
        sh -c 'sleep 0.1; sleep 0.1'
    status 0 stoke script -G -F comm,event,trace trace.data
    says 'sched:sched_switch: *prev_comm=s.* ==> next_comm=' out
    says 'raw_syscalls:sys_enter: *NR [0-9]* (' out
    if command -v perf >/dev/null; then
        perf script -F comm,event,trace -i trace.data >perfs 2>/dev/null
        grep -q 'sched:sched_switch: *prev_comm=s.* ==> next_comm=' perfs ||
            fail "perf script does not read the fields: $(head -3 perfs)"
    fi
    status 0 stoke record -q -e sched:sched_switch --filter 'prev_comm == "sleep"' -a \
        -o filter.data sleep 0.1
    stoke script -q -G -F trace filter.data >out
    says 'prev_comm=sleep' out
    [ "$(grep -vc prev_comm=sleep out)" = 0 ] || fail "it is not filtered: $(cat out)"
    status 0 stoke record -q -e 'sched:sched_process_e*' -o many.data sh -c 'sleep 0.01; :'
    stoke script -q -G -F event many.data | sort -u >out
    says 'sched:sched_process_exec' out
    says 'sched:sched_process_exit' out
    status 1 stoke record -e sched:sched_switch --filter 'nosuch == 3' true
    says "rejects the filter of 'sched:sched_switch', 'nosuch == 3'"
    status 2 stoke record -e sched:sched_swich true
    says "this kernel has no tracepoint 'sched:sched_swich'"
    says 'did you mean sched:sched_switch?'
fi
status 2 stoke record -e cpu-clock --filter 'x == 1' true
says "filter: no tracepoint before the filter 'x == 1'"

# All kinds of events, with terms; and events that this machine lacks.
status 3 stoke record -q -e 'cpu-clock/period=1000000,name=mine/u,dummy,cpu-clock/freq=99/u' \
    -o words.data ./load 100
status 0 stoke info words.data
says ' mine (shown' out
says ' cpu-clock/freq=99/u$' out
status 1 stoke record -e mem:0x1001/8:w true
says 'cannot watch memory as'
status 2 stoke record -e no-such-unit/event=1/ true
says "this machine has no unit 'no-such-unit'"
if [ ! -e /sys/bus/event_source/devices/cpu ]; then
    for event in r1a8 L1-dcache-load-misses cycles; do
        status 1 stoke record -e $event true
        says "this machine has no counter for '$event'"
    done
fi
for list in --list-events '-e list' '-e help'; do
    status 0 stoke record $list
    says '^  cpu-clock$' out
    says '^  L1-dcache-load-misses' out
    says '^  software/' out
done

# Groups: their events count at the same time, so one clock has as many samples as another that
# always runs; perf reads the groups. Events outside of groups do not change.
for targets in '' -a; do
    stoke record -q $targets -F 499 -o group.data -e 'mine{cpu-clock,task-clock}:u,page-faults' \
        ./load 300 2>err || [ $? = 3 ] || {
        says 'perf_event_paranoid is'
        continue
    }
    stoke fold -q --count-samples --event cpu-clock group.data >cpu
    stoke fold -q --count-samples --event task-clock group.data >task
    says ';leaf [0-9]*$' cpu
    awk '{ n[FILENAME] += $NF } END { exit !(n["cpu"] > 10 && n["cpu"] < 1.1 * n["task"] + 3 &&
        n["task"] < 1.1 * n["cpu"] + 3) }' cpu task || fail "they do not count at the same time: $(cat cpu task)"
    command -v perf >/dev/null || continue
    perf evlist -g -i group.data >groups
    printf '%s\n' 'mine{cpu-clock:u,task-clock:u}' page-faults >want
    same want groups
    perf record -q -F 499 -o perfs.data -e 'mine{cpu-clock,task-clock}:u,page-faults' ./load 100 || :
    sed -i 's/:u//g' want # which perf does not show of a group
    perf evlist -g -i perfs.data >groups
    same want groups
    perf script -i group.data -G -F event >events 2>/dev/null
    awk '{ n[substr($1, 1, 9)]++ } END { exit !(n["cpu-clock"] > 10 &&
        n["cpu-clock"] < 1.1 * n["task-cloc"] + 3) }' events || fail "perf reads: $(sort events | uniq -c)"
done
if [ -e /sys/bus/event_source/devices/msr ] && [ "$(id -u)" = 0 ]; then # it only counts
    status 1 stoke record -e '{cpu-clock,msr/tsc/}' true
    says "'msr/tsc/' cannot be sampled together with the others of its group"
    status 1 stoke record -e '{cpu-clock,msr/tsc/}:W' true
    says "'msr/tsc/' cannot be sampled: "
fi

# A thread that is named twice is counted once: at most 1000 ticks of its own in a second.
./load &
load=$!
for targets in "-p $load,$load" "-p $load -t $load" "-t $load,$load,$load" "-t $load"; do
    status 0 stoke record -q -c 1000000 -e task-clock $targets --duration 0.3 -o twice.data
    stoke script -q -G -F time twice.data | # the recording may end late
        awk '{ if (!n++) first = $1 + 0; last = $1 + 0 } END { exit !(n <= 1300 * (last - first) + 10) }' ||
        fail "$targets is counted more than once: $(stoke script -q -G -F time twice.data | wc -l)"
done
kill $load
load=

# The limits of sampling rates.
most=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
status 0 stoke record -F max -o rate.data true
status 0 stoke record -F $((most + 1)) -o rate.data true
says "^stoke: $most samples per second, not $((most + 1)): kernel.perf_event_max_sample_rate"
status 2 stoke record -F $((most + 1)) --strict-freq -o rate.data true
says "perf_event_max_sample_rate is $most"
status 1 stoke record -e cpu-clock/freq=$((most + 1))/ -o rate.data true
says "perf_event_max_sample_rate is $most"
status 2 stoke record -F 99 -c 1000 true
says 'not by both'
# Interrupts of a clock leave the program the time to end, also where one takes longer than the
# period.
status 0 stoke record -e cpu-clock -c 1000 -o rate.data true
served=$(sed -n 's/^stoke: \([0-9]*\) samples\{0,1\} of a clock per second: more take too much CPU time.*/\1/p' err)
if [ "${served:-99999}" -lt 50000 ]; then # what a machine serves depends on what else runs
    status 1 stoke record -e cpu-clock -F 99999 --strict-freq -o rate.data true
    says 'this machine serves at most [0-9]* samples\? of a clock per second'
fi

# perf's other words: threads and children left out, a later beginning, one kind of code.
status 0 stoke record -q -F 999 -i -o alone.data sh -c './load 100 & wait'
says_not ';leaf ' out
stoke fold -q alone.data >folded 2>/dev/null || :
says_not ';leaf ' folded
began=$(python3 -c 'import time; print(time.monotonic())' 2>/dev/null) || began=0
status 3 stoke record -q -F 999 -D 300 -TPRN -o late.data ./load 1500
stoke script -G -F time late.data | awk -v began="$began" 'NR == 1 { first = $1 + 0 }
    END { exit !(first > began + 0.3) }' ||
    fail "-D does not begin later: $began; $(stoke script -G -F time late.data | head -1)"
stoke fold -q late.data >folded
says '^load;.*;leaf [0-9]*$' folded
status 3 stoke record -F 999 --all-user -o kind.data ./load 100
says 'samples\? of c[a-z-]*:u in'
status 0 stoke record -F 999 --all-kernel -o kind.data \
    dd if=/dev/zero of=/dev/null bs=1M count=4000
says 'samples\? of c[a-z-]*:k in'
status 2 stoke record --all-user --all-kernel true
says 'leaves nothing to sample'
./load &
load=$!
records_leaf user.data -q -u "$(id -un)" --duration 0.3
kill $load
load=
status 2 stoke record -u no-such-user --duration 1
says "there is no user 'no-such-user'"

# Compressed and uncompressed recordings are equal.
for packed in '' -z -z9 --compress=19 --compression-level=3 --no-compress; do
    status 3 stoke record -q -F 4999 $packed -o "x$packed.data" ./load 300
    status 0 stoke info "x$packed.data"
    says_not 'truncated\|corrupt' err
done
[ $(($(wc -c <x.data) * 2)) -lt "$(wc -c <x--no-compress.data)" ] ||
    fail "packing saves less than half"

# What cannot be.
refused() {
    expected=$1 said=$2
    shift 2
    status "$expected" stoke record "$@"
    says "$said"
    says '^  try: '
}
refused 2 'nothing to record' -F 99
refused 2 'cannot be combined with single' -a -p $$
refused 2 'there is no process 4194305' -p 4194305
refused 2 "unknown event 'cycle'" -e cycle true
refused 2 'unknown modifier' -e cycles:x true
refused 1 "cannot run './nosuch': No such file" -o no.data ./nosuch
refused 2 "invalid compression level '20'" --compress=20 true
refused 2 "invalid stack dump size '70000'" -g dwarf,70000 true
refused 2 "invalid unwinding method 'magic'" --call-graph=magic true
status 1 stoke record -o no/such/folder.data true
says 'cannot write no/such/folder.data: No such file or directory'
refused 2 'need a file as output' -o - --rotate 1m true
refused 2 'this recording does not have' -g fp --keep-stacks true

# A file at its size limit, and a full disk: data that was written before remains.
(ulimit -f 200 && stoke record -F 4999 --no-compress -o small.data ./load 3000 2>err) &&
    fail "it does not fail where the file may not grow"
says 'error: cannot write small.data: File too large'
status 0 stoke info small.data
if unshare -m true 2>/dev/null; then
    mkdir disk
    unshare -m sh -euc 'mount -t tmpfs -o size=128k none disk
        if stoke record -F 4999 --no-compress -o disk/full.data ./load 3000 2>err; then
            echo "it does not fail on a full disk" >>err
        fi
        cp disk/full.data full.data' || :
    says 'error: cannot write disk/full.data: No space left on device'
    says '^  try: free some space'
    status 0 stoke info full.data
    says '^samples  *[1-9]' out
    stoke fold -q full.data >folded
    says ';leaf [0-9]*$' folded
fi

# The whole machine.
if stoke record -q -a --duration 0.2 -o all.data 2>err; then
    status 0 stoke record -a -F 499 -o all.data sh -c "./load 300 || :" # until it has used 300 ms
    stoke fold -q all.data >folded
    says '^load;.*;leaf [0-9]*$' folded
    status 0 stoke record -q -C 0 --duration 0.3 -o cpu.data
    status 0 stoke record -q -C 0,0 -C 0-0 --duration 0.3 -F 499 -o cpu.data
    stoke script -q -G -F time cpu.data | # the recording may end late
        awk '{ if (!n++) first = $1 + 0; last = $1 + 0 } END { exit !(n <= 1.3 * 499 * (last - first) + 10) }' ||
        fail "a CPU that is named twice is counted twice"
    if [ "$(nproc)" -gt 1 ]; then
        status 0 stoke record -q -C 0 -C 1 -F 499 -o cpu.data sh -c \
            'for c in 0 1; do taskset -c $c sh -c "i=0; while [ \$i -lt 30000 ]; do i=\$((i+1)); done"; done'
        [ "$(stoke script -q -G -F cpu cpu.data | sort -u | wc -l)" = 2 ] ||
            fail "-C 0 -C 1 does not add up"
    fi
    cp load other
    taskset -c 0 ./other 100000 &
    load=$!
    status 3 stoke record -q -C 0 -F 499 -o cpu.data taskset -c 0 ./load 100
    kill "$load"
    stoke script -q -G -F comm cpu.data | grep -q other ||
        fail "-C 0 COMMAND records the command only"
    status 2 stoke record -C 8000 true
    says 'there is no CPU 8000'
    says 'try: this machine has CPUs 0'
    status 2 stoke record -C 99999999999 true
    says 'there is no CPU 99999999999'
    status 2 stoke record -C 1-0 true
    says "invalid list of CPUs '1-0'"
else
    says 'perf_event_paranoid is'
fi

# Waits: a separate event after the events of running code; the summary reports them.
began=$(date +%s%N)
status 0 stoke record --off-cpu -F 999 -o waits.data sh -c './load 100; sleep 0.3'
took=$(($(date +%s%N) - began))
says '^stoke: [0-9]* waits of [0-9.]* s in total (event off-cpu)$'
status 0 stoke info waits.data
says '^ *[0-9]* .* c[a-z:-]*u* (shown by default, see --event)$' out
says '^ *[0-9]* .* m\{0,1\}s  *off-cpu$' out
stoke fold -q --event off-cpu waits.data >folded
awk -v took=$took '/^sleep/ { ns += $NF } END { exit !(ns > 0.28e9 && ns < took) }' folded ||
    fail "sleep 0.3 is not there: $(cat folded)"
stoke fold -q waits.data >folded
says '^load;.*;leaf [0-9]*$' folded
status 3 stoke record -q --off-cpu -o out.svg ./load 50
status 0 stoke record --off-cpu --bpf -o waits.data true
says 'recording without --bpf: .* combined with --off-cpu'
refused 2 'cannot be combined: waits are recorded' --off-cpu -g dwarf --keep-stacks true
refused 2 '--wakers cannot be combined with -g lbr' --wakers -g lbr true
refused 2 '--off-cpu and --keep-stacks cannot be combined' --io --keep-stacks true
refused 2 '--locks cannot be combined with -g lbr' --locks -g lbr true

# What limits the result, in the summary.
cat >deep.c <<'EOF'
volatile unsigned long sink;
__attribute__((noinline)) void down(int depth)
{
    for (long i = 0; depth == 0 && i < 400000000; i++)
        sink = sink * 3 + i;
    if (depth)
        down(depth - 1);
    sink++;
}
int main(void)
{
    down(300);
}
EOF
cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls deep.c -o deep
status 0 stoke record -g fp -F 499 -o deep.data ./deep
says '^stoke: [0-9.]*% of stacks are truncated: the kernel unwinds [0-9]* frames at most'
