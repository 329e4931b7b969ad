# A terminal is shown no byte that it would obey; a pipe or file gets names as they are.
. "$TESTS/cli/lib.sh"
needs_terminal

printf 'main;evil\033[2J\033]0:title\007;caf\303\251\302\233 100\n' >in.folded
printf 'main;evil\\x1b[2J\\x1b]0:title\\x07;caf\303\251\\u009b 100\n' >shown
escape=$(printf '\033')

status 0 stoke fold in.folded
same in.folded out
status 0 stoke fold in.folded -o file.folded
same in.folded file.folded
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
