/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "web/core/core.h"

/* All calls, in the order of one end: those of a function are neighbours. */
struct side {
    uint32_t *first, *items; /* by label; indexes of calls, the heaviest first */
};

static string_id end_of(const struct call *c, bool callers)
{
    return callers ? c->callee : c->caller;
}

static double heaviest(const struct call *c)
{
    return c->total > c->base_total ? c->total : c->base_total;
}

static bool call_before(const void *context, uint32_t a, uint32_t b)
{
    const struct call *calls = context;
    return heaviest(&calls[a]) > heaviest(&calls[b]);
}

/* With `callers`, the calls to each function; otherwise those from it. */
static bool side_init(struct side *side, const struct calls *c, size_t labels,
                      bool callers, struct arena *a)
{
    uint32_t *order = arena_alloc(a, 2 * (c->count + 1) * sizeof *order);
    side->first = arena_zalloc(a, labels + 2, sizeof *side->first);
    side->items = arena_alloc(a, (c->count + 1) * sizeof *side->items);
    if (!order || !side->first || !side->items)
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        order[i] = i;
        side->first[end_of(&c->items[i], callers) + 2]++;
    }
    sort_u32(order, c->count, order + c->count + 1, call_before, c->items);
    for (size_t label = 2; label < labels + 2; label++)
        side->first[label] += side->first[label - 1];
    for (size_t i = 0; i < c->count; i++)
        side->items[side->first[end_of(&c->items[order[i]], callers) + 1]++] = order[i];
    return true;
}

static void reply_side(struct json_writer *w, const char *key, const struct shown *s,
                       const struct calls *c, const struct side *side, string_id of,
                       uint32_t most)
{
    bool callers = str_equal(str_of(key), STR("callers"));
    uint32_t end = side->first[of + 1];
    json_put_key(w, key);
    json_begin(w, JSON_ARRAY);
    for (uint32_t i = side->first[of]; i < end && i - side->first[of] < most; i++) {
        const struct call *call = &c->items[side->items[i]];
        string_id label = callers ? call->caller : call->callee;
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "label", label);
        json_member_str(w, "name", strings_get(&s->paths.labels, label));
        json_member_double(w, "total", call->total);
        if (s->base_self)
            json_member_double(w, "base_total", call->base_total);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

static uint32_t count_of(const struct side *side, string_id label)
{
    return side->first[label + 1] - side->first[label];
}

static void reply_functions(struct json_writer *w, const struct shown *s,
                            const struct functions *f, const struct calls *c,
                            const struct side sides[2], const struct peek_limits *limits)
{
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < f->count && i < limits->functions; i++) {
        string_id label = f->order[i];
        json_begin(w, JSON_OBJECT);
        json_put_key(w, "function");
        reply_function(w, s, f, 0, label);
        json_member_u64(w, "caller_count", count_of(&sides[0], label));
        json_member_u64(w, "callee_count", count_of(&sides[1], label));
        reply_side(w, "callers", s, c, &sides[0], label, limits->calls);
        reply_side(w, "callees", s, c, &sides[1], label, limits->calls);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

bool reply_peek(struct json_writer *w, struct graph *g, const struct shown *s,
                const struct functions *f, const struct peek_limits *limits,
                struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct calls calls;
    struct side sides[2] = {0};
    size_t labels = s->paths.labels.count;
    bool ok = calls_init(&calls, &g->tree, err);
    if (ok && (!side_init(&sides[0], &calls, labels, true, &scratch) ||
               !side_init(&sides[1], &calls, labels, false, &scratch)))
        ok = error_memory(err);
    if (ok)
        reply_functions(w, s, f, &calls, sides, limits);
    calls_deinit(&calls);
    arena_deinit(&scratch);
    return ok;
}
