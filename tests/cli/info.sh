# SPDX-License-Identifier: Apache-2.0
# stoke info: facts of a profile, as text and as JSON.
. "$TESTS/cli/lib.sh"

status 0 stoke info "$TESTS/export/two-events.in"
says '^file  *.*two-events.in$' out
says '^format  *perf: perf script text' out
says '^host  *build7$' out
says '^command  */usr/bin/perf record' out
says '^samples  *6 read$' out
says '^time  *8801.000100 s to ' out
says '^stacks  *4 distinct, 3 frames deep at most, 6 functions$' out
says '^unknown  *12.50% of the weight is in functions without a name' out
says '^ *4  *2,000,000 cycles  *cycles (shown by default, see --event)$' out
says '^ *2  *2 events  *page-faults$' out
says 'thread (3 in total, of 2 processes)$' out
says '^ *1  *62.50%  cron  pid 77  tid 77$' out
says 'module of the leaf$' out
[ -s err ] && fail "something is said"

# Another event, and a part of the samples.
status 0 stoke info --event page-faults "$TESTS/export/two-events.in"
says '^ *2  *100.00%  server  pid 4211  tid 4211$' out
says_not ' cron ' out

# Omitted data is reported here, and only once.
printf 'a;b 2\na;b\n\na -1\n[unknown];c 2\n' >odd.folded
status 0 stoke info odd.folded
says '^ *1  no count at the end of the line, first on line 2$' out
says '^ *1  a negative count, first on line 4$' out
says '0.00% of the weight is in functions without a name, 50.00% has' out
[ -s err ] && fail "warnings are printed twice"

# Names cannot control the terminal.
printf 'a\033[31m;b 2\n' >odd.folded
stoke convert odd.folded --apart none --title x --to speedscope |
    sed 's/"event":"samples"/"event":"\\u001b[31m"/' >odd.json
status 0 stoke info odd.json
says_not "$(printf '\033')" out

# Lists are shortened without --all.
i=0
while [ $i -lt 25 ]; do
    i=$((i + 1))
    printf 'comm%d %d 1.0: 1 cycles:\n\tffff f%d (/bin/m%d)\n\n' $i $i $i $i
done >many.txt
status 0 stoke info many.txt
says 'thread (25 in total, of 25 processes)\|thread (25 in total)' out
[ "$(grep -c '4.00%' out)" = 20 ] || fail "$(grep -c '4.00%' out) rows"
says '15 more, with --all' out
status 0 stoke info --all many.txt
[ "$(grep -c '4.00%' out)" = 50 ] || fail "$(grep -c '4.00%' out) rows with --all"

# JSON has all facts and is valid.
status 0 stoke info --json many.txt "$TESTS/import/speedscope/awkward.in"
python3 - out <<'PY'
import json, sys
info = json.load(open(sys.argv[1]))
assert len(info["files"]) == 2
assert info["samples"] == 25 + sum(e["samples"] for e in info["events"] if e["name"] != "cycles")
assert info["event"] == "cycles" and info["stacks"] == 25 and info["deepest"] == 1
assert len(info["threads"]) == 25 and len(info["modules"]) == 25
assert abs(sum(t["share"] for t in info["threads"]) - 1) < 1e-9
assert {"name": "cycles", "unit": "cycles", "samples": 25, "total": 25} in info["events"]
assert all(w["count"] > 0 for w in info["warnings"]) and info["warnings"][0]["first_line"]
PY

# A profile without samples is an error, as in all commands.
: >empty
status 1 stoke info empty
says 'empty'
status 0 stoke info -o file.txt many.txt
says '^format' file.txt

# info shows the facts of a recording without samples; other commands report that it has
# none. The facts contain lost samples and their time.
python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
from perf.make_perf_data import Attr, Recording
for name, lost in ("quiet", 0), ("lossy", 1234):
    rec = Recording([Attr(1, 2, name="page-faults"), Attr(0, 1, ids=(2,), name="instructions")])
    rec.comm(100, 100, "prog", 1)
    if lost:
        rec.kernel(2, rec.pack("QQ", 1, lost), 100, 100, 5)
    open(name + ".data", "wb").write(rec.file())
PY
status 0 stoke info lossy.data
says '^host  *box$' out
says '^command  *perf record -g -- the program$' out
says '^samples  *0 read$' out
says '^lost  *the profiler lost 1,234 samples$' out
says '^ *0  .*  page-faults ' out
says '^ *0  .*  instructions$' out
[ -s err ] && fail "something is said"
status 0 stoke info --json lossy.data
says '"samples":0,"lost":1234' out
status 0 stoke info lossy.data many.txt
says '^samples  *25 read$' out
says '^lost  *the profiler lost 1,234 samples$' out
says '  page-faults' out
for command in fold flamegraph report script 'annotate main'; do
    # shellcheck disable=SC2086
    status 1 stoke $command quiet.data
    says 'quiet.data: the recording has no samples$'
    says "try: 'stoke info FILE' shows what was recorded"
    # shellcheck disable=SC2086
    status 1 stoke $command lossy.data
    says 'lossy.data: the recording has no samples, 1234 were lost$'
done
status 0 stoke script --show-lost-events lossy.data
says ': PERF_RECORD_LOST lost 1234$' out
says 'the recording has no samples'
status 0 stoke script --show-task-events quiet.data
says ': PERF_RECORD_COMM: prog:100/100$' out

# A period counts events, unless --count-samples is given.
python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
from perf.make_perf_data import Attr, Recording
for name, attr in ("instructions", Attr(0, 1, name="instructions")), ("clock", Attr(1, 0, name="cpu-clock")):
    rec = Recording([attr])
    rec.sample(5, 0x1100, [0x1100], period=85000001)
    rec.sample(6, 0x1100, [0x1100], period=85000001)
    open(name + ".data", "wb").write(rec.file({}))
PY
stoke script -q instructions.data >instructions.txt
for input in instructions.data instructions.txt; do
    status 0 stoke info -q $input
    says '^ *2  *170,000,002 events  *instructions' out
    status 0 stoke info -q --count-samples $input
    says '^ *2  *2 samples  *instructions' out
done
status 0 stoke info -q clock.data
says '^ *2  *170.000 ms  *cpu-clock' out
stoke script -q clock.data >clock.txt
for input in clock.data clock.txt; do
    status 0 stoke info -q --count-samples $input
    says '^ *2  *2 samples  *cpu-clock' out
done
