# SPDX-License-Identifier: Apache-2.0
# stoke script: layout, fields, filters, records; its output folds to the same stacks as the input.
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

# Without a file name, standard input is read if it is a pipe, otherwise perf.data.
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
# The fields of tracepoints need the format in the recording; without it there are none.
for name in tracepoints-formatted tracepoints-formatted-pipe; do
    stoke script -q -F event,trace "$data/$name.in" >out
    printf '%s\n' 'sched:waited: comm=prog pid=0 state=R' 'sched:waited: comm=prog pid=-1 state=S' \
        'sched:waited: comm=prog pid=-2 state=S|D' \
        'sched:waited: comm=prog pid=-3 state=S|0x8' >expected
    same expected out
done
stoke script -q -F event,trace "$data/tracepoints.in" >out
says '^sched:sched_switch: $' out
for field in 'ipc stoke trace' 'brstackinsn stoke annotate' 'brstacksym -F brstack' 'metric stoke stat'; do
    status 2 stoke script -F "+${field%% *}" "$data/file.in"
    says "the field '${field%% *}' of perf script is not printed$"
    says "try: '*${field#* }"
done
status 2 stoke script -F +none "$data/file.in"
says "there is no field 'none'$"
says 'try: fields: comm, .*, data_src, ins_lat, retire_lat, cgroup, flags, data_page_size, code_page_size, synth, callindent$'

# Accesses to memory: each value of each part of data_src, and sizes of pages.
python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
import perf.make_perf_data as m
PARTS = {0: 5, 5: 14, 19: 5, 26: 7}  # one bit each, with hit and miss in levels and TLBs
NUMBERS = {24: 4, 33: 16, 38: 4, 40: 8}
values = [0, 10]
for at, bits in PARTS.items():
    values += [2 | 1 << at + i | more << at for i in range(bits)
               for more in ((0, 2, 4) if at in (5, 26) else (0,))]
for at, count in NUMBERS.items():
    values += [2 | i << at | remote << 37 for i in range(count) for remote in (0, 1)]
values += [2 | 1 << 37 | i << 43 | 1 << 33 for i in range(5)] + [2 | 0x1f8 << 5 | 0x1f << 19]
sizes = [0, 1, 1023, 1024, 2048, 4096, 65536, 1 << 21, 1 << 30, 1 << 31, 1 << 34, 1 << 45]
rec = m.Recording([m.Attr(0, 0, sample_type=m.USUAL & ~m.CALLCHAIN | m.ADDR | m.WEIGHT_STRUCT
                          | m.DATA_SRC | m.PHYS_ADDR | m.CGROUP | m.DATA_PAGE | m.CODE_PAGE,
                          name="cycles")])
rec.kernel(19, rec.pack("Q", 7) + rec.text("/web.slice"), 100, 100, 1)
rec.comm(100, 100, "prog", time=1)
for i, value in enumerate(values):
    rec.sample(10 + i, 0x1100, extra={
        m.DATA_SRC: rec.words([value]), m.WEIGHT_STRUCT: rec.pack("IHH", 70000 + i, 300 + i, 40000 + i),
        m.DATA_PAGE: rec.words([sizes[i % len(sizes)]]),
        m.CODE_PAGE: rec.words([sizes[-1 - i % len(sizes)]]), m.CGROUP: rec.words([7 + i % 2])})
open("memory.data", "wb").write(rec.file())
PY
status 0 stoke script -q -F comm,event,weight,ins_lat,retire_lat,cgroup,data_src,data_page_size,code_page_size memory.data
says '^ *prog cycles:                0 |OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A           70000             300           40000 /web.slice N/A 32768G$' out
says '|OP LOAD|LVL L1|SNP .* unknown' out
says '^ *prog cycles:               22 |OP LOAD|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A  *70007 ' out
says '|OP LOAD|LVL Remote socket, same board L1|SNP ' out
says '|LVL Remote CXL|SNP N/A|' out
says '|TLB Walker hit|LCK' out
says '|BLK  Data Addr  ' out
says '|LVL L1 or LFB/MAB or .* (1 hop)|SNP N/A or None or Hit or Miss or HitM|TLB N/A|LCK No|BLK  N/A ' out
status 0 stoke script -F +data_src "$data/file.in"
says "the field 'data_src' is not in the recording"
for fields in data_src weight,ins_lat,addr,data_src,ip flags,ip data_page_size,code_page_size,phys_addr; do
    perf --version 2>/dev/null | grep -q ' 6\.1\.' || break
    perf script -F comm,event,$fields -i memory.data >want 2>/dev/null || break
    status 0 stoke script -q -F comm,event,$fields memory.data
    sed -i '$d' want out # perf truncates the last one to 99 bytes
    same want out
