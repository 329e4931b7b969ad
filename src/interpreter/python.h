/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the CPython reader: python.c finds the runtime and its threads,
 * python_frames.c reads stacks, python_native.c classifies native functions. */
#ifndef STOKE_INTERPRETER_PYTHON_H
#define STOKE_INTERPRETER_PYTHON_H

#include "base/idmap.h"
#include "interpreter/python_layout.h"

/* A code object that was read. An address may be reused, so its contents are compared. */
struct python_code {
    uint64_t name_at, file_at, lines_at;
    uint32_t first_line;
    struct str name, file, lines;
};

/* The data of a runtime. */
struct python {
    struct python_layout layout;
    uint64_t runtime;   /* address of _PyRuntime */
    uint64_t code_type; /* address of PyCode_Type */
    struct python_code *codes;
    size_t code_count, code_cap;
    struct idmap by_address; /* 1 + index into codes */
    uint64_t cached;         /* bytes of names and line tables */
};

/* The functions of the descriptor (interpreter.h). */
bool python_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                  struct interpreter_stack *stack, struct arena *scratch);
enum interpreter_native python_native(struct str function);
bool python_walk_layout(const struct interpreter_runtime *r,
                        struct interpreter_walk *walk);
bool python_walk_describe(struct interpreter_runtime *r,
                          const struct interpreter_walk_frame *walked,
                          struct interpreter_frame *frame);

/* Reads a code object, also from the cache; false if there is none at the address. */
bool python_read_code(struct interpreter_runtime *r, uint64_t address,
                      struct python_code *code);

#endif
