/* SPDX-License-Identifier: Apache-2.0 */
/* Callgrind's format, for KCachegrind and QCachegrind: the self cost of each function,
 * and the total cost of its calls by callee. Contains all events, or the requested
 * one.
 *
 * Inputs that are call graphs have numbers of calls. Samples do not: each pair of caller and
 * callee is one call, and in recursion, direct or indirect, only the cost of the outermost
 * call counts.
 *
 * The events of heap profiles have the names and descriptions that valgrind's
 * --xtree-memory=full gives them. */
#include "analysis/call_graph.h"
#include "base/array.h"
#include "base/idmap.h"
#include "export/exporter.h"
#include "model/xtree_events.h"
#include <math.h>

#define EVENTS_MAX 32

/* Costs are integers. */
struct costs {
    double items[EVENTS_MAX];
};

struct function_row {
    frame_id frame;      /* a frame with the label; 0: in no stack */
    uint32_t first_call; /* index, or 0 */
    struct costs self;
};

struct call_row {
    uint32_t callee, next; /* next: the next call of the same caller, or 0 */
    double count;          /* how often; 0 if unknown */
    double stated;         /* the cost in the input, of one event; 0 if unknown */
    struct costs costs;
};

struct callgrind_writer {
    const struct profile *p;
    const struct export_options *options;
    struct output *out;
    struct arena arena;
    event_id events[EVENTS_MAX];
    size_t event_count;
    struct function_row *functions; /* by label */
    struct call_row *calls;         /* [0] is unused */
    size_t call_count, call_cap;
    struct idmap call_ids;
};

/* --- Sums -------------------- */

static uint32_t call_between(struct callgrind_writer *w, string_id caller,
                             string_id callee)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint64_t *number = idmap_put(&w->call_ids, &w->arena, key);
    if (!number || !ARRAY_RESERVE(&w->arena, w->calls, w->call_cap, w->call_count + 1))
        return 0;
    if (*number == 0) {
        struct function_row *f = &w->functions[caller];
        *number = w->call_count;
        w->calls[w->call_count++] =
            (struct call_row){.callee = callee, .next = f->first_call};
        f->first_call = (uint32_t)*number;
    }
    return (uint32_t)*number;
}

/* The tree of a differential profile has both of its events. */
static bool add_tree(struct callgrind_writer *w, const struct calltree *t, size_t event,
                     struct error *err)
{
    bool before = t->base && t->base == w->events[event];
    struct calls calls;
    for (uint32_t n = 1; n < t->count; n++) {
        const struct calltree_node *node = &t->nodes[n];
        if (calls_is_mark(t, node->label))
            continue;
        struct function_row *f = &w->functions[node->label];
        f->frame = node->frame;
        f->self.items[event] += before ? node->base_self : node->self;
    }
    bool ok = calls_init(&calls, t, err);
    for (size_t i = 0; ok && i < calls.count; i++) {
        const struct call *c = &calls.items[i];
        uint32_t number = call_between(w, c->caller, c->callee);
        w->calls[number].costs.items[event] += before ? c->base_total : c->total;
    }
    calls_deinit(&calls);
    return ok && (!w->arena.failed || error_memory(err));
}

static bool add_event(struct callgrind_writer *w, size_t event,
                      const struct label_style *style, struct error *err)
{
    struct calltree t;
    struct calltree_options options = w->options->tree;
    options.event = w->events[event];
    options.threads = THREAD_NONE;
    options.min_share = 0;
    options.label = *style;
    if (!calltree_init(&t, w->p, &options, err))
        return false;
    bool ok = add_tree(w, &t, event, err);
    calltree_deinit(&t);
    return ok;
}

/* The function of a frame, which may be in calls only. */
static string_id function_of(struct callgrind_writer *w, const struct paths *paths,
                             frame_id frame)
{
    string_id label = paths->label_of_frame[frame];
    if (!w->functions[label].frame)
        w->functions[label].frame = frame;
    return label;
}

static void use_stated(struct callgrind_writer *w, struct call_row *call,
                       const struct stated_call *s)
{
    for (size_t i = 0; i < w->event_count && s->total > 0; i++)
        if (w->events[i] == s->event)
            call->costs.items[i] = call->stated += s->total;
}

