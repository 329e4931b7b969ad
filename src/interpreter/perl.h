/* SPDX-License-Identifier: Apache-2.0 */
/* Perl: perl.c finds the runtime, perl_frames.c reads stacks and names.
 *
 * Calls are contexts (PERL_CONTEXT) in arrays (PERL_SI): native code that calls Perl, as sort
 * or an overloaded operator does, begins another array. A context has the statement (COP) of its
 * caller; the interpreter has that of the innermost function. One native frame of the loop
 * (Perl_runops_standard) executes all functions up to one without an operation to return to.
 * Sources: cop.h, cv.h, gv.h, hv.h, sv.h and intrpvar.h. */
#ifndef STOKE_INTERPRETER_PERL_H
#define STOKE_INTERPRETER_PERL_H

#include "interpreter/memory.h"

/* Where versions have their fields: 64-bit. */
struct perl_layout {
    uint32_t minor;               /* of the first version: 5.MINOR */
    uint32_t statement, contexts; /* in an interpreter: the innermost ones */
    uint32_t context_code, context_size;
    bool names_in_body; /* of packages; otherwise they are behind the array of the hash */
};

/* Common to all versions. */
#define PERL_CONTEXT_STATEMENT 16
#define PERL_STATEMENT_LINE 36
#define PERL_STATEMENT_FILE 48 /* a text; without threads, a glob with its name */
#define PERL_VALUE_FLAGS 12    /* the low byte is the type */
#define PERL_VALUE_POINTER 16
#define PERL_TYPE_CODE 13
#define PERL_TYPE_FORMAT 14
#define PERL_HASH_HAS_NAMES 0x02000000U
#define PERL_CODE_PACKAGE 32
#define PERL_CODE_ROOT 48
#define PERL_CODE_GLOB 56 /* or its name, if it has none */
#define PERL_CODE_FILE 64
#define PERL_CODE_FLAGS 92
#define PERL_CODE_IS_NAMED 0x8000U
#define PERL_GLOB_NAME 32
#define PERL_GLOB_PACKAGE 40
#define PERL_HASH_LAST 24 /* index of the last element of its array */
#define PERL_HASH_BODY_NAMES 32
#define PERL_NAMES_COUNT 28 /* 0: the name itself is there, not a list */
#define PERL_NAME_LENGTH 4
#define PERL_NAME_BYTES 8 /* behind them a 0, and flags: */
#define PERL_NAME_IS_UTF8 1

struct perl {
    const struct perl_layout *layout;
    bool has_threads; /* the build: statements have texts as files */
    struct interpreter_walk walk;
};

extern const struct interpreter interpreter_perl;

/* The functions of the descriptor (interpreter.h). */
bool perl_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                struct interpreter_stack *stack, struct arena *scratch);
bool perl_describe(struct interpreter_runtime *r,
                   const struct interpreter_walk_frame *walked,
                   struct interpreter_frame *frame);

#endif
