# SPDX-License-Identifier: Apache-2.0
# stoke server --tenants: a tenant writes only samples with its label, and sees no others.
. "$TESTS/cli/lib.sh"

echo administrator-of-all >token
cat >tenants <<'END'
# a comment, and an empty line

token-of-the-tenant-red team=red
token-of-the-tenant-blue team=blue
END

# refuses TEXT LINE...: the file of these lines is refused with that message
refuses() {
    message=$1
    shift
    printf '%s\n' "$@" >wrong
    status 1 stoke server --store t.db --listen 127.0.0.1:0 --token-file token --tenants wrong
    says "$message"
}
status 2 stoke server --store t.db --tenants tenants
says '--tenants needs --token-file'
refuses 'names no tenant' '# none'
refuses "line 2 of 'wrong' names no tenant" '#' 'short team=red'
refuses 'names no tenant' 'token-of-the-tenant-red'
refuses 'names no tenant' 'token-of-the-tenant-red team'
refuses 'names no tenant' 'token-of-the-tenant-red team=r*'
refuses 'names no tenant' 'token-of-the-tenant-red =red'
refuses 'is taken' 'administrator-of-all team=red'
refuses 'is taken' 'token-of-the-tenant-red team=red' 'token-of-the-tenant-red team=blue'
: >wrong
status 1 stoke server --store t.db --token-file token --tenants wrong
says 'is empty'

command -v curl >/dev/null || {
    echo "skipped: curl is missing"
    exit 77
}
stoke server --store t.db --listen 127.0.0.1:0 --token-file token --tenants tenants 2>server.log &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
until grep -q 'served on port' server.log; do
    kill -0 $server 2>/dev/null || {
        grep -q 'without' server.log && exit 77
        fail "$(cat server.log)"
    }
    sleep 0.05
done
base=http://127.0.0.1:$(sed -n 's/.*served on port //p' server.log)
admin=administrator-of-all red=token-of-the-tenant-red blue=token-of-the-tenant-blue

# ask TOKEN PATH [CURL-OPTION...]: the status; the reply is in ./out
ask() {
    token=$1 path=$2
    shift 2
    curl -s -o out -w '%{http_code}' -H "Authorization: Bearer $token" "$@" "$base$path"
}
# push TOKEN NAME: the stacks are on standard input
push() {
    [ "$(ask "$1" "/ingest?name=$2&sampleRate=100" -X POST --data-binary @-)" = 200 ] ||
        fail "$1 $2: $(cat out)"
}
# get TOKEN PATH
get() {
    [ "$(ask "$@")" = 200 ] || fail "$*: $(cat out)"
}

echo 'main;secret_of_red 10' | push $red 'r.cpu'
echo 'main;secret_of_blue 20' | push $blue 'b.cpu'
# another event, and a label that says that red has written it
echo 'main;heap_of_blue 20' | push $blue 'b.alloc_space%7Bteam=red%7D'
echo 'main;of_admin 40' | push $admin 'a.cpu%7Bhostname=h1%7D'

folded='/api/profile?from=-5m&format=folded'
get $admin "$folded&event=cpu"
for name in secret_of_red secret_of_blue of_admin; do
    says $name out
done
get $red "$folded"
says '^main;secret_of_red 100000000$' out
[ "$(wc -l <out)" = 1 ] || fail "$(cat out)"
get $blue "$folded&event=cpu"
says '^main;secret_of_blue 200000000$' out
[ "$(wc -l <out)" = 1 ] || fail "$(cat out)"
get $blue "$folded&event=alloc_space"
says heap_of_blue out
[ "$(ask $red "$folded&label=team=blue")" != 200 ] || says_not blue out
says_not 'secret_of_blue\|heap_of' out

# No reply of any format has a name of others.
for path in '/api/labels' '/api/profile?from=-5m&format=stoke' '/api/profile?from=-5m&format=speedscope' \
    '/debug/pprof/profile?seconds=300' '/pyroscope/render?query=cpu&from=now-5m&until=now'; do
    get $red "$path"
    { gzip -dc out 2>/dev/null || cat out; } >plain
    says_not 'blue\|of_admin\|h1\|alloc' plain
done
get $red /api/labels
says '^{"team":\["red"\],"service":\["r"\]}$' out
get $admin /api/labels
says '"h1"' out
for method in ProfileTypes LabelNames LabelValues Series SelectMergeStacktraces GetProfileStats; do
    ask $red "/querier.v1.QuerierService/$method" -H 'Content-Type: application/json' \
        -d '{"name":"service","labelSelector":"{}","profileTypeID":"process_cpu:cpu:nanoseconds:cpu:nanoseconds"}' >code
    says_not 'blue\|of_admin\|h1\|alloc' out
done
ask $red /querier.v1.QuerierService/LabelValues -H 'Content-Type: application/json' -d '{"name":"service"}' >code
says '"r"' out

# What shows the machine, or all samples, is refused.
for path in / /metrics /api/metrics /api/status /api/processes /api/live /api/triggers /api/notes; do
    [ "$(ask $red "$path" -m 20)" = 403 ] || fail "$path: $(cat out)"
done
[ "$(ask $red /api/invite -X POST)" = 403 ] || fail "$(cat out)"
get $admin /api/status
[ "$(ask wrong-token-of-nobody /api/labels)" = 401 ] || fail "$(cat out)"
[ "$(curl -s -o out -w '%{http_code}' "$base/?token=$red")" = 401 ] || fail "$(cat out)"
[ "$(curl -s -o out -w '%{http_code}' -H "Cookie: stoke-live-${base##*:}=$red" "$base/api/labels")" = 401 ] ||
    fail "$(cat out)"
[ "$(curl -s -o out -w '%{http_code}' -u "x:$red" "$base/api/labels")" = 200 ] || fail "$(cat out)"
says_not blue out

kill $server
wait $server || true
status 0 stoke report --store t.db --at -5m --event cpu --label team=blue
says secret_of_blue out
says_not 'of_red\|of_admin' out
