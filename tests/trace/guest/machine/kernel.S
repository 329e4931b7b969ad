# The kernel's ways in and out. A task's tp points at it while it is in the kernel, and
# sscratch does while it is not; what stands in sscratch in the kernel is 0.
#define TASK_KERNEL_SP 0
#define TASK_USER_SP 8
#define TASK_RA 16
#define FRAME 272

    .section .text.first, "ax"
    .globl _start
    .type _start, @function
_start:
    la sp, stack_of_boot + 4096
    la tp, tasks
    csrw sscratch, zero
    la t0, trap_entry
    csrw stvec, t0
    call kernel_main
1:  j 1b
    .size _start, . - _start

    .text
    .globl trap_entry
    .type trap_entry, @function
    .align 2
trap_entry:
    csrrw tp, sscratch, tp
    bnez tp, 1f
    csrr tp, sscratch               # it was in the kernel
    sd sp, TASK_KERNEL_SP(tp)
1:  sd sp, TASK_USER_SP(tp)
    ld sp, TASK_KERNEL_SP(tp)
    addi sp, sp, -FRAME
    .irp n, 1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    sd x\n, 8*\n(sp)
    .endr
    ld t0, TASK_USER_SP(tp)
    csrrw t1, sscratch, zero
    csrr t2, sepc
    csrr t3, sstatus
    sd t0, 16(sp)
    sd t1, 32(sp)
    sd t2, 0(sp)
    sd t3, 256(sp)
    csrr a0, scause
    mv a1, sp
    call on_trap
    j return_from_trap
    .size trap_entry, . - trap_entry

    .globl return_from_trap
    .type return_from_trap, @function
return_from_trap:
    ld t0, 256(sp)
    csrw sstatus, t0
    andi t1, t0, 0x100              # SPP: from the kernel
    bnez t1, 1f
    addi t1, sp, FRAME
    sd t1, TASK_KERNEL_SP(tp)
    csrw sscratch, tp
1:  ld t0, 0(sp)
    csrw sepc, t0
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    ld x\n, 8*\n(sp)
    .endr
    ld x2, 16(sp)
    sret
    .size return_from_trap, . - return_from_trap

# a0: the task that runs; a1: the task to run next.
    .globl __switch_to
    .type __switch_to, @function
__switch_to:
    sd ra, TASK_RA(a0)
    sd sp, TASK_RA+8(a0)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    sd s\n, TASK_RA+16+8*\n(a0)
    .endr
    ld ra, TASK_RA(a1)
    ld sp, TASK_RA+8(a1)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    ld s\n, TASK_RA+16+8*\n(a1)
    .endr
    mv tp, a1
    ret
    .size __switch_to, . - __switch_to

# Where a task begins: one of the kernel's in s0, one of user mode in its frame.
    .globl ret_from_fork
    .type ret_from_fork, @function
ret_from_fork:
    call task_begins
    beqz s0, 1f
    jalr s0
    call task_ends
1:  j return_from_trap
    .size ret_from_fork, . - ret_from_fork
