/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/noise.h"
#include <math.h>
#include <stdlib.h>

#define LEVELS 4           /* of block lengths, each twice the one before */
#define FINEST 80          /* number of blocks at first */
#define GROWTH 1.1         /* longer blocks are used if V grows by more */
#define MANY_BLOCKS 100000 /* degrees of freedom of an assumed factor */

/* --- Blocks of time ---------------------------------------------------------------- */

/* Sums over the blocks of one length. y is the weight of a label in a block, m that of
 * all samples in it. */
struct level {
    double *y, *yy, *ym; /* by label: y of the current block, sums of y*y and y*m */
    double m, mm;
    unsigned count; /* blocks with samples */
};

struct measuring {
    struct noise *noise;
    const struct profile *p;
    event_id event;
    bool count;
    struct arena scratch;
    struct paths paths;
    string_id *label_of_path; /* in noise; 0 also where the label is in a caller */
    double *weight_of_path;
    uint64_t first, last; /* times */
    uint32_t *rows;       /* samples of the event, by block */
    uint32_t from[FINEST + 1];
    double *total; /* by label */
    struct level levels[LEVELS];
};

static double weight_in(const struct measuring *g, const struct sample *s)
{
    double weight = g->count ? (double)s->count : s->weight;
    return weight > 0 ? weight : 0;
}

/* A row of a unit without a time or size is as many samples as its weight; allocations are
 * estimated from samples. */
static bool counts_samples(const struct measuring *g)
{
    return g->count || (g->p->events[g->event].unit == UNIT_COUNT &&
                        !profile_find_kind(g->p, EVENT_LIVE));
}

static void add_up(struct measuring *g)
{
    bool counts = counts_samples(g);
    double squares = 0;
    g->first = UINT64_MAX;
    g->noise->timed = true;
    for (size_t i = 0; i < g->p->sample_count; i++) {
        const struct sample *s = &g->p->samples[i];
        double weight = weight_in(g, s);
        if (s->event != g->event || weight == 0)
            continue;
        double samples = counts ? weight : s->count ? (double)s->count : 1;
        g->noise->total += weight;
        squares += weight * weight / samples;
        if (s->time == TIME_NONE)
            g->noise->timed = false;
        else if (s->time < g->first)
            g->first = s->time;
        if (s->time != TIME_NONE && s->time > g->last)
            g->last = s->time;
    }
    g->noise->samples = squares > 0 ? g->noise->total * g->noise->total / squares : 0;
    g->noise->timed &= g->first < g->last;
}

static unsigned block_of(const struct measuring *g, const struct sample *s)
{
    uint64_t at = (s->time - g->first) / g->noise->block;
    return at < FINEST ? (unsigned)at : FINEST - 1;
}

static bool sort_rows(struct measuring *g)
{
    const struct profile *p = g->p;
    uint32_t next[FINEST];
    g->noise->block = (g->last - g->first) / FINEST + 1;
    g->rows = arena_alloc(&g->scratch, (p->sample_count + 1) * sizeof *g->rows);
    if (!g->rows)
        return false;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == g->event)
            g->from[block_of(g, &p->samples[i]) + 1]++;
    for (unsigned b = 0; b < FINEST; b++) {
        g->from[b + 1] += g->from[b];
        next[b] = g->from[b];
    }
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == g->event)
            g->rows[next[block_of(g, &p->samples[i])]++] = (uint32_t)i;
    return true;
}

/* --- Paths ------------------------------------------------------------------------- */

static uint32_t parent_of(const void *context, uint32_t path)
{
    return ((const struct paths *)context)->nodes[path].parent;
}

/* A recursive function counts once: only its outermost path has its label. */
static bool label_paths(struct measuring *g, const struct strings *labels)
{
    struct arena *a = &g->scratch;
    const struct paths *t = &g->paths;
    struct children c;
    if (!children_init(&c, a, t->count, parent_of, t))
        return false;
    uint32_t *open = arena_zalloc(a, t->labels.count, sizeof *open);
    uint32_t *next = arena_alloc(a, (t->count + 1) * sizeof *next);
    string_id *known = arena_zalloc(a, t->labels.count, sizeof *known);
    g->label_of_path = arena_zalloc(a, t->count, sizeof *g->label_of_path);
    if (a->failed)
        return false;
    for (string_id label = 1; label < t->labels.count; label++)
        known[label] = strings_find(labels, strings_get(&t->labels, label));
    for (size_t n = 0; n < t->count; n++)
        next[n] = c.first[n];
    for (uint32_t at = 0;;) {
        if (next[at] < c.first[at + 1]) {
            at = c.items[next[at]++];
            string_id label = path_label(t, at);
            g->label_of_path[at] = open[label]++ == 0 ? known[label] : 0;
        } else if (at == 0) {
            return true;
        } else {
            open[path_label(t, at)]--;
            at = t->nodes[at].parent;
        }
    }
}

