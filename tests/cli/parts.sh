# SPDX-License-Identifier: Apache-2.0
# Several threads read parts of a large file: the result is the same as with one thread.
. "$TESTS/cli/lib.sh"

# Ten megabytes of distinct lines, with and without a second count.
lines() {
    awk -v second="$1" 'BEGIN {
        for (i = 0; i < 260000; i++)
            printf "main;work_%d;leaf_%d;%d%s %d\n", i % 7, i % 1000, i, second, i % 10
    }'
}

check() {
    stoke fold -q -j1 "$1" >one
    stoke fold -q -j2 "$1" >two
    stoke fold -q -j7 "$1" >seven
    same one two
    same one seven
    [ -s one ] || fail "$1 gave nothing"
}

lines "" >plain.folded
check plain.folded

# A byte-order mark is not part of the first name.
{ printf '\357\273\277'; cat plain.folded; } >marked.folded
check marked.folded
same one seven
stoke fold -q -j1 plain.folded >plain
same plain one

# The complete file decides whether lines have two counts, not each part.
{ echo "main;odd 1"; lines " 3"; } >mostly-two.folded
check mostly-two.folded
lines " 3" >two.folded
check two.folded
grep -q ' 3 [0-9]*$' one || fail "the differential is lost"

# A line longer than a part.
{ cat plain.folded; head -c 3000000 /dev/zero | tr '\0' 'x'; echo " 5"; } >long.folded
check long.folded

# Standard input can have been read partially.
{ read -r _; stoke fold -q -j2 -; } <plain.folded >rest
tail -n +2 plain.folded | stoke fold -q -j1 - >expected
same expected rest

# A message has the line number in the file, not in the part.
{ cat plain.folded; echo "no count here"; } >warned.folded
stoke fold -j2 warned.folded >/dev/null 2>err
says 'warned.folded:260001:'
