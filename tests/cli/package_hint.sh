# SPDX-License-Identifier: Apache-2.0
# If functions have no names, a message names the package or server that has them.
. "$TESTS/cli/lib.sh"

unset DEBUGINFOD_URLS
command -v strip >/dev/null && command -v cc >/dev/null || {
    echo "skipped: no compiler, or no strip"
    exit 77
}
cat >load.c <<'END'
static volatile long sum;
__attribute__((noinline)) static void work(void) { for (long i = 0; i < 300000000; i++) sum += i; }
int main(int argc, char **argv) { (void)argv; do work(); while (argc > 1); return 0; }
END
mkdir -p root/usr/bin root/etc root/var/lib/dpkg/info
cc -O0 -Wl,--build-id load.c -o load
cp load full
strip load
stoke record -q -F 499 -o load.data ./load 2>err || {
    echo "skipped: the kernel does not let us record"
    exit 77
}
cp load full root
mkdir -p "root$PWD"
cp load "root$PWD/load"
echo 'ID=debian' >root/etc/os-release
printf '/.\n%s\n' "$PWD/load" >root/var/lib/dpkg/info/libload1:amd64.list
hint='no function names for [0-9]*% of the samples ([0-9]*% in load)'

for command in report fold flamegraph 'convert --to pprof'; do
    status 0 stoke $command --symfs root load.data
    says "$hint: install libload1-dbgsym, or .*set DEBUGINFOD_URLS=https://debuginfod.debian.net$"
done

# stoke annotate.
status 1 stoke annotate --symfs root nothing load.data
says "$hint: install libload1-dbgsym, or .*set DEBUGINFOD_URLS=https://debuginfod.debian.net$"
status 1 stoke annotate -q --symfs root nothing load.data
says_not 'no function names'

# The message is the same with a cold and a warm cache.
export XDG_CACHE_HOME="$PWD/cache"
status 0 stoke report --symfs root load.data
says "$hint: install libload1-dbgsym"
status 0 stoke report --symfs root load.data
says "$hint: install libload1-dbgsym"

# No hint with -q, and none after the user followed it.
status 0 stoke report -q --symfs root load.data
says_not 'no function names'
status 0 stoke report --no-debuginfod --symfs root load.data
says "$hint: install libload1-dbgsym$"
status 0 env DEBUGINFOD_URLS=http://127.0.0.1:1 stoke report --symfs root load.data
says "$hint: install libload1-dbgsym$"

# A program of the user, and other distributions.
: >root/var/lib/dpkg/info/libload1:amd64.list
status 0 stoke report --symfs root load.data
says "$hint: build load without stripping the symbols"
echo 'ID=fedora' >root/etc/os-release
status 0 stoke report --symfs root load.data
says "$hint: install the debuginfo packages (dnf debuginfo-install PACKAGE), or .*fedoraproject"
rm root/etc/os-release
status 0 stoke report --symfs root load.data
says "$hint: install the packages with their debug symbols, or .*elfutils"

# stoke top, at its end.
./load forever & running=$!
for _ in $(seq 60); do # on a busy machine, until it has run while top samples
    status 0 stoke top -p "$running" -n 1 -d 0.5
    grep -q 'no function names' err && break
done
kill "$running"
wait "$running" || :
says "$hint: "

# A file that is not on this machine.
mkdir empty
status 0 stoke report --symfs empty load.data
says 'missing on this machine (.*use --symfs or --debug-dir, or set DEBUGINFOD_URLS$'
status 0 env DEBUGINFOD_URLS=http://127.0.0.1:1 stoke report --symfs empty load.data
says 'missing on this machine (.*use --symfs or --debug-dir$'

# No hint for a file with symbols.
stoke record -q -F 499 -o full.data ./full
cp full "root$PWD/full"
status 0 stoke report --symfs root full.data
says_not 'no function names'
