# SPDX-License-Identifier: Apache-2.0
# stoke heap: its options and messages. tests/agents/heap compares what it records.
. "$TESTS/cli/lib.sh"

status 2 stoke heap
says 'no command is given'
status 2 stoke heap --full --sample 1K true
says 'exclude each other'
status 2 stoke heap --sample 0 true
says "invalid size '0'"
status 2 stoke heap --sample 64Q true
says "invalid size '64Q'"
status 2 stoke heap --seed x true
says "invalid seed 'x'"
status 2 stoke heap -o heap.unknown true
status 2 stoke heap -p x
says "invalid process id 'x'"
status 2 stoke heap -p 1 true
says 'exclude each other'
status 2 stoke heap --duration 1 true
says '--duration is for --pid'

build=${STOKE_BUILD:-$(dirname "$STOKE")}
[ -e "$build/src/agents/heap/libstoke_heap.so" ] || exit 0

# The exit status is the command's; a command that does not exist is an error.
status 3 stoke heap --full sh -c 'exit 3'
says 'allocations in . process.* live at the peak; heap.stoke'
says_not 'few samples'
status 0 stoke heap -o few.stoke true
says 'few samples: --full'
status 0 stoke report heap.stoke --event allocated
status 1 stoke heap --full ./absent
says "cannot run './absent'"
status 143 stoke heap -q --full -o killed.stoke sh -c 'kill $$'
[ -s killed.stoke ] || fail 'no profile of a killed program'

# Few samples are not significant, but few allocations are exact if all are recorded.
status 0 stoke heap -q --full -o all.stoke sh -c 'exit 0'
status 0 stoke flamegraph -o all.svg all.stoke
says_not 'not significant'

# How the heap was sampled is a fact of the file, also of a pprof made of it.
status 0 stoke heap -q --sample 64K -o sampled.stoke sh -c 'x=$(seq 20000); echo "$x" >/dev/null'
status 0 stoke convert -q sampled.stoke -o sampled.pb.gz
for file in sampled.stoke sampled.pb.gz; do
    status 0 stoke info $file
    says 'sampled    one allocation per 65536 bytes on average' out
    status 0 stoke info --json $file
    says '"sample_bytes": *65536' out
done
status 0 stoke info all.stoke
says_not 'sampled ' out

# A running process. What is refused: tests/agents/heap/heap_attach.py
sleep 60 &
status 0 stoke heap -p $! --duration 0.01 -o running.stoke
says 'runs as before'
kill $!

# Suppressions of leaks.
status 2 stoke heap --suppressions absent true
says "absent"
printf 'leak:\n' > bad.supp
status 2 stoke report --suppressions bad.supp heap.stoke
says 'bad.supp:1:1: --suppressions: not a suppression'
printf 'leak:*\n' > all.supp
status 0 stoke heap --full --suppressions all.supp -o suppressed.stoke sh -c 'exit 0'
says 'suppressions used:'
says 'bytes  template'
status 0 stoke heap -q --full -o leaks.stoke sh -c 'exit 0'
status 1 stoke report --event leaked --suppressions all.supp leaks.stoke
says 'all leaks are suppressed'
status 1 stoke fold -q --event leaked suppressed.stoke
says 'match no sample'
