/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"
#include "base/sort.h"
#include "web/core/core.h"

#define LINES_MOST 100000

/* Sums by a number that frames have, of their file or line: self if the stack ends in
 * such a frame, total once per stack. */
struct adding {
    struct arena arena;
    const struct shown *s;
    const uint32_t *numbers; /* by frame; 0: not counted */
    size_t count;            /* of numbers */
    double *self, *total;    /* by number */
};

static uint32_t number_of(const struct adding *a, stack_id stack)
{
    return stack ? a->numbers[a->s->p->stacks[stack].frame] : 0;
}

/* The total weight of each stack with its callees. Weights of leaves are added to
 * their number. */
static double *weigh_stacks(struct adding *a)
{
    const struct profile *p = a->s->p;
    double *weight = arena_zalloc(&a->arena, p->stack_count, sizeof *weight);
    for (size_t i = 0; weight && i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        double own = sample->event == a->s->event ? shown_weight(a->s, sample) : 0;
        weight[sample->stack] += own;
        a->self[number_of(a, sample->stack)] += own;
    }
    for (size_t i = p->stack_count; weight && i-- > 1;)
        weight[p->stacks[i].parent] += weight[i];
    return weight;
}

static uint32_t parent_of(const void *context, uint32_t stack)
{
    return ((const struct profile *)context)->stacks[stack].parent;
}

/* Walks the stacks in preorder: only the outermost frame with a number adds to its
 * total. */
static bool add_totals(struct adding *a, const double *weight)
{
    const struct profile *p = a->s->p;
    struct children c;
    uint32_t *open = arena_zalloc(&a->arena, a->count, sizeof *open);
    uint32_t *next = arena_alloc(&a->arena, (p->stack_count + 1) * sizeof *next);
    if (!open || !next || !children_init(&c, &a->arena, p->stack_count, parent_of, p))
        return false;
    memcpy(next, c.first, p->stack_count * sizeof *next);
    for (uint32_t at = 0;;) {
        if (next[at] < c.first[at + 1]) {
            at = c.items[next[at]++];
            uint32_t number = number_of(a, at);
            if (open[number]++ == 0)
                a->total[number] += weight[at];
        } else if (at) {
            open[number_of(a, at)]--;
            at = p->stacks[at].parent;
        } else {
            return true;
        }
    }
}

static bool add_up(struct adding *a)
{
    a->self = arena_zalloc(&a->arena, a->count, sizeof *a->self);
    a->total = arena_zalloc(&a->arena, a->count, sizeof *a->total);
    const double *weight = a->self && a->total ? weigh_stacks(a) : NULL;
    return weight && add_totals(a, weight);
}

static bool heavier(const void *context, uint32_t x, uint32_t y)
{
    const struct adding *a = context;
    return a->self[x] > a->self[y] ||
           (a->self[x] >= a->self[y] && a->total[x] > a->total[y]);
}

static void reply_figures(struct json_writer *w, const struct adding *a, uint32_t number)
{
    json_member_double(w, "self", a->self[number]);
    json_member_double(w, "total", a->total[number]);
}

/* --- Files ------------------------------------------------------------------------- */

static bool reply_each_file(struct json_writer *w, struct adding *a)
{
    const struct profile *p = a->s->p;
    size_t count = 0;
    uint32_t *order = arena_alloc(&a->arena, 2 * a->count * sizeof *order);
    if (!order)
        return false;
    for (uint32_t file = 1; file < a->count; file++)
        if (a->total[file] > 0)
            order[count++] = file;
    sort_u32(order, count, order + a->count, heavier, a);
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < count; i++) {
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", profile_string(p, order[i]));
        reply_figures(w, a, order[i]);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    return true;
}

bool reply_files(struct json_writer *w, const struct shown *s, struct error *err)
{
    struct adding a = {.s = s, .count = s->p->strings.count};
    uint32_t *numbers = arena_alloc(&a.arena, s->p->frame_count * sizeof *numbers);
    for (frame_id f = 0; numbers && f < s->p->frame_count; f++)
        numbers[f] = s->p->frames[f].file;
    a.numbers = numbers;
    bool ok = numbers && add_up(&a) && reply_each_file(w, &a);
    arena_deinit(&a.arena);
    return ok || error_memory(err);
}

/* --- Lines ------------------------------------------------------------------------- */

struct line {
    uint32_t line;
    string_id label; /* of its first frame */
};

/* Numbers the lines of the file; 0 for other frames. NULL if out of memory. */
static uint32_t *number_lines(struct adding *a, string_id file, struct line **lines)
{
    const struct profile *p = a->s->p;
    struct idmap map = {0};
    size_t cap = 0;
    uint32_t *numbers = arena_zalloc(&a->arena, p->frame_count, sizeof *numbers);
    a->count = 1;
    for (frame_id f = 1; numbers && f < p->frame_count; f++) {
        const struct frame *frame = &p->frames[f];
        if (frame->file != file || frame->line == 0)
            continue;
        uint64_t *number = idmap_put(&map, &a->arena, frame->line);
        struct line *grown =
            arena_grow(&a->arena, *lines, &cap, a->count + 1, sizeof *grown);
        if (!number || !grown)
            return NULL;
        *lines = grown;
        if (*number == 0) {
            grown[a->count] = (struct line){frame->line, a->s->paths.label_of_frame[f]};
            *number = a->count++;
        }
        numbers[f] = (uint32_t)*number;
    }
    return numbers;
}

static void reply_each_line(struct json_writer *w, const struct adding *a,
                            const struct line *lines)
{
    json_begin(w, JSON_ARRAY);
    for (uint32_t i = 1; i < a->count && i <= LINES_MOST; i++) {
        if (a->total[i] <= 0)
            continue;
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "line", lines[i].line);
        json_member_u64(w, "label", lines[i].label);
        reply_figures(w, a, i);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

bool reply_lines(struct json_writer *w, const struct shown *s, struct str file,
                 struct error *err)
{
    struct adding a = {.s = s};
    struct line *lines = NULL;
    string_id id = strings_find(&s->p->strings, file);
    a.numbers = id ? number_lines(&a, id, &lines) : NULL;
    bool ok = a.numbers && add_up(&a);
    if (ok)
        reply_each_line(w, &a, lines);
    arena_deinit(&a.arena);
    if (!id)
        return error_set(err, "the profile has no such file");
    return ok || error_memory(err);
}
