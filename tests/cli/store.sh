# SPDX-License-Identifier: Apache-2.0
# stoke store: creates, checks and measures a store in a file; refuses addresses that are none.
# tests/store/clickhouse.py has the servers.
. "$TESTS/cli/lib.sh"

status 2 stoke store
says 'what to do with the store is missing'
status 2 stoke store word
says "unexpected argument 'word'"
status 2 stoke store init twice
says "unexpected argument 'twice'"

got=0
stoke store init --store h.db >out 2>err || got=$?
if [ $got != 0 ]; then
    grep -q 'without SQLite' err || fail "$(cat err)"
    echo "skipped: $(head -1 err)"
    exit 77
fi
status 0 stoke store check --store h.db
status 0 stoke store usage --store h.db
status 1 stoke store check --store other.db
says 'there is no store'

for address in 'h:1' 'u@h:1/' 'u@h:1/a-b' "u@h:1/a'b" 'u@h:0/a' 'u@h:99999/a' 'u@/a' 'u@h:x/a' \
    'u@h:1/a?tls=1' 'u@h:1/a?spool-size=0' 'u@h:1/a?what=1' 'u@h h:1/a'; do
    status 1 stoke store check --store "clickhouse://$address"
    grep -q 'invalid address' err ||
        fail "$address: $(cat err)"
done
status 1 stoke store check --store clickhouse://user:secret@127.0.0.1:1/a
says 'a password in the address can be seen'
! grep -q secret err || fail "the password is shown"
status 1 stoke store check --store 'clickhouse://u@127.0.0.1:1/a?password-file=none'
says 'cannot read the file of the password'
status 1 stoke live --store clickhouse://u@127.0.0.1:1/a
says 'needs a store in a file'
