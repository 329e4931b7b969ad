# SPDX-License-Identifier: Apache-2.0
# stoke script and annotate beside perf, on recordings made here: line by line with perf
# script --no-inline, and address by address.
. "$TESTS/cli/lib.sh"

export HOME=$PWD # perf writes its cache of files there: together with other tests it crashes
command -v perf >/dev/null || {
    echo "skipped: no perf"
    exit 77
}
command -v cc >/dev/null || {
    echo "skipped: no compiler"
    exit 77
}

cat >load.c <<'END'
#include <stdlib.h>
#include <string.h>
volatile unsigned long sink;
static inline unsigned long mix(unsigned long x)
{
    for (int i = 0; i < 50; i++)
        x = x * 6364136223846793005UL + 1;
    return x;
}
__attribute__((noinline)) void leaf(int n)
{
    for (int i = 0; i < n; i++)
        sink = mix(sink + i);
}
__attribute__((noinline)) void middle(int n)
{
    leaf(n);
    sink++;
}
int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
int main(void)
{
    for (int i = 0; i < 4000; i++)
        middle(1000);
    int *numbers = malloc(4000000);
    for (int i = 0; i < 1000000; i++)
        numbers[i] = rand();
    qsort(numbers, 1000000, sizeof(int), compare);
    return 0;
}
END
cc -O2 -g -fno-omit-frame-pointer load.c -o load
perf record -q -o try.data ./load >/dev/null 2>&1 || {
    echo "skipped: perf cannot record here"
    exit 77
}

# compare NAME OPTION...: checks that all lines are equal. perf adds a frame of all ones to stacks
# from dumps. It names PLT stubs after the function before them, or not at all. If the last
# instruction of a function is a call, perf names the next function as the caller: always at the
# start of the loader. Elsewhere, up to a thousandth of the lines may differ. In a short piece, three
# lines may.
equal='s/ \(_init\|[^ ]*@plt\)\(+0x[0-9a-f]*\)*/ a stub/
    s/ \(_start\(+0x8\)*\|_dl_start_user\(+0x0\)*\)/ the start/'
compare() {
    name=$1
    shift
    perf script --no-inline -i "$name.data" "$@" 2>/dev/null |
        grep -v '	ffffffffffffffff ' | sed "$equal" >want
    stoke script -q --no-inline -i "$name.data" "$@" | sed "$equal" >got
    [ -s want ] || fail "perf prints nothing of $name"
    lines=$(wc -l <want)
    other=$(diff want got | grep -c '^<' || true)
    echo "$name $*: $lines lines, $other differ"
    diff want got | sed 's/^/    /' | head -6
    [ "$other" -le $((lines / 1000 + 3)) ] || {
        diff want got | head -20 >&2
        fail "$name $*: $other of $lines lines differ"
    }
}

perf record -q -o fp.data -g ./load
perf record -q -F 999 -o dwarf.data --call-graph dwarf,4096 ./load
perf record -q -o plain.data ./load
for _ in $(seq 30); do # perf may crash, see lib.sh
    ! { command perf record -q -g -o - ./load >pipe.data &&
        command perf script -i pipe.data >/dev/null 2>&1; } || break
    sleep 1
done
perf record -q -o packed.data -g -z ./load
perf record -q -o events.data -e cpu-clock,page-faults,context-switches -g ./load
for name in fp dwarf plain pipe packed events; do
    compare $name
    compare $name -F comm,pid,tid,time,event,ip,sym
    compare $name -G
    compare $name -F +pid,+misc,-dso
    # Of stacks from dumps, perf counts the kernel's frames and the user's apart.
    [ $name = dwarf ] || compare $name --max-stack 2
    for event in cpu-clock page-faults context-switches; do
        stoke fold -q --event $event $name.data >want 2>/dev/null || continue
        stoke script -q --event "$event*" $name.data >text
        stoke fold -q text >got
        same want got
    done
done
compare plain --time 10%/2
compare plain --time 0%-10%,30%-40%
compare fp --show-mmap-events --show-task-events
compare dwarf --show-mmap-events --show-task-events
# Samples of other programs are not compared, because their files may have changed. Other tests
# have programs that are called load.
cp load script_load
perf record -q -a -o all.data -e cpu-clock -e sched:sched_switch ./script_load 2>/dev/null &&
    compare all --comms script_load,swapper

# Offsets in functions: each has as many samples as in perf script.
command -v nm >/dev/null || exit 0
perf script --no-inline -i plain.data -G -F ip,sym,symoff 2>/dev/null |
    sed -n 's/.* leaf+0x\([0-9a-f]*\)$/\1/p' | sort | uniq -c | awk '{print $2, $1}' >want
start=$(nm load | sed -n 's/^\([0-9a-f]*\) T leaf$/\1/p')
stoke annotate -q --json leaf plain.data | sed -n '/"instructions"/,$p' |
    sed -n 's/.*"address":\([0-9]*\),"weight":[1-9][0-9]*,"samples":\([0-9]*\).*/\1 \2/p' |
    while read -r address count; do
        printf '%x %s\n' $((address - 0x$start)) "$count"
    done | sort >got
[ "$(wc -l <want)" -gt 1 ] || fail "perf has no samples in leaf"
same want got
echo "annotate: $(wc -l <want) addresses with $(awk '{n += $2} END {print n}' want) samples"

# Of two recordings as much as of each.
for data in fp plain 'fp.data plain'; do
    # shellcheck disable=SC2086
    stoke annotate -q --json leaf $data.data | sed -n 's/.*"module":.*"samples":\([0-9]*\),"lines.*/\1/p'
done | awk '{n[NR] = $1} END {exit !(NR == 3 && n[1] > 0 && n[3] == n[1] + n[2])}' ||
    fail 'annotate counts others in two recordings than in each'

stoke annotate -q --whole leaf fp.data >out
says '^[* ] .*%       7          x = x \* 6364136223846793005UL + 1;$' out
says '^               10  *__attribute__((noinline)) void leaf(int n)$' out
rm load.c
stoke annotate -q --whole leaf fp.data >out
says '/load.c (not on this machine)$' out
says '^[* ] .*%       7' out
if command -v objdump >/dev/null; then
    says '# load.c:7\( in mix\)*$' out
    says ' ret' out
    mkdir empty
    PATH=$PWD/empty:$(dirname "$(command -v stoke)") stoke annotate -q leaf fp.data >out
    says 'no instructions: cannot run objdump' out
    says '# load.c:7' out
fi

# Code of a JIT: mov $0x10000000,%ecx; 1: dec %ecx; jnz 1b; ret.
cat >jit.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    static const unsigned char code[] = {0xb9, 0, 0, 0, 0x10, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
    char name[64];
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx %zx made_by_jit\n", (unsigned long)at, sizeof code);
    fclose(map);
    puts(name);
    ((void (*)(void))at)();
    return 0;
}
END
if [ "$(uname -m)" = x86_64 ] && cc jit.c -o jit; then
    # Without its cache of files, in which this perf crashes now and then.
    map=$(perf record -q -B -N -o jit.data ./jit)
    stoke annotate -q made_by_jit jit.data >out
    # shellcheck disable=SC2086  # a path each time that it was recorded
    rm -f $map
    says '^# a JIT made its code: no source lines are known$' out
    says 'no instructions: a JIT generated the code; it is not in a file$' out
    says '^\* .*%' out
fi
status 1 stoke annotate -q mix fp.data
says 'it was inlined into: leaf'
