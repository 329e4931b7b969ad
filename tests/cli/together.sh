# SPDX-License-Identifier: Apache-2.0
# Several files are one picture, also where what they count is called differently.
. "$TESTS/cli/lib.sh"

printf 'main;a 100\nmain;c 50\n' >a.folded
cat >b.perf <<'END'
main 1 1.0: cycles:
        ffff main+0x1 (prog)

main 1 1.1: cycles:
        ffff main+0x1 (prog)

END
sed 's/cycles/5000 cpu-clock/' b.perf >c.perf

# Of one name: added up, and nothing is to be said.
status 0 stoke fold a.folded a.folded
printf 'main;a 200\nmain;c 100\n' >want
same want out
[ ! -s err ] || fail "it says something: $(cat err)"

# Of different names: the first one's name, all counts, and a note.
status 0 stoke fold a.folded b.perf
printf 'main;a 100\nmain;c 50\nmain;main 2\n' >want
same want out
says 'counted together: samples (a.folded), cycles (b.perf)$'
says_not 'units differ'
status 0 stoke fold b.perf a.folded b.perf a.folded
says 'counted together: cycles (b.perf), samples (a.folded)$'
says '^main;main 4$' out
says '^main;a 200$' out
status 0 stoke fold -q a.folded b.perf
[ ! -s err ] || fail "--quiet says something: $(cat err)"
status 0 stoke report --csv a.folded b.perf
says 'counted together'
status 0 stoke flamegraph a.folded b.perf
says '<title>all (152 samples' out
status 0 stoke flamegraph --flamechart a.folded b.perf
says '<title>all (152 samples' out

# Units that differ make a sum that means little: what to do is told.
status 0 stoke fold a.folded c.perf
says '^main;main 10000$' out
says 'units differ (samples, ns): --event NAME .*--count-samples'
status 0 stoke fold --count-samples a.folded c.perf
says '^main;main 2$' out
says 'counted together: samples (a.folded), cpu-clock (c.perf)$'
says_not 'units differ'

# Who chooses gets what is chosen; who looks for what there is sees all of it.
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

# A file of several events is not mixed: the first is shown, as of one file.
cat b.perf c.perf >two.perf
status 0 stoke fold two.perf a.folded
says 'showing cycles of 3 events (cycles, cpu-clock, samples); choose with --event'
says_not 'counted together'

# A comparison stays one.
printf 'main;a 1 2\n' >diff.folded
status 0 stoke fold diff.folded diff.folded
says '^main;a 2 4$' out
