# SPDX-License-Identifier: Apache-2.0
# stoke top: tables without a terminal; on one, the views and the keys (top.py).
. "$TESTS/cli/lib.sh"

makes_load -O1 -g0 -fno-omit-frame-pointer
esc=$(printf '\033')
objcopy --redefine-sym "evil=e${esc}[31mvil" load 2>/dev/null || fail "no objcopy"
./load &
load=$!
trap 'kill $load 2>/dev/null || :' EXIT
stoke top -p $load -n 1 -d 0.1 >out 2>err || {
    says 'paranoid\|no perf events'
    echo "skipped: the kernel does not let us record"
    exit 77
}

# sees PATTERN WORDS...: looks until a table has the pattern, at most 60 times: on a busy machine the
# program may have few samples or none.
sees() {
    pattern=$1
    shift
    for _ in $(seq 60); do
        status 0 stoke top "$@"
        ! grep -q -e "$pattern" out || return 0
    done
    says "$pattern" out
}

# Tables: the head, the titles, the rows; each look one of them.
sees '  e\\x1b\[31mvil ' -p $load -F 999 -n 3 -d 0.5 --entries 4
[ "$(grep -c '^# ' out)" = 3 ] || fail "there are not 3 tables: $(cat out)"
says '^# c[a-z:-]* 999 Hz, load [0-9]*: [0-9]* samples/s, [0-9]* lost, 0% idle; decaying$' out
says '^   \*self   total  function  *module$' out
says '^  *[0-9.]*% *[0-9.]*%  leaf  *load$' out
[ "$(grep -c '%' out)" -le 15 ] || fail "more rows than were asked for"
says_not "$esc" out
# The shares are the program's: 9 to 1.
status 0 stoke top -p $load -F 4999 -n 3 -d 1 --entries 4
tail -n 6 out | awk '/  leaf / { self = $1 + 0 } END { exit !(self > 70 && self < 99) }' ||
    fail "leaf has not 90%: $(cat out)"

status 0 stoke top -p $load -n 1 -d 0.5 --zero --sort total -K
says 'each refresh starts at zero; no kernel$' out
says '^    self  \*total  function' out
says_not 'kernel.kallsyms' out
sees '  main  *load$' -p $load -n 1 -d 0.4 -g dwarf -e cpu-clock:u

# By process: the rest of the time of its thread, which never waits, it is ready.
sees "  load  *$load\$" -p $load --by process -n 2 -d 0.5
says '^    \*cpu   ready   waits    process  *id, parts$' out
[ "$(grep -c '%' out)" = 4 ] || fail "there are other processes: $(cat out)"
tail -n 2 out | awk '/ load / { exit !($1 + $2 > 50 && $1 + $2 < 150) }' ||
    fail "the process was neither running nor ready: $(cat out)"
sees "  load  *$load\$" -p $load --by thread -n 1 -d 0.5 --sort name
sees '%  + .* process' -p $load --by container --sort waits -n 1 -d 0.5
sees '^  *share  *ready' -p $load --by service --sort name -n 1 -d 0.3 -e page-faults

# none_higher DELAY: checks that no table in ./out has a higher rate than a thread with 499 samples
# per second of its own clock can have, plus a sample at each end of the delay.
none_higher() {
    awk -v most="$(awk "BEGIN { print 499 + 3 / $1 }")" '
        /^# / { for (i = 1; i <= NF; i++) if ($i ~ /^samples\/s/ && $(i - 1) > most) exit 1 }' \
        out || fail "rates are wrong: $(grep '^# ' out)"
}

rates_hold() {
    none_higher "$1"
    [ "$(grep -c '^# .* [1-9][0-9]* samples/s' out)" -ge 3 ] ||
        fail "rates are wrong: $(grep '^# ' out)"
}

# At short delays, the counts of a refresh are divided by the time since the one before.
for delay in 0.1 0.3; do
    status 0 stoke top -t $load -e task-clock -F 499 -n 6 -d $delay
    rates_hold $delay
done

# The same where stoke itself cannot run for a while, and then reads its rings at once.
stoke top -t $load -e task-clock -F 499 -n 40 -d 0.1 >out &
top=$!
pause=150
while kill -STOP $top 2>/dev/null; do
    sleep 0.15
    kill -CONT $top || :
    pause=$((pause > 190 ? 100 : pause + 7))
    sleep 0.$pause
