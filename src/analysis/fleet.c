/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/fleet.h"
#include "base/array.h"
#include "base/glob.h"
#include "base/idmap.h"
#include "base/sort.h"
#include "model/sample_labels.h"
#include <math.h>

/* --- Groups ----------------------------------------------------------------------------- */

struct grouping {
    struct fleet *f;
    const struct fleet_question *q;
    struct arena scratch;
    label_id *labels;     /* by label set, of the key */
    label_id *sides[2];   /* by label set */
    bool *is_of_side[2];  /* by label */
    struct idmap indexes; /* of groups + 1, by side and label or time */
    size_t group_cap;
};

static double weight_of(const struct sample *s)
{
    return s->weight > 0 ? s->weight : 0;
}

/* Which labels have the key of a side and a matching value. */
static bool find_side(struct grouping *g, unsigned side)
{
    const struct profile *p = g->f->p;
    struct str key = g->q->side_keys[side];
    struct output text = OUTPUT_BUFFER;
    g->sides[side] = label_sets_find(p, key, &g->scratch);
    bool *is = arena_zalloc(&g->scratch, p->label_count + 1, sizeof *is);
    g->is_of_side[side] = is;
    for (label_id i = 1; is && i < p->label_count; i++) {
        if (!str_equal(sample_label_key(p, i), key))
            continue;
        text.used = 0;
        sample_label_write(&text, p, i);
        is[i] = glob_match(g->q->side_values[side], output_contents(&text));
    }
    bool ok = is && g->sides[side] && !text.failed;
    output_deinit(&text);
    return ok;
}

/* The side of a label set; 2: none. A set that matches both is of the first. */
static unsigned side_of(const struct grouping *g, label_set_id set)
{
    if (!g->sides[0])
        return 0;
    for (unsigned side = 0; side < 2; side++)
        if (g->is_of_side[side][g->sides[side][set]])
            return side;
    return 2;
}

/* The group of a row, which is added if it is new; an index + 1. 0 with err set on failure. */
static uint32_t group_of(struct grouping *g, size_t row, unsigned side, struct error *err)
{
    struct fleet *f = g->f;
    const struct sample *s = &f->p->samples[row];
    struct fleet_group new = {.side = side};
    if (g->labels)
        new.label = g->labels[profile_labels(f->p, row)];
    else if (s->time != TIME_NONE)
        new.time = s->time - s->time % g->q->step;
    uint64_t id = (g->labels ? new.label : new.time / g->q->step) * 2 + side;
    uint64_t *index = idmap_put(&g->indexes, &g->scratch, id);
    if (!index) {
        error_memory(err);
        return 0;
    }
    if (!*index && f->group_count == FLEET_GROUPS_MAX) {
        error_set(err, "the samples have more than %d groups", FLEET_GROUPS_MAX);
        error_hint(err, "choose another label with --by, or a shorter span with --at");
        return 0;
    }
    if (!*index) {
        struct fleet_group *added =
            ARRAY_APPEND(&f->arena, f->groups, f->group_count, g->group_cap);
        if (!added) {
            error_memory(err);
            return 0;
        }
        *added = new;
        *index = f->group_count;
    }
    return (uint32_t)*index;
}

static bool add_rows(struct grouping *g, struct error *err)
{
    struct fleet *f = g->f;
    const struct profile *p = f->p;
    for (size_t row = 0; row < p->sample_count; row++) {
        const struct sample *s = &p->samples[row];
        unsigned side = side_of(g, profile_labels(p, row));
        if (s->event != g->q->event || side == 2 || weight_of(s) == 0)
            continue;
        uint32_t index = group_of(g, row, side, err);
        if (!index)
            return false;
        f->group_of_row[row] = index;
        f->groups[index - 1].weight += weight_of(s);
        f->groups[index - 1].samples += s->count;
        f->row_count++;
    }
    return true;
}

