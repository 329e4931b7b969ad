/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's stack. It is unwound here with the rules that the collector has
 * provided. Without a rule, the collector unwinds it: it gets the registers and a copy of
 * the memory above the stack pointer. */
#ifndef STOKE_AGENTS_HEAP_STACK_H
#define STOKE_AGENTS_HEAP_STACK_H

#include "agents/heap/lane.h"

/* Fills in the registers and the memory to copy. Must be inlined: the registers are
 * those of the caller, whose frame must exist until the record is put. */
#define STACK_TAKE(stack)                       \
    __asm__ volatile("leaq 0(%%rip), %%rax\n\t" \
                     "movq %%rax, 0(%0)\n\t"    \
                     "movq %%rsp, 8(%0)\n\t"    \
                     "movq %%rbp, 16(%0)\n\t"   \
                     "movq %%rbx, 24(%0)\n\t"   \
                     "movq %%r12, 32(%0)\n\t"   \
                     "movq %%r13, 40(%0)\n\t"   \
                     "movq %%r14, 48(%0)\n\t"   \
                     "movq %%r15, 56(%0)"       \
                     :                          \
                     : "r"((stack)->registers)  \
                     : "rax", "memory")

/* Unwinds from the caller of the function whose frame pointer is given, and puts the stack
 * into the lane if it is not there yet. Sets its number, which is valid until stack_end.
 * False if that is not possible: stack_end must not be called then, and *missing is the
 * address whose rule is missing, or 0. */
bool stack_begin(const uint64_t *frame, uint64_t *number, uint64_t *missing);
void stack_end(void);

/* Finds the extent of this thread's stack, which needs system calls. */
void stack_prepare(void);

/* Describes the memory of the stack above registers[HEAP_SP]. */
void stack_describe(const struct heap_stack *stack, struct lane_record *record);

#endif
