/* SPDX-License-Identifier: Apache-2.0 */
/* The totals of functions that recur, of files by valgrind: it gives nested calls of f the
 * name f'2 (with --separate-callers, f'2'caller). So f is never nested in itself, and what
 * it has with its calls is exactly its total. Nested calls of f'2 count several times,
 * but f'2 has at most the total of f. */
#include "base/number.h"
#include "import/callgrind.h"

/* Finds the part "'2" of a name; `after` is the rest behind it. */
static bool find_level(struct str name, size_t *at, struct str *after)
{
    for (*at = str_find(name, '\''); *at < name.len;
         *at += 1 + str_find(str_skip(name, *at + 1), '\'')) {
        *after = str_skip(name, *at + 1);
        while (after->len && byte_is_digit(after->ptr[0]))
            *after = str_skip(*after, 1);
        bool digits = name.len - after->len > *at + 1;
        if (digits && *at && (!after->len || after->ptr[0] == '\''))
            return true;
    }
    return false;
}

/* The function of which this one has the nested calls: itself if it has no level, 0 if the
 * file has no such function. */
static uint32_t outermost(struct callgrind *c, uint32_t id)
{
    const struct callgrind_function *f = &c->functions[id];
    struct str name = profile_string(c->b->profile, f->name), after;
    size_t at;
    if (!find_level(name, &at, &after))
        return id;
    char *text = arena_alloc(&c->arena, name.len);
    if (!text)
        return 0;
    memcpy(text, name.ptr, at);
    memcpy(text + at, after.ptr, after.len);
    string_id outer = builder_string(c->b, (struct str){text, at + after.len});
    return callgrind_function_find(c, outer, f->file, f->module);
}

/* By function: its self cost and that of its calls of others. */
static double *sum_calls(struct callgrind *c)
{
    double *sums = arena_zalloc(&c->arena, c->function_count, sizeof *sums);
    for (size_t i = 1; sums && i < c->function_count; i++)
        sums[i] = c->functions[i].self[0];
    for (size_t i = 1; sums && i < c->call_count; i++)
        if (c->calls[i].caller != c->calls[i].callee)
            sums[c->calls[i].caller] += c->calls[i].cost[0];
    return sums;
}

void callgrind_state_totals(struct callgrind *c)
{
    uint32_t *outer = arena_zalloc(&c->arena, c->function_count, sizeof *outer);
    const double *sums = sum_calls(c);
    bool separated = false;
    for (uint32_t i = 1; outer && sums && i < c->function_count; i++) {
        outer[i] = outermost(c, i);
        separated |= outer[i] != i;
    }
    for (uint32_t i = 1; separated && i < c->function_count; i++) {
        c->functions[i].total =
            sums[i] < sums[outer[i]] ? sums[i] : sums[outer[i]]; /* of none: 0 */
        c->functions[i].summed = true;
    }
}