static bool by_time_or_weight(const void *context, uint32_t a, uint32_t b)
{
    const struct fleet_group *groups = context, *x = &groups[a], *y = &groups[b];
    return x->time != y->time ? x->time < y->time : x->weight > y->weight;
}

static bool order_groups(struct grouping *g)
{
    struct fleet *f = g->f;
    size_t room = f->group_count + 1;
    struct fleet_group *old = arena_alloc(&g->scratch, room * sizeof *old);
    uint32_t *order = arena_alloc(&g->scratch, 2 * room * sizeof *order);
    uint32_t *new_of_old = arena_zalloc(&g->scratch, room, sizeof *new_of_old);
    if (!old || !order || !new_of_old)
        return false;
    for (uint32_t i = 0; i < f->group_count; i++) {
        old[i] = f->groups[i];
        order[i] = i;
    }
    sort_u32(order, f->group_count, order + room, by_time_or_weight, old);
    for (uint32_t i = 0; i < f->group_count; i++) {
        const struct fleet_group *group = &old[order[i]];
        f->groups[i] = *group;
        new_of_old[order[i] + 1] = i + 1;
        f->weight[group->side] += group->weight;
        f->squares[group->side] += group->weight * group->weight;
        f->samples[group->side] += group->samples;
        f->side_groups[group->side]++;
    }
    for (size_t row = 0; row < f->p->sample_count; row++)
        f->group_of_row[row] = new_of_old[f->group_of_row[row]];
    return true;
}

/* A counting sort. */
static bool order_rows(struct grouping *g)
{
    struct fleet *f = g->f;
    uint32_t *next = arena_zalloc(&g->scratch, f->group_count + 2, sizeof *next);
    f->rows = arena_alloc(&f->arena, (f->row_count + 1) * sizeof *f->rows);
    if (!next || !f->rows)
        return false;
    for (size_t row = 0; row < f->p->sample_count; row++)
        if (f->group_of_row[row])
            next[f->group_of_row[row] + 1]++;
    for (size_t i = 1; i < f->group_count + 2; i++)
        next[i] += next[i - 1];
    for (size_t row = 0; row < f->p->sample_count; row++)
        if (f->group_of_row[row])
            f->rows[next[f->group_of_row[row]]++] = (uint32_t)row;
    return true;
}

static bool make_groups(struct grouping *g, struct error *err)
{
    struct fleet *f = g->f;
    f->group_of_row =
        arena_zalloc(&f->arena, f->p->sample_count + 1, sizeof *f->group_of_row);
    if (g->q->key.len)
        g->labels = label_sets_find(f->p, g->q->key, &g->scratch);
    if (!f->group_of_row || (g->q->key.len && !g->labels))
        return error_memory(err);
    for (unsigned side = 0; side < 2 && g->q->side_keys[0].len; side++)
        if (!find_side(g, side))
            return error_memory(err);
    if (!add_rows(g, err))
        return false;
    return (order_groups(g) && order_rows(g)) || error_memory(err);
}

/* --- Functions -------------------------------------------------------------------------- */

static bool make_functions(struct fleet *f, struct error *err)
{
    const struct profile *p = f->p;
    size_t cap = 0;
    f->function_of_name =
        arena_zalloc(&f->arena, p->strings.count + 1, sizeof *f->function_of_name);
    if (!f->function_of_name)
        return error_memory(err);
    for (frame_id i = 1; i < p->frame_count; i++) {
        uint32_t *index = &f->function_of_name[p->frames[i].name];
        if (*index)
            continue;
        struct fleet_function *added =
            ARRAY_APPEND(&f->arena, f->functions, f->function_count, cap);
        if (!added)
            return error_memory(err);
        *added = (struct fleet_function){.name = p->frames[i].name};
        *index = (uint32_t)f->function_count;
    }
    return true;
}

/* The function of the innermost frame of a stack. */
static uint32_t function_of(const struct fleet *f, stack_id stack)
{
    const struct profile *p = f->p;
    return f->function_of_name[p->frames[p->stacks[stack].frame].name] - 1;
}

