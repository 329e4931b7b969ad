/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of the object form, and the tree of their stack frames. */
#include "base/array.h"
#include "import/trace_event_parts.h"

void trace_event_sample(struct trace *t)
{
    const struct record *e = &t->record;
    if (!trace_event_record(t))
        return;
    uint32_t track = trace_event_track(t);
    struct sampled *sample =
        ARRAY_APPEND(&t->arena, t->samples, t->sample_count, t->sample_cap);
    if (!sample)
        return;
    *sample = (struct sampled){.time = e->time,
                               .weight = e->weight,
                               .track = track,
                               .node = e->node,
                               .event = builder_string(t->b, output_contents(&e->name))};
}

/* The node with that index. NULL if out of memory. */
static struct node *node_at(struct trace *t, uint32_t number)
{
    size_t count = (size_t)number + 1;
    return ARRAY_RESERVE_ZEROED(&t->arena, t->nodes, t->node_cap, count)
               ? &t->nodes[number]
               : NULL;
}

void trace_event_stack_frames(struct trace *t)
{
    struct json *j = &t->json;
    struct str key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key) && !t->arena.failed) {
        uint32_t number = strings_add(&t->ids, key), parent = 0;
        string_id name = 0;
        if (!json_enter(j, JSON_OBJECT))
            continue;
        while (json_key(j, &key)) {
            struct str s;
            if (str_equal(key, STR("name")))
                name = json_text(j, &s) ? builder_string(t->b, s) : 0;
            else if (str_equal(key, STR("parent")))
                parent = trace_event_take_node(t);
            else
                json_skip(j);
        }
        struct node *node = node_at(t, number);
        if (node)
            *node =
                (struct node){.frame = builder_frame(t->b, &(struct frame){.name = name}),
                              .parent = parent,
                              .known = true};
    }
}

static bool sample_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sampled *x = (const struct sampled *)context + a;
    const struct sampled *y = (const struct sampled *)context + b;
    return x->track != y->track ? x->track < y->track : x->time < y->time;
}

/* The stack of a node: walks up its callers to the first with a known stack, and back
 * down. */
static stack_id stack_of(struct trace *t, uint32_t number)
{
    builder_path_clear(t->b);
    stack_id stack = 0;
    uint32_t at = number;
    for (; at && at < t->node_cap && t->nodes[at].known; at = t->nodes[at].parent) {
        struct node *node = &t->nodes[at];
        if (node->done) {
            stack = node->stack;
            break;
        }
        if (node->visiting) {
            builder_warn(t->b, "a stack frame that calls itself", 0, 0, STR(""));
            break;
        }
        node->visiting = true;
        builder_path_add(t->b, at);
    }
    if (at && (at >= t->node_cap || !t->nodes[at].known))
        builder_warn(t->b, "a stack frame that is not in the file", 0, 0, STR(""));
    for (size_t i = t->b->path.count; i-- > 0;) {
        struct node *node = &t->nodes[t->b->path.items[i]];
        stack = builder_push(t->b, stack, node->frame);
        node->stack = stack;
        node->done = true;
        node->visiting = false;
    }
    return stack;
}

/* A sample without a name lasts until the thread's next sample; one with a name counts
 * its event. */
void trace_event_add_samples(struct trace *t)
{
    uint32_t *order = trace_event_sorted(t, t->sample_count, t->samples, sample_before),
             track = 0;
    for (size_t i = 0; order && i < t->sample_count; i++) {
        const struct sampled *s = &t->samples[order[i]];
        const struct sampled *next =
            i + 1 < t->sample_count ? &t->samples[order[i + 1]] : NULL;
        double weight = s->weight;
        if (!s->event)
            weight = next && next->track == s->track ? (double)(next->time - s->time) : 0;
        if (s->track != track)
            t->thread = trace_event_thread(t, &t->tracks[s->track]);
        track = s->track;
        struct str name = profile_string(t->b->profile, s->event);
        event_id event = s->event ? builder_event(t->b, name, UNIT_COUNT)
                                  : builder_event(t->b, STR("time"), UNIT_NANOSECONDS);
        if (weight > 0)
            trace_event_add_row(t, s->time, weight, event, stack_of(t, s->node));
    }
}
