# SPDX-License-Identifier: Apache-2.0
# Files that cannot be opened: message and hint.
. "$TESTS/cli/lib.sh"

echo 'main;work 200' >in.folded
for command in fold flamegraph report info 'convert --to d3' 'diff --folded in.folded'; do
    # shellcheck disable=SC2086
    status 1 stoke $command in.folded -o no/such/out.txt
    says 'no/such/out.txt: cannot write: No such file or directory'
    says '^  try: mkdir -p no/such$'
done
mkdir -p no/such
status 0 stoke fold in.folded -o no/such/out.txt

status 1 stoke fold nowhere/in.folded
says 'nowhere/in.folded: cannot open: No such file or directory'
says "^  try: 'ls nowhere' "
status 1 stoke fold other.folded
says "^  try: 'ls \.' "

# Without permission: for users other than root; for root, in directories of the kernel.
mkdir locked
chmod 555 locked
if [ "$(id -u)" != 0 ]; then
    : >secret
    chmod 0 secret
    status 1 stoke fold secret
    says "try: 'ls -l secret'"
    status 1 stoke fold in.folded -o locked/out.folded
    says "try: -o FILE .*'ls -ld locked'"
elif [ -d /sys/kernel ]; then
    status 1 stoke fold in.folded -o /sys/kernel/out.folded
    says "try: -o FILE .*'ls -ld /sys/kernel'"
fi

# A format that is given and does not match the file.
cp "$TESTS/man/perf.txt" perf.txt
printf 'main;work 20000\n' >forced.folded # the number has the columns of an ID
status 0 stoke fold --format perf forced.folded
says 'forced.folded looks like folded, but is read as perf because of --format'
status 0 stoke fold --format perf - <forced.folded
says 'standard input looks like folded'
status 1 stoke fold --format perf in.folded
says 'try: without --format: it looks like folded, not perf'
status 1 stoke fold --format speedscope in.folded
says 'try: without --format: it looks like folded, not speedscope'
status 1 stoke fold --format folded perf.txt
says 'it looks like perf, not folded'
status 0 stoke fold --format perf perf.txt
[ ! -s err ] || fail "it says something: $(cat err)"
status 0 stoke fold -q --format perf forced.folded
[ ! -s err ] || fail "--quiet says something: $(cat err)"

# Directories: those of perf record --threads are read, others are not.
mkdir folder threads.data fifo.data
printf PERFILE2 >threads.data/data
: >threads.data/data.0
mkfifo fifo.data/data
status 1 stoke fold folder
says 'folder: cannot read: Is a directory$'
says 'try: name the files in it$'
for command in fold report info script 'annotate main'; do
    # shellcheck disable=SC2086
    status 1 stoke $command threads.data
    says 'threads.data: the recording is truncated: it ends within its header$'
    # shellcheck disable=SC2086
    status 1 stoke $command fifo.data
    says 'fifo.data: cannot read: Is a directory$'
done
