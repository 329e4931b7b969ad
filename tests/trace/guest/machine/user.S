# Where a user program begins.
    .section .text.first, "ax"
    .globl _start
    .type _start, @function
_start:
    la sp, stack_of_user + 8192
    call main
    li a7, 3
    ecall
1:  j 1b
    .size _start, . - _start

    .text
    .globl call_kernel              # a0: an argument, a1: which
    .type call_kernel, @function
call_kernel:
    mv a7, a1
    ecall
    ret
    .size call_kernel, . - call_kernel

    .bss
    .align 4
    .globl stack_of_user
stack_of_user:
    .zero 8192
    .size stack_of_user, 8192
