/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that libstoke_heap.so shares with `stoke heap`: a file with a head, and one
 * ring of records (a lane) for each thread that allocates.
 *
 *   offset 0              struct heap_shared
 *   HEAP_RULES_AT         HEAP_RULES unwind rules, which the collector provides
 *   HEAP_LANES_AT         HEAP_LANES rings of HEAP_LANE_SIZE bytes
 *
 * A ring is mapped twice, one mapping after the other, so that a record is always
 * contiguous. Both sides are on the same machine and of the same build: numbers are in
 * the machine's byte order. The collector treats all of it as hostile.
 *
 * Records of all lanes are ordered by their times: an allocation gets its time after it
 * was made, a release before it is made. The records of one lane are in their order there:
 * one with an earlier time than the one before has the time of that one; one with a time
 * that has not come yet is damaged.
 *
 * The library unwinds with rules for single addresses. For an address without one, it
 * copies the stack; the collector unwinds the copy, and provides the rules. Each stack is
 * put once per lane, and gets a number there. */
#ifndef STOKE_BASE_HEAP_FORMAT_H
#define STOKE_BASE_HEAP_FORMAT_H

#include "base/unwind_rule.h"
#include <stdbool.h>

#define HEAP_MAGIC UINT64_C(0x3250414548454b53) /* "SKEHEAP2" */
#define HEAP_VARIABLE "STOKE_HEAP"              /* the path of the shared file */

#define HEAP_LIBRARY "libstoke_heap.so"             /* loaded before a program */
#define HEAP_LATE_LIBRARY "libstoke_heap_attach.so" /* loaded by a running process */

/* Functions of HEAP_LATE_LIBRARY, which are called in the process:
 *   uint64_t HEAP_ATTACH(int fd)    starts recording to the shared file: enum heap_attach
 *   uint64_t HEAP_DETACH(void)      restores the process; number of entries that are not
 */
#define HEAP_ATTACH "stoke_heap_attach"
#define HEAP_DETACH "stoke_heap_detach"

enum heap_attach {
    HEAP_ATTACHED = 1,
    HEAP_ATTACH_BUSY,         /* another recording has not ended */
    HEAP_ATTACH_OTHER_MALLOC, /* the program does not use the C library's functions */
    HEAP_ATTACH_NO_MEMORY,
    HEAP_ATTACH_PROTECTED, /* the addresses of functions cannot be changed */
};

#define HEAP_LANES 256
#define HEAP_LANE_SIZE ((uint64_t)1 << 20)
#define HEAP_RULES_AT ((uint64_t)1 << 17)
#define HEAP_RULES ((uint64_t)1 << 16)
#define HEAP_LANES_AT (HEAP_RULES_AT + HEAP_RULES * sizeof(struct heap_rule))
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
    uint64_t head;    /* bytes written; the thread's */
    uint64_t is_busy; /* a record with a time of its own is being written */
    uint64_t padding_tail[6];
    uint64_t tail; /* bytes read; the collector's */
    uint64_t padding_end[7];
};

struct heap_shared {
    uint64_t magic;
    uint64_t size;         /* sizeof(struct heap_shared) */
    uint64_t sample_bytes; /* mean distance of samples; 0: every event is recorded */
    uint64_t seed;         /* of the samples' distances; 0: each thread chooses its own */
    uint64_t started;      /* times are relative to this one */
    uint32_t has_ticks;    /* times are heap_ticks, otherwise CLOCK_MONOTONIC in ns */
    uint32_t collector;    /* process id */
    uint32_t is_closed;    /* the collector reads no more */
    uint32_t padding;
    uint64_t lost; /* records of threads that found no free lane */
    uint64_t claims;
    uint64_t padding_end[7];
    struct heap_lane lanes[HEAP_LANES];
};

_Static_assert(sizeof(struct heap_shared) <= HEAP_RULES_AT, "the head fits");

