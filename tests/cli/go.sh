# SPDX-License-Identifier: Apache-2.0
# Stacks of Go programs: the runtime uses other stacks than the goroutines. The test uses an
# imitation in assembly, and Go if it is installed.
. "$TESTS/cli/lib.sh"

[ "$(uname -m)" = x86_64 ] && command -v cc >/dev/null || {
    echo "skipped: no compiler, or not x86-64, whose code the test runs"
    exit 77
}
stoke record -q -o try.data true 2>err || {
    echo "skipped: the kernel does not let us record"
    exit 77
}

cat >switch.S <<'END'
    .section .gopclntab, "a"
    .long 0xfffffff1
    .bss
saved: .quad 0
    .text
    .cfi_sections .debug_frame
    .globl "runtime.systemstack.abi0", "main.outer"
    .type "runtime.systemstack.abi0", @function
"runtime.systemstack.abi0":
    .cfi_startproc
    mov %rsp, saved(%rip)
    mov %rsi, %rsp
    call *%rdi
    mov saved(%rip), %rsp
    ret
    .cfi_endproc
    .size "runtime.systemstack.abi0", . - "runtime.systemstack.abi0"
    .type "main.inner", @function
"main.inner":
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov %rsp, %rbp
    call "runtime.systemstack.abi0"
    pop %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size "main.inner", . - "main.inner"
    .type "main.outer", @function
"main.outer":
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov %rsp, %rbp
    call "main.inner"
    pop %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size "main.outer", . - "main.outer"
    .section .note.GNU-stack, "", @progbits
END
cat >main.c <<'END'
#include <stdlib.h>
#include <time.h>
void outer(void (*function)(void), void *stack) __asm__("main.outer");
static volatile unsigned long sink;
__attribute__((noinline)) void spin(void)
{
    while (clock() < CLOCKS_PER_SEC / 4)
        for (int i = 0; i < 100000; i++)
            sink = sink * 31 + 1;
}
__attribute__((noinline)) void evil(void)
{
    sink++;
}
static char other[1 << 16] __attribute__((aligned(16)));
int main(void)
{
    /* what the call frame information of the switch takes for return addresses */
    void **top = (void **)(other + sizeof other - 256);
    for (int i = 0; i < 32; i++)
        top[i] = i % 2 ? (void *)other : (char *)evil + 2;
    outer(spin, top);
    return 0;
}
END
cc -O1 -g -fno-omit-frame-pointer main.c switch.S -o switched
says_all() {
    says 'runtime.systemstack.abi0;spin' out
    says_not 'evil' out
    grep ';spin' out >spin # a sample may be of the start of the program
    says_not 'unknown\|\[switched\]\|anon' spin
}
status 0 stoke record -q -F 997 -o switched.data ./switched
status 0 stoke fold switched.data
says_all
says 'main.outer;runtime.systemstack.abi0;spin' out
if command -v perf >/dev/null &&
    perf record -q -F 997 --call-graph dwarf,16384 -o perf.data ./switched >/dev/null 2>&1; then
    status 0 stoke fold perf.data
    says_all
    # a sample may be of the loader's start, which has none
    says_not 'no unwind information in .*switched'
fi

command -v go >/dev/null || exit 0
cat >collect.go <<'END'
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	values      [4]int
}

//go:noinline
func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{build(depth - 1), build(depth - 1), [4]int{depth}}
}

//go:noinline
func spin(n int) (x uint64) {
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + uint64(i)
	}
	return x
}

func main() {
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
		}
	}()
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		nodes := map[int]*node{}
		for i := 0; i < 10; i++ {
			nodes[i] = build(10)
		}
		spin(20000)
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		runtime.GC()
	}
	fmt.Println("done")
}
END
GO111MODULE=off GOCACHE="$PWD/.go" HOME="$PWD" go build -o collect collect.go 2>err || exit 0
# Each stack starts where Go's stacks start, or is truncated where stacks are switched; all
# frames are functions.
stacks() {
    awk '{ weight = $NF; sub(/ [0-9]+$/, ""); split($0, f, ";"); all += weight
           if (f[2] ~ /^runtime\.(goexit|rt0_go|mcall|mstart|clone|sigreturn)/) whole += weight
           if ($0 ~ /\[(unknown|anon|collect|heap)\]/) wrong += weight }
         END { printf "%d %d\n", 100 * whole / all, 1000 * wrong / all }' "$1"
}
status 0 stoke record -q -F 997 -o own.data ./collect
status 0 stoke fold own.data -o own.folded
set -- $(stacks own.folded)
[ "$1" -ge 95 ] && [ "$2" -le 10 ] || fail "stoke record: $1% of the stacks are whole, $2 in 1000 wrong"
status 0 stoke record -q -F 997 --call-graph fp -o frames.data ./collect
status 0 stoke fold frames.data -o frames.folded
set -- $(stacks frames.folded)
[ "$1" -ge 90 ] || fail "by frame pointers $1% of the stacks are whole"
if [ -e perf.data ] &&
    perf record -q -F 997 --call-graph dwarf,16384 -o perf.data ./collect >/dev/null 2>&1; then
    status 0 stoke fold perf.data -o perf.folded
    set -- $(stacks perf.folded)
    [ "$1" -ge 60 ] && [ "$2" -le 10 ] || fail "perf record: $1% of the stacks are whole, $2 in 1000 wrong"
fi