/* Moves the weights of paths to their labels. */
static void drain_paths(struct measuring *g, double *by_label)
{
    for (size_t path = g->paths.count; path-- > 1;) {
        double weight = g->weight_of_path[path];
        if (weight == 0)
            continue;
        g->weight_of_path[path] = 0;
        g->weight_of_path[g->paths.nodes[path].parent] += weight;
        by_label[g->label_of_path[path]] += weight;
    }
    g->weight_of_path[0] = 0;
}

/* --- Variance ---------------------------------------------------------------------- */

/* Ends the current block of a level, which is a part of a block of the next one. */
static void end_block(struct measuring *g, unsigned at)
{
    struct level *l = &g->levels[at];
    struct level *above = at + 1 < LEVELS ? &g->levels[at + 1] : NULL;
    if (l->m == 0)
        return;
    for (size_t label = 1; label < g->noise->labels; label++) {
        double y = l->y[label];
        if (y == 0)
            continue;
        l->yy[label] += y * y;
        l->ym[label] += y * l->m;
        if (above)
            above->y[label] += y;
        else
            g->total[label] += y;
        l->y[label] = 0;
    }
    l->mm += l->m * l->m;
    l->count++;
    if (above)
        above->m += l->m;
    l->m = 0;
}

static void measure_blocks(struct measuring *g)
{
    for (unsigned block = 0; block < FINEST; block++) {
        for (uint32_t i = g->from[block]; i < g->from[block + 1]; i++) {
            const struct sample *s = &g->p->samples[g->rows[i]];
            double weight = weight_in(g, s);
            g->weight_of_path[path_of_stack(&g->paths, s->stack)] += weight;
            g->levels[0].m += weight;
        }
        drain_paths(g, g->levels[0].y);
        for (unsigned at = 0; at < LEVELS && (block + 1) % (1U << at) == 0; at++)
            end_block(g, at);
    }
}

/* Of the share of a label, over the blocks of a level. */
static double variance_at(const struct measuring *g, const struct level *l,
                          string_id label, double share)
{
    double sum = l->yy[label] - 2 * share * l->ym[label] + share * share * l->mm;
    double all = g->noise->total * g->noise->total;
    return sum > 0 ? l->count / (l->count - 1.0) * sum / all : 0;
}

double noise_binomial(double share, double samples)
{
    double p = (share * samples + 1) / (samples + 2);
    return p * (1 - p) / (samples + 2);
}

static void set_factor(struct measuring *g, string_id label)
{
    struct noise *n = g->noise;
    double share = g->total[label] / n->total, least = noise_binomial(share, n->samples);
    const struct level *used = &g->levels[0];
    double v = variance_at(g, used, label, share);
    for (unsigned at = 1; at < LEVELS; at++) {
        const struct level *l = &g->levels[at];
        if (l->count < NOISE_BLOCKS_MIN)
            break;
        double longer = variance_at(g, l, label, share);
        if (longer <= v * GROWTH)
            continue;
        v = longer;
        used = l;
    }
    n->factor[label] = v > least ? (float)(v / least) : 1;
    n->blocks[label] = (uint8_t)used->count;
}

static bool measure(struct measuring *g, const struct strings *labels, struct error *err)
{
    static const struct label_style style = {.plain = true};
    struct arena *a = &g->scratch;
    size_t count = g->noise->labels;
    if (!paths_init(&g->paths, g->p, &style, err))
        return false;
    g->weight_of_path = arena_zalloc(a, g->paths.count, sizeof *g->weight_of_path);
    g->total = arena_zalloc(a, count, sizeof *g->total);
    for (unsigned at = 0; at < LEVELS; at++) {
        struct level *l = &g->levels[at];
        l->y = arena_zalloc(a, count, sizeof *l->y);
        l->yy = arena_zalloc(a, count, sizeof *l->yy);
        l->ym = arena_zalloc(a, count, sizeof *l->ym);
    }
    if (a->failed || !label_paths(g, labels) || !sort_rows(g))
        return error_memory(err);
    measure_blocks(g);
    g->noise->timed = g->levels[0].count >= NOISE_BLOCKS_MIN;
    for (string_id label = 1; g->noise->timed && label < count; label++)
        set_factor(g, label);
    return true;
}

