# SPDX-License-Identifier: Apache-2.0
# stoke record: start and end. An existing file remains until a recording has begun;
# recorded data survives every interruption; signals, and which processes they stop.
. "$TESTS/cli/lib.sh"

command -v python3 >/dev/null || {
    echo "skipped: no python3"
    exit 77
}
stoke record -q -o try.data true 2>err || {
    echo "skipped: the kernel does not let us record"
    exit 77
}
makes_load
pids=
trap 'kill -9 $pids 2>/dev/null || :' EXIT

# begin WORDS...: starts a recorder in the background, as from a terminal: no signal is ignored,
# even if the caller of the test ignores it.
begin() {
    python3 -c 'import os, signal, sys
for number in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM:
    signal.signal(number, signal.SIG_DFL)
os.execvp("stoke", ["stoke", "record"] + sys.argv[1:])' "$@" 2>err &
    recorder=$!
    pids="$pids $recorder"
}
# ended N: the recorder ends with that status.
ended() {
    got=0
    wait $recorder || got=$?
    [ $got = "$1" ] || {
        cat err >&2
        fail "the recorder ended with $got, not $1"
    }
}

# --- What was there ----------------------------------------------------------------------

# A program that cannot be run takes no recording away, however often.
echo first >perf.data.old
status 3 stoke record -q ./load 100
cp perf.data before
echo older >perf.data.old
echo '#!/no/such/program' >script
chmod +x script
for name in ./laod ./script; do
    status 1 stoke record -q "$name"
    status 1 stoke record -q --rotate 1s "$name"
    same before perf.data
    [ "$(cat perf.data.old)" = older ] || fail "the one before it is gone"
done
[ "$(echo perf.data*)" = 'perf.data perf.data.old' ] || fail "left: $(echo perf.data*)"
status 3 stoke record -q ./load 100
same before perf.data.old

# A misspelled value is not used as the command, even if a command follows it.
for words in '-g dward' '-z 20' '-z fast' '--call-graph dwarf:8'; do
    status 2 stoke record -q $words ./load 10
    says 'and no program has that name$'
done
cp load dward
PATH=.:$PATH status 3 stoke record -q -g dward 10
status 1 stoke record -q -g ./no ./such
says "cannot run './no'"

# --- Where it goes -----------------------------------------------------------------------

# Links are followed; a path that is not a file is refused before the command runs.
mkdir folder
ln -s folder/real.data link.data
status 3 stoke record -q -o link.data ./load 100
status 3 stoke record -q -o link.data ./load 100
[ -L link.data ] && [ -s folder/real.data ] && [ -s folder/real.data.old ] ||
    fail "the link leads to $(ls folder)"
for command in "record -q -F 999 -o linked.svg ./load 100" "flamegraph link.data -o linked.svg"; do
    rm -f folder/real.svg
    ln -sf folder/real.svg linked.svg
    got=0
    stoke $command 2>err || got=$?
    [ $got = 3 ] || [ $got = 0 ] || fail "$command ended with $got"
    [ -L linked.svg ] || fail "$command replaced the link"
    says '<title>leaf ' folder/real.svg
done
stoke flamegraph link.data -o /dev/stdout >out.svg
says '<title>leaf ' out.svg
[ -L /dev/stdout ] || fail "/dev/stdout is no link any more"
mkfifo pipe.data
mkdir folder.svg
for to in 'folder:it is a folder' 'pipe.data:it is a pipe' '/dev/null:it is a device' \
    'no/x.data:No such file' 'folder.svg:Is a directory' 'no/x.svg:No such file'; do
    status 1 stoke record -q -o "${to%%:*}" sh -c 'echo ran >ran'
    says "${to#*:}"
    [ ! -e ran ] || fail "it was run, for ${to%%:*}"
done
status 1 stoke record -q --snapshot -o no/x.data sh -c 'echo ran >ran'
says 'No such file'
[ ! -e ran ] || fail "it was run, for a snapshot that cannot be written"

# The format of the name is drawn, or a message says why it is not.
status 3 stoke record -q -F 999 -o out.folded.gz ./load 200
gzip -dc out.folded.gz | grep -q ';leaf [0-9]' || fail "out.folded.gz is not what it says"
status 3 stoke record -F 999 -o OUT.SVG ./load 200
says '^stoke: OUT.SVG is drawn, [0-9.]* kB$'
says '<title>leaf ' OUT.SVG
for name in x.pdf x.png x.data.zst x.folded.zst; do
    status 2 stoke record -q -o $name true
    says "$name: stoke cannot write "
    [ ! -e $name ] || fail "$name was written"
done
status 2 stoke record -q --bundle -o x.svg true
says 'bundle writes a .stoke'

# Without samples nothing is drawn, and an existing file remains.
echo before >none.svg
status 1 stoke record -q -e task-clock -c 1000000000000 -o none.svg sleep 0
says 'nothing to draw: there are no samples, and the existing file is unchanged'
[ "$(cat none.svg)" = before ] || fail "none.svg is gone"

# A bundle behaves like a recording.
status 3 stoke record -q -F 999 --bundle ./load 100
cp perf.stoke before
status 3 stoke record -q -F 999 --bundle ./load 100
same before perf.stoke.old
[ "$(stat -c %a perf.stoke)" = 600 ] || fail "others may read a bundle"

