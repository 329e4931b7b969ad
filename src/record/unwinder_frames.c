/* SPDX-License-Identifier: Apache-2.0 */
#include "record/unwinder.h"

#define WORD 8

/* The kernel's limit of a chain (kernel.perf_event_max_stack) by default: a chain of this length
 * may be truncated. */
#define CHAIN_LIMIT 127

static uint64_t word_at(struct str words, size_t i)
{
    return record_u64(words, i * WORD);
}

/* Determines whether the code of a file maintains frame pointers. */
static void check_frames(struct record_unwinder *u, object_id number)
{
    struct unwinder_file *f = unwinder_file_of(u, number);
    if (!f) {
        u->files[number].frames = FRAMES_OMITTED;
        return;
    }
    bool keeps = object_uses_frame_pointers(f->object, u->settings);
    f->frames = f->object->go_end ? FRAMES_OF_GO : keeps ? FRAMES_USED : FRAMES_OMITTED;
}

/* The file of the code at an address, if it is known; or NULL. */
static const struct unwinder_file *file_at(struct record_unwinder *u, space_id space,
                                           uint64_t pc, const struct address_map **map)
{
    *map = space_find(&u->spaces, space, pc);
    if (!*map || (*map)->no_code || (*map)->object >= u->file_count)
        return NULL;
    if (u->files[(*map)->object].frames == FRAMES_UNKNOWN)
        check_frames(u, (*map)->object);
    return &u->files[(*map)->object];
}

static bool is_go(struct record_unwinder *u, space_id space, uint64_t pc)
{
    const struct address_map *map;
    const struct unwinder_file *f = file_at(u, space, pc, &map);
    return f && f->frames == FRAMES_OF_GO && unwinder_file_of(u, map->object) &&
           object_is_go_code(f->object, u->settings, pc - map->start + map->offset);
}

/* Whether the code at an address maintains frame pointers. */
static bool keeps_frames(struct record_unwinder *u, space_id space, uint64_t pc)
{
    const struct address_map *map;
    const struct unwinder_file *f = file_at(u, space, pc, &map);
    return f && (f->frames == FRAMES_USED || is_go(u, space, pc));
}

static bool all_keep_frames(struct record_unwinder *u, space_id space, struct str chain)
{
    for (size_t i = 0; i < chain.len / WORD; i++)
        if (!keeps_frames(u, space, word_at(chain, i) - (i > 0)))
            return false;
    return true;
}

/* A function that has not set up its frame yet, or that has no frame, hides its caller
 * from the frame pointer: the return address is at the location in its unwind rule.
 * *caller is 0 if the chain contains it. False if the rule is not one of the two usual
 * ones. */
static bool find_hidden(struct record_unwinder *u, const struct unwind_job *job,
                        uint64_t pc, uint64_t *caller)
{
    const struct register_roles *roles = register_roles_of(job->machine);
    const struct address_map *map = space_find(&u->spaces, job->space, pc);
    uint64_t address, offset = map ? pc - map->start + map->offset : 0;
    const struct unwind_table *t = map ? unwinder_table_at(u, map->object, offset) : NULL;
    if (!roles || roles->link != REGISTER_NONE || !t ||
        !unwind_table_address(t, offset, &address))
        return false;
    const struct unwind_rule *rule = unwind_table_find(t, address);
    *caller = 0;
    if (rule->from != RETURN_AT_CFA || rule->cfa > CFA_FP)
        return false;
    if (rule->cfa == CFA_FP)
        return true;
    uint64_t sp = job->registers[roles->perf[roles->sp]];
    uint64_t cfa = sp + (uint64_t)(int64_t)rule->cfa_offset;
    return unwind_dump_read(job, cfa + (uint64_t)(int64_t)rule->return_offset * WORD,
                            WORD, caller);
}

bool unwinder_follow_frames(struct record_unwinder *u, struct unwind_job *job,
                            struct str chain)
{
    size_t count = chain.len / WORD;
    uint64_t caller;
    if (count < 2 || count >= CHAIN_LIMIT || count >= job->room ||
        !all_keep_frames(u, job->space, chain) ||
        !find_hidden(u, job, word_at(chain, 0), &caller))
        return false;
    job->count = 0;
    job->addresses[job->count++] = word_at(chain, 0);
    if (caller && caller != word_at(chain, 1))
        job->addresses[job->count++] = caller;
    memcpy(job->addresses + job->count, chain.ptr + WORD, chain.len - WORD);
    job->count += count - 1;
    job->end = UNWIND_WHOLE;
    u->counts.by_frames++;
    return true;
}

/* Whether the whole rest of the chain is Go code. */
static bool is_go_from(struct record_unwinder *u, space_id space, struct str chain,
                       size_t next)
{
    for (size_t i = next; i < chain.len / WORD; i++)
        if (!is_go(u, space, word_at(chain, i) - 1))
            return false;
    return true;
}

/* The number of entries of the chain that the frames of the dump cover. Each entry is
 * one of the frames, in the same order; frame pointers may skip frames, but find no
 * others. 0 if the last frame is not in the chain, with an exception: if Go has called
 * C, which may leave Go's frame pointers unchanged, the rest of the chain is Go code. */
static size_t accounted_for(struct record_unwinder *u, const struct unwind_job *job,
                            struct str chain)
{
    size_t count = chain.len / WORD, next = 0;
    bool last = false;
    for (size_t i = 0; i < job->count && next < count; i++) {
        last = word_at(chain, next) == job->addresses[i];
        next += last;
    }
    if (last)
        return next;
    bool left_go = is_go(u, job->space, job->addresses[job->count - 1] - 1);
    return left_go && is_go_from(u, job->space, chain, next) ? next : 0;
}

void unwinder_go_on(struct record_unwinder *u, struct unwind_job *job, struct str chain)
{
    size_t count = chain.len / WORD;
    if ((job->end != UNWIND_CUT && job->end != UNWIND_SWITCHED) || job->count == 0 ||
        count == 0)
        return;
    size_t next = accounted_for(u, job, chain);
    if (!next || next == count ||
        !keeps_frames(u, job->space, job->addresses[job->count - 1] - 1))
        return;
    for (; next < count && job->count < job->room; next++) {
        uint64_t pc = word_at(chain, next);
        job->addresses[job->count++] = pc;
        if (!keeps_frames(u, job->space, pc - 1))
            return; /* its caller is unknown */
    }
    if (count < CHAIN_LIMIT)
        job->end = UNWIND_WHOLE;
}
