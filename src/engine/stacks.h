/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of all threads of a running process now, or of a core file. Each thread is stopped only while its
 * registers, its stack and its interpreted frames are read; unwinding and naming follow when
 * it runs again. */
#ifndef STOKE_ENGINE_STACKS_H
#define STOKE_ENGINE_STACKS_H

#include "engine/symbols.h"
#include "interpreter/merge.h"
#include "os/inspect.h"

struct stacks_request {
    const char *core; /* path of a core file; NULL: of a running process */
    int64_t pid;      /* of a process, or of one of its threads */
    bool interpreted; /* only frames of interpreted programs */
    struct symbol_settings symbols;
};

enum stacks_kind { STACKS_NATIVE, STACKS_INLINED, STACKS_INTERPRETED };

struct stacks_frame {
    enum stacks_kind kind;
    struct str function; /* or empty: unknown */
    struct str file;     /* of the source; or empty */
    uint32_t line;       /* 0: unknown */
    struct str module;   /* of native code: the mapped file; or empty */
    uint64_t address;    /* of native code */
};

#define STACKS_OF_CORE 'c' /* the letter of the state of threads of a core file */

enum stacks_result {
    STACKS_READ,
    STACKS_BUSY,   /* the thread did not stop: it has no frames */
    STACKS_FAILED, /* its registers are not available, as those of 32-bit processes */
};

struct stacks_thread {
    int64_t tid;
    struct str name;
    struct os_thread_state state;
    enum stacks_result result;
    bool holds_lock;             /* the interpreter's lock */
    bool is_interpreted;         /* the runtime knows the thread */
    enum unwind_end native;      /* how the native stack ends */
    enum interpreter_end end;    /* how the interpreted stack ends */
    enum merge_result merge;     /* of both */
    uint64_t paused;             /* ns for which it was stopped */
    struct stacks_frame *frames; /* leaf first */
    size_t count;
};

/* The runtime of the process; `interpreter` is NULL if there is none. */
struct stacks {
    struct arena arena; /* owns everything */
    int64_t pid;
    struct str command;
    struct interpreter_runtime runtime;
    struct str runtime_module;
    bool native_is_absent; /* not requested */
    struct str refused;    /* why a runtime was not used; or empty */
    struct str core;       /* path of the core file; or empty */
    unsigned signal;  /* of a core: ended the process, in the first thread; 0: none */
    uint64_t missing; /* of a core: bytes behind the end of the file */
    size_t rejected;  /* of a core: notes that are not valid */
    size_t changed_files, missing_files; /* of a core: since it was written */
    struct str changed_path, missing_path;
    struct stacks_thread *threads;
    size_t count, cap;
};

/* Reads the stacks. Returns false with err set if the process cannot be inspected. Call
 * stacks_deinit in either case. */
bool stacks_read(struct stacks *s, const struct stacks_request *request,
                 struct error *err);
void stacks_deinit(struct stacks *s);

/* A profile with one sample for each thread, of the event "threads". NULL, with err set, when
 * out of memory. The caller owns it. */
struct profile *stacks_profile(const struct stacks *s, struct error *err);

#endif
