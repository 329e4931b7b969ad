/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions (DWARF 5, 2.5), as far as call frame information uses them: numbers
 * on a stack, registers and memory through accessors.
 *
 * Bounded: a depth of stack, and a number of steps, since an expression may jump back. */
#ifndef STOKE_UNWIND_EXPRESSION_H
#define STOKE_UNWIND_EXPRESSION_H

#include "base/bytes.h"

#define EXPRESSION_STEPS_MAX 1000
#define EXPRESSION_STACK_MAX 64

/* What an expression may ask for. The functions return false where the value is not
 * known, which ends the evaluation. */
struct expression_access {
    void *context;
    bool (*memory)(void *context, uint64_t address, unsigned size, uint64_t *value);
    bool (*reg)(void *context, uint64_t number, uint64_t *value); /* DWARF's numbers */
    uint64_t bias; /* what is added to an address of the file where it is loaded */
    bool big_endian;
};

/* Evaluates `code` with *first, where it is not NULL, on the stack to begin with. False
 * where an operation is not known or not allowed, something cannot be read, or a bound is
 * reached; *value is then not set. */
bool expression_evaluate(struct str code, const struct expression_access *access,
                         const uint64_t *first, uint64_t *value);

#endif
