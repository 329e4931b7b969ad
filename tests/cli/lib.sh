# SPDX-License-Identifier: Apache-2.0
# Functions for the tests of the command line: . "$TESTS/cli/lib.sh"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# status N COMMAND...: runs COMMAND with output to ./out and messages to ./err; fails if the
# exit status is not N.
status() {
    expected=$1
    shift
    got=0
    "$@" >out 2>err || got=$?
    [ "$got" = "$expected" ] || {
        cat err >&2
        fail "'$*' ended with $got, not $expected"
    }
}

# says PATTERN [FILE]: checks that a line of FILE (default: ./err) matches.
says() {
    grep -q -e "$1" "${2-err}" || {
        cat "${2-err}" >&2
        fail "no '$1' in ${2-err}"
    }
}

# says_not PATTERN [FILE]
says_not() {
    ! grep -q -e "$1" "${2-err}" || {
        cat "${2-err}" >&2
        fail "'$1' is in ${2-err}"
    }
}

# same EXPECTED GOT: two files are equal.
same() {
    cmp -s "$1" "$2" || {
        diff -u "$1" "$2" | head -30 >&2
        fail "$1 and $2 differ"
    }
}

# makes_load [FLAGS...]: builds ./load with known shares (load.c); skips the test without a
# compiler.
makes_load() {
    command -v cc >/dev/null || {
        echo "skipped: no compiler"
        exit 77
    }
    cc -O0 -g "$@" "$TESTS/cli/load.c" -o load
}

# needs_terminal: skips the test without pseudo-terminals.
needs_terminal() {
    command -v python3 >/dev/null || {
        echo "python3 is missing"
        exit 77
    }
    python3 -c 'import pty; pty.openpty()' 2>/dev/null || {
        echo "there are no pseudo-terminals here"
        exit 77
    }
    unset NO_COLOR COLUMNS LINES
    export TERM=xterm
}

# on_terminal COLUMNS ROWS COMMAND...: runs COMMAND on a pseudo-terminal of that size.
on_terminal() {
    python3 "$TESTS/cli/terminal.py" "$@"
}

# waits_for WHAT COMMAND...: until it is true, at most for minutes: the machine may be busy.
waits_for() {
    what=$1
    shift
    for _ in $(seq 1200); do
        ! "$@" || return 0
        sleep 0.1
    done
    [ ! -e err ] || cat err >&2
    fail "$what"
}

# used PID: the clock ticks (of 10 ms) of CPU time that the process has used.
used() {
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

# runs_for PID TICKS: waits until the process has used TICKS more ticks of CPU time.
runs_for() {
    runs_until=$(($(used "$1") + $2))
    for _ in $(seq 2400); do
        [ "$(used "$1")" -lt "$runs_until" ] || return 0
        sleep 0.05
    done
    fail "process $1 does not run: $(cat "/proc/$1/stat")"
}

# attached PID: waits until the recorder has opened its events.
attached() {
    for _ in $(seq 2400); do
        ! ls -l "/proc/$1/fd" 2>/dev/null | grep -q perf_event || return 0
        kill -0 "$1" 2>/dev/null || break
        sleep 0.05
    done
    cat err >&2
    fail "process $1 opens no events"
}

# until_waiting PID: waits until the process waits for events.
until_waiting() {
    for _ in $(seq 2400); do
        ! grep -q poll "/proc/$1/wchan" || return 0
        kill -0 "$1" 2>/dev/null || break
        sleep 0.05
    done
    fail "process $1 does not wait for events: $(cat err)"
}

# If another recorder asks the kernel for build IDs, Debian's perf crashes when it ends or
# reads a recording (see tap.py); it is run again a little later.
perf() {
    for perf_left in $(seq 29 -1 0); do
        perf_status=0
        command perf "$@" || perf_status=$?
        [ "$perf_status" -ge 134 ] || ! perf_is_marked "$@" || perf_status=134
        [ "$perf_left" -gt 0 ] && [ "$perf_status" -ge 134 ] || return "$perf_status"
        sleep 1
    done
}

# perf_is_marked record ... -o FILE ...: succeeds if perf cannot read its recording.
perf_is_marked() {
    [ "$1" = record ] || return 1
    while [ $# -gt 1 ] && [ "$1" != -o ]; do
        shift
    done
    [ -f "${2:-}" ] || return 1
    perf_read=0
    command perf script -i "$2" -F comm >/dev/null 2>&1 || perf_read=$?
    [ "$perf_read" -ge 134 ]
}
