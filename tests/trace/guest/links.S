/* SPDX-License-Identifier: Apache-2.0 */
/* Calls made of several instructions: ra is set, then a jump leads to the function. */
    .globl _start
    .type _start,@function
_start:
    li s0, 3
0:  la ra, 1f
    j f
1:  lla ra, 2f
    mv a0, s0
    la t0, f
    jr t0
2:  addi s0, s0, -1
    bnez s0, 0b
    li a7, 93
    li a0, 0
    ecall
    .size _start, .-_start
    .globl f
    .type f,@function
f:  addi a0, a0, 1
    ret
    .size f, .-f
