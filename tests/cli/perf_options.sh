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
report --stats|stoke info
report -D|script -D
report --branch-history|script -F brstack
report --mem-mode|data_src
script --itrace=i1us|stoke trace
annotate -D|script -D
annotate -d libc.so|stoke report -d
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
status 0 stoke script -q -F misc --show-task-events x.data
says '^ *E  *PERF_RECORD_COMM exec' out
status 0 stoke record -q --per-thread -e cpu-clock -F 999 -o x.data sh -c \
    'for i in 1 2 3; do (j=0; while [ $j -lt 20000 ]; do j=$((j+1)); done); done
     k=0; while [ $k -lt 20000 ]; do k=$((k+1)); done'
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
    for command in record report script annotate; do
        perf $command -h 2>&1 | sed -n 's/^ *-\([a-zA-Z]\)\(,.*\)* .*/\1/p' | sort -u >letters
        [ "$(wc -l <letters)" -gt 8 ] || fail "perf $command -h has no letters"
        while read -r letter; do
            status 2 stoke $command -"$letter" --nosuch --nosuch </dev/null
            says_not "unknown option '-$letter'"
        done <letters
    done
    # Keys of perf report and fields of perf script.
    printf 'main;work 5\n' >keys.folded
    perf report -h 2>&1 | sed -n '/sort by key/,/-S, --symbols/p' | sed 's/.*key(s)://; /-S,/d' | tr -s ' \t' '\n' |
        grep . >keys
    perf script -h 2>&1 | sed -n 's/.* Fields: //p' | tr ',' '\n' >fields
    [ "$(wc -l <keys)" -gt 40 ] && [ "$(wc -l <fields)" -gt 30 ] || fail "no keys and fields in perf's help"
    while read -r key; do
        stoke report -q -s "$key" keys.folded >out 2>err || {
            grep -q 'does not exist here\|has no branches' err && grep -q '^  try: ' err || fail "-s $key: $(cat err)"
        }
    done <keys
    while read -r field; do
        stoke script -q -F "comm,$field" keys.folded >out 2>err || {
            grep -q 'is not printed' err && grep -q '^  try: ' err || fail "-F $field: $(cat err)"
        }
    done <fields
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
sed '2s/work/rest/' times.txt >some.txt
status 0 stoke script -q -F time -S work --reltime some.txt
[ "$(tr -s '\n ' ' ' <out)" = " 0.000000: 0.000005: " ] || fail "-S work --reltime: $(cat out)"
[ "$(shown_times --ns)" = " 100.000001000: 100.000004000: 100.000009000: " ] || fail "$(shown_times --ns)"

# -C, --pid and --time in tables.
status 0 stoke fold -q -C 0 --count-samples times.txt
says 'work 2$' out
status 0 stoke fold -q --time 100.000004,100.000009 --count-samples times.txt
says 'work 2$' out
status 0 stoke fold -q --time 100.000004,100.000008999 --count-samples times.txt
says 'work 1$' out
status 0 stoke fold -q --time '0%-10%,90%-100%' --count-samples times.txt
says 'work 2$' out
status 0 stoke fold -q --time ',100.000002 100.000008,' --count-samples times.txt
says 'work 2$' out
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

head -3 times.txt >moment.txt
status 0 stoke script -q -F time --time '0%-10%,30%-40%' moment.txt
says '100.000001' out
status 1 stoke script -q -F time --time '30%-40%' moment.txt

# Forms of call graphs, columns and shares of perf report.
cat >calls.txt <<'END'
web 10/10 [000] 1.000000: 60 cycles:
	1000 leaf (/bin/web)
	2000 mid (/bin/web)
	3000 main (/bin/web)

web 10/10 [000] 1.150000: 30 cycles:
	1000 leaf (/bin/web)
	3000 main (/bin/web)

db 20/20 [001] 1.260000: 10 cycles:
	5000 [unknown] (/bin/db)