/* --- Weights of functions, group by group ------------------------------------------------ */

struct walk {
    struct fleet *f;
    struct arena arena;
    double *self, *total; /* by function: of the current group */
    uint32_t *seen;       /* by function: the row + 1 that had it last */
    uint32_t *touched;    /* functions of the current group */
    size_t touched_count;
    void (*end)(struct walk *w, uint32_t group); /* of a group */
    void *context;
};

static bool walk_init(struct walk *w, struct fleet *f)
{
    size_t count = f->function_count + 1;
    *w = (struct walk){.f = f};
    w->self = arena_zalloc(&w->arena, count, sizeof *w->self);
    w->total = arena_zalloc(&w->arena, count, sizeof *w->total);
    w->seen = arena_zalloc(&w->arena, count, sizeof *w->seen);
    w->touched = arena_alloc(&w->arena, count * sizeof *w->touched);
    return w->self && w->total && w->seen && w->touched;
}

static void walk_row(struct walk *w, uint32_t row)
{
    const struct profile *p = w->f->p;
    const struct sample *s = &p->samples[row];
    double weight = weight_of(s);
    for (stack_id at = s->stack; at; at = p->stacks[at].parent) {
        uint32_t function = function_of(w->f, at);
        if (w->seen[function] == row + 1)
            continue;
        w->seen[function] = row + 1;
        if (w->total[function] == 0)
            w->touched[w->touched_count++] = function;
        w->total[function] += weight;
    }
    if (s->stack)
        w->self[function_of(w->f, s->stack)] += weight;
}

static void walk_groups(struct walk *w)
{
    const struct fleet *f = w->f;
    for (size_t at = 0; at < f->row_count;) {
        uint32_t group = f->group_of_row[f->rows[at]];
        for (; at < f->row_count && f->group_of_row[f->rows[at]] == group; at++)
            walk_row(w, f->rows[at]);
        w->end(w, group - 1);
        for (size_t i = 0; i < w->touched_count; i++)
            w->self[w->touched[i]] = w->total[w->touched[i]] = 0;
        w->touched_count = 0;
    }
}

static void add_group(struct walk *w, uint32_t group)
{
    const struct fleet_group *g = &w->f->groups[group];
    for (size_t i = 0; i < w->touched_count; i++) {
        uint32_t at = w->touched[i];
        struct fleet_function *f = &w->f->functions[at];
        struct fleet_sums *sums = &f->sides[g->side];
        double total = w->total[at];
        sums->self += w->self[at];
        sums->total += total;
        sums->squares += total * total;
        sums->products += total * g->weight;
        f->groups++;
        if (total > f->most_weight) {
            f->most_weight = total;
            f->most = group;
        }
    }
}

bool fleet_init(struct fleet *f, const struct profile *p, const struct fleet_question *q,
                struct error *err)
{
    struct grouping g = {.f = f, .q = q, .scratch = ARENA_INIT};
    struct walk w = {.arena = ARENA_INIT};
    *f = (struct fleet){.p = p};
    bool ok = make_groups(&g, err) && make_functions(f, err) &&
              (walk_init(&w, f) || error_memory(err));
    if (ok) {
        w.end = add_group;
        walk_groups(&w);
    }
    arena_deinit(&w.arena);
    arena_deinit(&g.scratch);
    return ok;
}

void fleet_deinit(struct fleet *f)
{
    arena_deinit(&f->arena);
    *f = (struct fleet){0};
}

