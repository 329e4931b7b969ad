# SPDX-License-Identifier: Apache-2.0
# --source-map: JavaScript functions have their original names.
. "$TESTS/cli/lib.sh"

in=$TESTS/import/cpuprofile/source-map.in
map=$TESTS/import/cpuprofile/app.min.js.map

status 0 stoke fold "$in"
says '^a;b;(anonymous app.min.js' out
status 0 stoke fold --source-map "$map" "$in"
says '^render;drawRow;(anonymous table.ts:120) ' out
says '^render;c 40000$' out
[ ! -s err ] || fail "it says something: $(cat err)"

# Compressed, several, and one for another file.
gzip -c "$map" >packed.map
status 0 stoke fold --source-map packed.map "$in"
says '^render;drawRow;' out
sed 's/app.min/other/' "$map" >other.js.map
status 0 stoke fold --source-map other.js.map --source-map "$map" "$in"
says '^render;drawRow;' out
status 0 stoke fold --source-map "$map" "$TESTS/man/one.folded"
says 'no function is in the file that .* belongs to'
status 0 stoke convert -q --source-map "$map" "$in" -o mapped.stoke
status 0 stoke fold mapped.stoke
says '^render;drawRow;' out

# A file that is not a source map.
status 1 stoke fold --source-map "$in" "$in"
says 'source-map.in: not a source map'
status 1 stoke fold --source-map missing.map "$in"
says 'missing.map: .*No such file'
