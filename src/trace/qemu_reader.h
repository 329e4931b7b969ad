/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the reader of traces of libstoke_qemu.so: read_qemu.c reads
 * the file, qemu_runs.c the executed blocks, and qemu_order.c keeps the order of
 * contexts. */
#ifndef STOKE_TRACE_QEMU_READER_H
#define STOKE_TRACE_QEMU_READER_H

#include "base/bytes.h"
#include "base/output.h"
#include "base/qemu_format.h"
#include "trace/reader.h"

/* A block as the trace describes it. */
struct qemu_block {
    uint64_t pc;
    uint32_t count, size, map;
    const char *bytes; /* the arena's */
};

struct qemu_map {
    uint64_t start, end, offset;
    const struct trace_binary *binary; /* or NULL */
};

/* A block decoded for a core: equal in all cores, but decoded when the core first runs
 * it. */
struct qemu_core_blocks {
    struct trace_block *items; /* by id; no sites until the first run */
    size_t cap;
    size_t mapped; /* number of maps that its code includes */
};

/* The location where the next execution stores or loads the context of a stack. */
struct qemu_context {
    uint64_t address;
    uint32_t number;
    bool loads;
};

#define CONTEXTS_MAX 32

/* A virtual CPU: the thread that it runs, and the words that wait for the next chunk. */
struct qemu_lane {
    uint32_t cpu;
    struct trace_core *core;
    struct qemu_core_blocks blocks;
    uint64_t number; /* of the next instruction */
    uint32_t words[4];
    size_t word_count;
    struct qemu_context contexts[CONTEXTS_MAX]; /* of the next execution */
    size_t context_count;
    uint32_t block, first, count; /* the execution before; block 0: none */
    struct output waiting;        /* words after a context that waits */
    size_t waited;                /* bytes of it that have been read */
};

struct qemu_reading {
    struct trace_reader *r;
    uint32_t flags, process;
    struct qemu_block *blocks; /* by id, [0] is none */
    size_t block_count, block_cap;
    struct qemu_map *maps;
    size_t map_count, map_cap;
    struct qemu_lane **lanes;
    size_t lane_count, lane_cap;
    struct trace_shared shared;
    uint32_t context; /* number of the next context, over all lanes */
    size_t waiting;   /* bytes, of all lanes */
    uint64_t steps;   /* steps that words with repeated executions may still use */
    uint64_t offset;  /* offset of the current chunk, for messages */
    bool ended;
};

/* Counts omitted data with the offset of the chunk; `what` is a literal. */
void qemu_flaw(struct qemu_reading *q, const char *what);

/* --- qemu_runs.c -------------------------------------------------------------------- */

/* Processes words, up to a context that has to wait. */
void qemu_read_words(struct qemu_reading *q, struct qemu_lane *lane, struct bytes *b);

/* Whether all words of the next entry of the lane are available. */
bool qemu_has_words(const struct qemu_lane *lane);

/* --- qemu_order.c ------------------------------------------------------------------- */

/* The context of that number was processed or omitted. */
void qemu_pass_context(struct qemu_reading *q, uint32_t number);

/* Whether the next entry of the lane is a context, and contexts of other lanes are
 * before it. Contexts of one block are not separated. */
bool qemu_must_wait(const struct qemu_reading *q, const struct qemu_lane *lane);

/* Processes the words of a chunk, and then waiting words. False if out of memory. */
bool qemu_read_runs(struct qemu_reading *q, struct qemu_lane *lane, struct bytes *b);

/* Processes waiting words that can continue; all of them if `all` is set. */
void qemu_read_waiting(struct qemu_reading *q, bool all);

#endif
