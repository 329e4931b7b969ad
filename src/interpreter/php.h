/* SPDX-License-Identifier: Apache-2.0 */
/* PHP (Zend) without threads: php.c finds the runtime, php_frames.c reads stacks and names.
 *
 * The frames (zend_execute_data) are a list from the innermost one on. Functions of PHP and of
 * native code have frames; one native frame of the loop (execute_ex) executes all frames up to one
 * with the flag ZEND_CALL_TOP. Sources: zend_compile.h, zend_globals.h, zend_types.h and
 * zend_modules.h. */
#ifndef STOKE_INTERPRETER_PHP_H
#define STOKE_INTERPRETER_PHP_H

#include "interpreter/memory.h"

/* Where a version has its fields: 64-bit. */
struct php_layout {
    uint32_t major, minor;
    uint32_t globals_frame; /* executor_globals: the innermost frame */
    uint32_t code_file;     /* zend_op_array: the string; behind it, the first line */
};

/* Common to all versions. */
#define PHP_FRAME_INSTRUCTION 0
#define PHP_FRAME_CODE 24
#define PHP_FRAME_FLAGS 40
#define PHP_FRAME_PREVIOUS 48
#define PHP_FRAME_SIZE 56
#define PHP_FLAG_TOP 0x20000U
#define PHP_CODE_TYPE 0
#define PHP_CODE_NAME 8
#define PHP_CODE_CLASS 16
#define PHP_TYPE_NATIVE 1
#define PHP_TYPE_USER 2
#define PHP_TYPE_EVAL 4
#define PHP_INSTRUCTION_LINE 24
#define PHP_CLASS_NAME 8
#define PHP_STRING_LENGTH 16
#define PHP_STRING_BYTES 24

struct php {
    const struct php_layout *layout;
    struct interpreter_walk walk;
};

extern const struct interpreter interpreter_php;

/* The functions of the descriptor (interpreter.h). */
bool php_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
               struct interpreter_stack *stack, struct arena *scratch);
bool php_describe(struct interpreter_runtime *r,
                  const struct interpreter_walk_frame *walked,
                  struct interpreter_frame *frame);

#endif
