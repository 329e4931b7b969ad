/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds the calling thread's stack with the rules that the collector has provided.
 *
 * The frames of the last stack remain in a cache. From the first frame that is the same, at
 * the same stack pointer, the callers are the same, too, if the words are unchanged that
 * their return addresses and frame pointers were read from. To compare a word is much
 * cheaper than to find a rule. */
#ifndef STOKE_AGENTS_HEAP_WALK_H
#define STOKE_AGENTS_HEAP_WALK_H

#include "base/heap_format.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct walk_frame {
    uint64_t pc;        /* with HEAP_EXACT if it is not a return address */
    uint64_t sp;        /* pc was read from the word below, if the callee is not opaque */
    uint64_t fp, fp_at; /* fp was read from fp_at; 0: it is the callee's */
    uint64_t hash;      /* of this frame and its callers */
    bool needs_fp;      /* a caller's location depends on fp */
    bool is_opaque;     /* the caller was found by other words than these */
};

/* The rule of a return address, if it is one of the most frequent ones: the CFA by a
 * register, the return address below it, the frame pointer saved there, too, or unchanged. */
struct walk_rule {
    uint64_t pc;        /* 0: none */
    int32_t cfa_offset; /* bytes */
    int16_t fp_offset;  /* words from the CFA; 0: unchanged */
    bool is_by_fp;
};

#define WALK_RULE_BITS 11

struct walk_cache {
    uint64_t space; /* of the rules */
    size_t count;   /* of frames, with the end; 0: there are none */
    struct walk_rule rules[1 << WALK_RULE_BITS]; /* by hash of pc */
    struct walk_frame
        frames[HEAP_FRAMES_MAX + 1];          /* [0] is the end, then from the root */
    struct walk_frame fresh[HEAP_FRAMES_MAX]; /* those of this walk, from the leaf */
};

/* A frame, and its caller's after a step. */
struct walk {
    uint64_t pc, sp, fp;
    uint64_t fp_at; /* as in struct walk_frame */
    uint64_t end;   /* of the stack's memory */
    bool has_fp;
    bool is_exact; /* pc is not a return address */
    bool is_outermost;
};

struct walk_result {
    size_t count;     /* of frames; 0: the stack cannot be unwound here */
    uint64_t hash;    /* of the frames and the space; not 0 */
    uint64_t missing; /* without frames: the address whose rule is missing, or 0 */
    bool is_truncated;
};

/* Unwinds from the frame in w. The frames are in the cache then. */
struct walk_result walk_stack(struct walk *w, struct walk_cache *cache, uint64_t space);

/* Stores the frames of the last result, from the leaf on. */
void walk_frames(const struct walk_cache *cache, const struct walk_result *result,
                 uint64_t *frames);

/* Where a frame is: in the call before its return address. */
static inline uint64_t walk_address(uint64_t frame)
{
    return frame & HEAP_EXACT ? frame & ~HEAP_EXACT : frame - 1;
}

#endif
