# SPDX-License-Identifier: Apache-2.0
# Options of perf's commands: each one has a result, is accepted without effect, or is refused
# with what to use here.
. "$TESTS/cli/lib.sh"

# What perf 6.1 accepts and other versions may not have.
cat >options <<'END'
record --switch-output=10s|--rotate
record --overwrite|--snapshot
record -b|perf record; stoke reads its file
record -j any|perf record; stoke reads its file
record --group|braces
record -S|--snapshot
record --latency|stoke report --latency
record --timestamp-filename|date
report -t ,|--csv
report -G|-g caller
report --header|stoke info
report -F overhead,sym|--sort
report --hierarchy|stoke view
script -D|--show-mmap-events
script --header|stoke info
script --itrace=i1us|stoke trace
annotate --group|--event
END
while IFS='|' read -r words instead; do
    status 2 stoke $words </dev/null
    says 'does not exist here'
    says "^  try: .*$instead"
done <options

status 2 stoke record -k raw true
says "the clock 'raw' is not supported"

for words in '-D -1|--snapshot' '-D 10-20,30-40|--delay MS --duration S' '-D x|a whole number'; do
    status 2 stoke record ${words%|*} true
    says "^  try: .*${words#*|}"
done

# Accepted as in perf: rings of samples and of traces; --per-thread includes no child processes.
status 0 stoke record -q -m 8,16 --synth task -o x.data true
status 0 stoke record -q --per-thread -e cpu-clock -F 999 -o x.data sh -c \
    'for i in 1 2 3; do (j=0; while [ $j -lt 20000 ]; do j=$((j+1)); done); done; true'
status 0 stoke script -F pid x.data
[ "$(grep . out | sort -u | wc -l)" -le 1 ] || fail "--per-thread records child processes"

# The whole lists, where perf is installed.
if command -v perf >/dev/null; then
    for command in record report script annotate; do
        perf $command -h 2>&1 | sed -n 's/^ *\(-[a-zA-Z], \)*--\([a-z][a-z-]*\).*/\2/p' |
            sort -u >names
        [ "$(wc -l <names)" -gt 20 ] || fail "perf $command -h has no options"
        while read -r name; do
            # the last option is wrong: nothing is recorded
            status 2 stoke $command --"$name"=x --nosuch
            says_not "unknown option '--$name"
        done <names
    done
    perf record -h 2>&1 | sed -n 's/^ *-\([a-zA-Z]\)\(,.*\)* .*/\1/p' | sort -u >letters
    while read -r letter; do
        status 2 stoke record -"$letter" --nosuch </dev/null
        says_not "unknown option '-$letter'"
    done <letters
fi

# Accepted ones change nothing.
printf 'a 1;b 2 3\n' | sed 's/ [0-9];/;/' >x.folded
status 0 stoke report x.folded
cp out expected
status 0 stoke report -f -v --tui --inline --stdio-color never -w 10,20 x.folded
same expected out

# Times of one event after the other.
cat >times.txt <<'END'
prog 10/10 [000] 100.000001: 1 cycles:
	1000 work (/bin/prog)

prog 10/10 [001] 100.000004: 1 cycles:
	1000 work (/bin/prog)

prog 10/10 [000] 100.000009: 1 cycles:
	1000 work (/bin/prog)

END
shown_times() {
    stoke script -q -F time "$@" times.txt | tr -s '\n ' ' '
}
[ "$(shown_times --reltime)" = " 0.000000: 0.000003: 0.000008: " ] || fail "$(shown_times --reltime)"
[ "$(shown_times --deltatime)" = " 0.000000: 0.000003: 0.000005: " ] || fail "$(shown_times --deltatime)"
[ "$(shown_times --ns)" = "100.000001000: 100.000004000: 100.000009000: " ] || fail "$(shown_times --ns)"

# -C, --pid and --time in tables.
status 0 stoke fold -q -C 0 --count-samples times.txt
says 'work 2$' out
status 0 stoke fold -q --time 100.000004,100.000009 --count-samples times.txt
says 'work 1$' out
status 0 stoke fold -q --time 100.000004, --count-samples times.txt
says 'work 2$' out
status 0 stoke report -q --pid 9-10 --tid 10 --csv times.txt
says 'work' out
status 1 stoke report -q --pid 11 --csv times.txt
says 'match no sample'
status 2 stoke fold --time 5,3 times.txt
says "'5,3' ends before it begins"
status 2 stoke fold --time 10%/x times.txt
says 'invalid share of the time'

# As with perf, a command beside running processes only sets the duration.
status 0 stoke record -o own.data -p $$ -- sleep 0.1
says ' samples of .* in .*own.data'
stoke script -q -F comm own.data >out 2>/dev/null || :
says_not sleep out
