/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding: from the registers at one point of a program to the return addresses of all
 * its callers.
 *
 * Two ways give the same frames. The cursor (unwind_step) goes through accessors and
 * tracks every register that rules may speak of, so it serves whatever memory can be read
 * from: a live process, a core, a dump. unwind_batch takes many stack dumps at once: it
 * tracks the three registers that almost every rule is about, keeps several stacks in
 * flight so that they wait for memory together, and leaves the rest to the cursor.
 *
 * Callers are looked up one byte before their return address, where the call is: the
 * address behind a call that does not return belongs to other code. Code that was
 * interrupted (the first frame, and what a signal handler goes back to) is looked up
 * where it is.
 *
 * A program that makes a stack by hand may let it return to the first instruction of a
 * function. Where a function begins at a return address and none ends there, it is looked
 * up where it is; its bit in a job's `signals` is set.
 *
 * No frame is invented. A return address leads to where code is mapped. Code without a table is left by its frame pointer only where that
 * leads further up the stack and into code that is mapped. */
#ifndef STOKE_UNWIND_UNWIND_H
#define STOKE_UNWIND_UNWIND_H

#include "unwind/registers.h"
#include "unwind/table.h"

/* --- One stack, through accessors --------------------------------------------------- */

/* What is known of an address. */
struct unwind_place {
    const struct unwind_table *table; /* NULL: mapped, but without a table */
    uint64_t bias;                    /* the address less the file's address */
};

struct unwind_access {
    void *context;
    /* A number of 1, 2, 4 or 8 bytes, little-endian; false where it is not to be had. */
    bool (*read)(void *context, uint64_t address, unsigned size, uint64_t *value);
    /* False where no code is mapped: nothing, or what cannot be executed. */
    bool (*find)(void *context, uint64_t address, struct unwind_place *place);
};

/* Bytes of instructions that are run for one stack at most, whatever they do. */
#define UNWIND_INSTRUCTIONS_MAX ((size_t)1 << 18)

/* A frame, on its way to its caller. The fields above the line are for the user to read,
 * and to set to begin with (unwind_cursor_init does it from perf's registers). */
struct unwind_cursor {
    uint64_t pc;
    bool is_call;   /* pc is a return address */
    bool is_signal; /* at the trampoline of a signal: set by the step away from it */
    bool is_entry;  /* the last step was from where a function begins: see below */
    uint64_t registers[CFI_REGISTERS]; /* by DWARF's numbers */
    uint64_t known;                    /* bit per register: there is a value */
    enum architecture machine;
    /* ----- */
    size_t instructions; /* run so far */
    struct cfi_program program;
};

/* Begins at a sample's registers, by perf's numbers; `recorded` has a bit per register.
 * False where the machine is none that can be unwound, or its program counter or stack
 * pointer is not recorded. */
bool unwind_cursor_init(struct unwind_cursor *c, enum architecture machine,
                        const uint64_t *registers, uint64_t recorded);

/* Goes to the caller. False at the end, with why in *end; then pc and registers are as
 * before. Bounded by itself, but not the number of steps: a stack may lead in circles
 * through expressions. */
bool unwind_step(struct unwind_cursor *c, const struct unwind_access *access,
                 enum unwind_end *end);

/* --- Many stack dumps --------------------------------------------------------------- */

/* What the jobs' objects have. All are called by all threads that unwind. */
struct unwind_objects {
    /* The object's table, always the same one; NULL: there is none. */
    const struct unwind_table *(*table)(void *context, object_id object);
    /* In its place, where it is not NULL: a table that knows of the code at the offset in
     * the object, always the same one for that offset (functions.h). */
    const struct unwind_table *(*table_at)(void *context, object_id object,
                                           uint64_t offset);
    /* Memory outside of a dump, such as what a file holds that the job's maps name; for
     * the few rules that ask for it. May be NULL. */
    bool (*read)(void *context, const struct unwind_job *job, uint64_t address,
                 unsigned size, uint64_t *value);
    void *context;
};

/* Memory of rules found before; one for each thread. It tells address spaces apart by
 * what is mapped in them (space_hash), so it may be kept from batch to batch. */
struct unwind_cache;

/* NULL when memory is short. About 512 kB. */
struct unwind_cache *unwind_cache_create(struct arena *arena);

/* Unwinds the jobs' stacks (model/resolver.h says what goes in and comes out). The first
 * frame's bit in `signals` is set too, and that of a signal's trampoline: their addresses
 * are no return addresses. Never fails; a job without the registers that it takes has no
 * frames, and ends with UNWIND_NO_TABLE. */
void unwind_batch(struct unwind_cache *cache, const struct unwind_objects *objects,
                  struct unwind_job *jobs, size_t count);

/* The same, one stack after the other by the cursor alone: for comparison. */
void unwind_by_cursor(const struct unwind_objects *objects, struct unwind_job *jobs,
                      size_t count);

/* --- For both ----------------------------------------------------------------------- */

/* Addresses below this are nothing's: a pointer that is null, or nearly so. */
#define UNWIND_ADDRESS_MIN 4096

/* One job by the cursor. */
void unwind_job_by_cursor(const struct unwind_objects *objects, struct unwind_job *job);

/* The number at `address` of a job's dump; false where the dump does not hold it. */
bool unwind_dump_read(const struct unwind_job *job, uint64_t address, unsigned size,
                      uint64_t *value);

/* Where an address lies in a process; false where no code is mapped. */
bool unwind_find_place(const struct unwind_objects *objects, const struct unwind_job *job,
                       uint64_t address, struct unwind_place *place);

#endif
