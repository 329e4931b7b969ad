# SPDX-License-Identifier: Apache-2.0
# stoke record: names of code that is gone when the recording is read.
. "$TESTS/cli/lib.sh"

[ "$(uname -m)" = x86_64 ] && command -v cc >/dev/null || {
    echo "skipped: no compiler, or not x86-64, whose code the test runs"
    exit 77
}
stoke record -q -o try.data true 2>err || {
    echo "skipped: the kernel does not let us record"
    exit 77
}
cc -O2 "$TESTS/truth/jit.c" -o jit
left=
trap 'rm -f $left' EXIT

# A JIT that takes its map away when it ends.
for out in gone.data gone.folded gone.stoke; do
    status 0 stoke record -q -F 999 -o $out ./jit 400 gone
    [ ! -e "/tmp/perf-$(cat out).map" ] || fail "the map is still there"
    status 0 stoke fold -q $out
    says '^jit;compiled_at_run_time' out
done

# The summary reports modules with and without names.
status 0 stoke record -F 999 -o named.data ./jit 200 gone
says "% of stacks end in JIT code: the recording contains its names, from "
says_not 'unknown code'
status 0 stoke record -F 999 -o unnamed.data ./jit 200 none
says '% of stacks end in unknown code .*: JIT code without /tmp/perf-PID.map'
says_not 'names that it gave'
status 0 stoke record -F 999 -o both.data sh -c './jit 200 gone; ./jit 200 none'
says 'end in JIT code'
says 'end in unknown code'

# The recording has it wherever it is read, by a pipe too.
stoke fold -q --symfs "$PWD" - <gone.data >out
says '^jit;compiled_at_run_time' out

# A process that runs already, and ends before the recording does.
./jit 1000 gone >pid &
sleep 0.1
status 0 stoke record -q -F 999 -p $! --duration 3 -o other.data
wait
status 0 stoke fold -q other.data
says '^jit;compiled_at_run_time' out

# What led up to the end.
./jit 1500 gone >pid &
sleep 0.1
status 0 stoke record -q -F 999 --snapshot -p $! --duration 1 -o led.data
wait
status 0 stoke fold -q led.data
says '^jit;compiled_at_run_time' out

# The map of a program that sudo's caller ran belongs to the caller.
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || exit 0
chmod 777 .
status 0 env SUDO_UID=65534 SUDO_GID=65534 stoke record -q -F 999 -o sudo.folded ./jit 30
left="/tmp/perf-$(cat out).map"
says '^jit;compiled_at_run_time' sudo.folded

# A map that somebody else laid there for it to be read is not.
status 0 env SUDO_UID=65534 SUDO_GID=65534 stoke record -q -F 999 -o sudo.data sh -c \
    './jit 300 gone >number; echo 0 ffffffffffffff forged >/tmp/perf-$(cat number).map'
left="$left /tmp/perf-$(cat number).map"
chown 1234 "/tmp/perf-$(cat number).map"
status 0 stoke fold -q sudo.data
says_not forged out
