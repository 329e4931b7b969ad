# SPDX-License-Identifier: Apache-2.0
# tools/firesim: all traces of a run, as FireSim's post_run_hook has them drawn.
. "$TESTS/cli/lib.sh"
command -v bash >/dev/null || { echo "bash is missing"; exit 77; }

script=$TESTS/../tools/firesim/gen-all-flamegraphs-stoke.sh
mkdir -p results/job0 results/job1 "results/job 2" bare/job0
cp "$TESTS/man/TRACEFILE-C0" results/job0/
cp "$TESTS/trace/inputs/binary/three" results/job0/TRACEFILE-C1
gzip -c "$TESTS/trace/inputs/beats/one" >results/job1/TRACEFILE-C0.gz
stoke trace -q "$TESTS/man/TRACEFILE-C0" -d "$TESTS/man/small-bin-dwarf" --to firesim \
    -o "results/job 2/TRACEFILE-C0"
stoke trace -q "$TESTS/man/TRACEFILE-C0" -d "$TESTS/man/small-bin-dwarf" >expected

# No binary is given.
status 1 "$script" results
says 'TRACEFILE-C0: no \*-dwarf in its directory' err
[ -s "results/job 2/TRACEFILE-C0.svg" ] || fail 'one without a binary keeps the others back'
rm "results/job 2/TRACEFILE-C0.svg"

# The binary is in the folder of the job, or in RESULTS; then a second run over the results.
cp "$TESTS/man/small-bin-dwarf" results/br-base-bin-dwarf
for again in once twice; do
    status 0 "$script" results
    for job in results/job0 results/job1 "results/job 2"; do
        same expected "$job/TRACEFILE-C0.folded"
        grep -q '</svg>' "$job/TRACEFILE-C0.svg" || fail "$job: no drawing, $again"
        grep -q ' cycles' "$job/TRACEFILE-C0.svg" || fail "$job: not of cycles, $again"
    done
    [ -s results/job0/TRACEFILE-C1.svg ] || fail "no second core, $again"
done
[ "$(find results -name 'TRACEFILE*' | wc -l)" = 12 ] || fail 'something else was left'

# The binary is given.
cp "$TESTS/man/TRACEFILE-C0" bare/job0/
status 0 "$script" -d "$TESTS/man/small-bin-dwarf" bare
same expected bare/job0/TRACEFILE-C0.folded

# An empty trace is reported.
head -1 "$TESTS/man/TRACEFILE-C0" >bare/job0/TRACEFILE-C1
status 1 "$script" -d "$TESTS/man/small-bin-dwarf" bare
says 'the trigger may never have fired' err
[ ! -e bare/job0/TRACEFILE-C1.part.folded ] || fail 'a part was left behind'
mkdir none
status 1 "$script" none
says 'TRACEFILE\* must be an output' err
status 2 "$script"
says 'usage: ' err