END
rows() {
    status 0 stoke report -q "$@" calls.txt
    grep -v '^#' out | tr -s ' \n' ' ' >words
}
has() {
    grep -qF -- "$1" words || fail "no '$1' in $(cat words)"
}
has_not() {
    ! grep -qF -- "$1" words || fail "'$1' in $(cat words)"
}
rows --no-children -g folded
has '90.00% web web [.] leaf 60.00% leaf;mid;main 30.00% leaf;main 10.00%'
rows --no-children -g folded,50
has '60.00% leaf;mid;main 10.00%'
rows --no-children -g folded,0,1
has_not '30.00%'
rows --no-children -g folded,0.5,callee,period
has 'leaf 60 leaf;mid;main 30 leaf;main 10.00%'
rows --no-children -g flat,0.5,caller
has '60.00% main mid leaf 30.00% main leaf'
rows -g fractal
has '|--66.67%--mid | leaf | --33.33%--leaf'
rows -G
has '|--60.00%--mid'
rows -g graph,0.5,1,caller
has '60.00%--mid'
has_not '30.00%--leaf'
rows --max-stack 1 -G
has_not '%--mid'
rows --max-stack 2 -g none -s sym
has '90.00% 90.00% [.] leaf 60.00% 0.00% [.] mid 30.00% 0.00% [.] main'
rows -s sym -G
has '90.00% 90.00% [.] leaf | ---main | |--60.00%--mid | leaf'
has '60.00% 0.00% [.] mid | ---leaf'
rows --show-total-period -w 0,0,0,2,2,5
has '90.00% 90.00% 90 we we [.] l'
rows --no-children --pid 10 -s comm
has '90.00% web'
has_not db
rows --no-children --tid 20 --percentage relative -s comm
has '100.00% db'
rows -t, -n
has '90.00%,90.00%,2,web,web,[.] leaf 90.00%,0.00%,0,web,web,[.] main'
says '^# Children,Self,Samples,Command,Shared Object,Symbol$' out
rows -t e -s sym
has '90.00%e90.00%e[.] l.af'
status 2 stoke report -t . calls.txt
status 2 stoke report -t , --csv calls.txt
rows -U
has_not unknown
has '100.00% 100.00% web web [.] leaf'
says_not 'excluded by options' out
rows --percentage relative -c web
has '100.00% 100.00% web web [.] leaf'
has '66.67% 0.00% web web [.] mid'
says 'excluded by options: 10.00%' out
rows --percentage absolute -c web
has '90.00% 90.00% web web [.] leaf'
rows -s time,sym
has '60.00% 60.00% 1.000000 [.] leaf'
has '30.00% 30.00% 1.100000 [.] leaf'
rows --ns -s time,sym
has '30.00% 30.00% 1.100000000 [.] leaf'
rows -F overhead,sample,sym
has '90.00% 2 [.] leaf 10.00% 1 [.] [unknown]'
rows -F overhead_children,comm,period
has '90.00% web 90 10.00% db 10'
rows -s +comm -n --no-ch
has '90.00% 2 web web [.] leaf 10.00% 1 db db [.] [unknown]'
rows -F +sample,period --no-children
has '90.00% 2 90 web web [.] leaf 10.00% 1 10 db db [.] [unknown]'
rows -F overhead,sym --no-children -n --show-total-period
has '90.00% [.] leaf 10.00%'
rows -s overhead,period --no-children
has '100.00% 100'
has_not leaf
rows -s +period --no-children
has '90.00% web web [.] leaf 90 10.00%'
rows -s comm,period,sample --no-children
has '90.00% web 90 2 10.00% db 10 1'
rows -s +time,tid --no-children
has '60.00% web web [.] leaf 1.000000 10:web 30.00%'
status 2 stoke report -s + calls.txt
status 2 stoke report -s +nosuch calls.txt
for word in count address srcline branch; do
    status 2 stoke report -g "folded,0.5,callee,$word" calls.txt
    says "'$word' of perf report does not exist here"
    says '^  try: '
done
status 2 stoke report --showcpuutilization calls.txt
says 'does not exist here'
status 2 stoke report -s dcacheline calls.txt
says "the key 'dcacheline' of perf report does not exist here"

# Functions and modules of perf script.
status 0 stoke script -q -S leaf,other -F comm,ip,sym calls.txt
[ "$(grep -c leaf out)" = 2 ] || fail "$(cat out)"
says_not unknown out
status 0 stoke script -q --dsos db calls.txt
says_not leaf out
says unknown out

# As with perf, a command beside running processes only sets the duration.
status 0 stoke record -o own.data -p $$ -- sleep 0.1
says ' samples\? of .* in .*own.data'
stoke script -q -F comm own.data >out 2>/dev/null || :
says_not sleep out
