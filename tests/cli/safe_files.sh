# SPDX-License-Identifier: Apache-2.0
# Overwritten files keep mode and owner; files that a profile names are opened and embedded
# only if this is permitted.
. "$TESTS/cli/lib.sh"

printf 'main;leaf 3\n' >in.folded

# Mode and owner are preserved; links are followed; devices and pipes are not replaced.
printf 'old\n' >private.svg
chmod 600 private.svg
status 0 stoke flamegraph in.folded -o private.svg
[ "$(stat -c %a private.svg)" = 600 ] || fail "the mode became $(stat -c %a private.svg)"
says '<svg' private.svg
printf 'old\n' >shared.svg
chmod 664 shared.svg
ln -s shared.svg link.svg
status 0 stoke flamegraph in.folded -o link.svg
[ -L link.svg ] || fail "the link is gone"
[ "$(stat -c %a shared.svg)" = 664 ] || fail "the mode became $(stat -c %a shared.svg)"
says '<svg' shared.svg
if [ "$(id -u)" = 0 ]; then
    chown 1234:2345 shared.svg
    status 0 stoke flamegraph in.folded -o shared.svg
    [ "$(stat -c %u:%g:%a shared.svg)" = 1234:2345:664 ] || fail "another's file was taken over"
fi

# Files without write permission are not changed: as another user, if this user is root.
as_other() {
    "$@"
}
other_stoke=stoke
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    room=$(mktemp -d)
    trap 'rm -rf "$room"' EXIT
    cp "$(command -v stoke)" "$room/stoke"
    chmod 755 "$room" "$room/stoke"
    mkdir "$room/here"
    chmod 777 "$room/here"
    cp in.folded "$room/here"
    chmod 644 "$room/here/in.folded"
    as_other() {
        (cd "$room/here" && HOME=$room setpriv --reuid 65534 --regid 65534 --clear-groups "$@")
    }
    other_stoke=$room/stoke
    # Files of others in a shared directory: their mode decides, and their owner is preserved.
    printf 'old\n' >"$room/here/root.svg"
    chmod 644 "$room/here/root.svg"
    status 1 as_other "$other_stoke" flamegraph in.folded -o root.svg
    says 'root.svg: .*ermission'
    [ "$(cat "$room/here/root.svg")" = old ] || fail "a file of root's was written over"
    chmod 666 "$room/here/root.svg"
    status 0 as_other "$other_stoke" flamegraph in.folded -o root.svg
    says '<svg' "$room/here/root.svg"
    [ "$(stat -c %u:%a "$room/here/root.svg")" = 0:666 ] || fail "root's file was taken over"
    ln -s /etc/passwd "$room/here/link.svg"
    status 1 as_other "$other_stoke" flamegraph in.folded -o link.svg
    says_not '<svg' /etc/passwd
    [ "$(find "$room/here" -type f | wc -l)" = 2 ] || fail "left: $(ls -a "$room/here")"
fi
if [ "$other_stoke" != stoke ] || [ "$(id -u)" != 0 ]; then
    as_other sh -c 'printf "old\n" >own.svg; chmod 400 own.svg'
    status 1 as_other "$other_stoke" flamegraph in.folded -o own.svg
    says 'own.svg: .*ermission'
    [ "$(as_other cat own.svg)" = old ] || fail "a file that is write-protected was written over"
    [ "$(as_other stat -c %a own.svg)" = 400 ] || fail "its mode changed"
fi
stoke fold in.folded -o /dev/stdout | cat >got
same in.folded got
mkfifo pipe
cat pipe >got &
status 0 stoke fold in.folded -o pipe
wait $!
same in.folded got
[ -p pipe ] || fail "the pipe is gone"

# A full disk and the limit of file sizes are errors with a message.
if [ -c /dev/full ]; then
    for words in 'fold in.folded' 'report in.folded' 'info in.folded' --help --version 'help formats' 'fold --help'; do
        # shellcheck disable=SC2086
        status 1 sh -c 'stoke "$@" >/dev/full' stoke $words
        says 'standard output: cannot write: No space left'
    done
fi
status 1 sh -c 'ulimit -f 1; stoke flamegraph in.folded -o limited.svg'
says 'limited.svg: cannot write: File too large'
[ ! -e limited.svg ] || fail "a part of a picture was left"
[ -z "$(find . -name '*.tmp')" ] || fail "something was left: $(find . -name '*.tmp')"

# A page has only source files that the user or a line table names; links are not followed.
mkdir tree
printf 'int secret;\n' >secret.c
printf 'int good;\n' >tree/good.c
ln -s ../secret.c tree/stolen.c
ln -s good.c tree/alias.c
if ! printf 'a 1\n' | stoke convert -q - -o page.html 2>err; then
    says "was built without its viewer"
    exit 0
fi
here=$PWD
cat >p.json <<END
{"\$schema": "https://www.speedscope.app/file-format-schema.json",
 "shared": {"frames": [{"name": "a", "file": "$here/secret.c"}, {"name": "b", "file": "$here/tree/good.c"},
  {"name": "c", "file": "$here/tree/stolen.c"}, {"name": "d", "file": "/build/tree/../../secret.c"},
  {"name": "e", "file": "/dev/zero.c"}, {"name": "f", "file": "/build/x/alias.c"}]},
 "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1,
  "samples": [[0, 1, 2, 3, 4, 5]], "weights": [1]}]}
END
status 0 stoke convert p.json --with-source -o page.html
says_not 'the page has the source'
status 0 stoke convert p.json --with-source --source-dir tree -o page.html
says 'the page has the source file .*/tree/good.c'
says 'the page has the source file /build/x/alias.c'
says_not 'secret.c\|stolen.c\|zero.c'
status 1 stoke convert p.json --with-source --source-dir nowhere -o page.html
status 1 stoke convert p.json --with-assembly -o page.html
says 'the input is not a recording and has no code'
status 1 stoke convert - --with-assembly -o page.html <p.json
says 'a file instead of the standard input'