# A recorder that is killed in its first milliseconds leaves only a recording.
for ms in 1 2 3 4 5 6 8 10 12 15 20 25; do
    timeout -s KILL 0.0$((ms / 10))$((ms % 10)) stoke record -q -o killed.data ./load 20 || :
done 2>err
[ -z "$(ls | grep 'killed.*tmp')" ] || fail "left: $(ls)"

# --- What is drawn at the end ------------------------------------------------------------

# A recording that could not be drawn remains: a pipe that nobody reads, and a signal.
mkfifo pipe.svg
for number in INT TERM; do
    rm -f pipe.svg.data
    begin -F 999 -o pipe.svg ./load 300
    waits_for "the summary is missing" grep -q 'samples\? of' err
    waits_for "no process draws" pgrep -P $recorder -x stoke
    kill -$number $recorder
    ended 1
    says 'drawing was ended by a signal.*; the recording is in pipe.svg.data$'
    says '^  try: stoke convert pipe.svg.data --to svg -o pipe.svg$'
    stoke fold -q pipe.svg.data >folded
    says ';leaf [0-9]*$' folded
done
status 3 stoke record -q -F 999 -o drawn.svg ./load 200
[ ! -e drawn.svg.data ] || fail "a recording is left"
if unshare -m true 2>/dev/null; then
    mkdir disk
    unshare -m sh -euc 'mount -t tmpfs -o size=32k none disk
        got=0
        stoke record -F 499 -o disk/x.svg ./load 500 2>err || got=$?
        echo "status $got" >>err
        cp disk/x.svg.data x.data
        rm disk/*
        mount -t tmpfs -o size=40k none disk
        got=0
        stoke record -F 4999 --no-compress -o disk/y.data sh -c "./load 1500; echo on >on" \
            2>said || got=$?
        echo "status $got" >>said' || :
    says 'could not be drawn; the recording is in disk/x.svg.data$'
    says '^status 1$'
    status 0 stoke info x.data
    # The program continues when the recording cannot, and every loss is reported.
    says "ends early: cannot write disk/y.data: No space left on device; 'sh' continues" said
    says 'samples could not be written$' said
    says 'error: cannot write disk/y.data: No space left on device' said
    says '^status 1$' said
    [ "$(cat on)" = on ] || fail "the program was ended"
fi

# --- Signals -----------------------------------------------------------------------------

for number in INT TERM HUP QUIT USR1 ALRM XCPU; do
    rm -f s.data
    begin -F 499 -o s.data -p $$
    waits_for "it does not begin" test -s s.data
    kill -$number $recorder
    ended 0
    says 'samples\? of .* in s.data$'
    status 0 stoke info s.data
done
# From the start on: a signal before the first record is not lost.
python3 - $$ <<'END' 2>err || fail "$(cat err)"
import os, signal, subprocess, sys, tap
words = ["stoke", "record", "-q", "--snapshot", "-o", "early.data", "--duration", "0.5",
         "-p", sys.argv[1]]
recorder = subprocess.Popen(words, preexec_fn=lambda: signal.alarm(120))
tap.waits_for_signals(recorder, signal.SIGUSR2)
recorder.send_signal(signal.SIGUSR2)
if recorder.wait() != 0 or not os.path.exists("early.data.1"):
    sys.exit(f"status {recorder.returncode}, {os.listdir('.')}")
END
# Signals that were ignored at the start stay ignored, except SIGINT from kill(1).
python3 -c 'import os, signal
for number in signal.SIGHUP, signal.SIGTERM, signal.SIGINT:
    signal.signal(number, signal.SIG_IGN)
os.execvp("stoke", "stoke record --snapshot -o h.data -p".split() + ["'$$'"])' 2>err &
recorder=$!
pids="$pids $recorder"
waits_for "it does not begin" grep -q USR2 err
kill -HUP $recorder
kill -TERM $recorder
sleep 0.5
kill -USR2 $recorder || fail "it has ended by a signal that was ignored"
waits_for "it takes no snapshot" test -s h.data.1
kill -INT $recorder
ended 0
# The reader of standard error has gone: the recorder continues.
stoke record --snapshot --duration 2 -o p.data -p $$ 2>&1 | sed -n 1q &
pids="$pids $!"
waits_for "it ends without its reader" test -s p.data

# --- The program's end -------------------------------------------------------------------

# If the recorder ends the command, the exit status shows it.
status 143 stoke record --duration 0.3 -o e.data sleep 10
says "'sleep' still ran, and was stopped$"
status 143 stoke record -q --max-size 1K -o e.data sleep 10
status 5 stoke record -q --duration 3 -o e.data sh -c 'trap "exit 5" TERM; while :; do sleep 0.1; done'
# One that is stopped ends, too.
status 143 stoke record -q --duration 0.3 -o e.data sh -c 'kill -STOP $$'
# A program that ignores the signal: a message says so, and a second Ctrl-C kills it.
begin -o e.data sh -c 'trap "" TERM INT; echo $$ >child; while :; do sleep 0.1; done'
waits_for "it does not begin" test -s child
kill -INT $recorder
waits_for "it waits without a word" grep -q "waiting for 'sh' (process $(cat child))" err
kill -INT $recorder
ended 137
says 'samples\? of .* in e.data$'
! kill -0 "$(cat child)" 2>/dev/null || fail "the program still runs"
