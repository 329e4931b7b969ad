# What runs in machine mode: it gives the machine to the kernel, and serves its timer.
#define TEST_DEVICE 0x100000
#define MTIMECMP 0x2004000

    .section .text.first, "ax"
    .globl _start
    .type _start, @function
_start:
    la sp, stack_of_firmware + 4096
    csrw mscratch, sp
    la t0, firmware_trap
    csrw mtvec, t0
    li t0, 0x0100                   # ecalls of user mode are the kernel's
    csrw medeleg, t0
    li t0, 0x0222                   # and so are its interrupts
    csrw mideleg, t0
    li t0, -1
    csrw pmpaddr0, t0
    csrw mcounteren, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
    call firmware_leave
1:  j 1b
    .size _start, . - _start

# Into supervisor mode, where the kernel begins.
    .type firmware_leave, @function
firmware_leave:
    li t0, 0x1800
    csrc mstatus, t0
    li t0, 0x0800
    csrs mstatus, t0
    li t0, 0x80200000
    csrw mepc, t0
    mret
    .size firmware_leave, . - firmware_leave

    .globl firmware_trap
    .type firmware_trap, @function
    .align 2
firmware_trap:
    csrrw sp, mscratch, sp
    addi sp, sp, -48
    sd ra, 0(sp)
    sd t0, 8(sp)
    sd t1, 16(sp)
    sd t2, 24(sp)
    csrr t0, mcause
    bltz t0, 1f
    call serve_call
    j 2f
1:  call serve_timer
2:  ld ra, 0(sp)
    ld t0, 8(sp)
    ld t1, 16(sp)
    ld t2, 24(sp)
    addi sp, sp, 48
    csrrw sp, mscratch, sp
    mret
    .size firmware_trap, . - firmware_trap

# a7: 0 sets the timer to a0; else the machine is switched off.
    .type serve_call, @function
serve_call:
    csrr t0, mepc
    addi t0, t0, 4
    csrw mepc, t0
    bnez a7, power_off
    li t0, MTIMECMP
    sd a0, (t0)
    li t0, 0x20
    csrc mip, t0
    li t0, 0x80
    csrs mie, t0
    ret
    .size serve_call, . - serve_call

    .type power_off, @function
power_off:
    li t0, TEST_DEVICE
    li t1, 0x5555
    sw t1, (t0)
1:  j 1b
    .size power_off, . - power_off

# The timer's interrupt is handed on to the kernel.
    .type serve_timer, @function
serve_timer:
    li t0, 0x80
    csrc mie, t0
    li t0, 0x20
    csrs mip, t0
    ret
    .size serve_timer, . - serve_timer

    .bss
    .align 4
    .globl stack_of_firmware
stack_of_firmware:
    .zero 4096
    .size stack_of_firmware, 4096
