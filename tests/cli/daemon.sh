# SPDX-License-Identifier: Apache-2.0
# stoke daemon and --at: history is stored and read; errors say what to try.
. "$TESTS/cli/lib.sh"

status 1 stoke report --at -1m --store none.db
grep -q 'without SQLite' err && {
    echo "skipped: stoke was built without SQLite"
    exit 77
}
says 'there is no store'
says 'stoke daemon --store'
echo text >text.db
status 1 stoke report --at -1m --store text.db
says 'not a database'
status 2 stoke daemon word
says "unexpected argument 'word'"
status 1 stoke report --at -1m out.folded
says "cannot be combined with --at"

stoke daemon --store h.db --window 1 2>daemon.err &
daemon=$!
trap 'kill $daemon 2>/dev/null || :' EXIT
for i in $(seq 300); do
    grep -q 'Hz into' daemon.err && break
    kill -0 $daemon 2>/dev/null || break
    sleep 0.1
done
grep -q 'Hz into' daemon.err || {
    cat daemon.err
    grep -q 'paranoid\|no perf events\|not permitted' daemon.err || fail "the daemon did not start"
    echo "skipped: the kernel does not let us sample"
    exit 77
}

# A second daemon is refused, under each name of the store.
mkdir -p other/folder
ln -s h.db symbolic.db
ln h.db hard.db
ln -s .. other/up
ln h.db other/folder/hard.db
for name in h.db ./other/../h.db "$PWD/h.db" symbolic.db hard.db other/up/h.db other/folder/hard.db; do
    status 1 timeout 60 stoke daemon --store "$name"
    says 'another process writes it'
done
mkdir mounted
if unshare -m mount --bind . mounted 2>/dev/null; then
    touch elsewhere.db
    status 1 unshare -m sh -c 'mount --bind . mounted && cd mounted && timeout 60 stoke daemon --store h.db'
    says 'another process writes it'
    # a bind mount of the file alone has another lock file beside it
    status 1 unshare -m sh -c 'mount --bind h.db elsewhere.db && timeout 60 stoke daemon --store elsewhere.db'
    says 'another process writes it'
fi

# History can be read while it is written.
makes_load -O1
./load &
load=$!
trap 'kill $daemon $load 2>/dev/null || :' EXIT
# Names follow at low priority: after minutes, if the machine is busy.
for i in $(seq 4000); do
    stoke report --at -1h --store h.db --label process=load >out 2>err && grep -q leaf out && break
    sleep 0.1
done
says ' leaf ' out
kill $load
kill -INT $daemon
wait $daemon || fail "the daemon ended with $?: $(cat daemon.err)"

status 0 stoke fold --at -1h --store h.db --label process=load
says '^load;.*leaf' out
status 0 stoke info --store h.db
says '^rows  *[0-9]*, [0-9.]* bytes each$' out
status 0 stoke diff --table --at -1h --at -1h --store h.db
status 1 stoke report --at -1h --at -1h --store h.db
says '\-\-at is given twice'
for part in '--with-code -o h.stoke' '--with-assembly -o h.html'; do
    status 1 stoke convert --at -1h --store h.db $part
    says 'the history of stoke daemon has no code of functions'
done
status 1 stoke report --at 2001-01-01 --store h.db
says 'no samples of 2001-01-01'
status 1 stoke report --at 25:00 --store h.db
says "invalid time '25:00'"
status 1 stoke report --at now..-1m --store h.db
says 'ends before it begins'
