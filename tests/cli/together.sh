# SPDX-License-Identifier: Apache-2.0
# Several files are merged into one image, also if their events have different names.
. "$TESTS/cli/lib.sh"

printf 'main;a 100\nmain;c 50\n' >a.folded
cat >b.perf <<'END'
main 1 1.0: cycles:
        ffff main+0x1 (prog)

main 1 1.1: cycles:
        ffff main+0x1 (prog)

END
sed 's/cycles/5000 cpu-clock/' b.perf >c.perf

# Equal event names: added, without a message.
status 0 stoke fold a.folded a.folded
printf 'main;a 200\nmain;c 100\n' >want
same want out
[ ! -s err ] || fail "it says something: $(cat err)"

# Different event names: the name of the first, the sum of all, and a note.
status 0 stoke fold a.folded b.perf
printf 'main;a 100\nmain;c 50\nmain;main 2\n' >want
same want out
says 'counted as one event: samples (a.folded), cycles (b.perf)$'
says_not 'units differ'
status 0 stoke fold b.perf a.folded b.perf a.folded
says 'counted as one event: cycles (b.perf), samples (a.folded)$'
says '^main;main 4$' out
says '^main;a 200$' out
status 0 stoke fold -q a.folded b.perf
[ ! -s err ] || fail "--quiet says something: $(cat err)"
status 0 stoke report --csv a.folded b.perf
says 'counted as one event'
status 0 stoke flamegraph a.folded b.perf
says '<title>all (152 samples' out
status 0 stoke flamegraph --flamechart a.folded b.perf
says '<title>all (152 samples' out

# Different units: the sum has no meaning, and a hint is printed.
status 0 stoke fold a.folded c.perf
says '^main;main 10000$' out
says 'units differ (samples, ns); use --event NAME .*--count-samples'
status 0 stoke fold --count-samples a.folded c.perf
says '^main;main 2$' out
says 'counted as one event: samples (a.folded), cpu-clock (c.perf)$'
says_not 'units differ'

# --event selects; info shows all events.
status 0 stoke fold --event cpu-clock a.folded c.perf
printf 'main;main 10000\n' >want
same want out
[ ! -s err ] || fail "it says something: $(cat err)"
status 0 stoke fold --drop-event cpu-clock a.folded c.perf
says '^main;c 50$' out
says_not '^main;main' out
status 0 stoke info --json a.folded c.perf
says '"name":"cpu-clock"' out
says '"name":"samples"' out
status 0 stoke convert a.folded c.perf -o both.pb.gz
status 0 stoke fold --event cpu-clock both.pb.gz
says '^main;main 10000$' out

# A file with several events is not mixed: the first event is shown, as for one file.
cat b.perf c.perf >two.perf
status 0 stoke fold two.perf a.folded
says 'showing cycles of 3 events (cycles, cpu-clock, samples); choose with --event'
says_not 'counted as one event'

# A comparison stays a comparison.
printf 'main;a 1 2\n' >diff.folded
status 0 stoke fold diff.folded diff.folded
says '^main;a 2 4$' out