bool fleet_by_group(struct fleet *f, const bool *chosen, double **self, double **total)
{
    const struct profile *p = f->p;
    *self = arena_zalloc(&f->arena, f->group_count + 1, sizeof **self);
    *total = arena_zalloc(&f->arena, f->group_count + 1, sizeof **total);
    bool *has = arena_zalloc(&f->arena, p->stack_count + 1, sizeof *has);
    if (!*self || !*total || !has)
        return false;
    for (stack_id i = 1; i < p->stack_count; i++)
        has[i] = has[p->stacks[i].parent] || chosen[function_of(f, i)];
    for (size_t i = 0; i < f->row_count; i++) {
        const struct sample *s = &p->samples[f->rows[i]];
        uint32_t group = f->group_of_row[f->rows[i]] - 1;
        if (!has[s->stack])
            continue;
        (*total)[group] += weight_of(s);
        if (chosen[function_of(f, s->stack)])
            (*self)[group] += weight_of(s);
    }
    return true;
}

/* --- Distances --------------------------------------------------------------------------- */

static double usual_share(const struct fleet *f, uint32_t function)
{
    const struct fleet_sums *s = f->functions[function].sides;
    return (s[0].self + s[1].self) / (f->weight[0] + f->weight[1]);
}

/* Functions that the group does not have differ by their usual share: in sum by what
 * the touched ones leave of 1. */
static void measure_distance(struct walk *w, uint32_t group)
{
    struct fleet_distance *d = (struct fleet_distance *)w->context + group;
    double weight = w->f->groups[group].weight, sum = 0, rest = 1, largest = -1;
    for (size_t i = 0; i < w->touched_count; i++) {
        uint32_t at = w->touched[i];
        double share = w->self[at] / weight, usual = usual_share(w->f, at);
        sum += fabs(share - usual);
        rest -= usual;
        if (fabs(share - usual) <= largest)
            continue;
        largest = fabs(share - usual);
        d->function = at;
        d->share = share;
        d->usual = usual;
    }
    d->distance = (sum + (rest > 0 ? rest : 0)) / 2;
}

struct fleet_distance *fleet_distances(struct fleet *f)
{
    struct walk w;
    struct fleet_distance *d = arena_zalloc(&f->arena, f->group_count + 1, sizeof *d);
    bool ok = walk_init(&w, f) && d;
    if (ok) {
        w.end = measure_distance;
        w.context = d;
        walk_groups(&w);
    }
    arena_deinit(&w.arena);
    return ok ? d : NULL;
}

/* --- Comparison -------------------------------------------------------------------------- */

/* The variance of the share of a side: see fleet.h. */
static double variance(const struct fleet *f, const struct fleet_sums *s, unsigned side,
                       double share)
{
    double count = (double)f->side_groups[side], all = f->weight[side];
    double sum = s->squares - 2 * share * s->products + share * share * f->squares[side];
    double between = count > 1 && sum > 0 ? count / (count - 1) * sum / (all * all) : 0;
    double least = noise_binomial(share, (double)f->samples[side]);
    return between > least ? between : least;
}

struct difference fleet_compare(const struct fleet *f, const struct fleet_function *of)
{
    struct difference d = {.p = 1, .few = true};
    double share[2] = {0, 0}, v[2] = {0, 0}, samples = 0;
    size_t least = FLEET_GROUPS_LEAST;
    for (unsigned side = 0; side < 2; side++) {
        const struct fleet_sums *s = &of->sides[side];
        if (f->weight[side] <= 0)
            return d;
        share[side] = s->total / f->weight[side];
        v[side] = variance(f, s, side, share[side]);
        samples += share[side] * (double)f->samples[side];
    }
    d.before = share[0];
    d.after = share[1];
    d.few = f->side_groups[0] < least || f->side_groups[1] < least ||
            samples < NOISE_LEAST - 1e-6;
    if (d.few)
        return d;
    double sum = v[0] + v[1], delta = d.after - d.before;
    double freedom = sum * sum /
                     (v[0] * v[0] / ((double)f->side_groups[0] - 1) +
                      v[1] * v[1] / ((double)f->side_groups[1] - 1));
    double half = noise_t_quantile(freedom) * sqrt(sum);
    d.low = delta - half;
    d.high = delta + half;
    d.p = noise_t_probability(delta / sqrt(sum), freedom);
    return d;
}
