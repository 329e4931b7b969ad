/* SPDX-License-Identifier: Apache-2.0 */
/* One event of a profile as rows: their weights, which are shown, in which order. */
#include "base/number.h"
#include "base/sort.h"
#include "export/table_parts.h"

event_id table_next_event(const struct profile *p, const struct export_options *options,
                          event_id last)
{
    event_id event, base;
    calltree_events(p, &options->tree, &event, &base);
    if (options->tree.event || base)
        return last ? 0 : event;
    return last + 1 < p->event_count ? last + 1 : 0;
}

static double share(double part, double all)
{
    return all != 0 ? 100 * part / all : 0;
}

double table_share(const struct table *t, double weight)
{
    return share(weight, t->total);
}

double table_base_share(const struct table *t, double weight)
{
    return share(weight, t->base_total);
}

static bool sorts_by_self(const struct table *t)
{
    return t->o->sort == TABLE_SORT_SELF ||
           (t->o->sort == TABLE_SORT_DEFAULT && !t->differential);
}

double table_weight(const struct table *t, const struct table_row *r)
{
    return sorts_by_self(t) ? r->self : r->total;
}

double table_base_weight(const struct table *t, const struct table_row *r)
{
    return sorts_by_self(t) ? r->base_self : r->base_total;
}

/* --- Order -------------------------------------------------------------------------- */

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

/* The weight that determines the order of a row. */
static double prominence(const struct table *t, const struct table_row *r)
{
    if (!t->differential)
        return table_weight(t, r);
    return magnitude(table_weight(t, r) - table_base_weight(t, r));
}

/* The other weight, for rows that are equal in the first. */
static double second_weight(const struct table *t, const struct table_row *r)
{
    double now = sorts_by_self(t) ? r->total : r->self;
    double base = sorts_by_self(t) ? r->base_total : r->base_self;
    return t->differential ? magnitude(now - base) : now;
}

static bool before_row(const void *context, uint32_t a, uint32_t b)
{
    const struct table *t = context;
    const struct table_row *x = &t->rows[a], *y = &t->rows[b];
    int text = 0;
    if (t->o->sort == TABLE_SORT_MODULE)
        text = str_compare(x->module, y->module);
    else if (t->o->sort == TABLE_SORT_NAME)
        text = str_compare(x->name, y->name);
    if (text)
        return text < 0;
    double first = prominence(t, x) - prominence(t, y);
    if (first > 0 || first < 0)
        return first > 0;
    double second = second_weight(t, x) - second_weight(t, y);
    if (second > 0 || second < 0)
        return second > 0;
    return str_compare(x->name, y->name) < 0;
}

/* Whether the limit excludes a share. In a differential table the limit applies to the
 * change, and rows without a change are excluded. */
static bool is_below_limit(const struct table *t, const struct table_row *r)
{
    double now = table_share(t, table_weight(t, r));
    double change = now - table_base_share(t, table_base_weight(t, r));
    if (!t->differential)
        return now < t->o->percent_limit;
    if (t->o->form == TABLE_TEXT && prominence(t, r) <= 0 && magnitude(change) < 0.005)
        return true;
    return magnitude(change) < t->o->percent_limit;
}

static bool sort_rows(struct table *t)
{
    struct arena *a = &t->tree.arena;
    uint32_t *scratch = arena_alloc(a, (t->count + 1) * sizeof *scratch);
    t->order = arena_alloc(a, (t->count + 1) * sizeof *t->order);
    if (!t->order || !scratch)
        return false;
    size_t limit = t->o->limit ? t->o->limit : t->count, shown = 0;
    for (uint32_t i = 0; i < t->count; i++)
        t->order[i] = i;
    sort_u32(t->order, (uint32_t)t->count, scratch, before_row, t);
    /* Shown rows come first; both groups are sorted. */
    size_t hidden = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (shown < limit && !is_below_limit(t, &t->rows[t->order[i]]))
            t->order[shown++] = t->order[i];
        else
            scratch[hidden++] = t->order[i];
    }
    memcpy(t->order + shown, scratch, hidden * sizeof *scratch);
    t->shown = shown;
    return true;
}

