/* SPDX-License-Identifier: Apache-2.0 */
/* By how many lines an edit moved the functions of a file, between two compared profiles. The text
 * of the file before is not known: a function has moved if the shares of its lines fit clearly better
 * with another distance than without one. */
#include "base/idmap.h"
#include "base/sort.h"
#include "web/core/core.h"

#define LINES_MOST \
    64 /* of a function and a side: the heaviest; all their distances are tried */
#define FITS 0.5    /* the part of the weight that a distance must explain */
#define BETTER 0.25 /* more than without one */
#define CERTAIN \
    2 /* lines that fit; one line alone may be another line of the same function */

struct side_line {
    uint32_t line;
    double part; /* of the weight of the function's lines */
};

struct guess {
    string_id label;
    int64_t shift;
    unsigned pairs; /* of lines that fit */
};

struct shifting {
    struct arena arena;
    const struct shown *s;
    double *weights[2]; /* by frame: before, after */
    frame_id *frames;   /* of the file, by label and line */
    size_t frame_count;
    struct guess *guesses;
    size_t guess_count, guess_cap;
    struct idmap votes; /* guesses, by shift */
};

/* With all its callees; a function that recurs counts again, which does not matter here. */
static double *weigh_frames(struct shifting *h, event_id event)
{
    const struct profile *p = h->s->p;
    double *weight = arena_zalloc(&h->arena, p->stack_count, sizeof *weight);
    double *of_frame = arena_zalloc(&h->arena, p->frame_count, sizeof *of_frame);
    if (!weight || !of_frame)
        return NULL;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == event)
            weight[p->samples[i].stack] += shown_weight(h->s, &p->samples[i]);
    for (size_t i = p->stack_count; i-- > 1;) {
        of_frame[p->stacks[i].frame] += weight[i];
        weight[p->stacks[i].parent] += weight[i];
    }
    return of_frame;
}

static bool frame_before(const void *context, uint32_t x, uint32_t y)
{
    const struct shown *s = context;
    string_id a = s->paths.label_of_frame[x], b = s->paths.label_of_frame[y];
    return a < b || (a == b && s->p->frames[x].line < s->p->frames[y].line);
}

static bool take_frames(struct shifting *h, string_id file, string_id before)
{
    const struct profile *p = h->s->p;
    h->weights[0] = weigh_frames(h, h->s->base);
    h->weights[1] = weigh_frames(h, h->s->event);
    h->frames = arena_alloc(&h->arena, 2 * p->frame_count * sizeof *h->frames);
    if (!h->weights[0] || !h->weights[1] || !h->frames)
        return false;
    for (frame_id f = 1; f < p->frame_count; f++)
        if (p->frames[f].line && p->frames[f].file &&
            (p->frames[f].file == file || p->frames[f].file == before))
            h->frames[h->frame_count++] = f;
    sort_u32(h->frames, h->frame_count, h->frames + h->frame_count, frame_before, h->s);
    return true;
}

/* Keeps the heaviest lines. */
static void add_line(struct side_line *lines, size_t *count, uint32_t line, double weight)
{
    if (*count && lines[*count - 1].line == line) {
        lines[*count - 1].part += weight;
        return;
    }
    size_t at = *count;
    if (at == LINES_MOST) {
        for (size_t i = at = 0; i < LINES_MOST; i++)
            at = lines[i].part < lines[at].part ? i : at;
        if (lines[at].part >= weight)
            return;
        memmove(lines + at, lines + at + 1, (LINES_MOST - 1 - at) * sizeof *lines);
        at = --*count;
    }
    lines[at] = (struct side_line){line, weight};
    ++*count;
}

/* The lines of a side of the frames from `from` to `to`, which are of one function. */
static size_t take_side(const struct shifting *h, unsigned side, size_t from, size_t to,
                        struct side_line *lines)
{
    size_t count = 0;
    double sum = 0;
    for (size_t i = from; i < to; i++) {
        double weight = h->weights[side][h->frames[i]];
        if (weight > 0)
            add_line(lines, &count, h->s->p->frames[h->frames[i]].line, weight);
    }
    for (size_t i = 0; i < count; i++)
        sum += lines[i].part;
    for (size_t i = 0; i < count; i++)
        lines[i].part /= sum;
    return count;
}

struct distance {
    int64_t lines;
    double fit;
    unsigned pairs;
};

static bool distance_before(const void *context, uint32_t x, uint32_t y)
{
    const struct distance *all = context;
    return all[x].lines < all[y].lines;
}

/* Adds up the pairs of equal distance; the best is in *best, and the fit without one is returned. */
static double best_distance(const struct distance *all, const uint32_t *order,
                            size_t count, struct distance *best)
{
    double same = 0;
    *best = (struct distance){0};
    for (size_t i = 0; i < count;) {
        struct distance sum = {.lines = all[order[i]].lines};
        for (; i < count && all[order[i]].lines == sum.lines; i++, sum.pairs++)
            sum.fit += all[order[i]].fit;
        same = sum.lines ? same : sum.fit;
        if (sum.fit > best->fit)
            *best = sum;
    }
    return same;
}

static bool guess_function(struct shifting *h, size_t from, size_t to)
{
    static struct distance all[LINES_MOST * LINES_MOST];
    static uint32_t order[2 * LINES_MOST * LINES_MOST];
    struct side_line before[LINES_MOST], after[LINES_MOST];
    size_t n = take_side(h, 0, from, to, before), m = take_side(h, 1, from, to, after);
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) {
            order[count] = count;
            all[count++] = (struct distance){
                (int64_t)after[k].line - before[i].line,
                before[i].part < after[k].part ? before[i].part : after[k].part, 0};
        }
    sort_u32(order, count, order + count, distance_before, all);
    struct distance best;
    double same = best_distance(all, order, count, &best);
    if (!best.lines || best.fit < FITS || best.fit < same + BETTER)
        return true;
    struct guess *guesses = arena_grow(&h->arena, h->guesses, &h->guess_cap,
                                       h->guess_count + 1, sizeof *guesses);
    uint64_t *votes = idmap_put(&h->votes, &h->arena, (uint64_t)best.lines);
    if (!guesses || !votes)
        return false;
    h->guesses = guesses;
    guesses[h->guess_count++] = (struct guess){
        h->s->paths.label_of_frame[h->frames[from]], best.lines, best.pairs};
    ++*votes;
    return true;
}

static bool guess_all(struct shifting *h)
{
    const string_id *label = h->s->paths.label_of_frame;
    bool ok = true;
    for (size_t i = 0, to; ok && i < h->frame_count; i = to) {
        for (to = i + 1;
             to < h->frame_count && label[h->frames[to]] == label[h->frames[i]];)
            to++;
        ok = guess_function(h, i, to);
    }
    return ok;
}

bool find_shifts(const struct shown *s, string_id file, string_id before, int64_t *shifts)
{
    struct shifting h = {.s = s};
    bool ok = take_frames(&h, file, before) && guess_all(&h);
    for (size_t i = 0; ok && i < h.guess_count; i++) {
        const struct guess *g = &h.guesses[i];
        /* One line: only with another function that was moved as far. */
        const uint64_t *votes = idmap_find(&h.votes, (uint64_t)g->shift);
        if (g->pairs >= CERTAIN || (votes && *votes > 1))
            shifts[g->label] = g->shift;
    }
    arena_deinit(&h.arena);
    return ok;
}
