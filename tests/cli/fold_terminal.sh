# SPDX-License-Identifier: Apache-2.0
# A terminal is shown no byte that it would obey; a pipe or file gets names as they are, but
# for control characters of ASCII, which no reader of folded stacks expects.
. "$TESTS/cli/lib.sh"
needs_terminal

# The command gets a terminal, even if this test has no standard input.
status 0 on_terminal 80 40 test -t 0 <&-

printf 'main;evil\033[2J\033]0:title\007;caf\303\251\302\233 100\n' >in.folded
printf 'main;evil?[2J?]0:title?;caf\303\251\302\233 100\n' >plain
printf 'main;evil?[2J?]0:title?;caf\303\251\\u009b 100\n' >shown
escape=$(printf '\033')

status 0 stoke fold in.folded
same plain out
status 0 stoke fold in.folded -o file.folded
same plain file.folded
status 0 on_terminal 80 40 stoke fold in.folded
same shown out

printf 'main;evil\033[2J 50\n' >before.folded
for command in 'convert in.folded --to folded' 'convert in.folded --to speedscope' \
    'convert --no-gzip in.folded --to pprof' 'diff --folded before.folded in.folded' \
    'diff --table before.folded in.folded' 'flamegraph in.folded' \
    'report --csv in.folded' 'report --json in.folded' 'report --tree in.folded'; do
    # shellcheck disable=SC2086
    NO_COLOR=1 status 0 on_terminal 80 40 stoke $command
    says evil out
    says_not "$escape" out
    says_not "$(printf '\007')" out
done
NO_COLOR=1 status 0 on_terminal 80 40 stoke info in.folded
says_not "$escape" out

# stoke script: the heads of samples, their frames, and records.
python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
from perf.make_perf_data import Attr, Recording
rec = Recording([Attr(0, 0, name="cycles")])
rec.comm(100, 100, "evil\033[2J", 1)
rec.mmap2(100, 0x1000, 0x1000, 0, "/bin/ev\033]0;il", time=1)
rec.sample(5, 0x1100, [0x1100])
open("evil.data", "wb").write(rec.file({}))
PY
status 0 stoke script -q --show-mmap-events evil.data
says "^evil$escape\[2J" out
says "(/bin/ev$escape\]0;il)$" out
cp out piped
status 0 stoke script -q --show-mmap-events evil.data -o file.txt
same piped file.txt
status 0 on_terminal 80 40 stoke script -q --show-mmap-events evil.data
sed "s/$escape/\\\\x1b/g" piped >shown
same shown out
status 0 on_terminal 80 40 stoke script -q --show-mmap-events evil.data -o /dev/tty
same shown out
status 0 on_terminal 80 40 stoke script in.folded
says 'evil\\x1b' out
says_not "$escape" out