/* --- Rows --------------------------------------------------------------------------- */

/* By label: the module of its frames; "several" if they differ, for example in a
 * differential table. */
static struct str *find_modules(struct table *t)
{
    const struct profile *p = t->p;
    const struct paths *paths = &t->tree.paths;
    struct str *modules =
        arena_alloc(&t->tree.arena, paths->labels.count * sizeof *modules);
    for (size_t i = 0; modules && i < paths->labels.count; i++)
        modules[i] = STR("");
    for (frame_id f = 1; modules && f < p->frame_count; f++) {
        struct str *known = &modules[paths->label_of_frame[f]];
        struct str module =
            str_basename(profile_string(p, p->modules[p->frames[f].module].path));
        if (known->len && module.len && !str_equal(*known, module))
            *known = STR("several");
        else if (module.len)
            *known = module;
    }
    return modules;
}

/* The label; without the module if table_init requested it in labels. */
static struct str row_name(const struct table *t, string_id label)
{
    struct str name = strings_get(&t->tree.paths.labels, label);
    return t->modules_apart ? str_head(name, str_rfind(name, 0)) : name;
}

static bool fill_rows(struct table *t, struct error *err)
{
    struct function *functions = calltree_functions(&t->tree, &t->count, err);
    if (!functions)
        return false;
    struct str *modules = find_modules(t);
    t->rows = arena_alloc(&t->tree.arena, (t->count + 1) * sizeof *t->rows);
    for (size_t i = 0; modules && t->rows && i < t->count; i++) {
        const struct function *f = &functions[i];
        t->rows[i] =
            (struct table_row){.name = row_name(t, f->label),
                               .module = t->o->heading ? STR("") : modules[f->label],
                               .self = f->self,
                               .total = f->total,
                               .base_self = f->base_self,
                               .base_total = f->base_total};
    }
    return (modules && t->rows && sort_rows(t)) || error_memory(err);
}

/* Whether the leaf of a sample has no name. */
static bool is_unknown(const struct profile *p, const struct sample *s)
{
    struct str name = profile_string(p, p->frames[p->stacks[s->stack].frame].name);
    return name.len == 0 || str_equal(name, STR("[unknown]"));
}

static void count_samples(struct table *t)
{
    for (size_t i = 0; i < t->p->sample_count; i++) {
        const struct sample *s = &t->p->samples[i];
        if (s->event != t->tree.event)
            continue;
        t->samples += s->count;
        if (is_unknown(t->p, s))
            t->unknown += s->weight;
    }
}

bool table_init(struct table *t, const struct profile *p,
                const struct export_options *options, event_id event, struct error *err)
{
    struct calltree_options tree = options->tree;
    *t = (struct table){.p = p, .o = options->table};
    tree.event = event;
    tree.order = CALLTREE_BY_SIZE;
    tree.label.words = true;
    tree.min_share = t->o->tree ? t->o->percent_limit / 100 : 0;
    if (!t->o->tree) {
        tree.threads = THREAD_NONE;
        t->modules_apart = !p->facts.differential && !t->o->heading;
        tree.label.module = t->modules_apart;
    }
    if (!calltree_init(&t->tree, p, &tree, err))
        return false;
    t->total = t->tree.nodes[0].total;
    t->base_total = t->tree.nodes[0].base_total;
    t->differential = t->tree.base != 0;
    count_samples(t);
    return t->o->tree || fill_rows(t, err);
}

void table_deinit(struct table *t)
{
    calltree_deinit(&t->tree);
}

/* --- Weights ------------------------------------------------------------------------ */

static double largest_total(const struct table *t)
{
    double now = magnitude(t->total), base = magnitude(t->base_total);
    return now > base ? now : base;
}

static bool has_fractions(const struct table *t)
{
    for (size_t i = 0; i < t->p->sample_count; i++) {
        double v = t->p->samples[i].weight;
        if (magnitude(v) < 9e15 && v != (double)(int64_t)v)
            return true;
    }
    return false;
}

struct measure measure_of(const struct table *t)
{
    enum unit unit = t->p->events[t->tree.event].unit;
    return measure_for(unit, largest_total(t), has_fractions(t));
}
