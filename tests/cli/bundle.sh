# SPDX-License-Identifier: Apache-2.0
# The code of functions in a .stoke: annotate and pages of it are as those of the recording, without
# the binaries and the sources.
. "$TESTS/cli/lib.sh"

# A file that was made by hand: no program, only what the file has.
cat >want <<'END'
# main in /tmp/a.out
# 2 samples, 2,000 of cycles: 66.67% of the recording's

  share       line  /tmp/a.c
                1  int main()
                2  {
* 100.00%       3  }

  share    address  instruction
                     # a.c:2  {
               1120  xor    %rax,%rax
                     # a.c:3 in add  }
*  50.00%      1123  add    %rdi,%rax
*  50.00%      1126  dec    %rdi
               1129  jne    1123 <main+0x3>
               112b  call   1f <print>
               1130  ret

# print in /tmp/a.out
# 1 sample, 1,000 of cycles: 33.33% of the recording's
# its code was left out of the bundle

  share    address  no instructions: the bundle does not have the code
* 100.00%      1228
END
made=$TESTS/import/stoke/code.in
if objdump --help 2>&1 | grep -q x86-64; then
    status 0 stoke annotate -i "$made"
    same want out
    status 0 stoke annotate -i "$made" -M intel main
    says '^ *1120  xor    rax,rax$' out
    status 0 stoke annotate -n -C 1 -i "$made"
    says '^# 1 sample, 1,000 of cycles: 100.00%' out
    # Several files: one after the other, each with its own code.
    status 0 stoke annotate -i "$made" -i "$made"
    says '^# 4 samples, 4,000 of cycles: 66.67%' out
    says 'call   1f <print>' out
fi
# A file of this machine is not read for a bundle that names it.
echo 'text of this machine' >here.c
LC_ALL=C sed "s|/tmp/a\.c|here.cc|; s|/tmp/a\.c|here.cc|" "$made" >named
stoke annotate -i named >out 2>err || :
says_not 'text of this machine' out

# What cannot be included is an error or is reported.
data=$TESTS/import/perf-data/file.in
status 0 stoke convert --with-code "$data" -o none.stoke
says 'no code is included: the files with the code of the functions are not on this machine'
status 0 stoke annotate -q -i "$data"
cp out want
status 0 stoke annotate -q -i none.stoke
same want out
status 2 stoke convert --with-code "$data" -o x.folded
says 'with-code is for .stoke files'
status 1 stoke convert --with-code -o x.stoke - <"$data"
says 'needs a second reading'
echo 'a;b 1' >in.folded
status 1 stoke convert --with-code in.folded -o x.stoke
says 'not a recording and has no code'
status 1 stoke convert -q --with-code --cpu 0 "$data" -o x.stoke
says 'with-code keeps all samples, and filters leave some out'
status 2 stoke convert --with-code --code-limit 12X "$data" -o x.stoke
says "invalid size '12X'"
status 0 stoke convert -q "$data" -o x.stoke
status 1 stoke annotate -i x.stoke
says 'with-code'

# The rest needs a recording of programs that are compiled here.
command -v g++ >/dev/null && command -v objdump >/dev/null || exit 0
[ "$(uname -m)" = x86_64 ] && stoke record -q -o try.data true 2>err || exit 0
mkdir made
cat >made/shapes.h <<'END'
template <class T> inline __attribute__((always_inline)) T spin(T x, long n)
{
    for (long i = 0; i < n; i++)
        x = x * 6364136223846793005UL + 1;
    return x;
}
END
cat >made/work.cc <<'END'
#include <algorithm>
#include <cstdio>
#include <vector>
#include "shapes.h"
static volatile unsigned long sink;
__attribute__((noinline)) static void hidden(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 31 + 1;
    if (sink == 1)
        std::printf("%lu\n", sink);
}
__attribute__((noinline)) void sorts(std::vector<unsigned> &v)
{
    for (auto &x : v)
        x = (unsigned)spin<unsigned long>(x, 3);
    std::sort(v.begin(), v.end());
}
int main()
{
    std::vector<unsigned> v(40000);
    for (int i = 0; i < 40; i++) {
        sink = spin<unsigned long>(sink, 1000000);
        hidden(1000000);
        sorts(v);
    }
}
END
(cd made && g++ -O2 -g work.cc -o work && g++ -O2 work.cc -o bare && strip bare)
cc -O1 -g "$TESTS/cli/load.c" -o made/load

