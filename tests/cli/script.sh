# stoke script: layout, fields, filters, records; what it prints folds as the input does.
. "$TESTS/cli/lib.sh"

data=$TESTS/import/perf-data
names="--kallsyms $TESTS/man/kallsyms"
tab=$(printf '\t')

# The layout, to the byte.
cat >want <<END
prog   100 [001]     0.000002:       1000           cycles: 
${tab}ffffffff81000010 do_syscall_64+0x10 ([kernel.kallsyms])
${tab}ffffffffc0000020 my_read+0x20 ([my_fs])
${tab}            1000 [unknown] (/usr/bin/prog)
${tab}            2010 [unknown] (/usr/bin/prog)

END
status 0 stoke script -q $names "$data/file.in"
head -6 out >got
same want got

# perf.data is read where nothing is named or piped in, what is piped in where something is.
cp "$data/file.in" perf.data
cp out whole
status 0 stoke script -q $names </dev/null
same whole out
stoke script -q $names <perf.data >out
same whole out
status 0 stoke script -q $names -i perf.data -o file.txt
same whole file.txt
rm perf.data
status 1 stoke script </dev/null
says 'perf.data'

# Fields.
cat >want <<END
            prog     0.000002: 
            prog     0.000002: 
           child     0.000002: 
END
status 0 stoke script -q -F comm,time "$data/file.in"
head -3 out >got
same want got
status 0 stoke script -q -F +pid,-dso,-period "$data/file.in"
says '^prog   100/100   \[001\]     0.000002:           cycles: $' out
says '^	            2010 \[unknown\]$' out
status 0 stoke script -q -F ip,sym --event cycles "$data/file.in"
says '^	ffffffff81000010 \[unknown\]$' out
says_not cycles out
status 0 stoke script -q -F hw: "$data/file.in"
says context-switches out
says_not ' cycles' out
status 2 stoke script -F ip,nothing "$data/file.in"
says "no field 'nothing'"
says 'try: fields: comm, '
status 2 stoke script -F odd:ip "$data/file.in"
says "no type of events 'odd'"
status 0 stoke script -F +cpu "$data/plain.in"
says "the field 'cpu' is not in the recording"

# Which samples, and how much of each.
count() {
    status 0 stoke script -q "$@" "$data/file.in"
    grep -c ': $' out >got || true
    echo "$wanted_samples" | cmp -s - got || fail "$*: $(cat got) samples, not $wanted_samples"
}
wanted_samples=11 count
wanted_samples=3 count --comms 'worker*'
wanted_samples=6 count --comms 'worker*,child' --pid 100,200
wanted_samples=3 count --tid 101
wanted_samples=1 count --cpu 1
wanted_samples=1 count --event context-switches
wanted_samples=4 count --time 0.000002,0.000003
wanted_samples=4 count --time ,0.000003
wanted_samples=0 count --pid 4711
status 0 stoke script -q --max-stack 1 --event cycles "$data/file.in"
says '^	ffffffff81000010' out
says_not 2010 out
status 2 stoke script --max-stack 0 "$data/file.in"
status 0 stoke script -q -G "$data/file.in"
says_not '^	' out
says '^            prog   100 \[001\]     0.000002:       1000           cycles:  ffffffff81000010 \[unknown\] (\[kernel.kallsyms\])$' out

# Records that are no samples.
status 0 stoke script -q --show-mmap-events --show-task-events "$data/file.in"
says '^child   200 .*: PERF_RECORD_MMAP2 200/200: \[0x400000(0x1000) @ 0 08:01 7 0\]: r-xp /usr/bin/child$' out
says ': PERF_RECORD_MMAP2 100/100: .*<abababababababababababababababababababab>' out
says ': PERF_RECORD_MMAP -1/0: \[0xffffffff81000000(0xc00000) @ 0xffffffff81000000\]: x \[kernel.kallsyms\]_text$' out
says ': PERF_RECORD_FORK(200:200):(100:100)$' out
says ': PERF_RECORD_COMM exec: child:200/200$' out
status 0 stoke script -q --show-lost-events "$data/all-records.in"
says ': PERF_RECORD_LOST lost ' out

# Folded, the text is what the recording is.
for recording in "$data"/*.in "$TESTS"/../../shared/corpus/perfdata/*/*; do
    [ -f "$recording" ] && stoke fold -q --format perf-data "$recording" >want 2>/dev/null ||
        continue
    for event in $(stoke info --json -q --format perf-data "$recording" |
        grep -o '"name":"[^"]*","unit"' | cut -d'"' -f4 | grep -v ' '); do
        stoke fold -q --format perf-data --event "$event" "$recording" >want
        stoke script -q --format perf-data --event "$event" "$recording" >text
        stoke fold -q --format perf text >got
        same want got
    done
done

# Other formats in the same layout.
cat >in.folded <<'END'
main;run;parse 5
main;run 2
END
cat >want <<END
main     0          5 samples: 
${tab}               0 parse ([unknown])
${tab}               0 run ([unknown])

main     0          2 samples: 
${tab}               0 run ([unknown])

END
status 0 stoke script in.folded
same want out
stoke fold out >got
stoke fold in.folded >want
same want got
