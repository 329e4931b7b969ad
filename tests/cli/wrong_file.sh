# SPDX-License-Identifier: Apache-2.0
# Warnings if names can come from another file than the recorded one.
. "$TESTS/cli/lib.sh"
command -v perf >/dev/null || {
    echo "skipped: no perf"
    exit 77
}
makes_load -Wl,--build-id=none
perf record -B -g -F 999 -o a.data ./load 200 2>/dev/null >/dev/null || [ $? = 3 ] || {
    echo "skipped: perf record does not work here"
    exit 77
}
here=$(pwd -P)

# The recorded file: no message.
status 0 stoke fold a.data
says_not 'may be wrong'

# Another file at the path, without a build ID: all commands report it.
cp load other && mv other load
why="names in $here/load may be wrong: the recording has no build ID of it, and its inode"
for command in 'fold' 'report' 'flamegraph' 'script' 'convert --to speedscope' 'annotate leaf'; do
    status 0 stoke $command a.data
    says "^stoke: warning: a.data: $why differs from the recorded one"
done
status 0 stoke diff a.data a.data
says "$why"
status 0 stoke report a.data
says "^# 1 time: $why" out
status 0 stoke info --json a.data
says "$why" out
status 0 stoke fold -q a.data
[ ! -s err ] || fail "-q says something"

# The same file, written after the recording: its time shows it.
makes_load -Wl,--build-id=none
perf record -B -g -F 999 -o b.data ./load 200 2>/dev/null >/dev/null || [ $? = 3 ]
touch -d 'next year' load
status 0 stoke fold b.data
says 'load may be wrong: .* it was modified after the recording'

# Recorded on another machine.
touch -d 'last year' load
python3 - b.data c.data <<'END'
import os, socket, sys
data = open(sys.argv[1], "rb").read()
name = socket.gethostname().encode()
open(sys.argv[2], "wb").write(data.replace(name + b"\0", b"x" * len(name) + b"\0"))
END
status 0 stoke fold c.data
says 'load may be wrong: .* was made on xx*, this is '

# With build IDs, a different file is rejected and has no names.
makes_load -Wl,--build-id
perf record -g -F 999 -o d.data ./load 200 2>/dev/null >/dev/null || [ $? = 3 ]
touch -d 'next year' load
status 0 stoke fold d.data
says_not 'may be wrong'
