# SPDX-License-Identifier: Apache-2.0
# stoke stat: its rows, forms and errors. tests/cli/test_stat.c has counts of hardware.
. "$TESTS/cli/lib.sh"

status 2 stoke stat -r 3
says 'repeat needs a command'
status 2 stoke stat --per-thread true
says 'per-thread needs processes'
status 2 stoke stat -A true
says 'rows of CPUs need counters of CPUs'
status 2 stoke stat -j -x , true
says 'exclude each other'
status 2 stoke stat -e no-such-event true
says "unknown event 'no-such-event'"
status 2 stoke stat -M TopdownL1 true
says 'no tables of the processors'
status 1 stoke stat ./absent
says "cannot run './absent'"
status 1 stoke stat -o absent/file true
says "cannot write 'absent/file'"

# Only times: no rights are needed.
status 3 stoke stat -n sh -c 'exit 3'
says 'seconds time elapsed'
says 'seconds user'
status 0 stoke stat -n -r 3 --table --pre 'echo before' --post 'echo after' true
[ "$(grep -c before out)" = 3 ] && [ "$(grep -c after out)" = 3 ] || fail 'not three runs'
says 'seconds time elapsed  ( +-'
[ "$(grep -c ' (.*) #' err)" = 3 ] || fail 'not three times'
status 1 stoke stat -n --pre false true
says "'false' failed with status 1"
status 137 stoke stat -n sh -c 'kill -9 $$'

# Counts.
status 0 stoke stat -e task-clock,page-faults true
says "counter stats for 'true'"
if grep -q 'not supported' err; then
    echo "skipped: this machine counts no events"
    exit 77
fi
says 'msec task-clock .* CPUs utilized'
says 'page-faults .*/sec'

# The output of the command is separate; control characters of its name are visible.
status 0 stoke stat -e cs -- true "$(printf '\033[31m')"
says 'x1b'

# A command that touches 2000 pages has that many faults, in every form.
cat >touch.py <<'PY'
import mmap
area = mmap.mmap(-1, 2000 * 4096)
for page in range(2000):
    area[page * 4096] = 1
PY
faults() {
    awk -v n="$1" 'BEGIN { exit !(n >= 2000 && n < 20000) }' || fail "faults: $1"
}
if command -v python3 >/dev/null; then
    status 0 stoke stat -x , -e page-faults:u,task-clock -o f.csv python3 touch.py
    faults "$(awk -F, '/page-faults/ { print $1 }' f.csv)"
    status 0 stoke stat -j -r 2 -e page-faults:u -o f.json python3 touch.py
    python3 -c '
import json
one = json.loads(open("f.json").read())
assert 2000 <= float(one["counter-value"]) < 20000, one
assert one["event"] == "page-faults:u" and "variance" in one, one'
fi

# Intervals sum to the total; the last one may be short.
cat >busy.sh <<'SH'
i=0
while [ $i -lt 200000 ]; do i=$((i + 1)); done
SH
status 0 stoke stat -I 20 -x , -e task-clock -o i.csv sh busy.sh
[ "$(wc -l <i.csv)" -ge 2 ] || fail 'one interval only'
status 0 stoke stat -x , -e task-clock -o t.csv sh busy.sh
awk -F, 'FNR == NR { sum += $2; next } { exit !($1 > sum / 4 && $1 < sum * 4) }' i.csv t.csv ||
    fail "intervals: $(cat i.csv t.csv)"
status 0 stoke stat -I 10 --interval-count 3 -x , -e task-clock -o c.csv sleep 60
[ "$(wc -l <c.csv)" = 3 ] || fail 'not three intervals'

# A file: appended to on request.
status 0 stoke stat -e cs -o a.txt true
status 0 stoke stat -e cs -o a.txt --append true
[ "$(grep -c 'started on' a.txt)" = 2 ] || fail '--append'

# A running process, by thread, until it ends or the time is over.
sh -c 'while :; do :; done' &
busy=$!
trap 'kill $busy 2>/dev/null || :' EXIT
status 0 stoke stat -p $busy --timeout 300 -e task-clock
says "process id '$busy'"
says 'msec task-clock .* CPUs utilized'
status 0 stoke stat --per-thread -p $busy --timeout 100 -e task-clock
says "sh-$busy "
stoke stat -p $busy -e task-clock 2>err &
counting=$!
attached $counting
kill $busy
wait $counting || fail 'the end of the process is not the end'

# The machine, if permitted.
stoke stat -a -e cpu-clock true 2>/dev/null || exit 0
cpus=$(nproc --all)
status 0 stoke stat -a -A -e cpu-clock -x , -o cpu.csv sleep 0.05
[ "$(grep -c '^CPU' cpu.csv)" -le "$cpus" ] && grep -q '^CPU0,' cpu.csv || fail '-A'
status 0 stoke stat -a --per-socket -e cpu-clock sleep 0.05
says '^S0 '
status 0 stoke stat -C 0 -e cs sleep 0.05
says "'CPU(s) 0'"
