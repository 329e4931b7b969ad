# SPDX-License-Identifier: Apache-2.0
# stoke annotate: which function is meant, lines and addresses, text and JSON.
. "$TESTS/cli/lib.sh"

cp "$TESTS/man/perf.data" "$TESTS/man/kallsyms" .
names="-q --kallsyms kallsyms"

cat >want <<'END'
# do_syscall_64 in [kernel.kallsyms]
# 3 samples, 3,000 of cycles: 33.31% of the recording's
# its file has no debug information: no source lines

  share    address  no instructions: the file with the code is not on this machine
* 100.00% ffffffff81000010
END
status 0 stoke annotate $names do_syscall_64 perf.data
same want out
status 0 stoke annotate $names do_syscall_64 </dev/null
same want out
stoke annotate $names do_syscall_64 <perf.data >out
same want out
status 0 stoke annotate $names syscall -o file.txt
same want file.txt
status 0 stoke annotate $names --json do_syscall_64 perf.data
tr -d '\n' <out >got
echo '{"event":"cycles","unit":"cycles","total":9005,"functions":[{"name":"do_syscall_64","module":"[kernel.kallsyms]","weight":3000,"samples":3,"lines":[],"instructions":[{"address":18446744071578845200,"weight":3000,"samples":3}]}]}' |
    tr -d '\n' >want
same want got

# A file alone, without another input, is not the name of a function.
mkdir alone
cp perf.data alone/one.data
(cd alone && status 0 stoke annotate -q --kallsyms ../kallsyms one.data </dev/null && mv out ../alone.out)
status 0 stoke annotate $names -i perf.data
same alone.out out

# Several recordings: their samples are added, although the ids of locations differ.
status 0 stoke annotate $names do_syscall_64 perf.data perf.data
says '^# 6 samples, 6,000 of cycles: 33.31% of the recording.s$' out
says '^\* 100.00% ffffffff81000010$' out
[ "$(grep -c '^# [^0-9i]' out)" = 1 ] || fail "$(grep -c '^# [^0-9i]' out) functions"
data=$TESTS/import/perf-data
status 0 stoke annotate $names do_syscall_64 "$data/deferred.in" perf.data
says '^# 7 samples, 7,000 of cycles: 49.98% of the recording.s$' out
status 0 stoke annotate $names do_syscall_64 perf.data "$data/dumps.in" "$data/deferred.in"
says '^# 7 samples, 7,000 of cycles: ' out
echo 'a;b 1' >in.folded
status 1 stoke annotate $names do_syscall_64 perf.data in.folded
says 'one of the inputs is not a recording'

# Events.
status 0 stoke annotate $names --event context-switches schedule
says '^# 1 sample, 1,000 of context-switches: 100.00%' out
status 0 stoke annotate --kallsyms kallsyms do_syscall_64
says 'showing cycles of 2 events; choose with --event'
status 1 stoke annotate $names --event faults schedule
says "no event 'faults'"
says 'it has: cycles, context-switches'

# Functions that are not there, or not only one.
status 1 stoke annotate $names schedule
says "no sample is in a function named 'schedule'"
status 1 stoke annotate $names _
says "'_' is a part of the names of 2 functions"
says 'one of: do_syscall_64, bpf_prog_0123_hook'
status 2 stoke annotate ''
says 'the name of a function is missing'

# Without a name: the heaviest functions.
status 0 stoke annotate $names
[ "$(grep -c '^# .* in ' out)" -ge 2 ] || fail "$(cat out)"
status 0 stoke annotate $names -n
says '^samples    address' out
says_not '%$' out
status 0 stoke annotate $names --show-total-period do_syscall_64
says '^ period    address' out
status 1 stoke annotate $names --percent-limit 100
says "^stoke: error: no function has 100% of the samples"
echo 'a;b 1' >in.folded
status 1 stoke annotate a in.folded
says 'the input is not a recording'

