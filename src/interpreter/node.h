/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the reader of JavaScript (V8 in node): node.c finds the runtime and its layout,
 * node_functions.c names functions, node_lines.c finds lines, node_strings.c reads strings,
 * node_frames.c walks stacks. Objects are tagged pointers: 1 is added to their address; numbers
 * are in the upper half of a word. */
#ifndef STOKE_INTERPRETER_NODE_H
#define STOKE_INTERPRETER_NODE_H

#include "base/idmap.h"
#include "interpreter/memory.h"

#define NODE_TAG INTERPRETER_WALK_OBJECT_TAG
#define NODE_WORD 8

/* Where a version has its fields: offsets from the start of an object. Most are symbols of the
 * program (v8dbg_*), see node.c. */
struct node_layout {
    uint32_t map_type;
    uint32_t function_shared;
    uint32_t shared_data, shared_name, shared_script, shared_flags;
    uint32_t script_name, script_line_ends;
    uint32_t string_length, string_one, string_two;
    uint32_t cons_first, cons_second, sliced_parent, sliced_offset, thin_actual;
    uint32_t external_resource;
    uint32_t array_length, array_data; /* of a byte array, too */
    uint32_t bytecode_data;
    uint32_t scope_locals, scope_variables; /* indexes of words */
    /* types */
    uint32_t shared, script, bytecode, scope, byte_array, trusted_byte_array;
    uint32_t interpreter_data, first_nonstring;
    uint32_t tagged_size, number_shift;
    /* offsets from the frame pointer: below zero */
    uint32_t fp_context, fp_function, fp_bytecode, fp_instruction;
    /* offsets that no symbol contains, by version */
    uint32_t bytecode_positions;
};

/* A function that was read. An address may be reused, so `check` is compared. */
struct node_function {
    uint32_t check;
    uint32_t line; /* of its start; 0: unknown */
    struct str name, file;
    uint64_t lines; /* the key of the lines of its script; 0: none */
};

/* The ends of the lines of a script: indexes of characters. */
struct node_lines {
    uint32_t *ends;
    size_t count, cap;
    uint32_t first;    /* the number of lines before it in its file */
    unsigned attempts; /* that are left */
    bool is_known;
};

/* The data of a runtime. */
struct node {
    struct node_layout layout;
    struct interpreter_walk walk;
    struct node_function *functions;
    size_t function_count, function_cap;
    struct idmap by_address; /* 1 + index into functions */
    struct node_lines *lines;
    size_t lines_count, lines_cap;
    struct idmap by_script; /* 1 + index into lines */
    uint64_t cached;        /* bytes of names and lines */
};

/* Names and lines of more bytes are not cached: a hostile process reuses addresses. */
#define NODE_CACHED_MAX ((uint64_t)256 << 20)

/* A field of an object, which is a tagged pointer. */
static inline uint64_t node_field(struct memory *m, uint64_t object, uint32_t offset)
{
    return memory_u64(m, object - NODE_TAG + offset);
}

static inline bool node_is_object(uint64_t value)
{
    return value & NODE_TAG;
}

/* The number in a word; 0 for an object. */
static inline uint32_t node_number(uint64_t value)
{
    return node_is_object(value) ? 0 : (uint32_t)(value >> 32);
}

/* The type of an object; UINT32_MAX if the word is not an object or is not readable.
 * Failure is not sticky. */
uint32_t node_type(struct memory *m, const struct node_layout *l, uint64_t object);

/* Receives characters of a string, one or two bytes each. */
typedef void node_characters(void *context, const unsigned char *bytes, size_t count,
                             unsigned width);

/* Reads at most `most` characters of a string of any form. False if the object is not a string,
 * has too many parts, or is not readable; characters before the failure are passed to `take`.
 * Failure is not sticky. */
bool node_string_read(struct memory *m, const struct node_layout *l, uint64_t string,
                      uint64_t most, node_characters *take, void *context);

/* A string as UTF-8, with at most INTERPRETER_NAME_MAX bytes; empty if it cannot be read. */
struct str node_string(struct memory *m, const struct node_layout *l, uint64_t string,
                       struct arena *arena);

/* The number of characters; 0 if the value is not a string. */
uint32_t node_string_length(struct memory *m, const struct node_layout *l,
                            uint64_t string);

/* The key of the lines of a script, which are read unless they are known; 0 if that is not
 * possible. `file` is the script's name. */
uint64_t node_script_lines(struct node *node, struct memory *m, uint64_t script,
                           struct str file, struct arena *arena);

/* The line of a character; 0 if it is unknown. */
uint32_t node_line_at(const struct node *node, uint64_t lines, uint32_t position);

/* The position in the script of an instruction: an offset in bytecode. -1 if it is unknown. */
int64_t node_bytecode_position(struct memory *m, const struct node_layout *l,
                               uint64_t shared, uint32_t offset);

/* The functions of the descriptor (interpreter.h). */
bool node_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                struct interpreter_stack *stack, struct arena *scratch);
bool node_describe(struct interpreter_runtime *r,
                   const struct interpreter_walk_frame *walked,
                   struct interpreter_frame *frame);

#endif
