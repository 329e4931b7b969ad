/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of addresses asks: which file an address lies in, what its caller is, and
 * what it is called.
 *
 * A recording names files and holds numbers; what is in the files is known to this
 * machine (src/resolve) or to a page on which they were dropped. A reader calls these
 * functions through the struct that it was handed; with none, addresses stay numbers.
 *
 * Names are asked for in batches, which the resolver may split over the cores. Stacks are
 * unwound by whoever has them: the resolver lends a crew (base/crew.h), so that a reader
 * may go on while others unwind what it has read. */
#ifndef STOKE_MODEL_RESOLVER_H
#define STOKE_MODEL_RESOLVER_H

#include "base/architecture.h"
#include "base/crew.h"
#include "model/profile.h"
#include "model/space.h"

/* A file as mapped: known to the resolver by this number; 0 is none. */
typedef uint32_t object_id;

/* A file that the recording says was mapped. */
struct object_wanted {
    struct str path; /* as recorded: "/usr/bin/x", "[vdso]", "[kernel.kallsyms]_text" */
    struct str build_id;         /* lower-case hexadecimal, or empty */
    int64_t pid;                 /* a process that mapped it, or ID_NONE */
    enum frame_kind kind;        /* FRAME_JIT: code without a file, named by a perf map */
    uint64_t start, end, offset; /* the map; the kernel's and its modules': addresses */
    uint64_t reference;          /* the kernel's: where its reference symbol was, or 0 */
    uint32_t major, minor;       /* the device of the file */
    uint64_t inode;              /* its number there; 0: not known */
    uint64_t written;            /* when the recording was, ns since the epoch; or 0 */
    struct str host;             /* where it was made, or empty */
    struct str release;          /* of the recorded kernel, as uname -r says; or empty */
    struct str jit_map;          /* FRAME_JIT: the perf map, where the recording has it */
};

/* Why an unwound stack ends where it does. */
enum unwind_end {
    UNWIND_WHOLE,    /* the outermost frame was reached */
    UNWIND_CUT,      /* the dump is too short */
    UNWIND_NO_TABLE, /* code without a map, a file or a rule */
    UNWIND_BAD_RULE, /* a rule that makes no sense, or a stack that does not grow */
    UNWIND_TOO_DEEP, /* as many frames as may be */
};

#define UNWIND_REGISTERS_MAX 64
#define UNWIND_FRAMES_MAX 1024

/* One stack dump to unwind. All memory is the caller's. */
struct unwind_job {
    enum architecture machine;
    const struct spaces *spaces; /* ask space_find, by any hand */
    space_id space;              /* the process's at that time; held by the caller */
    const uint64_t *registers;   /* by perf's numbers, those not recorded 0 */
    uint64_t recorded;           /* bit per register */
    struct str stack;            /* the bytes from the stack pointer up */

    uint64_t *addresses; /* out: leaf first, callers as return addresses */
    uint32_t *signals;   /* out: bit per frame, in words of 32: not a return address */
    size_t room, count;
    enum unwind_end end;
};

/* A function at an address, or one inlined into it. */
struct resolved_frame {
    struct str name; /* as it is to be shown (demangled or not); empty: not known */
    struct str file; /* or empty */
    uint32_t line;   /* of the address, or of the call for those around an inlined one */
    uint32_t kind;   /* FRAME_INLINED, or the object's */
    uint64_t offset; /* of the address in the function that is not inlined */
};

/* One address to name. What is handed out lives as long as the resolver. */
struct name_job {
    object_id object; /* 0: nobody knows its file, and nothing is answered */
    uint64_t address; /* in a file: the offset in it; kernel and JIT: as recorded */
    bool is_call;     /* a return address: what counts is the call before it */
    uint32_t version; /* of a JIT's code, as resolver->version told; 0: what was last */
    const struct resolved_frame *frames; /* out: innermost first */
    size_t count;                        /* 0: nothing is known */
};

struct resolver {
    void *context;
    const struct crew *crew; /* who helps the reader; NULL: nobody */

    /* Makes the file known. Never fails: what cannot be found has a number too, and
     * answers nothing. The same file again may have the same number. The strings are good
     * during the call only. */
    object_id (*object)(void *context, const struct object_wanted *wanted);

    /* Names of the object will be asked for: what they are found with may be made ready
     * meanwhile. May be NULL; need not be called. */
    void (*expect)(void *context, object_id object);

    /* What errands may call, each with its hand, at the same time as
     * others and as the caller's `object` and `expect`. */
    void (*unwind)(void *context, unsigned hand, struct unwind_job *jobs, size_t count);

    /* Answers the jobs, which stay as they are but for `frames` and `count`. */
    void (*name)(void *context, struct name_job *jobs, size_t count);

    /* Of the objects known so far no more will be asked: what was found out may be kept
     * for the next time, and files given back, while the caller goes on. What was handed
     * out stays. May be NULL; need not be called. */
    void (*leave)(void *context);

    /* A JIT writes code where other code was before. A number for what was at an address
     * (as a job has it, less 1 for a call) at a time in ns by CLOCK_MONOTONIC; 0: time
     * makes no difference. Errands may call it as they do `unwind`. May be NULL. */
    uint32_t (*version)(void *context, object_id object, uint64_t address, uint64_t time);
};

#endif
