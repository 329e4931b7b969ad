/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one name in several programs. They have one label; which function it is
 * depends on the process. */
#include "base/array.h"
#include "web/core/core.h"

static uint64_t key_of(string_id process, string_id label)
{
    return (uint64_t)process << 32 | label;
}

/* By label: its frames are of several modules or kinds. Returns their number. */
static size_t mark_shared(struct shown *s)
{
    const struct profile *p = s->p;
    size_t count = 0;
    for (frame_id f = 1; f < p->frame_count; f++) {
        string_id label = s->paths.label_of_frame[f];
        const struct frame *frame = &p->frames[f];
        const struct frame *other = &p->frames[s->frame_of_label[label]];
        if (frame->module == other->module && frame->kind == other->kind)
            continue;
        count += !s->shared.is_shared[label];
        s->shared.is_shared[label] = 1;
    }
    return count;
}

/* The first frame that has a file remains, otherwise the first. */
static bool add_frame(struct shown *s, string_id process, frame_id frame)
{
    struct shared_names *n = &s->shared;
    string_id label = s->paths.label_of_frame[frame];
    if (!n->is_shared[label])
        return true;
    uint64_t *at = idmap_put(&n->of_process, &s->arena, key_of(process, label));
    if (!at || !ARRAY_RESERVE(&s->arena, n->frames, n->cap, n->count + 1))
        return false;
    if (!*at) {
        n->frames[n->count++] = frame;
        *at = n->count;
    } else if (!s->p->frames[n->frames[*at - 1]].file && s->p->frames[frame].file) {
        n->frames[*at - 1] = frame;
    }
    return true;
}

/* Adds the frames of a stack up to one that was seen in the same process just before:
 * its callers were seen as well. */
static bool add_stack(struct shown *s, string_id process, stack_id stack, string_id *seen)
{
    for (stack_id at = stack; at && seen[at] != process; at = s->p->stacks[at].parent) {
        seen[at] = process;
        if (!add_frame(s, process, s->p->stacks[at].frame))
            return false;
    }
    return true;
}

bool shared_names_init(struct shown *s)
{
    const struct profile *p = s->p;
    struct arena scratch = ARENA_INIT;
    s->shared.is_shared = arena_zalloc(&s->arena, s->paths.labels.count, 1);
    string_id *seen = arena_zalloc(&scratch, p->stack_count + 1, sizeof *seen);
    bool ok = s->shared.is_shared && seen;
    if (ok && mark_shared(s))
        for (size_t i = 0; ok && i < p->sample_count; i++)
            if (shown_has(s, p->samples[i].event))
                ok = add_stack(s, s->process_of_thread[p->samples[i].thread],
                               p->samples[i].stack, seen);
    arena_deinit(&scratch);
    return ok;
}

uint32_t shared_name_in(const struct shown *s, string_id process, string_id label)
{
    if (!process || !s->shared.count || !s->shared.is_shared[label])
        return NONE;
    const uint64_t *at = idmap_find(&s->shared.of_process, key_of(process, label));
    return at ? (uint32_t)*at - 1 : NONE;
}

frame_id frame_in(const struct shown *s, string_id process, string_id label)
{
    uint32_t shared = shared_name_in(s, process, label);
    return shared == NONE ? s->frame_of_label[label] : s->shared.frames[shared];
}
