# SPDX-License-Identifier: Apache-2.0
# Archives of Instruments: a directory, or a zip of it, from a file or a pipe.
. "$TESTS/cli/lib.sh"

fixture=$TESTS/import/instruments-trace/one-run
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall()' "$fixture.in"
for input in demo.trace demo.trace/ "$fixture.in"; do
    status 0 stoke fold "$input"
    same "$fixture.want" out
done
status 0 stoke fold - <"$fixture.in"
same "$fixture.want" out

# Weights, threads and processes, times, CPUs, modules and lines.
status 0 stoke fold --event time demo.trace
says '^main;work(int);work(int);deep 3000000$' out
status 0 stoke info demo.trace
says 'instruments-trace' out
says '7 .* samples' out
says '8\.000 ms  *time' out
says 'pid 501  tid 7001' out
says 'pid 502  tid 8001' out
says 'build ID 000102030405060708090a0b0c0d0e0f' out
status 0 stoke convert --to speedscope -o out.json demo.trace
grep -q '"name":"work(int)","file":"/src/demo.c","line":30' out.json || fail "no line: $(head -c 600 out.json)"

# A directory without tables, a directory without a file, and other archives.
status 1 stoke fold demo.trace/form.template
says 'this is a single file of an Instruments archive'
says 'try: give the folder that contains it'
rm -r demo.trace/corespace
status 1 stoke fold demo.trace
says 'this Instruments archive has no readable time profile (its version: 2.1)'
says 'try: .*xcrun xctrace export'
rm demo.trace/form.template
status 1 stoke fold demo.trace
says 'Is a directory'

# Circular links and links to missing files.
mkdir -p round.trace/corespace/run1/core/stores
cp "$TESTS/fuzz/corpus/names.plist" round.trace/form.template
ln -s .. round.trace/corespace/run1/core/stores/again
mkfifo round.trace/corespace/run1/core/stores/schema.xml
status 1 stoke fold round.trace
says 'no readable time profile'
