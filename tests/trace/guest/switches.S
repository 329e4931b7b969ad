# Ways to change the stack, as libraries of coroutines and kernels have them.

# Callee-saved registers in a structure: switch_in_memory(from, to)
    .text
    .globl switch_in_memory
    .type switch_in_memory, @function
switch_in_memory:
    sd ra, 0(a0)
    sd sp, 8(a0)
    sd s0, 16(a0)
    sd s1, 24(a0)
    sd s2, 32(a0)
    sd s3, 40(a0)
    sd s4, 48(a0)
    sd s5, 56(a0)
    sd s6, 64(a0)
    sd s7, 72(a0)
    sd s8, 80(a0)
    sd s9, 88(a0)
    sd s10, 96(a0)
    sd s11, 104(a0)
    ld ra, 0(a1)
    ld sp, 8(a1)
    ld s0, 16(a1)
    ld s1, 24(a1)
    ld s2, 32(a1)
    ld s3, 40(a1)
    ld s4, 48(a1)
    ld s5, 56(a1)
    ld s6, 64(a1)
    ld s7, 72(a1)
    ld s8, 80(a1)
    ld s9, 88(a1)
    ld s10, 96(a1)
    ld s11, 104(a1)
    ret
    .size switch_in_memory, . - switch_in_memory

    .macro save_on_stack
    addi sp, sp, -112
    sd ra, 0(sp)
    sd s0, 8(sp)
    sd s1, 16(sp)
    sd s2, 24(sp)
    sd s3, 32(sp)
    sd s4, 40(sp)
    sd s5, 48(sp)
    sd s6, 56(sp)
    sd s7, 64(sp)
    sd s8, 72(sp)
    sd s9, 80(sp)
    sd s10, 88(sp)
    sd s11, 96(sp)
    .endm

    .macro load_from_stack to
    ld \to, 0(sp)
    ld s0, 8(sp)
    ld s1, 16(sp)
    ld s2, 24(sp)
    ld s3, 32(sp)
    ld s4, 40(sp)
    ld s5, 48(sp)
    ld s6, 56(sp)
    ld s7, 64(sp)
    ld s8, 72(sp)
    ld s9, 80(sp)
    ld s10, 88(sp)
    ld s11, 96(sp)
    addi sp, sp, 112
    .endm

# On the stack, of which only the pointer is kept: switch_on_stack(void **from, void *to)
    .globl switch_on_stack
    .type switch_on_stack, @function
switch_on_stack:
    save_on_stack
    sd sp, (a0)
    mv sp, a1
    load_from_stack ra
    ret
    .size switch_on_stack, . - switch_on_stack

# The same, which hands the pointer to the task that continues, and leaves by another register:
# void *switch_and_hand_over(void *to)
    .globl switch_and_hand_over
    .type switch_and_hand_over, @function
switch_and_hand_over:
    save_on_stack
    mv a1, sp
    mv sp, a0
    mv a0, a1
    load_from_stack ra
    mv t1, ra
    jr t1
    .size switch_and_hand_over, . - switch_and_hand_over

# Where a new stack begins: it calls its function, which is in s0, with s1 and what it was
# handed.
    .globl begin_stack
    .type begin_stack, @function
begin_stack:
    mv a1, a0
    mv a0, s1
    jalr s0
    ebreak
    .size begin_stack, . - begin_stack
