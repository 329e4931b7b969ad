# SPDX-License-Identifier: Apache-2.0
# For an unknown name, the message offers the nearest known name, for all kinds of names.
. "$TESTS/cli/lib.sh"

echo 'main;work 200' >in.folded
mean() {
    expected=$1
    shift
    "$@" >out 2>err && fail "'$*' went well"
    says "did you mean $expected?"
}

mean flamegraph stoke flamgraph in.folded
mean report stoke help reprot
mean help stoke hlep
mean --title stoke flamegraph --titel x in.folded
mean --colors stoke flamegraph --colours hot in.folded
mean --width stoke flamegraph -wdith 3 in.folded
mean --event stoke fold --evnet=x in.folded
mean folded stoke fold --format foldde in.folded
mean perf stoke fold --format perf-script in.folded
mean speedscope stoke convert --to spedscope in.folded
mean java stoke flamegraph --colors jaav in.folded
mean samples stoke fold --event sample in.folded

# Without a near name, the message says how to list all names.
status 2 stoke zzzzzz
says_not 'did you mean'
says 'stoke help'
status 2 stoke fold --zzzzzz
says_not 'did you mean'
says '--help'

# The beginning of a name is enough if only one option has it.
status 0 stoke flamegraph --tit 'Short name' --no-java in.folded
says 'Short name' out
says_not '<script' out
status 2 stoke flamegraph --font x in.folded
says "unknown option '--font'"
status 2 stoke flamegraph --ti x in.folded
says "unknown option '--ti'"
