# SPDX-License-Identifier: Apache-2.0
# stoke fleet: known shares of known hosts; wrong questions. tests/store/clickhouse.py asks the same
# of a ClickHouse server.
. "$TESTS/cli/lib.sh"

status 2 stoke fleet
says 'what to ask the store is missing'
status 2 stoke fleet word
says "unknown question 'word'"
status 2 stoke fleet function
says "wrong number of arguments after 'function'"
status 2 stoke fleet top word
status 1 stoke fleet top --store none.db
says 'there is no store\|without SQLite'

stoke store init --store fleet.db >out 2>err || {
    grep -q 'without SQLite' err || fail "$(cat err)"
    echo "skipped: $(head -1 err)"
    exit 77
}
command -v curl >/dev/null || {
    echo "skipped: curl is missing"
    exit 77
}
status 1 stoke fleet top --store fleet.db
says 'no samples'

stoke server --store fleet.db --listen 127.0.0.1:0 2>server.log &
server=$!
trap 'kill $server 2>/dev/null' EXIT
until grep -q 'served on port' server.log; do
    kill -0 $server 2>/dev/null || {
        grep -q 'without libmicrohttpd' server.log && exit 77
        fail "$(cat server.log)"
    }
    sleep 0.05
done
port=$(sed -n 's/.*served on port //p' server.log)

# push NAME HOST VERSION: the stacks are on standard input
push() {
    curl -sf -X POST --data-binary @- \
        "http://127.0.0.1:$port/ingest?name=$1.cpu%7Bhostname=$2,version=$3%7D&sampleRate=100" ||
        fail "push $*"
}

# parse grows from 10% to 30% with version 2; noisy is 20% to 60%, by host.
i=0
while [ $i -lt 12 ]; do
    version=$((1 + i % 2))
    parse=$((100 * version * version - 100 * version + 100))
    noisy=$((200 + i / 2 * 80))
    printf 'main;parse %d\nmain;noisy;main;noisy %d\nmain;rest %d\n' $parse $noisy \
        $((1000 - parse - noisy)) | push shop h$i $version
    i=$((i + 1))
done
printf 'main;spin 900\nmain;parse 100\n' | push api odd 1
kill $server
wait $server || true
trap - EXIT

status 0 stoke fleet top --store fleet.db --at -10m
says '^100.00%  *0.00% .* 2  main' out
says ' 1  noisy  (100% in shop)' out
says ' 2  parse  (9[0-9]% in shop)' out
says '^  total    self      CPUs  in/2 ' out
status 0 stoke fleet top --store fleet.db --at -10m --name 'pa*' --price 3600 --sort self -n 1
[ "$(wc -l <out)" = 2 ] || fail "$(cat out)"
# 6 hosts with 1 s, 6 with 3 s, and 1 s more: 25 s of a CPU, for which an hour costs 3600
says ' 25.00 .* parse ' out

status 0 stoke fleet function noisy --store fleet.db --at -10m --label service=shop
says '^ 60.00%  60.00% .*  h1[01]$' out
says '^ 20.00%  20.00% .*  h[01]$' out
status 0 stoke fleet function parse --store fleet.db --at -10m --label service=shop --by version
says '^ 10.00%  10.00% .*  1$' out
says '^ 30.00%  30.00% .*  2$' out
status 0 stoke fleet function '*' --store fleet.db --at -10m --by minute
says '^100.00% 100.00% ' out

status 0 stoke fleet compare version=1 version=2 --store fleet.db --at -10m --label service=shop
says '^ 10.00%  30.00%  +20.00  .*  more     parse$' out
says '^ 40.00%  40.00%   +0.00  .*  noise    noisy$' out
says 'noise    main$' out
sed -n 2p out | grep -q parse || fail "$(cat out)"
status 0 stoke fleet compare version=2 version=1 --store fleet.db --at -10m --by service
says 'differences are not judged'
says 'too few  parse$' out
says_not ' more \| less ' out

status 0 stoke fleet outliers --store fleet.db --at -10m
sed -n 2p out | grep -q '  outlier  odd  (spin 90.00%, usually 6.92%)$' || fail "$(cat out)"
[ "$(grep -c outlier out)" = 1 ] || fail "$(cat out)"

status 1 stoke fleet top --store fleet.db --at -10m --by nothing
says "no label 'nothing'"
says 'host, service, version'
status 1 stoke fleet function nothing --store fleet.db --at -10m
says "no function has the name 'nothing'"
status 1 stoke fleet compare version=1 version=9 --store fleet.db --at -10m
says 'no sample has the label version=9'
status 1 stoke fleet compare version other=9 --store fleet.db --at -10m
says "invalid label 'version'"
status 1 stoke fleet top --store fleet.db --at -10m --label service=nothing
says 'leave no sample'
