/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that libstoke_heap.so shares with `stoke heap`: a file with a head, and one
 * ring of records (a lane) for each thread that allocates.
 *
 *   offset 0              struct heap_shared
 *   HEAP_LANES_AT         HEAP_LANES rings of HEAP_LANE_SIZE bytes
 *
 * A ring is mapped twice, one mapping behind the other, so that a record is always
 * contiguous. Both sides are on the same machine and of the same build: numbers are in
 * the machine's byte order. The collector treats all of it as hostile.
 *
 * Records of all lanes have one order, their sequence numbers: an allocation gets its
 * number after it was made, a release before it is made. */
#ifndef STOKE_BASE_HEAP_FORMAT_H
#define STOKE_BASE_HEAP_FORMAT_H

#include <stdint.h>

#define HEAP_MAGIC UINT64_C(0x3150414548454b53) /* "SKEHEAP1" */
#define HEAP_VARIABLE "STOKE_HEAP"              /* the path of the shared file */

#define HEAP_LANES 256
#define HEAP_LANE_SIZE ((uint64_t)1 << 20)
#define HEAP_LANES_AT ((uint64_t)1 << 17)
#define HEAP_SHARED_SIZE (HEAP_LANES_AT + HEAP_LANES * HEAP_LANE_SIZE)

enum heap_lane_state {
    HEAP_LANE_FREE,
    HEAP_LANE_CLAIMED, /* the fields are not valid yet */
    HEAP_LANE_USED,
};

struct heap_lane {
    uint32_t state; /* enum heap_lane_state; the collector sets HEAP_LANE_FREE */
    uint32_t pid, tid;
    uint32_t padding;
    uint64_t claimed; /* number of the claim: a later one of the same thread is larger */
    uint64_t lost;    /* records that did not fit */
    uint64_t padding_head[4];
    uint64_t head; /* bytes written; the thread's */
    uint64_t padding_tail[7];
    uint64_t tail; /* bytes read; the collector's */
    uint64_t padding_end[7];
};

struct heap_shared {
    uint64_t magic;
    uint64_t size;         /* sizeof(struct heap_shared) */
    uint64_t sample_bytes; /* mean distance of samples; 0: every event is recorded */
    uint64_t seed;         /* of the samples' distances; 0: each thread chooses its own */
    uint32_t collector;    /* process id */
    uint32_t is_closed;    /* the collector reads no more */
    uint64_t lost;         /* records of threads that found no free lane */
    uint64_t claims;
    uint64_t padding[9];
    uint64_t sequence; /* the next record's number */
    uint64_t padding_end[15];
    struct heap_lane lanes[HEAP_LANES];
};

_Static_assert(sizeof(struct heap_shared) <= HEAP_LANES_AT, "the head fits");

enum heap_record_kind {
    HEAP_ALLOCATED,   /* address, size; struct heap_stack and a copy of the stack */
    HEAP_FREED,       /* address */
    HEAP_MOVING,      /* address: a realloc starts */
    HEAP_MOVE_FAILED, /* address: that realloc failed, the block remains */
    HEAP_PROCESS,     /* address: the parent's id if it was forked, else 0; size: 0 */
    HEAP_THREAD,      /* address: the thread's id; then its name */
    HEAP_MAPPED_CODE, /* address, size; struct heap_code and the path */
    HEAP_NO_CODE,     /* all HEAP_MAPPED_CODE so far are invalid */
};

/* Flags of HEAP_ALLOCATED. */
#define HEAP_UNTRACKED 1 /* its release will not be recorded */

struct heap_record {
    uint32_t length; /* in bytes, with what follows; a multiple of 8 */
    uint16_t kind;   /* enum heap_record_kind */
    uint16_t flags;
    uint64_t sequence;
    uint64_t address, size;
};

/* Registers of x86-64 at the time of the copy. The callees' frames of the library itself
 * are part of it. */
enum heap_register {
    HEAP_IP,
    HEAP_SP,
    HEAP_BP,
    HEAP_BX,
    HEAP_R12,
    HEAP_R13,
    HEAP_R14,
    HEAP_R15,
    HEAP_REGISTERS
};

struct heap_stack {
    uint64_t registers[HEAP_REGISTERS];
    /* the stack's bytes follow, from the stack pointer on, up to the end of the record */
};

#define HEAP_STACK_MAX ((uint64_t)32 << 10)

struct heap_code {
    uint64_t offset; /* in the file */
    uint64_t inode;
    uint32_t major, minor; /* of the device */
    /* the path follows, up to the end of the record or a 0 */
};

#define HEAP_RECORD_MAX (sizeof(struct heap_record) + HEAP_STACK_MAX + 256)

#endif
