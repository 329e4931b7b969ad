/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of two graphs, and which functions and calls of a graph are shown. */
#include "analysis/call_costs.h"
#include "base/array.h"
#include "base/format.h"
#include "base/glob.h"
#include "base/idmap.h"

/* --- Comparison -------------------------------------------------------------------- */

struct comparing {
    struct call_costs *c;
    const struct call_costs *before;
    struct arena arena;
    struct strings names;
    uint32_t *same; /* by function of `before`: a function of c */
    struct idmap calls;
    double scale;
};

/* The names of both graphs; a function of c has the number of its name. */
static string_id name_of(struct comparing *m, const struct cost_function *f)
{
    size_t size = f->name.len + f->module.len + 1;
    char *text = arena_alloc(&m->arena, size);
    if (!text)
        return 0;
    memcpy(text, f->name.ptr, f->name.len);
    text[f->name.len] = '\0';
    memcpy(text + f->name.len + 1, f->module.ptr, f->module.len);
    return strings_add(&m->names, str_span(text, text + size));
}

/* A function that is only in `before`. */
static void add_function(struct comparing *m, const struct cost_function *f)
{
    struct call_costs *c = m->c;
    c->functions[c->function_count++] =
        (struct cost_function){.name = arena_str(&c->arena, f->name),
                               .module = arena_str(&c->arena, f->module),
                               .path = arena_str(&c->arena, f->path),
                               .file = arena_str(&c->arena, f->file),
                               .called = COSTS_UNKNOWN};
}

static bool match_functions(struct comparing *m)
{
    struct call_costs *c = m->c;
    size_t most = c->function_count + m->before->function_count;
    struct cost_function *functions = arena_zalloc(&c->arena, most, sizeof *c->functions);
    uint32_t *by_name = arena_zalloc(&m->arena, most + 1, sizeof *by_name);
    m->same = arena_zalloc(&m->arena, most, sizeof *m->same);
    if (!functions || !by_name || !m->same)
        return false;
    memcpy(functions, c->functions, c->function_count * sizeof *functions);
    c->functions = functions;
    for (uint32_t f = 1; f < c->function_count; f++)
        by_name[name_of(m, &c->functions[f])] = f;
    for (uint32_t f = 1; f < m->before->function_count; f++) {
        const struct cost_function *old = &m->before->functions[f];
        uint32_t *same = &by_name[name_of(m, old)];
        if (!*same) {
            *same = (uint32_t)c->function_count;
            add_function(m, old);
        }
        m->same[f] = *same;
        c->functions[*same].base_self += old->self * m->scale;
        c->functions[*same].base_total += old->total * m->scale;
    }
    return !m->arena.failed;
}

static bool match_calls(struct comparing *m)
{
    struct call_costs *c = m->c;
    for (size_t i = 1; i < c->call_count; i++) {
        uint64_t *id = idmap_put(&m->calls, &c->arena,
                                 (uint64_t)c->calls[i].caller << 32 | c->calls[i].callee);
        if (!id)
            return false;
        *id = i;
    }
    for (size_t i = 1; i < m->before->call_count; i++) {
        const struct cost_call *old = &m->before->calls[i];
        struct cost_call *call =
            call_costs_call(c, &m->calls, m->same[old->caller], m->same[old->callee]);
        if (!call)
            return false;
        call->base_total += old->total > 0 ? old->total * m->scale : 0;
        if (call->total < 0 && old->total >= 0)
            call->total = 0;
    }
    return true;
}

bool call_costs_compare(struct call_costs *c, const struct call_costs *before,
                        struct error *err)
{
    struct comparing m = {.c = c, .before = before};
    bool ok = strings_init(&m.names, &m.arena);
    m.scale = before->total > 0 ? c->total / before->total : 0;
    c->base_total = c->total;
    c->differs = true;
    ok = ok && match_functions(&m) && match_calls(&m) && !c->arena.failed;
    arena_deinit(&m.arena);
    return ok || error_memory(err);
}

