# SPDX-License-Identifier: Apache-2.0
# Bash completion is generated from the tables: commands, options, choices, formats.
. "$TESTS/cli/lib.sh"

stoke help --completion bash >completion
cat >complete.bash <<'END'
. ./completion
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_stoke
printf '%s\n' "${COMPREPLY[@]}"
END

completes() {
    expected=$1
    shift
    bash complete.bash stoke "$@" >got
    grep -qx -e "$expected" got || fail "'stoke $*' does not complete to $expected: $(cat got)"
}

completes fold fo
completes formats help f
completes --kernel fold --ke
completes --colors flamegraph --co
completes folded fold --format fo
completes total report --sort t
completes svg convert --to ''

bash complete.bash stoke fold nothing-like-it >got
[ -z "$(cat got)" ] || fail "a file's name is left to the shell, not completed to $(cat got)"
status 2 stoke help --completion csh
