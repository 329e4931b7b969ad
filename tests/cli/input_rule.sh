# SPDX-License-Identifier: Apache-2.0
# Without a file name, all commands read standard input if it is a pipe or a file, otherwise
# ./perf.data: on a terminal, with /dev/null, as under cron, or closed. A socket is a pipe.
. "$TESTS/cli/lib.sh"

python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
from perf.make_perf_data import Attr, Recording
for name in "by_default", "from_input":
    rec = Recording([Attr(0, 0, name="cycles")])
    rec.comm(100, 100, name, 1)
    rec.mmap2(100, 0x1000, 0x1000, 0, "/bin/" + name, time=1)
    rec.sample(5, 0x1100, [0x1100])
    open(name + ".data", "wb").write(rec.file({}))
PY
mv by_default.data perf.data
mkdir empty

# reads NAME WORDS...: the last run succeeded and read that recording.
reads() {
    [ "$got" = 0 ] || fail "'stoke $command' with $how ended with $got: $(cat err out)"
    expected=$1
    grep -aq "$expected" out || fail "'stoke $command' with $how has not read $expected: $(cat err out)"
}

# fails_well: without an input, the command reports an error and a hint.
fails_well() {
    [ "$got" = 1 ] || fail "'stoke $command' with $how in an empty folder: status $got"
    says 'no input: no file is named and ./perf.data does not exist' "$1"
    says '^  try: ' "$1"
}

for command in 'fold' 'flamegraph' 'convert --to speedscope' 'info' 'report' 'script' \
    'report --stdio' 'convert --to folded'; do
    # shellcheck disable=SC2086
    try() {
        got=0
        (cd "${folder:-.}" && exec stoke $command "$@") >out 2>err || got=$?
    }
    try_socket() {
        # shellcheck disable=SC2086
        got=0 && python3 - $command >out 2>err <<'PY' || got=$?
import socket, subprocess, sys
ours, theirs = socket.socketpair()
child = subprocess.Popen(["stoke", *sys.argv[1:]], stdin=theirs)
theirs.close()
ours.sendall(open("from_input.data", "rb").read())
ours.close()
sys.exit(child.wait())
PY
    }
    how='/dev/null' && try </dev/null && reads by_default
    how='a device' && try </dev/zero && reads by_default
    how='none' && try <&- && reads by_default
    how='a file' && try <from_input.data && reads from_input
    how='a pipe' && { cat from_input.data | { try && reads from_input; }; }
    how='a pipe and -' && { cat from_input.data | { try - && reads from_input; }; }
    how='a file and -' && try - <from_input.data && reads from_input
    how='a named file and a pipe' && { cat from_input.data | { try perf.data && reads by_default; }; }
    how='a socket' && try_socket && reads from_input
    how='/dev/null' && folder=empty && try </dev/null && fails_well err
    how='none' && try <&- && fails_well err
    folder=
    how='/dev/null and -' && try - </dev/null
    [ "$got" = 1 ] || fail "'stoke $command -' with an empty input ended with $got"
    says 'is empty'
    how='none and -' && try - <&-
    [ "$got" = 1 ] || fail "'stoke $command -' without an input ended with $got"
    says 'standard input'
done

# annotate: the first argument is the function.
status 1 stoke annotate no_such </dev/null
says 'no_such'
says_not 'no input'
(cd empty && status 1 stoke annotate no_such </dev/null && says 'no input: no file is named and ./perf.data does not exist')

# view shows the input, or an empty page without an input.
for folder in . empty; do
    rm -f address # of the one before
    : >address
    (cd $folder && exec timeout -s INT 60 stoke view --no-browser) </dev/null >>address 2>viewer-err &
    view=$!
    tries=0
    while ! grep -q '^http' address && kill -0 $view 2>/dev/null && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    grep -q 'without its viewer' viewer-err || says '^http' address
    kill $view 2>/dev/null || :
    wait $view || :
done

# A trace has no default name.
status 2 stoke trace </dev/null
says 'no trace is given'
status 2 stoke trace <&-
says 'no trace is given'

needs_terminal
for command in 'fold' 'convert --to folded' 'report' 'script' 'info'; do
    how='a terminal'
    got=0
    # shellcheck disable=SC2086
    on_terminal 200 40 stoke $command >out 2>err || got=$?
    reads by_default
    # shellcheck disable=SC2086
    (cd empty && on_terminal 200 40 stoke $command >../out 2>../err) && got=0 || got=$?
    fails_well out
done
