# SPDX-License-Identifier: Apache-2.0
# stoke record with few rights, and with those of sudo.
. "$TESTS/cli/lib.sh"

[ "$(id -u)" = 0 ] || {
    echo "skipped: this takes root"
    exit 77
}
command -v setpriv >/dev/null || {
    echo "skipped: no setpriv"
    exit 77
}
nobody=65534

# A folder that every user may enter.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cp "$(readlink -f "$(command -v stoke)")" "$folder/stoke"
makes_load
mv load "$folder/load"
work=$PWD
mkdir -m 777 "$folder/work"
cd "$folder/work"
as_nobody() {
    setpriv --reuid=$nobody --regid=$nobody --clear-groups \
        env HOME=/nonexistent PATH="$folder:$PATH" "$@"
}

# With the setting of the system, and with the highest value.
paranoid=/proc/sys/kernel/perf_event_paranoid
was=$(cat $paranoid)
load=
trap 'kill $load 2>/dev/null || :; echo "$was" >$paranoid 2>/dev/null || :; rm -rf "$folder"' EXIT
for level in 2 4; do
    echo $level >$paranoid 2>/dev/null || continue
    status 1 as_nobody stoke record -a --duration 0.1
    says "record the whole machine: /proc/sys/kernel/perf_event_paranoid is $level"
    says '^  try: sudo stoke record'
    got=0
    as_nobody stoke record -o own.data load 200 2>err || got=$?
    if [ $got = 3 ]; then # some kernels let nobody record anything at 3 and more
        says "kernel code is not sampled"
        says ' samples\? of c[a-z-]*:u in '
        says_not 'kptr_restrict'
        [ "$(stat -c %u own.data)" = $nobody ] || fail "the recording is not nobody's"
        as_nobody stoke fold -q own.data >folded
        says '^load;.*main;middle;leaf [0-9]*$' folded
        says_not 'do_syscall\|entry_SYSCALL' folded
    else
        says "record anything: /proc/sys/kernel/perf_event_paranoid is $level"
    fi
done
echo "$was" >$paranoid 2>/dev/null || :

# Others' processes.
"$folder/load" &
load=$!
status 1 as_nobody stoke record -p $load --duration 0.1
says 'does not let you record'
says 'CAP_PERFMON'
says "perf_event_paranoid is $was"
says '^  try: sudo stoke record'
if [ "$was" = 2 ]; then
    for event in cpu-clock:k cpu-clock:uk; do
        status 1 as_nobody stoke record -e $event -o no.data load 1
        says "record kernel code ($event): /proc/sys/kernel/perf_event_paranoid is 2"
        says '^  try: .*sysctl kernel.perf_event_paranoid=1'
    done
    status 2 as_nobody stoke record -e sched:sched_switch -o no.data load 1
    says "cannot read the kernel's tracepoints"
fi
kill $load
wait

# Little memory may be locked: the rings are smaller.
status 3 as_nobody stoke record -q -m 64M -F 4999 -o own.data load 100
status 0 as_nobody stoke info own.data

# Through sudo: the program is its caller's, and so is the recording.
export SUDO_UID=$nobody SUDO_GID=$nobody
status 0 stoke record -q -o sudo.data sh -c 'id -u; id -g; id -G; echo "$HOME"'
printf '%s\n' $nobody $nobody >want
head -n 2 out >got
same want got
[ "$(stat -c %u sudo.data)" = $nobody ] || fail "the recording is not its caller's"
status 143 stoke record -q --duration 0.3 -o sudo.data sh -c 'sleep 100'
for name in sudo.svg sudo.stoke; do
    status 3 stoke record -q -F 999 -o $name "$folder/load" 100
    [ "$(stat -c %u $name)" = $nobody ] || fail "$name is not its caller's"
done
[ "$(stat -c %a sudo.stoke)" = 600 ] || fail "others may read a bundle"
unset SUDO_UID SUDO_GID

# The rights are dropped after the counters are open; the recorded program retains its own.
status 0 stoke record -q -a -o all.data sh -c 'grep -h CapEff /proc/self/status
    tries=0
    while [ $((0x$(sed -n "s/^CapEff:[^0-9a-f]*//p" /proc/$PPID/status) & 1 << 1)) != 0 ] &&
        [ $tries -lt 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    grep -h CapEff /proc/$PPID/status; grep -h NoNewPrivs /proc/$PPID/status'
full=$(sed -n '1s/.*\t//p' out) left=$(sed -n '2s/.*\t//p' out)
[ "$left" != "$full" ] || fail "no right was given up: $left"
[ $((0x$left & ~(1 << 2 | 1 << 14 | 1 << 19 | 1 << 34 | 1 << 38))) = 0 ] ||
    fail "rights are left: $left"
[ "$full" = "$(sed -n 's/^CapEff:\t//p' /proc/self/status)" ] ||
    fail "the program lost rights: $full"
cd "$work"