done

# Branches: what perf prints of them without modules.
python3 - <<'PY'
import os, struct, sys
sys.path.insert(0, os.environ["TESTS"])
import perf.make_perf_data as m
flags = [1, 0, 2 | 4, 2 | 8 | 77 << 4] + [2 | i << 20 for i in range(15)] + \
        [2 | 15 << 20 | i << 26 for i in range(3)]
for big in False, True:
    rec = m.Recording([m.Attr(0, 0, sample_type=m.USUAL & ~m.CALLCHAIN | m.BRANCH_STACK,
                              name="cycles", branches=1 << 3)], big)
    words = [len(flags)]
    for i, flag in enumerate(flags):
        words += [0x1100 + i, 0x2200 + i, int(f"{flag:064b}"[::-1], 2) if big else flag]
    if big:  # fields of several bits keep their own order
        words[3 * 4] = 2 << 61 | 77 << 44 | 1 << 60
        for i in range(15):
            words[3 * (5 + i)] = 1 << 62 | i << 40
        for i in range(3):
            words[3 * (20 + i)] = 1 << 62 | 15 << 40 | i << 34
    rec.mmap2(100, 0x1000, 0x4000, 0, "/usr/bin/prog", time=1)
    rec.sample(5, 0x1100, extra={m.BRANCH_STACK: rec.words(words)})
    open("big.data" if big else "little.data", "wb").write(rec.file())
PY
status 0 stoke script -q -F comm,event,brstack little.data
says '^ *:100 *cycles:  0x1100/0x2200/M/-/-/0/  0x1101/0x2201/-/-/-/0/  0x1102/0x2202/P/X/-/0/  0x1103/0x2203/P/-/A/77/  0x1104' out
says ' 0x1105/0x2205/P/-/-/0/COND  .*/NO_TX  .*/FAULT_ALGN  .*/FAULT_INST $' out
cp out want
if perf --version 2>/dev/null | grep -q ' 6\.1\.' && perf script -F comm,event,brstack -i little.data >theirs 2>/dev/null; then
    sed 's/^.*: / /' want >ours
    sed -i 's/^.*: / /' theirs
    same theirs ours
fi
status 0 stoke script -q -F comm,event,brstack big.data
same want out
status 0 stoke script -F +brstack "$data/file.in"
says "the field 'brstack' is not in the recording"
status 2 stoke script -F odd:ip "$data/file.in"
says "unknown type of events 'odd'"
status 0 stoke script -F +cpu "$data/plain.in"
says "the field 'cpu' is not in the recording"

# Which samples, and how much of each.
count() {
    status 0 stoke script -q "$@" "$data/file.in"
    grep -c ': $' out >got || true
    echo "$expected_samples" | cmp -s - got || fail "$*: $(cat got) samples, not $expected_samples"
}
expected_samples=11 count
expected_samples=3 count --comms 'worker*'
expected_samples=6 count --comms 'worker*,child' --pid 100,200
expected_samples=3 count --tid 101
expected_samples=1 count --cpu 1
expected_samples=1 count --event context-switches
expected_samples=5 count --time 0.000002,0.000003
expected_samples=5 count --time ,0.000003
expected_samples=4 count --time ,0.000002999
expected_samples=22 count -i "$data/file.in" -i

# How many files are missing, in words for one and for many.
status 0 stoke script $names "$data/file.in"
says '4 recorded files are missing on this machine (/usr/bin/prog, ...): no function names'
python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
from perf.make_perf_data import Attr, Recording
rec = Recording([Attr(0, 0, name="cycles")])
rec.mmap2(100, 0x1000, 0x1000, 0, "/nowhere/prog", time=1)
rec.sample(5, 0x1100, [0x1100])
open("one.data", "wb").write(rec.file({}))
rec = Recording([Attr(0, 0, name="cycles")])
rec.mmap2(100, 0x1000, 0x1000, 0, "/bin/sh", build_id=b"\1" * 20, time=1)
rec.sample(5, 0x1100, [0x1100])
open("changed.data", "wb").write(rec.file({}))
PY
status 0 stoke script one.data
says '1 recorded file is missing on this machine (/nowhere/prog): no function names'
status 0 stoke script changed.data
says '1 file has changed since the recording (/bin/sh): no function names'

