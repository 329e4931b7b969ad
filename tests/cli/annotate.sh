# SPDX-License-Identifier: Apache-2.0
# stoke annotate: which function is meant, lines and addresses, text and JSON.
. "$TESTS/cli/lib.sh"

cp "$TESTS/man/perf.data" "$TESTS/man/kallsyms" .
names="-q --kallsyms kallsyms"

cat >want <<'END'
# do_syscall_64 in [kernel.kallsyms]
# 3 samples, 3,000 of cycles: 33.31% of the recording's
# its file has no debug information: no source lines

  share    address  no instructions: the file with the code is not on this machine
* 100.00% ffffffff81000010
END
status 0 stoke annotate $names do_syscall_64 perf.data
same want out
status 0 stoke annotate $names do_syscall_64 </dev/null
same want out
stoke annotate $names do_syscall_64 <perf.data >out
same want out
status 0 stoke annotate $names syscall -o file.txt
same want file.txt
status 0 stoke annotate $names --json do_syscall_64 perf.data
tr -d '\n' <out >got
echo '{"event":"cycles","unit":"cycles","total":9005,"functions":[{"name":"do_syscall_64","module":"[kernel.kallsyms]","weight":3000,"samples":3,"lines":[],"instructions":[{"address":18446744071578845200,"weight":3000,"samples":3}]}]}' |
    tr -d '\n' >want
same want got

# Several recordings: their samples are counted together, whatever their places' numbers.
status 0 stoke annotate $names do_syscall_64 perf.data perf.data
says '^# 6 samples, 6,000 of cycles: 33.31% of the recording.s$' out
says '^\* 100.00% ffffffff81000010$' out
[ "$(grep -c '^# [^0-9i]' out)" = 1 ] || fail "$(grep -c '^# [^0-9i]' out) functions"
data=$TESTS/import/perf-data
status 0 stoke annotate $names do_syscall_64 "$data/deferred.in" perf.data
says '^# 7 samples, 7,000 of cycles: 49.98% of the recording.s$' out
status 0 stoke annotate $names do_syscall_64 perf.data "$data/dumps.in" "$data/deferred.in"
says '^# 7 samples, 7,000 of cycles: ' out
echo 'a;b 1' >in.folded
status 1 stoke annotate $names do_syscall_64 perf.data in.folded
says 'one of the inputs is no recording'

# Events.
status 0 stoke annotate $names --event context-switches schedule
says '^# 1 sample, 1,000 of context-switches: 100.00%' out
status 0 stoke annotate --kallsyms kallsyms do_syscall_64
says 'showing cycles of 2 events; choose with --event'
status 1 stoke annotate $names --event faults schedule
says "no event 'faults'"
says 'it has: cycles, context-switches'

# Functions that are not there, or not only one.
status 1 stoke annotate $names schedule
says "no sample was in a function named 'schedule'"
status 1 stoke annotate $names _
says "'_' is a part of the names of 2 functions"
says 'one of: do_syscall_64, bpf_prog_0123_hook'
status 2 stoke annotate
says 'the name of a function is missing'
echo 'a;b 1' >in.folded
status 1 stoke annotate a in.folded
says 'the input is no recording'
