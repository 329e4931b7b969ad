# SPDX-License-Identifier: Apache-2.0
# stoke view: the requests of the page's home. home.py sends them.
. "$TESTS/cli/lib.sh"

in=$TESTS/export/two-events.in
stoke convert -q "$in" -o report.html 2>err || {
    says "was built without its viewer"
    echo "skipped: no viewer"
    exit 77
}
! grep -q '<meta.*connect-src\|id="home"' report.html || fail "a saved page has a home"
stoke record -q -o try.data true 2>err || {
    says 'paranoid\|no perf events'
    echo "skipped: the kernel does not let us record"
    exit 77
}
makes_load
mkdir folder state
cp "$in" folder/two-events.perf
cd folder
export XDG_STATE_HOME="$PWD/../state"
../load & # without end
load=$!
stoke view --no-browser >../address 2>../messages &
server=$!
trap 'kill $server $load 2>/dev/null || :' EXIT
until [ -s ../address ]; do
    kill -0 $server || fail "stoke view ended: $(cat ../messages)"
    sleep 0.05
done
python3 "$TESTS/cli/home.py" "$(cat ../address)" $load || fail "see above"

# Its recording ends with the server.
kill -INT $server
wait $server || fail "stopped, it ended with $?"
! ls -- *.stoke.* 2>/dev/null || fail "a temporary file is left"
says '/folder/two-events.perf$' ../state/stoke/recent
