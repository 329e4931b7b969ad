# SPDX-License-Identifier: Apache-2.0
# stoke stacks: which process, messages.
. "$TESTS/cli/lib.sh"

status 2 stoke stacks
says 'one process id or core file is expected'
status 1 stoke stacks abc
says 'abc: No such file'
status 2 stoke stacks --native maybe 1
status 1 stoke stacks 2147483647
says 'there is no process 2147483647'

sleep 600 &
pid=$!
trap 'kill $pid' EXIT
if ! stoke stacks $pid >out 2>err; then
    says 'cannot attach\|not accessible'
    exit 0
fi
says "^# process $pid: " out
says "^thread $pid \"" out
status 1 stoke stacks --native no $pid
says 'no interpreter was found'
status 0 stoke stacks --json $pid
says '"system_call":"clock_nanosleep"\|"frames":' out
status 1 stoke stacks -o out.unknown $pid

# A stopped process is shown, and stays stopped.
kill -STOP $pid
until grep -q '^State:.T' /proc/$pid/status; do :; done
status 0 stoke stacks $pid
says ': stopped' out
# After a tracer it runs for an instant, until it stops again.
for _ in $(seq 600); do
    ! grep -q '^State:.T' /proc/$pid/status || break
    sleep 0.1
done
grep -q '^State:.T' /proc/$pid/status || fail "the process runs: $(grep State /proc/$pid/status)"
kill -CONT $pid
