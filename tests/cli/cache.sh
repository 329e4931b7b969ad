# SPDX-License-Identifier: Apache-2.0
# Every command prints the same with a cache of names and unwind tables that is cold, warm,
# partly warm, damaged, another user's, or impossible to write.
. "$TESTS/cli/lib.sh"

export XDG_CACHE_HOME="$PWD/cache"
stoke record -q -o try.data true 2>err || {
    echo "skipped: the kernel does not let us record"
    exit 77
}
command -v g++ >/dev/null || {
    echo "skipped: no g++"
    exit 77
}

cat >inlined.h <<'END'
template <class T> inline T mix(T x)
{
    for (int i = 0; i < 30; i++)
        x = x * 6364136223846793005UL + 1;
    return x;
}
END
cat >work.cc <<'END'
#include "inlined.h"
#include <algorithm>
#include <ctime>
#include <map>
#include <vector>
__attribute__((noinline)) unsigned long work(std::vector<unsigned long> &v)
{
    std::sort(v.begin(), v.end(), [](auto a, auto b) { return (a ^ 255) < (b ^ 255); });
    unsigned long sum = 0;
    for (auto x : v)
        sum += mix(x);
    std::map<unsigned, unsigned long> counts;
    for (auto x : v)
        counts[x % 1021] += x;
    return sum + counts.size();
}
int main()
{
    unsigned long x = 1;
    std::vector<unsigned long> v(20000);
    do {
        for (auto &at : v)
            at = x = x * 6364136223846793005UL + 1442695040888963407UL;
        x += work(v);
    } while (clock() < CLOCKS_PER_SEC * 3 / 10);
    return x == 0;
}
END
g++ -O2 -g work.cc -o work
stoke record -q -F 997 --call-graph dwarf -o work.data ./work
if command -v perf >/dev/null; then
    perf record -q -F 499 --call-graph dwarf,16384 -o perf.data ./work >/dev/null 2>&1 ||
        rm -f perf.data
fi

# prints FOLDER RECORDING: output of the commands that request names in different ways. A
# recording with stack dumps requests unwind tables too, which one command shows.
prints() {
    mkdir -p "$1"
    data=$2
    run fold fold "$data"
    [ "$data" = work.data ] || return 0
    run annotate.json annotate --json work "$data"
    run report.line report --sort line "$data"
    run script script "$data"
}

# prints_all FOLDER RECORDING: output of all commands.
prints_all() {
    prints "$@"
    run annotate annotate work "$data"
    run report report "$data"
    run fold.addrs fold --addrs "$data"
    run fold.srcline fold --srcline "$data"
    run fold.noinline fold --no-inline "$data"
    run fold.full fold --demangle full "$data"
    run flamegraph flamegraph "$data"
    run info info "$data"
    run diff diff "$data" "$data"
    for format in speedscope stoke callgrind dot; do
        run "$format" convert --to "$format" -o - "$data"
    done
}

run() {
    into=$folder/$1
    shift
    got=0
    stoke "$@" >"$into.out" 2>"$into.err" || got=$?
    [ $got = 0 ] || {
        cat "$into.err" >&2
        fail "'stoke $*' ended with $got"
    }
}

# each PRINTS FOLDER: calls PRINTS for each recording.
each() {
    for recording in work.data perf.data; do
        [ -e $recording ] || continue
        folder=$2/$recording
        "$1" "$folder" "$recording"
    done
}

# as_cold NAME [PRINTS]: the output with the current cache equals the output without a
# cache.
as_cold() {
    rm -rf now
    each "${2:-prints}" now
    (cd now && find . -type f) | while read -r file; do
        cmp -s "cold/$file" "now/$file" || {
            diff -u "cold/$file" "now/$file" | head -40 >&2
            fail "$file is another with a cache that is $1"
        }
    done
}

each prints_all cold
says '^  share    address  ' cold/work.data/annotate.out
says 'inlined.h$' cold/work.data/annotate.out
[ -n "$(find cache -type f)" ] || fail "the cache is empty"
cp -a cache warm
as_cold warm prints_all

# Each command with a cache that only another command has filled.
rm -rf cache
stoke fold -q work.data >/dev/null
as_cold "filled by stoke fold"
rm -rf cache
stoke annotate -q work work.data >/dev/null
as_cold "filled by stoke annotate"

# harm COMMAND: runs COMMAND on each file of the warm cache.
harm() {
    rm -rf cache
    cp -a warm cache
    for file in $(find cache -type f); do
        "$@" "$file"
    done
}
empty() { : >"$1"; }
cut() { head -c $(($(wc -c <"$1") / 2)) "$1" >part && cat part >"$1"; }
longer() { echo more >>"$1"; }
zeros() { head -c "$(wc -c <"$1")" /dev/zero >part && cat part >"$1"; }
noise() { head -c "$(wc -c <"$1")" /dev/urandom >part && cat part >"$1"; }
flipped() { printf '\377' | dd of="$1" bs=1 seek=$(($(wc -c <"$1") * $2 / 10)) conv=notrunc 2>/dev/null; }
for how in empty cut longer zeros noise; do
    harm $how
    as_cold "$how"
done
for tenth in 0 3 6 9; do
    rm -rf cache
    cp -a warm cache
    for file in $(find cache -type f); do
        flipped "$file" $tenth
    done
    as_cold "wrong in one byte"
done

# The cache cannot be written: a file instead of the directory, no permission, no directory.
rm -rf cache
echo file >cache
as_cold "a file"
rm cache
cp -a warm cache
chmod -R a-w cache
as_cold "read-only"
chmod -R u+w cache
rm -rf cache
XDG_CACHE_HOME=/proc/none
as_cold "where nothing can be written"
XDG_CACHE_HOME="$PWD/cache"

# The cache of another user is neither read nor written.
[ "$(id -u)" = 0 ] || exit 0
for file in $(find warm -type f); do
    mkdir -p "cache/$(dirname "${file#warm/}")"
    echo something else >"cache/${file#warm/}"
done
chown -R 65534 cache
find cache -type f -exec cksum {} + | sort >before
as_cold "another user's"
find cache -type f -exec cksum {} + | sort >after
same before after
