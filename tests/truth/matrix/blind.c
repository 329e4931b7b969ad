/* SPDX-License-Identifier: Apache-2.0 */
/* A library without unwind information, for tests/truth/matrix.py: -DNAME sets the
 * name of its function, which has no unwind rule and no frame pointer. */
#if defined(__x86_64__)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
__asm__(".globl " TEXT(NAME) "\n.type " TEXT(NAME) ", @function\n" TEXT(
    NAME) ":\n"
          "    push %rbp\n"
          "    mov $1, %ebp\n" /* not a frame */
          "1:  imul %rax, %rax\n"
          "    imul %rax, %rax\n"
          "    dec %rdi\n"
          "    jnz 1b\n"
          "    pop %rbp\n"
          "    ret\n"
          ".size " TEXT(NAME) ", . - " TEXT(NAME) "\n");
#endif