/* Adds the numbers of calls that the input states. The costs of calls that it states replace
 * those of stacks, which lack recursive calls. */
static bool add_stated(struct callgrind_writer *w, const struct paths *paths,
                       struct error *err)
{
    for (size_t i = 0; i < w->p->call_count && !w->arena.failed; i++) {
        const struct stated_call *s = &w->p->calls[i];
        if (!s->caller)
            continue;
        string_id caller = function_of(w, paths, s->caller);
        uint32_t number = call_between(w, caller, function_of(w, paths, s->callee));
        if (s->count > 0)
            w->calls[number].count += s->count;
        use_stated(w, &w->calls[number], s);
    }
    return !w->arena.failed || error_memory(err);
}

/* --- Text -------------------- */

/* A name on a single line. */
static void put_name(struct callgrind_writer *w, struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        output_char(w->out, (unsigned char)name.ptr[i] < ' ' ? ' ' : name.ptr[i]);
}

/* "fn=(3) name": with the name each time, which readers accept. An unknown name is
 * "???", because an omitted one would mean the preceding function. */
static void put_numbered(struct callgrind_writer *w, const char *key, uint32_t number,
                         struct str name)
{
    if (number)
        output_format(w->out, "%s=(%u) ", key, number);
    else
        output_format(w->out, "%s=???", key);
    put_name(w, name);
    output_char(w->out, '\n');
}

static void put_function(struct callgrind_writer *w, const struct paths *paths,
                         string_id label, bool called)
{
    const struct profile *p = w->p;
    const struct frame *f = &p->frames[w->functions[label].frame];
    string_id path = p->modules[f->module].path;
    if (p->module_count > 1)
        put_numbered(w, called ? "cob" : "ob", path, profile_string(p, path));
    put_numbered(w, called ? "cfi" : "fl", f->file, profile_string(p, f->file));
    /* the function's name; NUL and the module's name may follow */
    struct str name = strings_get(&paths->labels, label);
    put_numbered(w, called ? "cfn" : "fn", label + 1, str_head(name, str_find(name, 0)));
}

static double rounded(double cost)
{
    double whole = floor(cost + 0.5);
    return whole > 0 && whole < 1.8e19 ? whole : 0;
}

/* Milliseconds, which may have fractions, as nanoseconds. */
static double written(const struct callgrind_writer *w, size_t event, double cost)
{
    bool ms = w->p->events[w->events[event]].unit == UNIT_MILLISECONDS;
    return rounded(ms ? cost * 1e6 : cost);
}

static void put_costs(struct callgrind_writer *w, uint32_t line,
                      const struct costs *costs)
{
    output_u64(w->out, line);
    for (size_t i = 0; i < w->event_count; i++) {
        output_char(w->out, ' ');
        output_u64(w->out, (uint64_t)written(w, i, costs->items[i]));
    }
    output_char(w->out, '\n');
}

/* NULL: valgrind has no such event. */
static const struct xtree_event *xtree_event_of(const struct callgrind_writer *w,
                                                const struct event *e)
{
    for (size_t i = 0; i < XTREE_EVENTS; i++)
        if (e->unit == (uint32_t)xtree_events[i].unit &&
            str_equal(profile_string(w->p, e->name), str_of(xtree_events[i].ours)))
            return &xtree_events[i];
    return NULL;
}

static void put_descriptions(struct callgrind_writer *w)
{
    for (size_t i = 0; i < w->event_count; i++) {
        const struct xtree_event *x = xtree_event_of(w, &w->p->events[w->events[i]]);
        if (x)
            output_format(w->out, "event: %s : %s\n", x->theirs, x->description);
    }
}

static void put_event_name(struct callgrind_writer *w, const struct event *e)
{
    static const char *const units[] = {[UNIT_NANOSECONDS] = "_(ns)",
                                        [UNIT_BYTES] = "_(bytes)",
                                        [UNIT_MILLISECONDS] = "_(ns)"};
    const struct xtree_event *x = xtree_event_of(w, e);
    struct str name = x ? str_of(x->theirs) : profile_string(w->p, e->name);
    output_char(w->out, ' ');
    for (size_t i = 0; i < name.len; i++)
        output_char(w->out, (unsigned char)name.ptr[i] <= ' ' ? '_' : name.ptr[i]);
    if (!x && e->unit < sizeof units / sizeof *units && units[e->unit])
        output_text(w->out, units[e->unit]);
}