done
wait $top || fail "stoke top ended with $?"
rates_hold 0.1
[ "$(grep -c '^# ' out)" = 40 ] || fail "there are not 40 tables"

# Processes that end cut the last look short: it has the rate of a whole one.
for life in 130 170 210; do
    rm -f go
    mkfifo go
    sh -c 'read -r _ <go; exec ./load "$1"' sh $life &
    other=$!
    stoke top -t $other -e task-clock -F 499 -d 0.1 >out 2>err &
    top=$!
    attached $top
    echo go >go
    wait $top || fail "stoke top ended with $?: $(cat err)"
    wait $other || :
    says '; it has ended$' out
    [ "$(grep -c '^# ' out)" -lt 2 ] || none_higher 0.1
done

# All other targets and sampling options.
status 0 stoke top -t $load,$load -p $load -n 1 -d 0.3 -c 1000000 -g -m 512K
says '^# c[a-z:-]*, each 1000000, load [0-9]* and others: ' out
for _ in $(seq 60); do # another test may have thousands of threads of this user
    ! stoke top -u "$(id -un)" -n 1 -d 0.3 >out 2>err || break
    says 'more counters'
    sleep 1
done
says "^# .* Hz, processes of $(id -un): " out
if [ "$(id -u)" = 0 ]; then
    status 0 stoke top -C 0,0 -n 1 -d 0.3
    says '^# .* Hz, CPU 0: ' out
fi

# top ends with the process that it shows.
./load &
other=$!
stoke top -p $other -d 300 >out 2>err &
top=$!
attached $top
until_waiting $top # it opens more events; a process that ends meanwhile is an error
kill $other
wait $top || fail "stoke top ended with $?: $(cat err)"
says '; it has ended$' out

refused() {
    said=$1
    shift
    status 2 stoke top "$@"
    says "$said"
    says '^  try: '
}
refused 'cannot be combined with single' -a -p $load
refused 'leaves nothing to sample' --all-user --all-kernel -p $load
refused 'leaves nothing to show' -K -U -p $load
refused 'a function has no waits to sort by' --sort waits -p $load
refused 'a process has no module to sort by' --by process --sort module -p $load
status 0 stoke top -p $load -C 0-0 -i -n 1 -d 0.3 -g dwarf,4096 --all-user
says " Hz, load " out
status 0 stoke top --list-events
says "^  cpu-clock\$" out
refused 'not by both' -F 99 -c 1000 -p $load
refused 'there is no CPU 8000' -C 8000
refused "there is no user 'no-such-user'" -u no-such-user
refused 'shows one event' -e cpu-clock,page-faults -p $load
refused 'unexpected argument' -p $load ls
refused 'invalid list of processes' -p 0
refused "no process named 'no-such-name'" -p no-such-name
refused 'there is no process' -p 4194303

# Without the right to record all processes.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
    chmod 755 .
    got=0
    setpriv --reuid=65534 --regid=65534 --clear-groups "$(command -v stoke)" top -n 1 \
        >out 2>err || got=$?
    # record_rights.sh changes the setting for a moment
    [ "$got" = 1 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 0 ] ||
        fail "stoke top of nobody ended with $got"
    [ "$got" = 0 ] || says 'does not let you record the whole machine'
    [ "$got" = 0 ] || says '^  try: sudo stoke top'
fi

needs_terminal
for TERM in '' no-such-terminal dumb; do
    export TERM
    on_terminal 80 24 stoke top -p $load -F 999 -n 1 -d 1 >out 2>&1
    says 'ncurses\|TERM is not usable: tables are printed one by one' out
    says '  leaf ' out
done
export TERM=xterm
ldd "$(command -v stoke)" | grep -q ncurses || {
    on_terminal 80 24 stoke top -p $load -n 1 -d 0.3 >out 2>&1
    says 'built without ncurses' out
    echo "skipped: built without ncurses"
    exit 77
}
cc -O1 "$TESTS/cli/two_threads.c" -o two_threads -lpthread
./two_threads &
trap 'kill $load $! 2>/dev/null || :' EXIT
python3 "$TESTS/cli/top.py" "$(command -v stoke)" $load $! || fail "on a terminal"
