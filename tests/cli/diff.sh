# SPDX-License-Identifier: Apache-2.0
# stoke diff: two profiles, output formats, and --fail-above.
. "$TESTS/cli/lib.sh"

cat >before.folded <<'END'
main;read 40
main;parse;alloc 10
main;parse 20
main;f_0x7f00 30
END
cat >after.folded <<'END'
main;read 40
main;parse;alloc 60
main;parse 20
main;f_0x8a10 30
main;new 50
END

# Like difffolded.pl.
status 0 stoke diff before.folded after.folded
cat >want <<'END'
main;f_0x7f00 30 0
main;f_0x8a10 0 30
main;new 0 50
main;parse 20 20
main;parse;alloc 10 60
main;read 40 40
END
same want out
status 0 stoke diff -s -n before.folded after.folded
cat >want <<'END'
main;f_0x... 60 30
main;new 0 50
main;parse 40 20
main;parse;alloc 20 60
main;read 80 40
END
same want out

# The output can be read again.
status 0 stoke diff before.folded after.folded -o both.folded
status 0 stoke fold both.folded
status 0 stoke report both.folded
says 'delta   change  before %' out
status 0 stoke fold --event after both.folded
says '^main;parse;alloc 60$' out

# Output formats by option and by suffix.
status 0 stoke diff --table before.folded after.folded
says '^  +50  +25.00%     0.00%   25.00%       0     50  new$' out
mv out table.txt
status 0 stoke diff -o by-suffix.txt before.folded after.folded
same table.txt by-suffix.txt
status 0 stoke diff --tree before.folded after.folded
says '+25.00%    0.00%   25.00%  ├─ new' out
status 0 stoke diff --json before.folded after.folded
says '"differential":true' out
status 0 stoke diff --svg before.folded after.folded
says '<svg' out
status 0 stoke diff -o d.svg before.folded after.folded
says '<svg' d.svg
status 2 stoke diff -o d.unknown before.folded after.folded
says "no output format for the file name 'd.unknown'"
status 2 stoke diff --svg --folded before.folded after.folded

# Filters apply to both sides; one side can be empty, not both.
status 0 stoke diff --focus new before.folded after.folded
printf 'main;new 0 50\n' >want
same want out
status 1 stoke diff --focus nothing before.folded after.folded
says 'match no sample in either file'

# Two recordings: the same names, different process IDs.
sed 's/4211/5/g; s/4212/6/g' "$TESTS/export/two-events.in" >later.perf
status 0 stoke diff "$TESTS/export/two-events.in" later.perf
says '^server;main;handle;copy_user 250000 250000$' out
says 'comparing cycles of 2 events'
status 0 stoke diff -q --pid "$TESTS/export/two-events.in" later.perf
says '^server-4211;main;handle;copy_user 250000 0$' out

# A recording with threads is compared with folded lines with thread frames.
status 0 stoke fold --event cycles "$TESTS/export/two-events.in" -o earlier.folded
status 0 stoke diff -q earlier.folded "$TESTS/export/two-events.in"
awk '$(NF) != $(NF-1) { exit 1 }' out || fail "the same is not the same: $(cat out)"

# --fail-above: 0 if no function grew by more, 1 if one did, with its name.
status 0 stoke diff --fail-above 25 before.folded after.folded
says_not 'grew'
says 'before %' out
status 1 stoke diff --fail-above 20 before.folded after.folded
says '^stoke: 1 function grew by more than 20 percentage points of total:'
says '+25.00    0.00% ->  25.00%  new$'
status 1 stoke diff --fail-above 9.9% before.folded after.folded
says '^stoke: 4 functions grew'
says '+20.00   10.00% ->  30.00%  alloc$'
says '+10.00   30.00% ->  40.00%  parse$'
status 1 stoke diff --fail-above 9.9 --fail-on self before.folded after.folded
says 'percentage points of self'
says_not 'parse$'
status 0 stoke diff --fail-above 26 --folded before.folded after.folded
says '^main;new 0 50$' out

# A page has both profiles, whole: it compares them itself. Its code contains 'id="sources"', too; only
# packed data begins with H4s.
if "$STOKE" convert --to html -o - before.folded >/dev/null 2>&1; then
    status 0 stoke diff -o x.html before.folded after.folded
    grep -o 'id="profile[a-z-]*" data-name="[a-z.]*"' x.html >names
    says '^id="profile" data-name="after.folded"$' names
    says '^id="profile-before" data-name="before.folded"$' names
    says_not 'id="sources">H4s' x.html
    echo 'int a;' >a.c
    cat >p.json <<'END'
{"$schema": "https://www.speedscope.app/file-format-schema.json",
 "shared": {"frames": [{"name": "a", "file": "/build/a.c"}]},
 "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1,
  "samples": [[0]], "weights": [1]}]}
END
    status 0 stoke diff --with-source --source-dir . -o x.html before.folded p.json
    says 'the page has the source file /build/a.c'
    says 'id="sources">H4s' x.html
    status 0 stoke diff -q --with-source --source-dir . -o x.html p.json after.folded
    says 'id="sources">H4s' x.html
fi
status 2 stoke diff --with-source -o x.svg before.folded after.folded
says 'with-source is for HTML pages, and the output is svg'
status 2 stoke diff --normalize -o x.html before.folded after.folded
says 'do not apply to a page'
status 2 stoke diff --tid -o x.html before.folded after.folded

# Failures differ from growth.
status 3 stoke diff --fail-above 20 before.folded missing.folded
says 'missing.folded: cannot open'
status 1 stoke diff before.folded missing.folded
: >empty
status 3 stoke diff --fail-above 20 empty after.folded
says 'empty: the input is empty'
status 3 stoke diff --fail-above 20 -o missing/out.txt before.folded after.folded
status 2 stoke diff --fail-above x before.folded after.folded
says "invalid number of percentage points 'x'"
status 2 stoke diff --fail-above -1 before.folded after.folded
status 2 stoke diff before.folded
says 'diff needs two files'
status 2 stoke diff - -
says 'only one of the two'
stoke diff - after.folded <before.folded >out
says '^main;new 0 50$' out

# Without names, the last recording and the one before, as perf diff.
mkdir last && cp before.folded last/perf.data.old
(cd last && status 2 stoke diff && says 'diff needs two files')
cp after.folded last/perf.data
stoke diff before.folded after.folded >want
(cd last && status 0 stoke diff && says 'comparing perf.data.old with perf.data' && same ../want out)

# Options of perf diff.
status 2 stoke diff -c ratio before.folded after.folded
says '--csv and --json'
