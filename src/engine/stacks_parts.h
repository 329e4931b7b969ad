/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of reading stacks: stacks_process.c finds the files and runtimes of the process,
 * stacks_thread.c stops and reads a thread, stacks_frames.c unwinds, names and merges. */
#ifndef STOKE_ENGINE_STACKS_PARTS_H
#define STOKE_ENGINE_STACKS_PARTS_H

#include "engine/stacks.h"
#include "os/proc.h"
#include "resolve/mapped_file.h"
#include "symbol/core.h"

/* A file that is mapped as code. */
struct stacks_module {
    struct mapped_file file; /* for symbols of variables */
    object_id object;
    bool is_jit;
};

struct stacks_range {
    uint64_t start, end;
};

/* What a stopped thread's stack is made of later. */
struct stacks_capture {
    uint64_t own_tid; /* in the innermost PID namespace of the process */
    struct os_registers registers;
    struct str stack; /* from the stack pointer up */
    struct interpreter_stack interpreted;
};

/* A process that is being read. */
struct stacks_reader {
    struct stacks *out;
    const struct stacks_request *request;
    struct symbols symbols;
    struct spaces spaces;
    space_id space;
    int64_t process;           /* 0: of a core file */
    struct os_mapping mapping; /* the core file */
    struct core core;
    /* reads memory of the process; the context is the reader */
    bool (*read)(void *context, uint64_t address, void *into, size_t size);
    struct arena arena; /* everything that is not part of the result */
    struct stacks_module *modules;
    size_t module_count, module_cap;
    struct str *paths; /* of the modules */
    struct stacks_range *ranges;
    size_t range_count, range_cap;
    struct interpreter_access access;
    struct stacks_capture *captures; /* by thread */
    size_t capture_cap;
};

/* stacks_process.c: reads the mappings; finds a runtime. False with err set. */
bool stacks_read_process(struct stacks_reader *r, struct error *err);
/* Adds a mapping of code. */
void stacks_add_code(void *context, const struct os_code *code);
bool stacks_find_runtime(struct stacks_reader *r, struct error *err);
void stacks_close_modules(struct stacks_reader *r);

/* stacks_thread.c: adds a thread, unless it has ended. False with err set if nothing can be
 * read. */
bool stacks_capture_thread(struct stacks_reader *r, int64_t tid, struct error *err);

/* Reads the interpreted frames of a thread that does not run. False when out of memory. */
bool stacks_read_interpreted(struct stacks_reader *r, struct stacks_thread *t,
                             struct stacks_capture *c);

/* stacks_core.c: the same from a core file. */
bool stacks_open_core(struct stacks_reader *r, struct error *err);
bool stacks_capture_core(struct stacks_reader *r, struct error *err);

/* stacks_frames.c: makes the frames of a thread. False when out of memory. */
bool stacks_make_frames(struct stacks_reader *r, struct stacks_thread *thread,
                        const struct stacks_capture *capture);

#endif
