# SPDX-License-Identifier: Apache-2.0
# Hostile JSON and protobuf: nesting, lengths, numbers, references. No crash, no hang, memory
# in proportion to the input; errors are reported.
. "$TESTS/cli/lib.sh"

# Recursion over the input would overflow a small stack.
ulimit -s 256

schema='"$schema":"https://www.speedscope.app/file-format-schema.json"'
repeat() { head -c "$2" /dev/zero | tr '\0' "$1"; }

# A million brackets: as the complete file, as a value to read and as a value to skip.
{ printf '{%s,"profiles":' "$schema"; repeat '[' 1000000; } >deep.json
status 1 stoke fold deep.json
says 'nested too deeply'
{ printf '{%s,"x":' "$schema"; repeat '[' 1000000; } >deep.json
status 1 stoke fold deep.json
says 'nested too deeply'
{ printf '[{"ph":"X","ts":1,"dur":2,"name":"a"},{"ph":"X","args":'; repeat '{' 1; repeat '[' 1000000; } >deep.json
status 1 stoke fold --format trace-event deep.json
says '^a 2000$' out
says 'damaged; the rest is skipped'
repeat '[' 1000000 >deep.json
status 1 stoke fold --format trace-event deep.json
says 'nested too deeply'

# A name of 10 MB, a number of a million digits, a number of a million letters.
{ printf '[{"ph":"X","ts":1,"dur":2,"name":"'; repeat x 10000000; printf '"}]'; } >long.json
status 0 stoke fold --format trace-event long.json
[ "$(wc -c <out)" = 10000006 ] || fail "the name is $(wc -c <out) bytes long"
{ printf '[{"ph":"X","ts":1,"dur":2,"name":"a"},{"ph":"X","ts":'; repeat 9 1000000; printf '}]'; } >long.json
status 1 stoke fold --format trace-event long.json
says 'damaged'

# Invalid numbers.
for number in 1e999 -1e999 1e-999 99999999999999999999 -5 0.0000001 18446744073709551616 NaN \
    Infinity -Infinity 9007199254740993 4611686018427387904; do
    printf '{%s,"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","name":"p","unit":"seconds","startValue":%s,"endValue":%s,"samples":[[0],[%s]],"weights":[%s,1]},{"type":"evented","name":"q","unit":"none","events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":%s}]},{"type":"sampled","name":"r","unit":"seconds","samples":[[0]],"weights":[1]}]}' \
        "$schema" $number $number $number $number $number >number.json
    status 0 stoke fold number.json
    says '^r;a 1000000000$' out
    for to in speedscope d3 pprof; do
        status 0 stoke convert -q number.json --to $to -o number.$to
    done
    printf '[{"ph":"X","ts":%s,"dur":%s,"name":"a","pid":%s,"tid":%s},{"ph":"X","ts":1,"dur":2,"name":"b"}]' \
        $number $number $number $number >number.json
    status 0 stoke fold --format trace-event number.json
    says '^b 2000$\|;b 2000$' out
    status 0 stoke convert -q --format trace-event number.json --to speedscope
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' out
done

# A chain of a hundred thousand stack frames, and a cycle.
python3 - >chain.json <<'PY'
import json
n = 100000
frames = {str(i): {"name": "f%d" % i, "parent": str(i - 1)} for i in range(1, n)}
frames["0"] = {"name": "root"}
frames["a"] = {"name": "a", "parent": "b"}
frames["b"] = {"name": "b", "parent": "a"}
samples = [{"pid": 1, "tid": 1, "ts": i, "sf": sf, "name": ""}
           for i, sf in enumerate(["%d" % (n - 1), "a", "b", "50", "none", "a"])]
print(json.dumps({"traceEvents": [], "samples": samples, "stackFrames": frames}))
PY
status 0 stoke fold chain.json
[ "$(tr ';' '\n' <out | grep -c '^f')" -ge 99999 ] || fail "the chain is short"
says 'a stack frame that calls itself'