/* --- Weights ----------------------------------------------------------------------- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double share_of(const struct call_costs *c, double total, double base_total)
{
    double share = cost_share(total, c->total);
    return c->differs ? larger(share, cost_share(base_total, c->base_total)) : share;
}

/* A call inside a cycle has at most the share of its functions. */
static void weigh(struct call_costs *c)
{
    for (size_t i = 1; i < c->function_count; i++) {
        struct cost_function *f = &c->functions[i];
        f->weight = share_of(c, f->total, f->base_total);
    }
    for (size_t i = 1; i < c->call_count; i++) {
        struct cost_call *call = &c->calls[i];
        double caller = c->functions[call->caller].weight;
        double callee = c->functions[call->callee].weight;
        call->weight = call->total >= 0  ? share_of(c, call->total, call->base_total)
                       : caller < callee ? caller
                                         : callee;
    }
}

static void weigh_by_self(struct call_costs *c)
{
    double most = 0;
    for (size_t i = 1; i < c->function_count; i++)
        if (c->functions[i].shown)
            most = larger(most, c->functions[i].self);
    for (size_t i = 1; i < c->function_count; i++)
        c->functions[i].weight = most > 0 ? c->functions[i].self / most : 0;
}

/* --- Choice ------------------------------------------------------------------------ */

static bool starts_with_any(const struct costs_limits *l, struct str file)
{
    for (size_t i = 0; i < l->path_count; i++)
        if (str_starts(file, str_of(l->paths[i])))
            return true;
    return false;
}

static bool contains_any(const struct costs_limits *l, struct str module)
{
    for (size_t i = 0; i < l->path_count; i++)
        if (str_has(module, str_of(l->paths[i])))
            return true;
    return false;
}

/* A function without file and module is below every path. */
static bool is_below_path(const struct costs_limits *l, const struct cost_function *f)
{
    if (!l->path_count)
        return true;
    if (f->file.len)
        return starts_with_any(l, f->file);
    return !f->path.len || contains_any(l, f->path);
}

static bool changed_as_requested(const struct call_costs *c, const struct costs_limits *l,
                                 const struct cost_function *f)
{
    double change =
        cost_share(f->total, c->total) - cost_share(f->base_total, c->base_total);
    if (!c->differs || (!l->only_more && !l->only_less))
        return true;
    return l->only_more ? change > l->tolerance : change < -l->tolerance;
}

static void choose_by_limits(struct call_costs *c, const struct costs_limits *l)
{
    for (size_t i = 1; i < c->function_count; i++) {
        struct cost_function *f = &c->functions[i];
        f->shown = f->weight >= l->function_share && is_below_path(l, f) &&
                   changed_as_requested(c, l, f);
    }
    for (size_t i = 1; i < c->call_count; i++) {
        struct cost_call *call = &c->calls[i];
        call->shown = call->weight >= l->call_share && c->functions[call->caller].shown &&
                      c->functions[call->callee].shown;
    }
}

/* --- Root and leaf ----------------------------------------------------------------- */

struct reach {
    struct call_costs *c;
    bool up;         /* from callees to callers */
    uint32_t *first; /* by function: its first call in this direction, or 0 */
    uint32_t *next;  /* by call */
    uint32_t *depth; /* by function: from 1; 0: not reached */
    uint32_t *queue;
};

static void link_calls(struct reach *r)
{
    for (size_t i = 1; i < r->c->call_count; i++) {
        const struct cost_call *call = &r->c->calls[i];
        uint32_t *first = &r->first[r->up ? call->callee : call->caller];
        if (!call->shown)
            continue;
        r->next[i] = *first;
        *first = (uint32_t)i;
    }
}

#define OTHER_NAME_MOST 1024

/* "main (memtrail.py:950)" as "memtrail:950:main". False if it has no such form. */
static bool located_name(struct str name, char *text, size_t size, struct str *bare)
{
    size_t open = str_rfind(name, '('), length;
    struct str where, file;
    if (open < 2 || open == name.len || name.ptr[open - 1] != ' ' ||
        name.ptr[name.len - 1] != ')')
        return false;
    where = str_span(name.ptr + open + 1, name.ptr + name.len - 1);
    size_t colon = str_rfind(where, ':');
    if (colon == where.len)
        return false;
    file = str_basename(str_head(where, colon));
    if (str_ends(file, STR(".py")))
        file.len -= 3;
    *bare = str_head(name, open - 1);
    length = format_text(text, size, "%.*s%.*s:%.*s", STR_ARG(file),
                         STR_ARG(str_skip(where, colon)), STR_ARG(*bare));
    return length < size;
}

