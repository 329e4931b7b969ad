# stoke view: whom the page is served to, and whom not; the page that convert writes.
. "$TESTS/cli/lib.sh"

in=$TESTS/export/two-events.in
if ! stoke convert -q "$in" -o report.html 2>err; then
    says "was built without its viewer"
    status 1 stoke view --no-browser "$in"
    says "was built without its viewer"
    exit 0
fi

# The profile in the page is the profile.
says '<script type="application/octet-stream" id="profile" data-name="two-events.in" data-place="">' report.html
sed -n 's/.*id="profile"[^>]*>\([^<]*\)<.*/\1/p' report.html | base64 -d | gzip -dc >inside.stoke
stoke fold -q inside.stoke >got
stoke fold -q "$in" >want
same want got
cp "$in" '<b>"&.in'
status 0 stoke convert -q '<b>"&.in' -o odd.html
says 'data-name="&#60;b&#62;&#34;&#38;.in"' odd.html

# No file refers to anything outside of itself.
! grep -o '\(src\|href\)="*http[^ ]*' report.html || fail "the page refers to another place"

# ask OPTION...: the status that the server answers, the page in ./page.
ask() {
    python3 - "$port" "$@" <<'END'
import socket, sys
port, request = int(sys.argv[1]), sys.argv[2].encode().decode("unicode_escape").encode()
with socket.create_connection(("127.0.0.1", port), 10) as s:
    s.sendall(request)
    got = b""
    while piece := s.recv(65536):
        got += piece
open("page", "wb").write(got.partition(b"\r\n\r\n")[2])
print(got.split(b"\r\n")[0].decode())
END
}

stoke view --no-browser -q "$in" >address 2>err &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s address ] || sleep 0.2
done
address=$(cat address)
port=$(echo "$address" | sed 's|http://127.0.0.1:\([0-9]*\)/.*|\1|')
path=$(echo "$address" | sed 's|http://[^/]*||')
host=127.0.0.1:$port
[ "${#path}" = 34 ] || fail "no token in '$address'"

got=$(ask "GET $path HTTP/1.1\r\nHost: $host\r\n\r\n")
[ "$got" = "HTTP/1.1 200 OK" ] || fail "the page: $got"
status 0 stoke convert -q --with-callgraph --with-source "$in" -o whole.html
cmp -s page whole.html || fail "the page served is not the page written"
for wrong in "GET / HTTP/1.1\r\nHost: $host|404" \
    "GET ${path%?}x/ HTTP/1.1\r\nHost: $host|404" \
    "GET ${path}etc/passwd HTTP/1.1\r\nHost: $host|404" \
    "GET $path HTTP/1.1\r\nHost: localhost:$port|421" \
    "GET $path HTTP/1.1\r\nHost: evil.example:$port|421" \
    "GET $path HTTP/1.1\r\nHost: $host\r\nHost: $host|421" \
    "GET $path HTTP/1.1|421" \
    "POST $path HTTP/1.1\r\nHost: $host|405" \
    "GET|400"; do
    got=$(ask "${wrong%|*}\r\n\r\n")
    case $got in
    "HTTP/1.1 ${wrong#*|} "*) ;;
    *) fail "'${wrong%|*}' got '$got'" ;;
    esac
    [ "$(wc -c <page)" -lt 100 ] || fail "'${wrong%|*}' got a page"
done

# A client that sends too much, or says nothing, holds nobody up.
python3 - "$port" <<'END' &
import socket, sys, time
idle = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10) for _ in range(40)]
s = idle.pop()
try:
    s.sendall(b"GET " + b"x" * 100000)
except OSError:
    pass
time.sleep(1)
END
sleep 0.3
got=$(ask "GET $path HTTP/1.1\r\nHost: $host\r\n\r\n")
[ "$got" = "HTTP/1.1 200 OK" ] || fail "beside others: $got"

# The port is taken: another one is told of it.
status 1 stoke view --no-browser --port "$port" "$in"
says "cannot serve at port $port"
says "try: --port"

kill -INT $server
wait $server || fail "stopped, it ended with $?"
trap - EXIT
