# SPDX-License-Identifier: Apache-2.0
# A process whose thread, program, function and library names are escape sequences: stoke top
# shows them as text, and a report of its recording too.
. "$TESTS/cli/lib.sh"

command -v cc >/dev/null || {
    echo "skipped: no compiler"
    exit 77
}
esc=$(printf '\033')
cat >names.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

static volatile unsigned sink;

static void *work(void *name)
{
    prctl(PR_SET_NAME, name);
    if (*(char *)name == 'M') {
        puts("named");
        fflush(stdout);
    }
    for (;;)
        sink = sink * 31 + 1;
    return name;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, work, "T\033]0;x\007\r\b\177\033[7m");
    return work("M\033[31;5m\a\r\b\177\2332J") != NULL;
}
END
program=$(printf 'p\033[41m\a\r')
cc -O1 -fno-omit-frame-pointer names.c -o names -lpthread
objcopy --redefine-sym "work=w${esc}[5mork" names 2>/dev/null || :
mv names "$program"
mkfifo ready
"./$program" >ready &
pid=$!
trap 'kill $pid 2>/dev/null || :' EXIT
read -r word <ready
[ "$word" = named ] || fail "the program did not start"
[ "$(wc -c <"/proc/$pid/comm")" = 16 ] || fail "the name has not 15 bytes"

# harmless FILE NAME: checks that the file is UTF-8 without control characters except newlines and
# tabs; carriage returns of the terminal and the colours of stoke are removed first.
harmless() {
    python3 - "$1" <<'END' || fail "$2 prints control characters"
import re, sys
text = open(sys.argv[1], "rb").read().replace(b"\r\n", b"\n")
text = re.sub(rb"\x1b\[(?:0|1|31|32|1;31|1;35)?m|\x1b\[K|^\r+", b"", text, flags=re.M)
found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text.decode())
sys.exit(f"{found}: {text!r}" if found else 0)
END
}

stoke top --plain -p $pid -n 2 -d 0.3 >out 2>err || {
    says 'paranoid\|no perf events'
    echo "skipped: the kernel does not let us record"
    exit 77
}
harmless out 'stoke top --plain'
harmless err 'stoke top --plain (messages)'
says 'M\\x1b\[31;5m\\x07\\r\\x08\\x7f' out
says 'p\\x1b\[41m\\x07\\r' out
tids=$(ls "/proc/$pid/task" | paste -sd,)
for who in "-p $pid" "-t $tids" "-t ${tids#*,}" "-t ${tids#*,} -i"; do
    # shellcheck disable=SC2086  # the option and its value are words
    status 0 stoke top --plain $who -n 1 -d 0.3
    harmless out "stoke top $who"
    harmless err "stoke top $who (messages)"
done
says 'T\\x1b\]0;x\\x07\\r\\x08\\x7f' out

stoke record -p $pid -g -o r.data --duration 1 2>err || fail "stoke record ended with $?"
harmless err 'stoke record'
for words in 'report' 'report --tree' 'report --json' 'info' 'report --by thread'; do
    # shellcheck disable=SC2086
    stoke $words r.data >out 2>err || continue
    harmless out "stoke $words"
    harmless err "stoke $words (messages)"
done
needs_terminal
for words in "top --plain -p $pid -n 1 -d 0.3" 'fold r.data' 'report r.data' 'script r.data'; do
    # shellcheck disable=SC2086
    on_terminal 80 24 stoke $words >out 2>&1 || fail "stoke $words ended with $?"
    harmless out "stoke $words on a terminal"
done
