# SPDX-License-Identifier: Apache-2.0
# stoke live: starts a daemon once, prints addresses that work once, and ends the daemon. live.py
# sends the requests.
. "$TESTS/cli/lib.sh"

unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
mkdir -p folder
status 0 stoke live --stop --store folder/h.db
says 'no daemon with a page writes'
status 2 stoke live word
says "unexpected argument 'word'"

command -v python3 >/dev/null || {
    echo "python3 is missing"
    exit 77
}
trap 'stoke live --stop --store folder/h.db 2>/dev/null || :' EXIT
got=0
stoke live --store folder/h.db >first 2>err || got=$?
if [ $got != 0 ]; then
    says 'the daemon has ended with status 1'
    grep -q 'without SQLite\|without libmicrohttpd\|paranoid\|no perf events\|not permitted' err || fail "$(cat err)"
    echo "skipped: $(head -1 err)"
    exit 77
fi
says 'daemon: sampling at 19 Hz into'
says "the daemon is started: process [0-9]*, store .*'stoke live --stop --store folder/h.db' ends it"
says 'from another machine: ssh -L [0-9]*:127.0.0.1:[0-9]* '
says 'the address works once'
[ "$(stat -c %a folder/h.db.live folder/h.db.log | sort -u)" = 600 ] || fail "others can read $(ls -l folder)"

# The second one finds it; its address is another one.
status 0 stoke live --no-browser --store "$PWD/folder/../folder/h.db"
says 'a daemon runs: process'
! cmp -s first out || fail "the address is the same"
process=$(sed -n '1s/[^0-9]*//p' folder/h.db.lock)
python3 "$TESTS/cli/live.py" "$(cat first)" "$(cat out)" folder/h.db.live "$process" || fail "live.py"

# A browser gets an address of its own, without the token.
mkdir bin
printf '#!/bin/sh\necho "$1" >%s/opened.new\nmv %s/opened.new %s/opened\n' "$PWD" "$PWD" "$PWD" >bin/xdg-open
chmod +x bin/xdg-open
status 0 env PATH="$PWD/bin:$PATH" DISPLAY=:0 stoke live --store folder/h.db
waits_for "no browser was started" [ -s opened ]
! cmp -s out opened || fail "the browser has the printed address"
! grep -q "$(sed -n 2p folder/h.db.live)" opened || fail "the browser's address has the token"
rm opened
status 0 env PATH="$PWD/bin:$PATH" DISPLAY=:0 SSH_CONNECTION='1 2 3 4' stoke live --store folder/h.db
says 'from another machine'
[ ! -e opened ] || fail "a browser was opened over SSH"

# A store that another daemon writes, which serves no page.
stoke daemon --store other.db 2>daemon.err &
daemon=$!
trap 'kill $daemon 2>/dev/null || :; stoke live --stop --store folder/h.db 2>/dev/null || :' EXIT
until grep -q 'Hz into' daemon.err; do
    kill -0 $daemon || fail "$(cat daemon.err)"
    sleep 0.05
done
status 1 stoke live --store other.db
says 'another process writes it'
says 'start it with --listen'
kill $daemon
wait $daemon

# It ends, and nothing is left but the store and its messages; a killed one is replaced.
status 0 stoke live --stop --store folder/h.db
says 'has ended'
[ ! -e folder/h.db.live ] || fail "the address is left"
status 0 stoke live --store folder/h.db
kill -KILL "$(sed -n '1s/[^0-9]*//p' folder/h.db.lock)"
starts_another() {
    status 0 stoke live --no-browser --store folder/h.db
    grep -q 'the daemon is started' err
}
waits_for "the killed daemon answers" starts_another

# A daemon that is ending holds its store, and its server has closed: the next one is started.
status 0 stoke live --stop --store folder/h.db
python3 "$TESTS/cli/closing.py" folder/h.db >closing &
closing=$!
waits_for "closing.py is not ready" [ -s closing ]
status 0 stoke live --no-browser --store folder/h.db
says "a daemon runs: process $closing,"
says "process $closing, has ended"
says 'the daemon is started'

# Two at the same time start one.
status 0 stoke live --stop --store folder/h.db
stoke live --store folder/h.db >one 2>one.err &
one=$!
status 0 stoke live --store folder/h.db
wait $one || fail "$(cat one.err)"
[ "$(cat one.err err | grep -c 'is started')" = 1 ] || fail "two daemons: $(cat one.err err)"
status 0 stoke live --stop --store folder/h.db