static void put_head(struct callgrind_writer *w)
{
    struct str command = profile_string(w->p, w->p->facts.command);
    output_text(w->out,
                "# callgrind format\nversion: 1\ncreator: stoke " STOKE_VERSION "\n");
    if (command.len) {
        output_text(w->out, "cmd: ");
        put_name(w, command);
        output_char(w->out, '\n');
    }
    output_text(w->out, "positions: line\n");
    put_descriptions(w);
    output_text(w->out, "events:");
    for (size_t i = 0; i < w->event_count; i++)
        put_event_name(w, &w->p->events[w->events[i]]);
    output_text(w->out, "\n");
}

static void put_functions(struct callgrind_writer *w, const struct paths *paths)
{
    for (string_id label = 0; label < paths->labels.count; label++) {
        const struct function_row *f = &w->functions[label];
        uint32_t line = w->p->frames[f->frame].line;
        if (!f->frame)
            continue;
        output_char(w->out, '\n');
        put_function(w, paths, label, false);
        put_costs(w, line, &f->self);
        for (uint32_t c = f->first_call; c; c = w->calls[c].next) {
            put_function(w, paths, w->calls[c].callee, true);
            double count = rounded(w->calls[c].count);
            output_text(w->out, "calls=");
            output_u64(w->out, count > 0 ? (uint64_t)count : 1);
            output_format(w->out, " %u\n",
                          w->p->frames[w->functions[w->calls[c].callee].frame].line);
            put_costs(w, line, &w->calls[c].costs);
        }
    }
}

/* The sums of the self costs as they are written. */
static void put_totals(struct callgrind_writer *w, const struct paths *paths)
{
    struct costs totals = {0};
    for (string_id label = 0; label < paths->labels.count; label++)
        for (size_t i = 0; w->functions[label].frame && i < w->event_count; i++)
            totals.items[i] += written(w, i, w->functions[label].self.items[i]);
    output_text(w->out, "\ntotals:");
    for (size_t i = 0; i < w->event_count; i++) {
        output_char(w->out, ' ');
        output_u64(w->out, (uint64_t)totals.items[i]);
    }
    output_char(w->out, '\n');
}

static void choose_events(struct callgrind_writer *w)
{
    event_id only = w->options->tree.event;
    for (event_id e = 1; e < w->p->event_count && w->event_count < EVENTS_MAX; e++)
        if (!only || e == only)
            w->events[w->event_count++] = e;
}

/* All trees have the labels of the profile's paths, whatever their event. */
static bool tables_init(struct callgrind_writer *w, const struct paths *paths)
{
    w->calls = arena_zalloc(&w->arena, 64, sizeof *w->calls);
    w->call_cap = 64;
    w->functions = arena_zalloc(&w->arena, paths->labels.count, sizeof *w->functions);
    return w->calls && w->functions;
}

static bool callgrind_write(const struct profile *p, const struct export_options *options,
                            struct output *out, struct error *err)
{
    struct callgrind_writer w = {.p = p, .options = options, .out = out, .call_count = 1};
    struct paths paths = {0};
    choose_events(&w);
    struct label_style style = options->tree.label;
    style.module = style.words = true;
    bool ok = paths_init(&paths, p, &style, err) &&
              (tables_init(&w, &paths) || error_memory(err));
    for (size_t i = 0; ok && i < w.event_count; i++)
        ok = add_event(&w, i, &style, err);
    if (ok && add_stated(&w, &paths, err)) {
        put_head(&w);
        put_functions(&w, &paths);
        put_totals(&w, &paths);
    } else {
        ok = false;
    }
    paths_deinit(&paths);
    arena_deinit(&w.arena);
    return ok;
}

const struct exporter export_callgrind = {
    .name = "callgrind",
    .suffixes = "callgrind,kcg",
    .summary = "Callgrind's format, for KCachegrind",
    .whole = true,
    .integers = true,
    .write = callgrind_write,
};