bool noise_init(struct noise *n, const struct profile *p, event_id event, bool count,
                const struct strings *labels, struct error *err)
{
    struct measuring g = {
        .noise = n, .p = p, .event = event, .count = count, .scratch = ARENA_INIT};
    *n = (struct noise){.labels = labels->count};
    n->factor = arena_alloc(&n->arena, n->labels * sizeof *n->factor);
    n->blocks = arena_zalloc(&n->arena, n->labels, 1);
    if (!n->factor || !n->blocks)
        return error_memory(err);
    for (size_t label = 0; label < n->labels; label++)
        n->factor[label] = NOISE_ASSUMED;
    if (event)
        add_up(&g);
    bool ok = !event || !n->timed || measure(&g, labels, err);
    paths_deinit(&g.paths);
    arena_deinit(&g.scratch);
    return ok;
}

void noise_deinit(struct noise *n)
{
    arena_deinit(&n->arena);
    *n = (struct noise){0};
}

/* --- Tests ------------------------------------------------------------------------- */

/* Wallace's approximation, good to 1% from 5 degrees of
 * freedom on. */
double noise_t_probability(double t, double freedom)
{
    double z =
        (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
    return erfc(z / sqrt(2));
}

/* The Cornish-Fisher expansion. */
double noise_t_quantile(double freedom)
{
    double z = 1.959963985, z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * freedom) +
           (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

struct estimate {
    double share, samples, variance, freedom;
};

static struct estimate estimate_of(const struct noise *n, string_id label, double part)
{
    struct estimate e = {.freedom = MANY_BLOCKS};
    bool known = label < n->labels;
    double factor = known ? (double)n->factor[label] : NOISE_ASSUMED;
    e.share = n->total > 0 ? part / n->total : 0;
    e.share = e.share < 0 ? 0 : e.share > 1 ? 1 : e.share;
    e.samples = e.share * n->samples;
    e.variance = factor * noise_binomial(e.share, n->samples);
    if (known && n->blocks[label])
        e.freedom = n->blocks[label] - 1;
    return e;
}

static struct difference compare(const struct estimate *a, const struct estimate *b)
{
    double v = a->variance + b->variance, delta = b->share - a->share;
    double freedom =
        v * v /
        (a->variance * a->variance / a->freedom + b->variance * b->variance / b->freedom);
    double half = noise_t_quantile(freedom) * sqrt(v);
    return (struct difference){.before = a->share,
                               .after = b->share,
                               .low = delta - half,
                               .high = delta + half,
                               .p = noise_t_probability(delta / sqrt(v), freedom),
                               .few = a->samples + b->samples < NOISE_LEAST - 1e-6};
}

struct difference noise_compare(const struct noise *before, const struct noise *after,
                                string_id label, double part_before, double part_after)
{
    struct estimate a = estimate_of(before, label, part_before);
    struct estimate b = estimate_of(after, label, part_after);
    return compare(&a, &b);
}

/* The number of a function's samples is that of independent events (Poisson) times the factor. One
 * more is counted: none is not certain. */
static void scale_to_weight(struct estimate *e, const struct noise *n, string_id label,
                            double whole)
{
    double factor = label < n->labels ? (double)n->factor[label] : NOISE_ASSUMED;
    double samples = n->samples > 1 ? n->samples : 1, scale = n->total / whole;
    e->share *= scale;
    e->variance = factor * (e->samples + 1) / (samples * samples) * scale * scale;
}

struct difference noise_compare_weights(const struct noise *before,
                                        const struct noise *after, string_id label,
                                        double part_before, double part_after)
{
    struct estimate a = estimate_of(before, label, part_before);
    struct estimate b = estimate_of(after, label, part_after);
    double whole = before->total > after->total ? before->total : after->total;
    if (whole > 0) {
        scale_to_weight(&a, before, label, whole);
        scale_to_weight(&b, after, label, whole);
    }
    return compare(&a, &b);
}

/* The largest k with at least k values up to k/count of the share of false findings: as many
 * as the k-th value in order would be compared with. */
double noise_limit(const double *p, size_t count)
{
    uint32_t *passed_from = calloc(count + 1, sizeof *passed_from);
    size_t found = 1, below = 0;
    if (!passed_from || count == 0) {
        free(passed_from);
        return count ? NOISE_FALSE / (double)count : 0;
    }
    for (size_t i = 0; i < count; i++) {
        double first = ceil(p[i] / NOISE_FALSE * (double)count);
        if (first <= (double)count)
            passed_from[first < 1 ? 1 : (size_t)first]++;
    }
    for (size_t k = 1; k <= count; k++) {
        below += passed_from[k];
        if (below >= k)
            found = k;
    }
    free(passed_from);
    return NOISE_FALSE * (double)found / (double)count;
}