# The rest needs a recording of a program that is compiled here.
command -v g++ >/dev/null && command -v objdump >/dev/null || exit 0
[ "$(uname -m)" = x86_64 ] && stoke record -q -o try.data true 2>err || exit 0
cat >work.cc <<'END'
#include <cstdio>
static volatile unsigned long sink;
template <class T> struct Mixer {
    static inline __attribute__((always_inline)) T mix(T x, long n)
    {
        for (long i = 0; i < n; i++)
            x = x * 6364136223846793005UL + 1;
        return x;
    }
};
__attribute__((noinline)) static void hidden(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 31 + 1;
}
template <class T> __attribute__((noinline)) void print_all(T a)
{
    if (sink == 1) {
        puts("1");
        printf("%lu %lu %lu\n", (unsigned long)a, (unsigned long)a * 7, (unsigned long)a * 9);
    }
}
extern "C" __attribute__((noinline)) void work(long n)
{
    print_all(n);
    if (n == 1) {
        puts("a"); puts("b"); puts("c"); puts("d"); puts("e"); puts("f"); puts("g");
        puts("h"); puts("i"); puts("j"); puts("k"); puts("l"); puts("m"); puts("n");
    }
    sink += Mixer<unsigned long>::mix(sink, n);
    hidden(n);
}
int main()
{
    for (int i = 0; i < 300; i++)
        work(400000);
}
END
g++ -O2 -g -rdynamic work.cc -o work
status 0 stoke record -q -o work.data ./work
status 0 stoke annotate --whole work work.data
cp out whole
status 0 stoke annotate work work.data
# Lines near the samples, with the source between the instructions and inlined functions.
[ "$(wc -l <out)" -lt "$(wc -l <whole)" ] || fail "as long as the whole function"
says '^ *\.\.\.$' out
says '^\* .* [67]  .*[xi]' out
says '^ *# work.cc:7 in Mixer::mix  x = x \* 6364136223846793005UL + 1;$' out
says '\(jne\|je\|jl\|jg\|jmp\) *[0-9a-f]* <work+0x[0-9a-f]*>$' out
says 'puts("n")' whole
says_not 'puts("e")' out
says 'call *[0-9a-f]* <puts@plt>' whole
says 'call *[0-9a-f]* <void print_all<long>\|call *[0-9a-f]* <print_all' whole
says_not '_Z' whole
# Both show the same samples.
grep '[0-9]%' out >near
grep '[0-9]%' whole >all
same all near
status 0 stoke annotate --json work work.data
says '"inlined":"Mixer<unsigned long>::mix' out

# A stripped program: it is built separately, and its debug information does not exist.
g++ -O2 -rdynamic work.cc -o bare
strip bare
status 0 stoke record -q -o bare.data ./bare
status 0 stoke annotate work bare.data
says 'no debug information' out
stoke annotate --whole work bare.data >out
says '[cj][am][lp]l* *[0-9a-f]* <bare+0x[0-9a-f]*>$' out
says_not '<work+0x[0-9a-f]*>.*call\|call.*<work+' out
status 0 stoke annotate '[bare]' bare.data
says '^# bare+0x[0-9a-f]* in .*bare$' out
name=$(sed -n 's/^# \(bare+0x[0-9a-f]*\) in .*/\1/p' out)
status 0 stoke annotate "$name" bare.data
says '^\* *[0-9.]*%  *[0-9a-f]*  ' out

# CPUs: two samples on the first, one on the second.
status 0 stoke annotate $names -C 0 do_syscall_64 "$TESTS/man/perf.data"
says '^# 2 samples, 2,000 of cycles' out
status 0 stoke annotate $names --cpu 0-1 do_syscall_64 "$TESTS/man/perf.data"
says '^# 3 samples, 3,000 of cycles' out
status 1 stoke annotate $names -C 2 do_syscall_64 "$TESTS/man/perf.data"
says "no sample is in a function named 'do_syscall_64'"
status 1 stoke annotate $names -C 2 -i "$TESTS/man/perf.data"
says '^stoke: error: no sample of the event .cycles. is from these CPUs'
status 1 stoke annotate $names --percent-limit 100 -i "$TESTS/man/perf.data"
says '^stoke: error: no function has 100% of the samples'
says 'try: the heaviest, .* has [0-9.]*%'
status 2 stoke annotate $names -M foo -i "$TESTS/man/perf.data"
says "unknown style 'foo' of the disassembler"
