# SPDX-License-Identifier: Apache-2.0
# stoke view: which clients the server accepts and refuses; the page that convert writes.
. "$TESTS/cli/lib.sh"

in=$TESTS/export/two-events.in
export XDG_STATE_HOME="$PWD/state"
if ! stoke convert -q "$in" -o report.html 2>err; then
    says "was built without its viewer"
    status 1 stoke view --no-browser "$in"
    says "was built without its viewer"
    exit 0
fi

# The page contains the profile.
says '<script type="application/octet-stream" id="profile" data-name="two-events.in" data-state="">' report.html
sed -n 's/.*id="profile"[^>]*>\([^<]*\)<.*/\1/p' report.html | base64 -d | gzip -dc >inside.stoke
stoke fold -q inside.stoke >got
stoke fold -q "$in" >want
same want got
cp "$in" '<b>"&.in'
status 0 stoke convert -q '<b>"&.in' -o odd.html
says 'data-name="&#60;b&#62;&#34;&#38;.in"' odd.html

# No file refers to other files.
! grep -o '\(src\|href\)="*http[^ ]*' report.html || fail "the page refers to another file"

command -v python3 >/dev/null || {
    echo "python3 is missing"
    exit 77
}

# begin_view NAME OPTION...: serves until it is killed; ./NAME.out has the address, ./NAME.err
# the messages. Sets $server.
begin_view() {
    served=$1
    shift
    stoke view "$@" >"$served.out" 2>"$served.err" &
    server=$!
    trap 'kill $server 2>/dev/null || true' EXIT
    until [ -s "$served.out" ]; do
        kill -0 $server || fail "stoke view ended: $(cat "$served.err")"
        sleep 0.05
    done
}

end_view() {
    kill -INT $server
    wait $server || fail "stopped, it ended with $?"
    trap - EXIT
}

# gets STATUS ADDRESS WHAT
gets() {
    got=$(python3 "$TESTS/cli/viewer_fetch.py" "$2")
    [ "$got" = "$1" ] || fail "$3: $got, not $1"
}

# Replies to each client; no client delays others.
status 0 stoke convert -q --with-callgraph --with-source "$in" -o whole.html
begin_view first --no-browser "$in"
python3 "$TESTS/cli/viewer.py" "$(cat first.out)" whole.html || fail "see above"
says 'the address works once' first.err

# The terminal shows an address for the next browser, which also works once.
again=$(sed -n 's/.*for another browser: //p' first.err)
says '^stoke: .*for another browser: http://127.0.0.1:[0-9]*/[0-9a-f]*/$' first.err
[ "$again" != "$(cat first.out)" ] || fail "the same address again"
[ "$(echo "$again" | wc -l)" = 1 ] || fail "more than one: $again"
gets 303 "$again" "the second address"
gets 410 "$again" "the second address, again"
end_view

# The arguments of the browser have a separate address, which also works once.
mkdir bin
cat >bin/xdg-open <<'END'
#!/bin/sh
echo "$@" >opened.part
mv opened.part opened
END
chmod +x bin/xdg-open
(
    PATH=$PWD/bin:$PATH DISPLAY=:99
    export PATH DISPLAY
    begin_view second "$in"
    until [ -s opened ]; do
        kill -0 $server || fail "stoke view ended: $(cat second.err)"
        sleep 0.05
    done
    [ "$(cat opened)" != "$(cat second.out)" ] || fail "the browser gets the address that is printed"
    gets 303 "$(cat opened)" "the browser's address"
    gets 410 "$(cat opened)" "the browser's address, again"
    gets 303 "$(cat second.out)" "the printed address, beside the browser's"
    end_view
)

begin_view third --no-browser -q "$in"
gets 303 "$(cat third.out)" "the address"
[ ! -s third.err ] || fail "it says something: $(cat third.err)"

# The port is in use: the message says how to use another.
port=$(sed 's|http://127.0.0.1:\([0-9]*\)/.*|\1|' third.out)
status 1 stoke view --no-browser --port "$port" "$in"
says "cannot listen on port $port"
says "--port"
end_view
