/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/merge.h"

/* Frames without a native frame of one stack that are searched: further ones come last. */
#define MISSES_MAX 64

/* The merged list that is being made. */
struct merging {
    const struct interpreter_stack *stack;
    size_t next; /* interpreted frame */
    struct merged_frame *out;
    size_t count;
};

static void put_native(struct merging *m, size_t index)
{
    m->out[m->count++] = (struct merged_frame){false, (uint32_t)index};
}

/* Adds interpreted frames up to and including the next entry. */
static void put_segment(struct merging *m)
{
    bool ends = false;
    while (m->next < m->stack->count && !ends) {
        const struct interpreter_frame *f = &m->stack->frames[m->next];
        if (!f->is_hidden)
            m->out[m->count++] = (struct merged_frame){true, (uint32_t)m->next};
        ends = f->is_entry;
        m->next++;
    }
}

/* The number of loops that execute the frames. The outermost functions of native code may have
 * been called without one, as those of a fiber. */
static size_t segment_count(const struct interpreter_stack *stack)
{
    size_t count = 0;
    bool in_loop = false;
    for (size_t i = 0; i < stack->count; i++) {
        const struct interpreter_frame *f = &stack->frames[i];
        in_loop |= !f->is_native;
        count += f->is_entry;
        if (f->is_entry)
            in_loop = false;
    }
    return count + in_loop;
}

static void put_all(struct merging *m, size_t native_count)
{
    for (size_t i = 0; i < native_count; i++)
        put_native(m, i);
    while (m->next < m->stack->count)
        put_segment(m);
}

/* Hides functions that continue a frame in another loop, and that loop. */
static void settle_continuing(enum interpreter_native *roles, size_t count)
{
    size_t called = count; /* the last named function, leaf first */
    for (size_t i = 0; i < count; i++) {
        if (roles[i] == NATIVE_UNNAMED)
            continue;
        if (roles[i] == NATIVE_CONTINUES && called < i && roles[called] == NATIVE_LOOP)
            roles[called] = NATIVE_INTERNAL;
        if (roles[i] == NATIVE_CONTINUES)
            roles[i] = NATIVE_INTERNAL;
        called = i;
    }
}

void interpreter_settle(const struct interpreter *interpreter,
                        enum interpreter_native *roles, size_t count)
{
    bool in_loop = false;
    settle_continuing(roles, count);
    for (size_t i = 0; i < count; i++) {
        bool is_part =
            interpreter->splits_loop && i + 1 < count && roles[i + 1] == NATIVE_LOOP;
        if (roles[i] == NATIVE_UNNAMED && i + 1 < count && roles[i + 1] == NATIVE_ENTERS)
            roles[i] = NATIVE_LOOP;
        in_loop |= roles[i] == NATIVE_LOOP;
        if (roles[i] == NATIVE_UNNAMED)
            roles[i] = in_loop || is_part ? NATIVE_INTERNAL : NATIVE_WORK;
    }
}

/* Leaves out the innermost frames up to and including an entry. */
static void skip_segment(struct merging *m)
{
    bool ends = false;
    while (m->next < m->stack->count && !ends)
        ends = m->stack->frames[m->next++].is_entry;
}

enum merge_result interpreter_merge(const struct interpreter *interpreter,
                                    const enum interpreter_native *roles,
                                    size_t native_count, bool is_whole,
                                    const struct interpreter_stack *stack,
                                    struct merged_frame *out, size_t *count)
{
    struct merging m = {.stack = stack, .out = out};
    size_t loops = 0, segments = segment_count(stack);
    bool stack_is_whole = stack->end == INTERPRETER_WHOLE;
    for (size_t i = 0; i < native_count; i++)
        loops += roles[i] == NATIVE_LOOP;
    /* at the start and the end of a call, the innermost loop has no frame */
    size_t without = stack_is_whole && segments && loops == segments + 1;
    loops -= without;
    if (interpreter && interpreter->prepares_calls && is_whole && segments == loops + 1 &&
        loops) {
        skip_segment(&m);
        segments--;
    }
    /* a truncated list has fewer entries: the leaf's side still matches */
    if ((is_whole && segments > loops) || (stack_is_whole && loops > segments)) {
        put_all(&m, native_count);
        *count = m.count;
        return MERGE_DOUBTFUL;
    }
    for (size_t i = 0; i < native_count; i++) {
        bool is_loop = roles[i] == NATIVE_LOOP;
        if (is_loop && without)
            without = 0;
        else if (is_loop && m.next < stack->count)
            put_segment(&m);
        else if (is_loop || roles[i] == NATIVE_WORK)
            put_native(&m, i); /* of a loop, the interpreted frames are missing */
    }
    while (m.next < stack->count)
        put_segment(&m);
    *count = m.count;
    return is_whole && stack_is_whole ? MERGE_EXACT : MERGE_PARTIAL;
}

/* --- Frames that are native frames -------------------------------------------------- */

/* Adds native frames without a function, up to one; true if there is a loop among them. */
static bool put_natives(struct merging *m, const enum interpreter_native *roles,
                        size_t from, size_t to)
{
    bool has_loop = false;
    for (size_t i = from; i < to; i++) {
        has_loop |= roles[i] == NATIVE_LOOP;
        if (roles[i] != NATIVE_INTERNAL)
            put_native(m, i);
    }
    return has_loop;
}

/* Adds the function of a native frame, unless it is a builtin and that frame has a name. */
static void put_function(struct merging *m, enum interpreter_native role, size_t index)
{
    if (m->stack->frames[m->next].is_native && role != NATIVE_UNNAMED) {
        put_native(m, index);
        m->next++;
    } else {
        put_segment(m);
    }
}

enum merge_result interpreter_merge_chain(const enum interpreter_native *roles,
                                          const uint64_t *addresses, size_t native_count,
                                          bool is_whole,
                                          const struct interpreter_stack *stack,
                                          struct merged_frame *out, size_t *count)
{
    struct merging m = {.stack = stack, .out = out};
    bool doubtful = false, is_first = true;
    size_t from = 0, misses = 0;
    while (m.next < stack->count && misses < MISSES_MAX) {
        size_t i = from;
        while (i < native_count && addresses[i] != stack->frames[m.next].pc)
            i++;
        if (i < native_count) {
            doubtful |= put_natives(&m, roles, from, i);
            put_function(&m, roles[i], i);
            from = i + 1;
            is_first = false;
        } else if (is_first && is_whole) {
            misses++;
            m.next++; /* memory of a former frame */
        } else if (is_whole) {
            doubtful = true;
            misses++;
            put_segment(&m);
        } else {
            break; /* the rest is after the native frames */
        }
    }
    doubtful |= put_natives(&m, roles, from, native_count);
    doubtful |= is_whole && m.next < stack->count;
    while (m.next < stack->count)
        put_segment(&m);
    *count = m.count;
    if (doubtful)
        return MERGE_DOUBTFUL;
    return is_whole && stack->end == INTERPRETER_WHOLE ? MERGE_EXACT : MERGE_PARTIAL;
}
