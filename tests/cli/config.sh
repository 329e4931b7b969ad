# SPDX-License-Identifier: Apache-2.0
# stoke daemon --config: options from a file; errors say its line. The unit of systemd is hardened.
. "$TESTS/cli/lib.sh"

wrong() {
    printf '# a comment\n\n  window = 1\n%s\nrate = 9\n' "$1" >wrong.conf
    status 2 stoke daemon --config wrong.conf
    says "wrong.conf:4: .*$2"
}
wrong 'rate = many' "invalid value 'many' for --rate"
wrong 'rats = 9' "unknown option 'rats'"
wrong 'own-token = maybe' "invalid value 'maybe' for own-token"
wrong 'rate' 'rate needs a value'
wrong '= 9' 'a line without the name of an option'
wrong 'trigger-cpu = 101%' "invalid part '101%'"
wrong 'trigger-process = =5%' "invalid threshold '=5%'"
wrong 'trigger-process = nginx=5x' "invalid threshold 'nginx=5x'"
printf 'rate = 9\000\n' >zero.conf
status 2 stoke daemon --config zero.conf
says 'zero.conf. is not a text file'
status 2 stoke daemon --config none.conf
says 'none.conf: No such file'
: >empty.conf
status 2 stoke daemon --config empty.conf word
says "unexpected argument 'word'"

# Its values are those of the command line, which has priority.
printf 'key = k.pem\r\ncert=c.pem\nstore = a/h.db\ntrigger-process = nginx=150%%\n' >good.conf
status 1 stoke daemon --config good.conf
says "'c.pem' cannot be read"
status 1 stoke daemon --cert other.pem --config good.conf
says "'other.pem' cannot be read"

unit=$TESTS/../tools/systemd/stoke.service.in
sed 's|@bindir@|/usr/bin|; s|@sysconfdir@|/etc|' "$unit" >stoke.service
command -v systemd-analyze >/dev/null || exit 0
systemd-analyze security --help 2>&1 | grep -q -e --offline || exit 0
systemd-analyze security --offline=true --threshold=20 "$PWD/stoke.service" >out 2>&1 ||
    fail "the unit is not hardened: $(tail -1 out)"
