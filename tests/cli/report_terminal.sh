# SPDX-License-Identifier: Apache-2.0
# stoke report on a terminal: as many rows as fit, no line wider than the terminal, colour
# unless NO_COLOR is set, and no control characters in names.
. "$TESTS/cli/lib.sh"

needs_terminal

python3 - >in.folded <<'END'
for i in range(100):
    print("main;%s::a_function_of_number_%d %d" % ("namespace" * 10, i, 100 + i))
print("main;evil\x1b[2J\x1b]0:title\x07 1000")
END

status 0 on_terminal 80 40 stoke report in.folded
[ "$(wc -l <out)" -le 40 ] || fail "$(wc -l <out) lines on 40 rows"
[ "$(wc -l <out)" -gt 30 ] || fail "only $(wc -l <out) lines on 40 rows"
python3 - <<'END'
import re
text = open("out", encoding="utf-8").read()
assert "\x1b[31m" in text, "no colour"
plain = re.sub("\x1b\\[[0-9;]*m", "", text)
assert "\x1b" not in plain and "\x07" not in plain, plain
assert "evil\\x1b[2J\\x1b]0:title\\x07" in plain, plain
wide = [line for line in plain.split("\n") if len(line) > 80]
assert not wide, wide
assert "…" in plain
END

NO_COLOR=1 status 0 on_terminal 80 40 stoke report in.folded
says_not "$(printf '\033')" out
TERM=dumb status 0 on_terminal 80 40 stoke report in.folded
says_not "$(printf '\033')" out
TERM=dumb status 1 on_terminal 80 40 stoke report no-such-file
says_not "$(printf '\033')" out

# All rows if requested, or if the output is not a terminal.
status 0 on_terminal 80 40 stoke report --limit 60 in.folded
[ "$(grep -c '::a_f\|…' out)" -ge 59 ] || fail "not 60 rows"
status 0 stoke report in.folded
[ "$(grep -c a_function_of out)" = 100 ] || fail "not all rows"
says_not "$(printf '\033')" out

# Without a file name: ./perf.data, which does not exist yet.
status 1 on_terminal 80 40 stoke report
says 'no input: no file is named and ./perf.data does not exist' out
cp in.folded perf.data
status 0 on_terminal 80 40 stoke report --no-children
[ "$(wc -l <out)" -le 40 ] || fail "$(wc -l <out) lines on 40 rows"
[ "$(wc -l <out)" -gt 30 ] || fail "only $(wc -l <out) lines on 40 rows"
cp out rows
status 0 on_terminal 80 40 stoke report -g caller,0
[ "$(grep -c -e '%.*--' out)" = 101 ] || fail "not all calls"
python3 - <<'END'
import re
for name in "rows", "out":
    text = open(name, encoding="utf-8").read()
    assert "\x1b[31m" in text, "no colour"
    plain = re.sub("\x1b\\[[0-9;]*m", "", text)
    assert "\x1b" not in plain and "\x07" not in plain, plain
    wide = [line for line in plain.split("\n") if len(line) > 80]
    assert not wide, wide
END

# stoke diff shows a table on a terminal, and folded lines otherwise.
printf 'a;b 1\n' >before.folded
printf 'a;c 1\n' >after.folded
status 0 on_terminal 80 40 stoke diff before.folded after.folded
says 'before %' out
status 0 stoke diff before.folded after.folded
printf 'a;b 1 0\na;c 0 1\n' >want
same want out
