/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions (DWARF 5, 2.5), the subset that call frame information uses: a
 * stack of numbers, and registers and memory through callbacks.
 *
 * The depth of the stack and the number of steps are limited, because an expression may
 * jump back. */
#ifndef STOKE_UNWIND_EXPRESSION_H
#define STOKE_UNWIND_EXPRESSION_H

#include "base/bytes.h"

#define EXPRESSION_STEPS_MAX 1000
#define EXPRESSION_STACK_MAX 64

/* Callbacks for registers and memory. They return false if the value is unknown, which
 * ends the evaluation. */
struct expression_access {
    void *context;
    bool (*memory)(void *context, uint64_t address, unsigned size, uint64_t *value);
    bool (*reg)(void *context, uint64_t number, uint64_t *value); /* DWARF numbers */
    uint64_t bias; /* load address minus file address */
    bool big_endian;
};

/* Evaluates `code`; *first, if `first` is not NULL, is on the stack at the start.
 * Returns false if an operation is unknown or not allowed, a read fails, or a limit is
 * reached; *value is unchanged then. */
bool expression_evaluate(struct str code, const struct expression_access *access,
                         const uint64_t *first, uint64_t *value);

#endif