# annotates FILE TO: the functions of FILE with each kind of option, to TO.1, TO.2, ...
annotates() {
    n=0
    for options in "" --whole --json "-M intel" "--group --whole" "-C 0"; do
        n=$((n + 1))
        stoke annotate -q $options -i "$1" >"$2.$n" 2>"$2.err.$n" || :
    done
}

# checks NAME: the recording NAME.data and a bundle of it are annotated alike; the bundle when
# the programs and sources are not there.
checks() {
    status 0 stoke convert "$1.data" --with-code -o "$1.stoke"
    says 'included: the code of [0-9]* of [0-9]* functions ([0-9.]*% of self cost), [0-9.]* [a-zMB]*; [0-9]* source files*, '
    annotates "$1.data" want
    mv made away
    annotates "$1.stoke" got
    mv away made
    while [ "$n" -gt 0 ]; do
        same "want.$n" "got.$n"
        same "want.err.$n" "got.err.$n"
        n=$((n - 1))
    done
}

status 0 stoke record -q -F 1999 -o work.data made/work
checks work
says 'shapes.h$' got.1
says 'in spin' got.1
status 1 stoke annotate -i work.stoke 'spin<unsigned long>'
says 'it was inlined into: .*main'
status 0 stoke record -q -F 1999 -o bare.data made/bare
checks bare
says '<bare+0x' got.2
status 3 stoke record -q -F 1999 -o load.data made/load 200
checks load

# A bundle of bundles, and of a bundle and a recording.
status 0 stoke convert -q work.stoke load.stoke --with-code -o both.stoke
status 0 stoke annotate -q -n main -i work.stoke -i load.stoke
cp out want
status 0 stoke annotate -q -n main -i both.stoke
same want out
status 0 stoke convert -q work.stoke load.data --with-code -o mixed.stoke
status 0 stoke annotate -q -n main -i mixed.stoke
same want out

# The limit.
status 0 stoke convert work.data --with-code --code-limit 300 -o small.stoke
says 'left out: [0-9]* functions* or source files beyond the limit of 300 bytes'
status 0 stoke annotate -q -i small.stoke
says 'its code was left out of the bundle' out

# Who does not ask for the code reads the same profile; a conversion drops the code.
status 0 stoke convert -q work.data -o plain.stoke
status 0 stoke fold plain.stoke
cp out want
status 0 stoke fold work.stoke
same want out
status 0 stoke diff -q work.stoke plain.stoke
status 0 stoke convert -q work.stoke -o again.stoke
status 1 stoke annotate -q -i again.stoke

# Pages.
mv made away
if stoke convert -q work.stoke --with-source --with-assembly -o page.html 2>err; then
    says 'id="sources"' page.html
    says 'id="assembly"' page.html
    status 0 stoke convert work.stoke --with-source -o page.html
    says 'the page has the source file .*made/shapes.h'
else
    says 'built without its viewer'
fi
mv away made

# A cut file: the profile, and the code as far as it goes.
gzip -dc work.stoke >whole
head -c $(($(wc -c <whole) - 50)) whole >cut.stoke
status 1 stoke annotate -i cut.stoke
says 'truncated'
says 'imul' out

# record --bundle keeps it, too.
status 0 stoke record -F 999 --bundle -o at-once.stoke made/work
says 'included: the code of'
mv made away
status 0 stoke annotate -i at-once.stoke
says 'spin' out
