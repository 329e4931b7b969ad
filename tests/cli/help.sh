# SPDX-License-Identifier: Apache-2.0
# Help: of stoke, of each command, of the formats; unknown names are reported.
. "$TESTS/cli/lib.sh"

status 0 stoke help
says '^usage: stoke COMMAND' out
for command in $(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' out); do
    status 0 stoke help "$command"
    says "^usage: stoke $command" out
    cp out by-help
    status 0 stoke "$command" --help
    same by-help out
    status 2 stoke "$command" --no-such-option
    says "unknown option '--no-such-option'"
done
status 0 stoke help formats
says '^  folded ' out
status 0 stoke --version
says '^stoke [0-9]' out
status 2 stoke
says '^usage:' out
status 2 stoke flod
says "unknown command 'flod'"
status 2 stoke help flod
says "unknown command 'flod'"

# A failure to write is an error.
status 1 sh -c 'stoke help >/dev/full'