# Shares of the time; the header has the first and the last time.
python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
from perf.make_perf_data import Attr, Recording
rec = Recording([Attr(0, 0, name="cycles:HG")])
for i in range(11):
    rec.sample(1000000 + i * 1000, 0x1100, [0x1100])
open("timed.data", "wb").write(rec.file({21: rec.pack("QQ", 1000000, 1010000)}))
open("untimed.data", "wb").write(rec.file({}))
PY
chosen_by() {
    printf '%s' "$2" | tr ' ' '\n' | sed 's/.*/    0.00&: /' >want
    [ -z "$2" ] || echo >>want
    status 0 stoke script -q -F time --time "$1" timed.data
    same want out
}
chosen_by 10%-30% '1001 1002'
chosen_by 10%/2 '1001'
chosen_by 20%/5 '1008 1009 1010'
chosen_by 0%-10%,90%-100% '1000 1009 1010'
chosen_by '20%/1,40%-50% 0.001007,0.001008' '1000 1001 1004 1007 1008'
chosen_by 80%, '1008 1009 1010'
status 0 stoke script -q --event cycles timed.data
says 'cycles:HG' out

# A request that no sample matches: the same message as in stoke report.
status 1 stoke script --pid 4711 "$data/file.in"
says 'no sample matches the selected'
status 1 stoke script --event nosuch "$data/file.in"
says "there is no event 'nosuch' in the input"
says 'it has: cycles, context-switches'
status 1 stoke script -o nothing.txt --cpu 0 "$data/plain.in"
says 'the input has no CPUs to filter by'
[ -e nothing.txt ] && fail 'a file is left of nothing'
for time in 90%,10% 50%-40% 2,1 +2,+1; do
    status 2 stoke script --time $time "$data/file.in"
    says "'$time' ends before it begins"
done
for time in 10%- 10%-x% 10%/0 10%/11 /2 x; do
    status 2 stoke script --time $time "$data/file.in"
done
printf 'a;b 1\n' >in.folded
status 1 stoke script --time 1,2 in.folded
says 'the input has no times'
status 1 stoke script --time 10%-20% untimed.data
says 'the end of the input is unknown'
status 0 stoke script --time +0,+1 untimed.data
status 1 stoke script -i "$data/file.in" "$data/file.in"
says 'cannot be combined with --input'
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
status 0 stoke script -q --show-mmap-events "$data/marked.in"
says '\[0x400000(0x10000) @ 0 08:01 7 0\]: r-xp /usr/bin/prog$' out
says '<cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd>\]: r-xp /usr/bin/other$' out
status 0 stoke script -q --show-lost-events "$data/all-records.in"
says ': PERF_RECORD_LOST lost ' out

# The text folds to the same stacks as the recording; but perf's text does not say why a thread
# waited and who woke it up, nor the periods of tracepoints.
for recording in "$data"/*.in "$TESTS"/../../shared/corpus/perfdata/*/*; do
    weights=
    case $recording in
    */waits*) continue ;;
    */tracepoints*) weights=--count-samples ;;
    esac
    [ -f "$recording" ] && stoke fold -q --format perf-data "$recording" >want 2>/dev/null ||
        continue
    for event in $(stoke info --json -q --format perf-data "$recording" |
        grep -o '"name":"[^"]*","unit"' | cut -d'"' -f4 | grep -v ' '); do
        stoke fold -q $weights --format perf-data --event "$event" "$recording" >want
        stoke script -q --format perf-data --event "$event" "$recording" >text
        stoke fold -q $weights --format perf text >got
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

# The padding before functions of the kernel is never executed: a return address after it is the
# address of an interrupt.
sed 's/^ffffffff81000200 T /ffffffff81000200 T __pfx_/
/__pfx_/a ffffffff81000210 T do_nanosleep' "$TESTS/import/perf-data/waits.kallsyms" >padded
stoke fold -q --event off-cpu --kallsyms padded "$TESTS/import/perf-data/waits.in" >folded 2>err
says ';do_nanosleep;schedule' folded
says_not '__pfx_' folded

status 2 stoke script --reltime --deltatime "$TESTS/man/perf.data"
says '^stoke: error: --reltime and --deltatime exclude each other'
