# SPDX-License-Identifier: Apache-2.0
# stoke record: which files a recording goes to (--max-size, --rotate, --snapshot), and
# the processes of a control group (--cgroup).
. "$TESTS/cli/lib.sh"

stoke record -q -o try.data true 2>err || {
    echo "skipped: the kernel does not let us record"
    exit 77
}
makes_load

./load &
load=$!
trap 'kill $load 2>/dev/null || :' EXIT

# The file contains only the program's functions, and can be read without other files.
whole() {
    status 0 stoke fold -q "$1"
    says '^load;.*main;middle;leaf [0-9.]*$' out
    status 0 stoke info "$1"
    says_not 'unknown *[1-9][0-9]' out # single samples may be of the dynamic linker
}

# The recording ends when the file has its largest size.
status 0 stoke record -F 4999 --no-compress --max-size 64K --duration 60 -p $load -o most.data
whole most.data
[ "$(wc -c <most.data)" -lt 4000000 ] || fail "it is $(wc -c <most.data) bytes long"

# Several files in turn; the last ones remain.
status 0 stoke record -F 499 --rotate 1s --keep 2 --duration 4.5 -p $load -o turn.data
# 5 files, or fewer if the recorder had to wait for a CPU
number=$(sed -n 's/^stoke: [0-9]* samples\? of .* in turn.data.\([0-9]*\)$/\1/p' err)
[ "${number:-0}" -ge 3 ] && [ "$number" -le 5 ] || fail "another number of files: $(cat err)"
before=$((number - 1))
says "^stoke: from turn.data.$before on: stoke reads several files at once\$"
last=$(sed -n 's/^stoke: \([0-9]*\) samples\? of .*/\1/p' err)
all=$(sed -n 's/^stoke: \([0-9]*\) samples in total.*/\1/p' err)
found=$(stoke script -q -G -F time turn.data.$before turn.data.$number | wc -l)
[ "$last" = "$found" ] && [ "$all" -gt "$last" ] ||
    fail "$last samples are reported and $found are in the files, of $all"
# A second, and what the recorder or the program had to wait.
stoke script -q -G -F time turn.data.$before | tr -d ': ' | sort -n >times
awk 'NR == 1 { first = $1 } END { exit !($1 - first > 0.5 && $1 - first < 2.5) }' times ||
    fail "a file of a second has other times: $(sed -n '1p;$p' times)"
[ "$(echo turn.data.*)" = "turn.data.$before turn.data.$number" ] || fail "other files: $(ls turn.data*)"
for file in turn.data.*; do
    whole "$file"
done
status 0 stoke fold -q turn.data.*
says '^load;.*main;middle;leaf [0-9.]*$' out

# Files of an earlier recording are not reported as files of this one.
status 0 stoke record -q -F 499 --rotate 1m --duration 0.3 -p $load -o turn.data
status 0 stoke record -F 499 --rotate 1m --duration 0.3 -p $load -o turn.data
says '^stoke: 1 file of an earlier recording renamed to turn.data.N.old$'
[ "$(echo turn.data.*)" = 'turn.data.1 turn.data.1.old' ] || fail "there are $(echo turn.data*)"

# Recording to memory, written on request and at the end: each file has the samples before it, in
# consecutive parts.
stoke record -F 999 --snapshot --rotate 2s --duration 6 -p $load -o shot.data 2>said &
recorder=$!
for _ in $(seq 1200); do
    grep -q 'kill -USR2' said && break
    sleep 0.1
done
[ ! -e shot.data ] || fail "there is a file before it is asked for"
sleep 3
kill -USR2 "$(sed -n 's/.*kill -USR2 \([0-9]*\).*/\1/p' said)"
wait $recorder
cp said err
says 'the latest samples are in shot.data.1$'
span() {
    stoke script -q -G -F time "$1" | tr -d ': ' |
        awk 'NR == 1 {first = $1} {if ($1 - last > 1.5 && NR > 1) gap = 1; last = $1}
            END {printf "%d %s\n", (last - first) * 10, gap ? "gap" : ""}'
}
says '^stoke: and 1 snapshot before it, shot.data.1 to .1; they overlap$'
says_not 'stoke takes several'
[ "$(sed -n 's/^stoke: \([0-9]*\) samples\? of .*/\1/p' err)" = \
    "$(stoke script -q -G -F time shot.data | wc -l)" ] || fail "another count than the file's"
for file in shot.data shot.data.1; do
    whole $file
    set -- $(span $file)
    [ $# = 1 ] && [ "$1" -ge 5 ] && [ "$1" -le 55 ] ||
        fail "$file has $* tenths of a second, of about 20"
done
if command -v perf >/dev/null; then
    stoke script -q -G -F time shot.data | tr -d ' ' | sort >ours
    perf script -G -F time -i shot.data 2>err | tr -d ' ' | sort >theirs
    [ -s theirs ] && same ours theirs
fi

refused() {
    expected=$1 said=$2
    shift 2
    status "$expected" stoke record "$@"
    says "$said"
    says '^  try: '
}
refused 2 "invalid size '10x'" --max-size 10x true
refused 2 "invalid time 'soon'" --rotate soon true
refused 2 'need a recording as output' --rotate 1m -o out.svg true
refused 2 '--keep needs --rotate' --keep 3 true
refused 2 "no such control group: 'no/such'" --cgroup no/such
refused 2 'cannot be combined with single' --cgroup x -p $load

# A control group: those in it, and nobody else.
group=/sys/fs/cgroup/stoke-test-$$
[ -d /sys/fs/cgroup/unified ] && group=/sys/fs/cgroup/unified/stoke-test-$$
if mkdir "$group" 2>/dev/null; then
    trap 'kill $load $member 2>/dev/null || :; wait; rmdir "$group" || :' EXIT
    cp load member
    ./member &
    member=$!
    if echo $member >"$group/cgroup.procs" 2>/dev/null &&
        stoke record -q -F 499 --cgroup "${group##*/}" --duration 1 -o group.data 2>err; then
        status 0 stoke fold -q group.data
        says '^member;.*main;middle;leaf [0-9.]*$' out
        says_not '^load;' out
        status 0 stoke record -q -F 499 --cgroup "$group" --duration 0.3 -o folder.data
    fi
fi
