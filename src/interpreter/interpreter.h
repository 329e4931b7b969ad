/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of programs that an interpreter runs: from the memory of a process to the functions,
 * files and lines of the interpreted program.
 *
 * A runtime is recognised by its modules and symbols. All memory is read through the caller's
 * functions, so a live process, a core file and a test's image are the same. The memory is
 * hostile: a thread may change it while it is read, or it is corrupt. Every depth, size and
 * amount of work is bounded, cycles end, and an inconsistent stack is marked.
 *
 * Processes are 64-bit and little-endian.
 *
 * To add an interpreter:
 *   1. src/interpreter/NAME.c with one `const struct interpreter interpreter_NAME`
 *   2. its line in interpreters.def
 *   3. its line in src/interpreter/meson.build
 *   4. tests/interpreter/test_NAME.c with memory images */
#ifndef STOKE_INTERPRETER_INTERPRETER_H
#define STOKE_INTERPRETER_INTERPRETER_H

#include "base/architecture.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/interpreter_walk.h"

/* Maximum number of frames of one stack. */
#define INTERPRETER_FRAMES_MAX 65536

/* Maximum number of bytes of a name; longer ones are truncated. */
#define INTERPRETER_NAME_MAX 4096

/* A process, through functions of the caller. */
struct interpreter_access {
    void *context;
    enum architecture machine;
    uint64_t
        first_tid; /* of the first thread, in the innermost PID namespace; 0: unknown */
    /* Paths of the files that are mapped as code, the executable first. */
    const struct str *modules;
    size_t module_count;
    /* Reads `size` bytes; false unless all of them are available. */
    bool (*read)(void *context, uint64_t address, void *into, size_t size);
    /* The address in the process of a function or variable of a module; false if the module
     * does not define it. */
    bool (*symbol)(void *context, size_t module, struct str name, uint64_t *address);
};

/* A runtime in a process. */
struct interpreter_runtime {
    const struct interpreter *interpreter;
    const struct interpreter_access *access;
    struct arena *arena; /* owns all names and files of frames */
    size_t module;       /* contains the interpreter's code */
    char version[32];    /* "3.11.2", or "3.8" if the process does not contain more */
    char offsets[64];    /* the source of the structures' layout: "table for 3.11" */
    void *data;          /* the interpreter's, in the arena */
};

/* What identifies a thread. */
struct interpreter_thread_ids {
    uint64_t tid;          /* in the innermost PID namespace of the process */
    uint64_t pointer;      /* the thread pointer, of x86-64: fs base; 0: unknown */
    uint64_t pc;           /* of a stopped thread: its instruction pointer; 0: unknown */
    uint64_t frame, stack; /* and its frame pointer and stack pointer */
};

/* A thread as the runtime knows it. */
struct interpreter_thread {
    uint64_t state; /* the address of the runtime's structure */
    uint64_t frame, pc,
        stack;       /* of a runtime whose frames are those of the native stack */
    bool holds_lock; /* the global interpreter lock */
};

struct interpreter_frame {
    struct str function; /* the qualified name if the version has it; empty: unknown */
    struct str file;     /* or empty */
    uint32_t line;       /* 0: unknown */
    bool is_entry;       /* called by native code: frames after it belong to another
                            native frame of the interpreter's loop */
    bool is_native;      /* a function of native code: no loop executes it */
    bool is_hidden;      /* not a function: only the mark of an entry */
    uint64_t pc;         /* of a native frame that is this function; or 0 */
};

enum interpreter_end {
    INTERPRETER_WHOLE,     /* the outermost frame was reached */
    INTERPRETER_TRUNCATED, /* more than INTERPRETER_FRAMES_MAX frames, or too much work */
    INTERPRETER_TORN, /* memory was inconsistent or unreadable; callers are missing */
};

/* A stack, leaf first. The caller owns it; all zeros is empty. */
struct interpreter_stack {
    struct interpreter_frame *frames;
    size_t count, cap;
    enum interpreter_end end;
};

enum interpreter_found {
    INTERPRETER_ABSENT,
    INTERPRETER_STARTING, /* present, but its version is not in memory yet */
    INTERPRETER_FOUND,
    INTERPRETER_REFUSED, /* present, but of an unknown version or corrupt: err is set */
};

/* The role of a native function of the interpreter. */
enum interpreter_native {
    NATIVE_WORK,     /* visible: garbage collection, strings, waits for locks */
    NATIVE_LOOP,     /* executes interpreted frames */
    NATIVE_INTERNAL, /* calls from the loop to the loop: hidden */
    NATIVE_ENTERS, /* the same, and calls only loops: those without a name are parts of one */
    NATIVE_CONTINUES, /* the same; a loop that it calls executes the frame of the loop below */
    NATIVE_UNNAMED, /* of a runtime without symbols: see interpreter_settle (merge.h) */
};

struct interpreter {
    const char *name;  /* "python" */
    const char *title; /* "CPython" */
    const char *file;  /* part of the names of its modules: "python" */

    /* A function without a name that the loop calls is a part of the loop. */
    bool splits_loop;

    /* Native code prepares calls before it executes them, as sort does with its block: the
     * innermost frames up to an entry may have no loop yet. */
    bool prepares_calls;

    /* Recognises the runtime and fills in its module, version, offsets and data; access and
     * arena are set. */
    enum interpreter_found (*find)(struct interpreter_runtime *r, struct error *err);

    /* Finds a thread; false if the runtime does not know it. */
    bool (*thread)(const struct interpreter_runtime *r,
                   const struct interpreter_thread_ids *ids,
                   struct interpreter_thread *thread);

    /* Reads the stack of a thread; replaces the frames. `stack->frames` grows in `scratch`,
     * names are in the runtime's arena. Should not run while the thread executes. False when
     * out of memory. */
    bool (*stack)(struct interpreter_runtime *r, const struct interpreter_thread *thread,
                  struct interpreter_stack *stack, struct arena *scratch);

    /* The role of a function of the runtime's module. */
    enum interpreter_native (*native)(struct str function);

    /* The layout for a walk by the kernel; false if its frames are too large for that. */
    bool (*layout)(const struct interpreter_runtime *r, struct interpreter_walk *walk);

    /* Names a frame that the kernel found: its function, file and line. False if the code
     * object is not there any more, or if out of memory. Names are in the runtime's arena. */
    bool (*describe)(struct interpreter_runtime *r,
                     const struct interpreter_walk_frame *walked,
                     struct interpreter_frame *frame);
};

extern const struct interpreter *const interpreters[]; /* ends with NULL */

/* Searches for a runtime of the interpreter. `r` is initialised; `access` and `arena`
 * must outlive it. */
enum interpreter_found interpreter_find(const struct interpreter *interpreter,
                                        const struct interpreter_access *access,
                                        struct arena *arena,
                                        struct interpreter_runtime *r, struct error *err);

#endif