/* --- Unwind rules ------------------------------------------------------------------- */

/* The rule for an address in one space: the mapped code of a process from its start, or
 * from a dlclose, on. Spaces have numbers of their own; a forked child is in its parent's.
 * The collector may replace the rule of a slot: `address` is 0 meanwhile. */
struct heap_rule {
    uint64_t address, space;
    struct unwind_rule rule;
    uint32_t padding;
};

/* A rule is in one of the slots of its bucket. */
#define HEAP_BUCKET 4

static inline uint64_t heap_rule_bucket(uint64_t address, uint64_t space)
{
    uint64_t hash = (address ^ space << 48) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash >> 40) % (HEAP_RULES / HEAP_BUCKET) * HEAP_BUCKET;
}

/* --- Time --------------------------------------------------------------------------- */

/* The time stamp counter, before all that is stored later and after all that was read
 * before: an address that another thread has passed on is released later than it was
 * allocated, and memory that another thread has released is allocated later than that.
 * rdtscp orders no more than this, and is slower. */
static inline uint64_t heap_ticks(void)
{
#ifdef __x86_64__
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#else
    return 0;
#endif
}

/* The same, without an order between it and other instructions: for a process with one
 * thread, whose records are in the order of its lane. */
static inline uint64_t heap_ticks_unordered(void)
{
#ifdef __x86_64__
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#else
    return 0;
#endif
}

/* --- Records ------------------------------------------------------------------------ */

enum heap_record_kind {
    HEAP_ALLOCATED,          /* address, stack, size */
    HEAP_FREED,              /* address */
    HEAP_MOVING,             /* address: a realloc starts */
    HEAP_MOVE_FAILED,        /* address: that realloc failed, the block remains */
    HEAP_LONG,               /* kinds from here on are struct heap_record */
    HEAP_COPIED = HEAP_LONG, /* address, size: an allocation; struct heap_stack and a copy
                                of the stack */
    HEAP_STACK,   /* address: its number in this lane; size: hash of the frames and the
                         space, or 0; its frames, from the leaf */
    HEAP_PROCESS, /* address: the parent's id if it was forked, else 0; size: space */
    HEAP_THREAD,  /* address: the thread's id; then its name */
    HEAP_MAPPED_CODE, /* address, size; struct heap_code and the path */
    HEAP_NO_CODE,     /* a new list of HEAP_MAPPED_CODE begins; size: space from now on */
    HEAP_CODE_LISTED, /* the new list is complete: all before it are invalid */
};

#define HEAP_KIND_BITS 8

/* Flags. */
#define HEAP_UNTRACKED 1 /* of an allocation: its release will not be recorded */
#define HEAP_TRUNCATED 2 /* of a stack: callers are missing */

/* The first word of every record: time << HEAP_KIND_BITS | kind. The second word of a
 * short one: number of the stack << HEAP_ADDRESS_BITS | address; bit 63 is HEAP_UNTRACKED.
 * A third word of HEAP_ALLOCATED has the size. */
#define HEAP_ADDRESS_BITS 48
#define HEAP_ADDRESS_MASK (((uint64_t)1 << HEAP_ADDRESS_BITS) - 1)
#define HEAP_UNTRACKED_BIT ((uint64_t)1 << 63)

struct heap_record {
    uint64_t when;   /* time and kind */
    uint32_t length; /* in bytes, with what follows; a multiple of 8 */
    uint32_t flags;
    uint64_t address, size;
};

/* Numbers of stacks in a lane. A number is reused for another stack. */
#define HEAP_STACK_BITS 15
#define HEAP_STACKS ((size_t)1 << HEAP_STACK_BITS)

/* A frame of HEAP_STACK is its address, with this bit if it is not a return address. */
#define HEAP_EXACT ((uint64_t)1 << 63)
#define HEAP_FRAMES_MAX 1024

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
    uint64_t missing; /* the address whose rule is needed, or 0 */
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
