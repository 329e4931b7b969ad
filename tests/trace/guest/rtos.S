# A kernel that preempts its tasks: a trap changes the stack pointer and leaves by mret.
# WAY 1: registers on the task's stack, whose pointer is kept in the task
#     2: the same, but C code takes and returns the pointer
#     3: registers in the task (mscratch), and the kernel has a stack of its own
#     4: registers on the kernel's stack, from and to where C code copies them
#include "start.inc"

    .macro save base
    sd ra, 8(\base)
    sd gp, 24(\base)
    sd t0, 40(\base)
    sd t1, 48(\base)
    sd t2, 56(\base)
    sd s0, 64(\base)
    sd s1, 72(\base)
    sd a1, 88(\base)
    sd a2, 96(\base)
    sd a3, 104(\base)
    sd a4, 112(\base)
    sd a5, 120(\base)
    sd a6, 128(\base)
    sd a7, 136(\base)
    sd s2, 144(\base)
    sd s3, 152(\base)
    sd s4, 160(\base)
    sd s5, 168(\base)
    sd s6, 176(\base)
    sd s7, 184(\base)
    sd s8, 192(\base)
    sd s9, 200(\base)
    sd s10, 208(\base)
    sd s11, 216(\base)
    sd t3, 224(\base)
    sd t4, 232(\base)
    sd t5, 240(\base)
    sd t6, 248(\base)
    .endm

    .macro load base
    ld ra, 8(\base)
    ld gp, 24(\base)
    ld t0, 40(\base)
    ld t1, 48(\base)
    ld t2, 56(\base)
    ld s0, 64(\base)
    ld s1, 72(\base)
    ld a1, 88(\base)
    ld a2, 96(\base)
    ld a3, 104(\base)
    ld a4, 112(\base)
    ld a5, 120(\base)
    ld a6, 128(\base)
    ld a7, 136(\base)
    ld s2, 144(\base)
    ld s3, 152(\base)
    ld s4, 160(\base)
    ld s5, 168(\base)
    ld s6, 176(\base)
    ld s7, 184(\base)
    ld s8, 192(\base)
    ld s9, 200(\base)
    ld s10, 208(\base)
    ld s11, 216(\base)
    ld t3, 224(\base)
    ld t4, 232(\base)
    ld t5, 240(\base)
    ld t6, 248(\base)
    .endm

    .globl trap_entry
    .type trap_entry, @function
    .align 2
trap_entry:
#if WAY == 1 || WAY == 2
    addi sp, sp, -272
    sd a0, 80(sp)
    save sp
    csrr t0, mepc
    sd t0, (sp)
#if WAY == 1
    la t1, current
    ld t1, (t1)
    sd sp, (t1)
    la sp, stack_main + 16384
    csrr a0, mcause
    call on_trap
.Lrestore:
    la t1, current
    ld t1, (t1)
    ld sp, (t1)
#else
    mv a0, sp
    csrr a1, mcause
    call on_trap_at
.Lrestore:
    mv sp, a0
#endif
    ld t0, (sp)
    csrw mepc, t0
    load sp
    ld a0, 80(sp)
    addi sp, sp, 272
    mret
#elif WAY == 3
    csrrw a0, mscratch, a0
    save a0
    sd sp, 16(a0)
    csrr t0, mscratch
    sd t0, 80(a0)
    csrr t0, mepc
    sd t0, (a0)
    la sp, stack_main + 16384
    csrr a0, mcause
    call on_trap
.Lrestore:
    la a0, current
    ld a0, (a0)
    ld t0, (a0)
    csrw mepc, t0
    csrw mscratch, a0
    load a0
    ld sp, 16(a0)
    ld a0, 80(a0)
    mret
#else
    csrrw sp, mscratch, sp
    addi sp, sp, -272
    sd a0, 80(sp)
    save sp
    csrr t0, mscratch
    sd t0, 16(sp)
    csrr t0, mepc
    sd t0, (sp)
    mv a0, sp
    csrr a1, mcause
    call on_trap_copies
    j 1f
.Lrestore:
    la sp, stack_main + 16384
    addi sp, sp, -272
    mv a0, sp
    call take_first
1:  ld t0, (sp)
    csrw mepc, t0
    ld t0, 16(sp)
    csrw mscratch, t0
    load sp
    ld a0, 80(sp)
    addi sp, sp, 272
    csrrw sp, mscratch, sp
    mret
#endif
    .size trap_entry, . - trap_entry

# The first task, whose registers are where those of one that was interrupted are.
    .globl start_first
    .type start_first, @function
start_first:
    j .Lrestore
    .size start_first, . - start_first
