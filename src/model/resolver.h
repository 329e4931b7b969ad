/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver: it finds the file, the callers and the names of an address for a
 * reader.
 *
 * A recording contains names of files and addresses. The files are on this machine
 * (src/resolve), or the user has dropped them on the page. A reader calls the
 * functions of its resolver struct; without a resolver, addresses remain numbers.
 *
 * Names are requested in batches, which the resolver may distribute over several
 * threads. The reader unwinds stacks with tasks of a thread pool (base/thread_pool.h)
 * that the resolver provides, and continues to read meanwhile. */
#ifndef STOKE_MODEL_RESOLVER_H
#define STOKE_MODEL_RESOLVER_H

#include "base/architecture.h"
#include "base/thread_pool.h"
#include "base/unwind_rule.h"
#include "model/profile.h"
#include "model/space.h"

/* A mapped file; the resolver assigns the number. 0 is none. */
typedef uint32_t object_id;

/* A file that the recording reports as mapped. */
struct object_request {
    struct str path; /* as recorded: "/usr/bin/x", "[vdso]", "[kernel.kallsyms]_text" */
    struct str build_id;         /* lower-case hexadecimal, or empty */
    int64_t pid;                 /* a process that mapped it, or ID_NONE */
    enum frame_kind kind;        /* FRAME_JIT: code without a file, named by a perf map */
    uint64_t start, end, offset; /* the map; of the kernel and its modules: addresses */
    uint64_t reference;    /* of the kernel: the address of its reference symbol, or 0 */
    uint32_t major, minor; /* its device */
    uint64_t inode;        /* its inode; 0: unknown */
    uint64_t written;      /* time of the recording, ns since the epoch; or 0 */
    struct str host;       /* host of the recording, or empty */
    struct str release;    /* release of the recorded kernel (uname -r), or empty */
    struct str jit_map;    /* FRAME_JIT: the perf map, if the recording contains it */
};

/* Why unwinding stopped. */
enum unwind_end {
    UNWIND_WHOLE,    /* the outermost frame was reached */
    UNWIND_CUT,      /* the dump is too short */
    UNWIND_NO_TABLE, /* code without a map, a file or a rule */
    UNWIND_BAD_RULE, /* an invalid rule, or a stack that does not grow */
    UNWIND_TOO_DEEP, /* the maximum number of frames */
    UNWIND_SWITCHED, /* the callers are on another stack, which is not in the dump */
};

/* True if callers are missing although every frame had unwind information. */
static inline bool unwind_is_truncated(enum unwind_end end)
{
    return end == UNWIND_CUT || end == UNWIND_TOO_DEEP || end == UNWIND_SWITCHED;
}

#define UNWIND_REGISTERS_MAX 64
#define UNWIND_FRAMES_MAX 1024

/* A stack dump to unwind. The caller owns all memory. */
struct unwind_job {
    enum architecture machine;
    const struct spaces *spaces; /* any worker may call space_find */
    space_id space;              /* of the process at that time; the caller holds it */
    const uint64_t *registers;   /* indexed by perf register numbers; 0 if not recorded */
    uint64_t recorded;           /* one bit per register */
    struct str stack;            /* the memory from the stack pointer up */

    uint64_t *addresses; /* out: leaf first, callers as return addresses */
    uint32_t *signals;   /* out: bit per frame, in words of 32: not a return address */
    size_t room, count;
    enum unwind_end end;
};

/* A function at an address, or one inlined into it. */
struct resolved_frame {
    struct str name; /* as it is shown (demangled or not); empty: unknown */
    struct str file; /* or empty */
    uint32_t line; /* of the address, or of the call in functions around an inlined one */
    uint32_t kind; /* FRAME_INLINED, or the object's */
    uint64_t offset; /* of the address in the function that is not inlined */
    uint64_t size;   /* of this function; 0: unknown */
};

/* An address to name. Results are valid as long as the resolver. */
struct name_job {
    object_id object; /* 0: the file is unknown; there is no result */
    uint64_t address; /* in a file: the offset in it; kernel and JIT: as recorded */
    bool is_call;     /* a return address: the name is that of the call before it */
    uint32_t version; /* of JIT code, from resolver->version; 0: the last one */
    const struct resolved_frame *frames; /* out: innermost first */
    size_t count;                        /* 0: unknown */
};

struct resolver {
    void *context;
    const struct thread_pool *pool; /* for tasks of the reader; or NULL */

    /* Registers the file. Never fails: a file that is not found has a number too, and has
     * no names. The same file may get the same number again. The strings need to be valid
     * during the call only. */
    object_id (*object)(void *context, const struct object_request *requested);

    /* Announces requests for names in this object, so that they can be prepared in the
     * background. May be NULL; calling it is optional. */
    void (*prefetch)(void *context, object_id object);

    /* Unwinds the jobs. Tasks may call it, each with its worker, concurrently with each
     * other and with `object` and `prefetch`. */
    void (*unwind)(void *context, unsigned worker, struct unwind_job *jobs, size_t count);

    /* The rule for the code at an offset in the object. False if there is none that says
     * everything. Called by one thread, not at the same time as `unwind`. May be NULL. */
    bool (*rule)(void *context, object_id object, uint64_t offset,
                 struct unwind_rule *rule);

    /* Fills in `frames` and `count` of the jobs. */
    void (*name)(void *context, struct name_job *jobs, size_t count);

    /* No more requests for the objects so far: their results may be cached and their
     * files closed while the caller continues. Results remain valid. May be NULL; calling
     * it is optional. */
    void (*release)(void *context);

    /* A JIT may write new code over old code. Returns a number for the code at an address
     * (as in a job, minus 1 for a call) at a time (ns, CLOCK_MONOTONIC); 0: the code does
     * not change. Tasks may call it like `unwind`. May be NULL. */
    uint32_t (*version)(void *context, object_id object, uint64_t address, uint64_t time);
};

#endif
