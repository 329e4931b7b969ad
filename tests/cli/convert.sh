# SPDX-License-Identifier: Apache-2.0
# stoke convert: output format by suffix or by name, compression, and round trips of the
# formats that hold complete profiles.
. "$TESTS/cli/lib.sh"

in=$TESTS/export/two-events.in

# By suffix, by name, to standard output; several files are merged.
for suffix in folded svg json speedscope.json pb.gz pb txt; do
    status 0 stoke convert "$in" -q -o "out.$suffix"
    [ -s "out.$suffix" ] || fail "out.$suffix is empty"
done
stoke fold -q "$in" >want
same want out.folded
status 0 stoke convert "$in" -q --to folded
same want out
status 0 stoke convert "$in" -q --to folded -o named.txt
same want named.txt
status 0 stoke convert -q "$in" "$in" --to folded
says '^server;main;handle;copy_user 500000$' out
stoke convert -q --to d3 <"$in" >out
same out.json out

# What pprof shows at first remains: here what was allocated, not what is in use.
sed 's/\[dflt\]//; s,alloc_space/bytes,&[dflt],' "$TESTS/import/go/heap.in" >heap.raw
stoke fold -q heap.raw >heap.want
status 0 stoke convert -q heap.raw -o heap.pb
stoke fold -q heap.pb >out
same heap.want out

# Compressed if the name implies it; pprof unless the name excludes it.
is_packed() { [ "$(head -c 2 "$1" | od -An -tx1)" = " 1f 8b" ]; }
is_packed out.pb.gz || fail "out.pb.gz is not packed"
! is_packed out.pb || fail "out.pb is packed"
gzip -dc out.pb.gz | cmp -s - out.pb || fail "out.pb.gz is not out.pb, packed"
stoke convert -q "$in" --to pprof >out.pprof
is_packed out.pprof || fail "pprof on standard output is not packed"
status 0 stoke convert -q "$in" -o plain.pb.gz --no-gzip
same out.pb plain.pb.gz
status 0 stoke convert -q "$in" -o out.folded.gz
gzip -dc out.folded.gz | cmp -s - want || fail "out.folded.gz is not what was folded"
status 0 stoke convert -q "$in" -z -o packed.folded
is_packed packed.folded || fail "-z does not pack"

# Errors in the command line have a message and a hint.
status 2 stoke convert "$in"
says 'no output format'
says '--to NAME, or -o FILE.SUFFIX'
status 2 stoke convert "$in" -o out.xyz
says "no output format for the file name 'out.xyz'"
status 2 stoke convert "$in" -o /dev/null
says "no output format for the file name '/dev/null'"
says '^  try: --to NAME'
status 0 stoke convert "$in" --to svg -o /dev/null
status 2 stoke convert "$in" --to xyz
says "unknown output format 'xyz'"
status 1 stoke convert missing.folded -o out.json
says 'missing.folded: .*No such file'
status 1 stoke convert "$in" -o missing/out.json
status 2 stoke convert "$in" --apart hat --to d3
says 'one of: comm, pid, tid, none'

# A failure does not change an existing file.
echo old >old.json
echo nonsense >bad.folded
status 1 stoke convert --format folded bad.folded -o old.json
says '^old$' old.json

# Round trips: every event, with kernel marks, processes and threads.
round_trip() {
    for file in "$@"; do
        for kind in speedscope.json pb.gz stoke; do
            status 0 stoke convert -q "$file" -o "trip.$kind"
            for event in $events; do
                stoke fold -q --all --tid --event "$event" "$file" >want
                stoke fold -q --all --tid --event "$event" "trip.$kind" >got
                [ -s want ] || fail "$file has no event $event"
                same want got
            done
        done
    done
}
events="cycles page-faults" round_trip "$in"
events="cpu samples" round_trip "$TESTS/import/pprof/cpu.in"
events="space objects" round_trip "$TESTS/import/pprof/heap.in"
events="time bytes" round_trip "$TESTS/import/speedscope/plain.in"
events="time" round_trip "$TESTS/import/trace-event/plain.in" \
    "$TESTS/import/trace-event/node.in" "$TESTS/import/trace-event/samples.in"
events="samples" round_trip "$TESTS/man/one.folded"

# A differential profile stays differential in speedscope and in .stoke.
stoke fold "$TESTS/export/before-after.in" >want
for kind in speedscope.json stoke; do
    status 0 stoke convert "$TESTS/export/before-after.in" -o "diff.$kind"
    stoke fold "diff.$kind" >got
    same want got
done

