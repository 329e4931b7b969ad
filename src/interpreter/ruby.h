/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the Ruby reader (CRuby): ruby.c finds the runtime and its threads, ruby_frames.c
 * reads stacks, ruby_names.c reads strings and the names of methods and classes. */
#ifndef STOKE_INTERPRETER_RUBY_H
#define STOKE_INTERPRETER_RUBY_H

#include "base/idmap.h"
#include "interpreter/memory.h"

/* Where a version has its fields: x86-64. Sources: vm_core.h, ractor_core.h, iseq.h, method.h,
 * internal/class.h, symbol.c and iseq.c of that version. Frames are described by
 * interpreter_walk.h. */
struct ruby_layout {
    uint32_t major, minor;
    uint32_t vm_ractors, vm_marked; /* list of ractors; objects that are never freed */
    uint32_t ractor_node, ractor_threads, ractor_owner; /* the thread with the lock */
    uint32_t thread_context, thread_pointer, thread_tid;
    uint32_t frame_stride;
    uint32_t body_start;                        /* the instructions */
    uint32_t body_file, body_label, body_first; /* strings, and a line */
    uint32_t body_lines, body_line_count, body_line_index;
    uint32_t line_size; /* of an entry of the table of lines */
    uint32_t class_fields, fields_variables;
    uint32_t name_last; /* the highest id of an operator */
};

/* Common to all versions. */
#define RUBY_CONTEXT_FRAME 16
#define RUBY_FRAME_INSTRUCTION 0
#define RUBY_FRAME_CODE 16
#define RUBY_FRAME_ENVIRONMENT 32
#define RUBY_FRAME_SIZE 40
#define RUBY_CODE_BODY 16
#define RUBY_METHOD_DEFINITION 16
#define RUBY_DEFINITION_CODE 8 /* of a method of code */
#define RUBY_METHOD_NAME 24
#define RUBY_METHOD_OWNER 32

/* A function that was read. An address may be reused, so `check` is compared. */
struct ruby_code {
    uint32_t check;
    struct str name, file;
};

/* The data of a runtime. */
struct ruby {
    const struct ruby_layout *layout;
    struct interpreter_walk walk;
    uint64_t vm;    /* address of the pointer to the VM */
    uint64_t names; /* the array of all names; 0: not found */
    unsigned searches;
    uint64_t key_class, key_attached; /* names of variables of classes; 0: not known */
    struct ruby_code *codes;
    size_t code_count, code_cap;
    struct idmap by_address; /* 1 + index into codes */
    uint64_t cached;         /* bytes of names */
};

extern const struct interpreter interpreter_ruby;

/* The functions of the descriptor (interpreter.h). */
bool ruby_stack(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                struct interpreter_stack *stack, struct arena *scratch);
bool ruby_describe(struct interpreter_runtime *r,
                   const struct interpreter_walk_frame *walked,
                   struct interpreter_frame *frame);

/* A String as UTF-8; empty, with m->failed set, if the value is not a String. */
struct str ruby_string(struct memory *m, uint64_t value, struct arena *arena);

/* An element of an Array; 0 if there is none. */
uint64_t ruby_element(struct memory *m, uint64_t array, uint64_t index);

/* The name of a method with its class: "Integer#times", or as much as is known. `label` is the
 * String of the name without the class; 0: the method's own name. */
struct str ruby_method_name(struct ruby *ruby, struct memory *m, uint64_t method,
                            uint64_t label, struct arena *arena);

#endif
