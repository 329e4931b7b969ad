# SPDX-License-Identifier: Apache-2.0
# Which part of a profile is shown: the options that all commands share.
. "$TESTS/cli/lib.sh"

perf=$TESTS/export/two-events.in
cat >in.folded <<'END'
java;main;run;parse;parse;alloc 5
java;main;run;emit 7
sh;main 2
END

folds() { # folds WANTED OPTION...: what stoke fold prints for in.folded
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

# Repeated: --focus narrows, the others widen.
folds 'java;main;run;emit 7\n' --focus run --focus emit
folds 'sh;main 2\n' --ignore emit --ignore alloc

# Of perf's text: events, threads, CPUs, time.
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
status 0 stoke fold --event cycles --collapse-module '^(libz|server)' "$perf"
printf 'cron;main 1250000\nserver;server 250000\nserver;server;copy_user 250000\nserver;server;libz.so.1 250000\n' >want
same want out

# Running and waiting, by time: a second of each.
cat >waits.txt <<'END'
prog 7/7 [000] 1.000000: 1000000000 cpu-clock:
	1 work+0x1 (/bin/prog)

prog 7/7 [000] 3.000000: 1000000000 off-cpu:
	2 wait+0x1 (/bin/prog)

END
status 0 stoke fold --wall-clock waits.txt
printf 'prog;wait;[off-cpu] 1000000000\nprog;work 1000000000\n' >want
same want out

# The pieces of a range make the whole.
status 0 stoke fold --event cycles --end 50% "$perf"
cp out first
status 0 stoke fold --event cycles --start 50% "$perf"
cp out second
status 0 stoke fold first second
mv out got
status 0 stoke fold --event cycles "$perf"
same out got

# What cannot be done is said, and how it could be.
status 2 stoke fold --focus 'a(b' in.folded
says "^stoke: error: --focus: 'a(b' is not a pattern: .*'(' in column 2"
status 2 stoke fold --start soon in.folded
says "'soon' is not a time"
status 2 stoke fold --only-pid x in.folded
says "'x' is not a list of numbers"
status 1 stoke fold --start 1 in.folded
says 'tells no times'
status 1 stoke fold --event nothing "$perf"
says 'it has: cycles, page-faults'
status 1 stoke fold --focus nothing in.folded
says 'no sample is left by --focus'
status 1 stoke fold --comm nobody in.folded
says 'no sample is left by the choice of'
[ ! -s out ] || fail "there is output"

# Source files are kept where they are asked for.
status 1 stoke report -q --by file "$TESTS/import/speedscope/cut.in"
says 'total [^ ]*  file$' out
says '  parse.c$' out