# A hundred thousand nested spans, and as many with mismatched names.
python3 - >spans.json <<'PY'
n = 100000
span = '{"ph":"X","ts":0,"dur":9,"name":"x","pid":1,"tid":1},\n'
begin = '{"ph":"B","ts":0,"name":"b%d","pid":1,"tid":2},\n'
end = '{"ph":"E","ts":9,"name":"b3","pid":1,"tid":2},\n'
print("[" + span * n + "".join(begin % (i % 7) for i in range(n)) + end * n)
PY
status 0 stoke fold --format trace-event spans.json
says 'an event that ends before the events inside it (and '
says 'an end without its begin (and '
[ "$(tr ';' '\n' <out | wc -l)" = 200000 ] || fail "$(tr ';' '\n' <out | wc -l) frames"
for to in d3 speedscope pprof; do
    status 0 stoke convert -q --format trace-event spans.json --to $to
done

# Invalid names: JSON and protobuf output stays valid.
python3 - >names.folded <<'PY'
import sys
out = sys.stdout.buffer
for name in [b"__proto__", b"constructor", b"</script><script>", b"]]>", b'"\\', b"\xff\xfe\xc0\x80",
             b"\xed\xa0\x80", b"\x00\x01\x1b[2J\x7f", b"\xc2\x85\xe2\x80\xa8", b"y" * 65536,
             b"\xf0\x9f\x98\x80", b"-", b"--", b"_[k]", b"a b_[i]", b"{\"a\":1}"]:
    out.write(b"main;" + name + b" 3\n")
PY
for to in d3 speedscope; do
    status 0 stoke convert -q --format folded names.folded --to $to
    python3 -c '
import json, sys
text = open(sys.argv[1], "rb").read()
document = json.loads(text.decode("utf-8"))
assert not any(c < 32 and c != 10 or c == 127 for c in text)
assert b"__proto__" in text and ("y" * 65536) in text.decode()
' out
done
stoke convert -q --format folded names.folded -o names.pb.gz
stoke convert -q --format folded names.folded -o names.speedscope.json
stoke fold -q names.pb.gz >from_pprof
stoke fold -q names.speedscope.json >from_speedscope
[ "$(wc -l <from_pprof)" -ge 15 ] || fail "$(wc -l <from_pprof) names are left"
[ "$(wc -l <from_speedscope)" -ge 15 ] || fail "$(wc -l <from_speedscope) names are left"

# protobuf: lengths beyond the end, a field with the length 2^63, and a file that contains
# only references to one location with many lines.
printf '\n\004\010\001\020\002\022\377\377\377\377\377\377\377\377\177' >length.pb
status 1 stoke fold --format pprof length.pb
says 'byte 6: .*truncated or damaged'
python3 - >lines.pb <<'PY'
import sys
def varint(v):
    out = b""
    while v >= 128:
        out += bytes([v & 127 | 128]); v >>= 7
    return out + bytes([v])
def field(n, content): return varint(n << 3 | 2) + varint(len(content)) + content
line = field(4, b"\x08\x01")
sys.stdout.buffer.write(
    field(1, b"\x08\x01\x10\x02") + field(6, b"") + field(6, b"cpu") + field(6, b"count") +
    field(5, b"\x08\x01\x10\x01") + field(4, b"\x08\x01" + line * 100000) +
    field(2, field(1, b"\x01" * 1000) + field(2, b"\x01")) * 50)
PY
status 0 stoke fold lines.pb
says 'more inlined functions at an address'

# The list of possible formats has whole names only, and says where the others are.
printf 'no profile\nat all\n' >text
status 1 stoke fold text
says 'possible formats: .*stoke help formats'
sed -n 's/.*possible formats: \(.*\), \.\.\. .*/\1/p' err | tr -d ' ' | tr , '\n' >names
[ -s names ] || fail "no names: $(cat err)"
stoke help formats | sed -n 's/^  \([^ ]*\) .*/\1/p' >formats
[ -z "$(grep -vxFf formats names)" ] || fail "unknown: $(grep -vxFf formats names)"