bool call_costs_matches(struct str glob, struct str name)
{
    char text[OTHER_NAME_MOST];
    struct str bare;
    if (glob_match(glob, name))
        return true;
    return name.len < sizeof text - 8 && located_name(name, text, sizeof text, &bare) &&
           (glob_match(glob, bare) || glob_match(glob, str_of(text)));
}

static uint32_t find_starts(struct reach *r, struct str glob)
{
    uint32_t count = 0;
    for (uint32_t f = 1; f < r->c->function_count; f++)
        if (r->c->functions[f].shown &&
            call_costs_matches(glob, r->c->functions[f].name)) {
            r->depth[f] = 1;
            r->queue[count++] = f;
        }
    return count;
}

static void follow(struct reach *r, uint32_t count, int64_t most)
{
    for (uint32_t at = 0; at < count; at++) {
        uint32_t f = r->queue[at];
        if (most >= 0 && r->depth[f] > most)
            continue;
        for (uint32_t i = r->first[f]; i; i = r->next[i]) {
            const struct cost_call *call = &r->c->calls[i];
            uint32_t other = r->up ? call->caller : call->callee;
            if (r->depth[other])
                continue;
            r->depth[other] = r->depth[f] + 1;
            r->queue[count++] = other;
        }
    }
}

/* Why no function of the graph matches: it may have been excluded before. */
static bool fail_no_start(const struct call_costs *c, const struct costs_limits *l,
                          bool up, struct error *err)
{
    const char *glob = up ? l->leaf : l->root;
    bool exists = false;
    for (uint32_t f = 1; f < c->function_count; f++)
        exists |= call_costs_matches(str_of(glob), c->functions[f].name);
    if (!exists) {
        error_set(err, "no function matches '%s' of --%s", glob, up ? "leaf" : "root");
        return error_hint(err, "'--list-functions +' lists the names");
    }
    if (up && l->root) {
        error_set(err,
                  "no function that matches '%s' of --leaf is called by '%s' of --root",
                  glob, l->root);
        return error_hint(err, "omit --root or --leaf, or try -n 0 -e 0 %s",
                          l->depth >= 0 ? "and a larger --depth" : "to show all calls");
    }
    error_set(err, "the functions that match '%s' of --%s are not shown", glob,
              up ? "leaf" : "root");
    return error_hint(err, "their share is too small, or --path excludes them; "
                           "-n 0 -e 0 shows all");
}

/* Hides the functions that are not reached, and their calls. */
static bool keep_reached(struct call_costs *c, const struct costs_limits *l, bool up,
                         struct error *err)
{
    const char *glob = up ? l->leaf : l->root;
    struct arena a = ARENA_INIT;
    struct reach r = {.c = c, .up = up};
    r.first = arena_zalloc(&a, c->function_count + 1, sizeof *r.first);
    r.next = arena_zalloc(&a, c->call_count + 1, sizeof *r.next);
    r.depth = arena_zalloc(&a, c->function_count + 1, sizeof *r.depth);
    r.queue = arena_zalloc(&a, c->function_count + 1, sizeof *r.queue);
    bool ok = !a.failed || error_memory(err);
    uint32_t count = ok ? find_starts(&r, str_of(glob)) : 0;
    ok = ok && (count || fail_no_start(c, l, up, err));
    if (ok) {
        link_calls(&r);
        follow(&r, count, l->depth);
        for (size_t f = 1; f < c->function_count; f++)
            c->functions[f].shown &= r.depth[f] != 0;
        for (size_t i = 1; i < c->call_count; i++)
            c->calls[i].shown &=
                r.depth[c->calls[i].caller] && r.depth[c->calls[i].callee];
    }
    arena_deinit(&a);
    return ok;
}

bool call_costs_choose(struct call_costs *c, const struct costs_limits *limits,
                       struct error *err)
{
    weigh(c);
    choose_by_limits(c, limits);
    if (limits->root && !keep_reached(c, limits, false, err))
        return false;
    if (limits->leaf && !keep_reached(c, limits, true, err))
        return false;
    if (limits->by_self)
        weigh_by_self(c);
    return true;
}
