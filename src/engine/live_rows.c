/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/live_rows.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/scan.h"
#include "base/sort.h"

#define CALLERS_DEPTH 24
#define CALLERS_SHARE 0.02 /* of the function's total; callers with less are left out */

const char *const live_sorts[] = {"self",  "total", "name", "module",
                                  "ready", "waits", NULL};
const char *const live_groups[] = {"function", "process",   "thread",
                                   "service",  "container", NULL};

/* --- Selection ------------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool live_rows_has_part(struct str text, const char *part)
{
    size_t length = strlen(part);
    for (size_t at = 0; at + length <= text.len; at++) {
        size_t i = 0;
        while (i < length && lower(text.ptr[at + i]) == lower(part[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static bool is_selected(const struct live_row *row, double all,
                        const struct live_request *request)
{
    if (100 * row->total < request->min_percent * all)
        return false;
    if (row->level == 'k' ? request->no_kernel : request->no_user)
        return false;
    struct str module = str_head(row->module, LIVE_MODULE_MAX - 1);
    if (request->module[0] && !str_equal(module, str_of(request->module)))
        return false;
    return !request->filter[0] || live_rows_has_part(row->name, request->filter) ||
           live_rows_has_part(row->module, request->filter);
}

bool live_rows_expanded(const struct live_request *request, uint64_t key)
{
    for (size_t i = 0; i < request->expanded_count; i++)
        if (request->expanded[i] == key)
            return true;
    return request->expand_all;
}

/* --- Rows -------------------------------------------------------------------------- */

struct live_row *live_rows_add(struct live_rows *r)
{
    if (!ARRAY_RESERVE(&r->arena, r->items, r->cap, r->count + 1))
        return NULL;
    r->items[r->count] = (struct live_row){.name = STR(""), .module = STR("")};
    return &r->items[r->count++];
}

static void name_row(struct live_rows *r, const struct breakdown *b, uint32_t symbol,
                     struct live_row *row)
{
    const struct breakdown_symbol *s = &b->symbols[symbol];
    row->name = arena_str(&r->arena, breakdown_symbol_name(b, symbol));
    row->module = arena_str(&r->arena, strings_get(&b->names, s->module));
    row->level = s->level;
    row->key = hash_bytes128(row->name.ptr, row->name.len).lo ^
               hash_bytes128(row->module.ptr, row->module.len).hi;
}

static bool add_callers(struct live_rows *r, struct chain_trees *graphs, uint32_t number,
                        struct error *err)
{
    struct chain_tree g;
    const struct breakdown *b = graphs->b;
    double least = b->rows[number].total * CALLERS_SHARE;
    bool ok = chain_tree_init(&g, graphs, number, err);
    for (uint32_t i = 1; ok && i < g.count;) {
        const struct chain_tree_node *node = &g.nodes[i];
        if (node->total < least) {
            i = node->end;
            continue;
        }
        struct live_row *row = node->depth > 1 ? live_rows_add(r) : NULL; /* 1: itself */
        if (row) {
            name_row(r, b, node->symbol, row);
            row->depth = node->depth - 1;
            row->total = node->total;
        }
        i++;
    }
    chain_tree_deinit(&g);
    return ok;
}

struct ordering {
    const struct breakdown *b;
    enum live_sort sort;
};

static struct str module_of(const struct breakdown *b, uint32_t row)
{
    uint64_t symbol = breakdown_value(b, &b->rows[row], KEY_SYM);
    return strings_get(&b->names, b->symbols[symbol].module);
}

static struct str function_of(const struct breakdown *b, uint32_t row)
{
    return breakdown_symbol_name(b, (uint32_t)breakdown_value(b, &b->rows[row], KEY_SYM));
}

static bool before(const void *context, uint32_t i, uint32_t j)
{
    const struct ordering *o = context;
    const struct breakdown_row *a = &o->b->rows[i], *b = &o->b->rows[j];
    int by_text = 0;
    if (o->sort == LIVE_BY_MODULE)
        by_text = str_compare(module_of(o->b, i), module_of(o->b, j));
    if (o->sort == LIVE_BY_NAME)
        by_text = str_compare(function_of(o->b, i), function_of(o->b, j));
    if (by_text)
        return by_text < 0;
    if (o->sort == LIVE_BY_TOTAL && a->total != b->total)
        return a->total > b->total;
    return a->self != b->self ? a->self > b->self : a->total > b->total;
}

static bool add_rows(struct live_rows *r, const struct breakdown *b,
                     const struct live_request *request, struct error *err)
{
    struct chain_trees graphs;
    struct chain_tree_options o = {.order = CHAINS_CALLEE, .depth = CALLERS_DEPTH};
    size_t count = b->row_count - 1;
    uint32_t *order = arena_alloc(&r->arena, (2 * count + 1) * sizeof *order);
    bool ok = chain_trees_init(&graphs, b, &o, err) && (order || error_memory(err));
    if (ok && order) {
        for (size_t i = 0; i < count; i++)
            order[i] = (uint32_t)i + 1;
        sort_u32(order, count, order + count, before,
                 &(struct ordering){b, request->sort});
    }
    for (size_t i = 0; ok && order && i < count; i++) {
        const struct breakdown_row *of = &b->rows[order[i]];
        struct live_row *row = live_rows_add(r);
        if (!row)
            break;
        name_row(r, b, (uint32_t)breakdown_value(b, of, KEY_SYM), row);
        row->self = of->self;
        row->total = of->total;
        if (!is_selected(row, r->total, request))
            r->count--;
        else if (live_rows_expanded(request, row->key))
            ok = add_callers(r, &graphs, order[i], err);
    }
    chain_trees_deinit(&graphs);
    return ok && (!r->arena.failed || error_memory(err));
}

bool live_rows_init(struct live_rows *r, const struct profile *p,
                    const struct live_request *request, struct error *err)
{
    struct breakdown b;
    struct breakdown_options by = {
        .keys = {KEY_SYM, KEY_DSO}, .key_count = 2, .children = true};
    *r = (struct live_rows){0};
    if (!p || p->event_count < 2 || p->sample_count == 0)
        return true;
    bool ok = breakdown_init(&b, p, &by, 1, err);
    if (ok) {
        r->total = b.total;
        ok = b.row_count < 2 || add_rows(r, &b, request, err);
    }
    breakdown_deinit(&b);
    return ok;
}

void live_rows_deinit(struct live_rows *r)
{
    arena_deinit(&r->arena);
    *r = (struct live_rows){0};
}
