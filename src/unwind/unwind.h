/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding: from the registers at one point of a thread to the return addresses of all
 * its callers.
 *
 * Two implementations give the same frames. The cursor (unwind_step) reads through
 * callbacks and tracks every register that rules may use, so it works on any memory: a
 * live process, a core file, a dump. unwind_batch processes many stack dumps at once:
 * it tracks the three registers that almost every rule uses, unwinds several stacks in
 * turn so that their cache misses overlap, and leaves all other cases to the cursor.
 *
 * A caller is looked up one byte before its return address, inside the call: the
 * address after a call that does not return belongs to other code. Interrupted code
 * (the first frame, and the frame that a signal handler returns to) is looked up at its
 * exact address.
 *
 * Code that builds a stack by hand may return to the first instruction of a function.
 * If a function begins at a return address and none ends there, the exact address is
 * looked up, and its bit in a job's `signals` is set.
 *
 * No frame is invented: a return address must be in mapped code. For code without a
 * table, the frame pointer is used only if it leads up the stack and into mapped code. */
#ifndef STOKE_UNWIND_UNWIND_H
#define STOKE_UNWIND_UNWIND_H

#include "unwind/registers.h"
#include "unwind/unwind_table.h"

/* --- One stack, through accessors --------------------------------------------------- */

/* The mapping of an address. */
struct unwind_location {
    const struct unwind_table *table; /* NULL: mapped, but without a table */
    uint64_t bias;                    /* the address minus the file address */
};

struct unwind_access {
    void *context;
    /* Reads a little-endian number of 1, 2, 4 or 8 bytes; false if it is not
     * available. */
    bool (*read)(void *context, uint64_t address, unsigned size, uint64_t *value);
    /* False if no code is mapped there: nothing, or memory that is not executable. */
    bool (*find)(void *context, uint64_t address, struct unwind_location *location);
};

/* Maximum number of instruction bytes that are run for one stack. */
#define UNWIND_INSTRUCTIONS_MAX ((size_t)1 << 18)

/* A frame during unwinding. The caller may read the first fields, and sets them at the
 * start (unwind_cursor_init does it from perf's registers); the last ones are private. */
struct unwind_cursor {
    uint64_t pc;
    bool is_call;   /* pc is a return address */
    bool is_signal; /* at a signal trampoline: set by the step that leaves it */
    bool is_entry;  /* the last step started at the beginning of a function: see below */
    uint64_t registers[CFI_REGISTERS]; /* by DWARF number */
    uint64_t known;                    /* bit per register: it has a value */
    enum architecture machine;
    /* ----- */
    size_t instructions; /* run so far */
    struct cfi_program program;
};

/* Initialises a cursor from the registers of a sample, in perf's numbering; `recorded`
 * has a bit per register. Returns false if the architecture is not supported, or if the
 * program counter or stack pointer was not recorded. */
bool unwind_cursor_init(struct unwind_cursor *c, enum architecture machine,
                        const uint64_t *registers, uint64_t recorded);

/* Moves to the caller. At the end, returns false with the reason in *end, and leaves pc
 * and registers unchanged. Each step is bounded, but not their number: expressions may
 * make a stack cyclic. */
bool unwind_step(struct unwind_cursor *c, const struct unwind_access *access,
                 enum unwind_end *end);

/* --- Many stack dumps --------------------------------------------------------------- */

/* Callbacks for the objects of the jobs. All unwinding threads call them. */
struct unwind_objects {
    /* Returns the object's table, always the same one; NULL if there is none. */
    const struct unwind_table *(*table)(void *context, object_id object);
    /* If it is not NULL, called instead: returns a table for the code at an offset in
     * the object, always the same one for that offset (functions.h). */
    const struct unwind_table *(*table_at)(void *context, object_id object,
                                           uint64_t offset);
    /* Reads memory outside a dump, such as the content of mapped files, which a few
     * rules need. May be NULL. */
    bool (*read)(void *context, const struct unwind_job *job, uint64_t address,
                 unsigned size, uint64_t *value);
    void *context;
};

/* A cache of rules; one per thread. It distinguishes address spaces by their mappings
 * (space_hash), so it can be retained between batches. */
struct unwind_cache;

/* NULL when out of memory. About 512 kB. */
struct unwind_cache *unwind_cache_create(struct arena *arena);

/* Unwinds the stacks of the jobs (model/resolver.h describes input and output). Also
 * sets the bits of the first frame and of signal trampolines in `signals`: their
 * addresses are not return addresses. Never fails; a job without the required registers
 * has no frames and ends with UNWIND_NO_TABLE. */
void unwind_batch(struct unwind_cache *cache, const struct unwind_objects *objects,
                  struct unwind_job *jobs, size_t count);

/* The same with the cursor only, one stack after the other: for comparison. */
void unwind_by_cursor(const struct unwind_objects *objects, struct unwind_job *jobs,
                      size_t count);

/* --- For both ----------------------------------------------------------------------- */

/* Addresses below this are never valid: null pointers with a small offset. */
#define UNWIND_ADDRESS_MIN 4096

/* Unwinds one job with the cursor. */
void unwind_job_by_cursor(const struct unwind_objects *objects, struct unwind_job *job);

/* Reads the number at `address` in a job's dump; false if the dump does not contain
 * it. */
bool unwind_dump_read(const struct unwind_job *job, uint64_t address, unsigned size,
                      uint64_t *value);

/* Finds the mapping of an address in a process; false if no code is mapped there. */
bool unwind_find_location(const struct unwind_objects *objects,
                          const struct unwind_job *job, uint64_t address,
                          struct unwind_location *location);

#endif