# A .stoke contains the complete profile: writing it again gives the same file, with times,
# and compression makes no difference to readers.
for file in "$in" "$TESTS"/import/pprof/cpu.in "$TESTS"/import/trace-event/plain.in; do
    status 0 stoke convert -q "$file" -o one.stoke
    is_packed one.stoke || fail "one.stoke is not packed"
    status 0 stoke convert -q one.stoke -o two.stoke
    same one.stoke two.stoke
    status 0 stoke convert -q one.stoke --no-gzip -o plain.stoke
    ! is_packed plain.stoke || fail "plain.stoke is packed"
    gzip -dc one.stoke | cmp -s - plain.stoke || fail "one.stoke is another, packed"
    status 0 stoke convert -q plain.stoke -o two.stoke
    same one.stoke two.stoke
    for command in report flamegraph; do
        status 0 stoke "$command" -q "$file"
        sed 's/[a-z-]*\.in\b/one.stoke/' out >want
        status 0 stoke "$command" -q one.stoke
        same want out
    done
done

# A truncated or changed file is read up to the damage, or rejected.
size=$(wc -c <one.stoke)
for at in 1 9 20 100 $((size / 2)) $((size - 1)); do
    head -c $at one.stoke >cut.stoke
    stoke fold cut.stoke >out 2>err || says '^stoke: [a-z]*: cut.stoke'
    [ -s err ] || fail "nothing is said of a file that is cut at $at"
done

# callgrind: read by callgrind_annotate and by stoke.
status 0 stoke convert -q "$in" -o out.callgrind
for event in cycles page-faults; do
    stoke fold -q --event $event "$in" >want
    awk '{ sum += $NF } END { print sum }' want >expected
    stoke fold -q --event $event out.callgrind | awk '{ sum += $NF } END { print sum }' >got
    same expected got
done
if command -v callgrind_annotate >/dev/null; then
    status 0 callgrind_annotate out.callgrind
    says '^2,000,000 .* 2 .* PROGRAM TOTALS' out
    says '^1,250,000 .*:main \[/usr/sbin/cron\]' out
fi

# Firefox: one thread per thread and event, and the same stacks.
status 0 stoke convert -q "$in" --event cycles -o out.firefox.json
stoke fold -q --event cycles "$in" >want
stoke fold -q out.firefox.json >got
same want got
status 0 stoke convert -q "$in" -o out.firefox.json
python3 - out.firefox.json <<'PY'
import json, sys
p = json.load(open(sys.argv[1]))
tables = p["shared"]
for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "sources"):
    table = tables[name]
    assert all(len(c) == table["length"] for k, c in table.items() if k != "length"), name
assert len(p["threads"]) == 4, len(p["threads"])
for thread in p["threads"]:
    samples = thread["samples"]
    assert len(samples["stack"]) == len(samples["time"]) == samples["length"]
    assert samples["time"] == sorted(samples["time"])
    assert isinstance(thread["pid"], str)
for i, prefix in enumerate(tables["stackTable"]["prefix"]):
    assert prefix is None or prefix < i
assert max(tables["funcTable"]["name"]) < len(tables["stringArray"])
assert max(tables["frameTable"]["category"]) < len(p["meta"]["categories"])
PY

# Threads are separated as requested.
profiles() { grep -c '"type":"sampled"' "$1"; }
status 0 stoke convert -q "$in" --event cycles --to speedscope -o tid.json
[ "$(profiles tid.json)" = 3 ] || fail "threads: $(profiles tid.json)"
status 0 stoke convert -q "$in" --event cycles --apart pid --to speedscope -o pid.json
[ "$(profiles pid.json)" = 2 ] || fail "processes: $(profiles pid.json)"
status 0 stoke convert -q "$in" --event cycles --apart none --to speedscope -o none.json
[ "$(profiles none.json)" = 1 ] || fail "none: $(profiles none.json)"
says '"name":"cycles"' none.json
status 0 stoke convert -q "$in" --title 'a "title"' --to speedscope
says '"name":"a \\"title\\""' out
status 0 stoke convert -q "$in" --tid --to folded
says '^server-4211/4212;' out

# Filters apply to convert, too.
status 0 stoke convert -q "$in" --focus memcpy --event page-faults --to folded
says 'memcpy' out
says_not 'handle$' out

# speedscope gets the samples in time order, independent of their order in the input.
for at in 3 1 2; do
    printf 'a 1/1 [000] %d.0: 1 cycles:\n\tffff at%d (/bin/x)\n\n' $at $at
done >late.txt
status 0 stoke convert late.txt --to speedscope
python3 - out <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
names = [frame["name"] for frame in document["shared"]["frames"]]
assert [names[stack[0]] for stack in document["profiles"][0]["samples"]] == ["at1", "at2", "at3"]
PY

# Parts of the page are in no other output.
for part in --with-source --with-assembly --with-callgraph; do
    status 2 stoke convert $part "$in" -o parts.stoke
    says "$part is for HTML pages, and the output is stoke"
done
