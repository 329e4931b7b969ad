# SPDX-License-Identifier: Apache-2.0
# Filters and transforms: the options that all commands share.
. "$TESTS/cli/lib.sh"

perf=$TESTS/export/two-events.in
cat >in.folded <<'END'
java;main;run;parse;parse;alloc 5
java;main;run;emit 7
sh;main 2
END

folds() { # folds EXPECTED OPTION...: what stoke fold prints for in.folded
    printf "$1" >want
    shift
    status 0 stoke fold "$@" in.folded
    same want out
}

folds 'java;main;run;emit 7\n' --focus emit
folds 'sh;main 2\n' --ignore run
folds 'java;main;emit 7\njava;main;parse;parse;alloc 5\nsh;main 2\n' --hide '^run$'
folds 'main 2\nmain;run 12\n' --show '^(main|run)$'
folds 'parse;parse;alloc 5\n' --show-from parse
folds 'parse;alloc 5\n' --base parse
folds 'sh;main 2\n' --comm sh
folds 'java;main;run;emit 7\njava;main;run;parse;parse;alloc 5\n' --drop-comm 's*'
folds 'java;main;run;emit 7\njava;main;run;parse;alloc 5\nsh;main 2\n' --collapse-recursion
folds 'alloc;parse;parse;run;main;java 5\nemit;run;main;java 7\nmain;sh 2\n' --reverse
folds 'java;main;run;emit 3.5\njava;main;run;parse;parse;alloc 2.5\nsh;main 1\n' --scale 0.5
folds 'java 12\nsh 2\n' --by comm

# Repeated options: --focus requires all, the others accept any.
folds 'java;main;run;emit 7\n' --focus run --focus emit
folds 'sh;main 2\n' --ignore emit --ignore alloc

# perf script text: events, threads, CPUs, time.
status 0 stoke fold --event page-faults --collapse-recursion "$perf"
printf 'server;main;handle;parse_header;memcpy 1\nserver;main;parse_header;memcpy 1\n' >want
same want out
status 0 stoke fold --event cycles --only-tid 4212 --kernel "$perf"
printf 'server;main;handle;copy_user_[k] 250000\n' >want
same want out
status 0 stoke fold --event cycles --cpu 2-3 --drop-pid 77 "$perf"
printf 'server;main;handle;copy_user 250000\n' >want
same want out
status 0 stoke fold --event cycles --start +400us --end 8801.0006 "$perf"
printf 'server;main;handle;[libz.so.1] 250000\n' >want
same want out
status 0 stoke fold --event cycles --by module --collapse-recursion "$perf"
printf 'cron;cron 1250000\nserver;server 250000\nserver;server;[kernel.kallsyms] 250000\nserver;server;libz.so.1 250000\n' >want
same want out
status 0 stoke fold --event cycles --show-module '^server$' "$perf"
printf 'server;main;handle 500000\nserver;main;handle;parse_header 250000\n' >want
same want out
status 0 stoke fold --event cycles --collapse-module '^(libz|server)' "$perf"
printf 'cron;main 1250000\nserver;server 250000\nserver;server;copy_user 250000\nserver;server;libz.so.1 250000\n' >want
same want out

# --graft: a truncated stack gets the callers of another one, also from a .stoke file, which has
# marks of truncated stacks that are shown only then.
cat >truncated.txt <<'END'
Thread 1 (LWP 11):
#0  lex () at a.c:1
#1  parse () at a.c:2
#2  main () at a.c:3

Thread 1 (LWP 11):
#0  lex () at a.c:1
#1  parse () at a.c:2
(More stack frames follow...)

END
status 0 stoke fold -q truncated.txt
cp out plain
status 0 stoke fold -q --graft truncated.txt
cp out grafted
grep -q 'main;\[inferred callers\];parse;lex 1$' grafted || fail "no callers were inferred: $(cat grafted)"
# A stack without known callers remains as it is, without a mark. A graph has calls between the functions
# on both sides of the mark, and the number of inferred stacks is stated.
cat >>truncated.txt <<'END'
Thread 1 (LWP 11):
#0  alone () at a.c:1
(More stack frames follow...)

END
status 0 stoke fold --graft truncated.txt
says '^stoke: 1 truncated stack continues with inferred callers'
cp out grafted
says '^alone 1$' grafted
status 0 stoke report --graft truncated.txt
says '^# 1 truncated stack continues with inferred callers' out
status 0 stoke callgraph -q --graft truncated.txt
says 'main -> parse' out
says_not 'inferred' out
status 0 stoke convert -q --graft truncated.txt --to callgrind -o -
says_not 'inferred' out
status 0 stoke script -q --graft truncated.txt
[ "$(grep -c ' main ' out)" -eq 2 ] || fail "script --graft has no inferred callers: $(cat out)"
status 0 stoke fold --graft plain
says 'the input has no truncated stacks'
status 0 stoke fold -q truncated.txt
cp out plain
status 0 stoke convert -q --graft truncated.txt -o inferred.stoke
status 0 stoke info inferred.stoke
says '^inferred  *1 truncated stack' out
status 0 stoke convert -q truncated.txt -o truncated.stoke
status 0 stoke fold -q truncated.stoke
same plain out
status 0 stoke fold -q --graft truncated.stoke
same grafted out

# --wall-clock: one second of running and one second of waiting.
cat >waits.txt <<'END'
prog 7/7 [000] 1.000000: 1000000000 cpu-clock:
	1 work+0x1 (/bin/prog)

prog 7/7 [000] 3.000000: 1000000000 off-cpu:
	2 wait+0x1 (/bin/prog)

END
status 0 stoke fold --wall-clock waits.txt
printf 'prog;wait;[off-cpu] 1000000000\nprog;work 1000000000\n' >want
same want out

# Consecutive ranges add up to the total.
status 0 stoke fold --event cycles --end 50% "$perf"
cp out first
status 0 stoke fold --event cycles --start 50% "$perf"
cp out second
status 0 stoke fold first second
mv out got
status 0 stoke fold --event cycles "$perf"
same out got

# Errors have a message and a hint.
status 2 stoke fold --focus 'a(b' in.folded
says "^stoke: error: --focus: invalid pattern 'a(b': .*'(' in column 2"
status 2 stoke fold --start soon in.folded
says "invalid time 'soon'"
status 2 stoke fold --only-pid x in.folded
says "invalid list of numbers 'x'"
status 1 stoke fold --start 1 in.folded
says 'has no times'
status 1 stoke fold --event nothing "$perf"
says 'it has: cycles, page-faults'
status 1 stoke fold --focus nothing in.folded
says 'no sample is left after --focus'
status 1 stoke fold --comm nobody in.folded
says 'match no sample'
[ ! -s out ] || fail "there is output"

# Source files are read if they are requested.
status 1 stoke report -q --by file "$TESTS/import/speedscope/cut.in"
says 'total [^ ]*  file$' out
says '  parse.c$' out
