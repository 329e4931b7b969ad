/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"
#include "base/sort.h"
#include "web/core/core.h"

#define LINES_MOST 100000

/* Of an event, by number: self if the stack ends in a frame with the number, total once per
 * stack. */
struct sums {
    event_id event;
    const uint32_t *numbers; /* by frame; 0: not counted */
    double *self, *total;
};

/* Sums by a number that frames have, of their file or line. */
struct adding {
    struct arena arena;
    const struct shown *s;
    size_t count; /* of numbers */
    struct sums now;
    struct sums before; /* of a comparison; otherwise without arrays */
};

static uint32_t number_of(const struct adding *a, const struct sums *sums, stack_id stack)
{
    return stack ? sums->numbers[a->s->p->stacks[stack].frame] : 0;
}

/* The total weight of each stack with its callees. Weights of leaves are added to
 * their number. */
static double *weigh_stacks(struct adding *a, struct sums *sums)
{
    const struct profile *p = a->s->p;
    double *weight = arena_zalloc(&a->arena, p->stack_count, sizeof *weight);
    for (size_t i = 0; weight && i < p->sample_count; i++) {
        const struct sample *sample = &p->samples[i];
        double own = sample->event == sums->event ? shown_weight(a->s, sample) : 0;
        weight[sample->stack] += own;
        sums->self[number_of(a, sums, sample->stack)] += own;
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
static bool add_totals(struct adding *a, struct sums *sums, const double *weight)
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
            uint32_t number = number_of(a, sums, at);
            if (open[number]++ == 0)
                sums->total[number] += weight[at];
        } else if (at) {
            open[number_of(a, sums, at)]--;
            at = p->stacks[at].parent;
        } else {
            return true;
        }
    }
}

static bool add_event(struct adding *a, struct sums *sums, event_id event)
{
    sums->event = event;
    sums->self = arena_zalloc(&a->arena, a->count, sizeof *sums->self);
    sums->total = arena_zalloc(&a->arena, a->count, sizeof *sums->total);
    const double *weight = sums->self && sums->total ? weigh_stacks(a, sums) : NULL;
    return weight && add_totals(a, sums, weight);
}

static bool add_up(struct adding *a)
{
    return add_event(a, &a->now, a->s->event) &&
           (!a->s->base || add_event(a, &a->before, a->s->base));
}

static bool is_weighed(const struct adding *a, uint32_t number)
{
    return a->now.total[number] > 0 || (a->before.total && a->before.total[number] > 0);
}

static bool heavier(const void *context, uint32_t x, uint32_t y)
{
    const struct sums *now = &((const struct adding *)context)->now;
    return now->self[x] > now->self[y] ||
           (now->self[x] >= now->self[y] && now->total[x] > now->total[y]);
}

/* The noise of a part of a function is that of the function; of 0, the assumed one. */
static void reply_figures(struct json_writer *w, const struct adding *a, uint32_t number,
                          string_id label)
{
    json_member_double(w, "self", a->now.self[number]);
    json_member_double(w, "total", a->now.total[number]);
    if (a->before.total)
        reply_change(w, "change", a->s, label, PART_TOTAL, a->before.total[number],
                     a->now.total[number]);
}

/* --- Files ------------------------------------------------------------------------- */

static bool add_files(struct adding *a)
{
    const struct profile *p = a->s->p;
    uint32_t *numbers = arena_alloc(&a->arena, p->frame_count * sizeof *numbers);
    for (frame_id f = 0; numbers && f < p->frame_count; f++)
        numbers[f] = p->frames[f].file;
    a->now.numbers = a->before.numbers = numbers;
    a->count = p->strings.count;
    return numbers && add_up(a);
}

static struct str base_name(const struct adding *a, string_id file)
{
    struct str name = profile_string(a->s->p, file);
    size_t at = name.len;
    while (at && name.ptr[at - 1] != '/' && name.ptr[at - 1] != '\\')
        at--;
    return (struct str){name.ptr + at, name.len - at};
}

static bool name_below(const void *context, uint32_t x, uint32_t y)
{
    return str_compare(base_name(context, x), base_name(context, y)) < 0;
}

/* The programs of a comparison may be built in different folders: a file of the profile before
 * is one of the profile after if only these two have that name, without folders, and are in one
 * of the profiles alone. Fills moved[], by file: that of the profile after, or 0. */
static bool find_moved(struct adding *a, string_id *moved)
{
    const double *now = a->now.total, *before = a->before.total;
    uint32_t *order = arena_alloc(&a->arena, 2 * a->count * sizeof *order);
    size_t count = 0;
    if (!order)
        return false;
    for (string_id file = 1; file < a->count; file++)
        if ((now[file] > 0) != (before[file] > 0))
            order[count++] = file;
    sort_u32(order, count, order + a->count, name_below, a);
    for (size_t i = 0, stop; i < count; i = stop) {
        for (stop = i + 1; stop < count && !name_below(a, order[i], order[stop]);)
            stop++;
        bool first_is_after = now[order[i]] > 0;
        if (stop - i == 2 && first_is_after != (now[order[i + 1]] > 0))
            moved[order[i + first_is_after]] = order[i + !first_is_after];
    }
    return true;
}

/* Adds the files of the profile before to those that they are after. */
static void join_moved(struct adding *a, const string_id *moved)
{
    for (string_id file = 1; file < a->count; file++) {
        if (!moved[file])
            continue;
        a->before.self[moved[file]] = a->before.self[file];
        a->before.total[moved[file]] = a->before.total[file];
        a->before.self[file] = a->before.total[file] = 0;
    }
}

static bool reply_each_file(struct json_writer *w, struct adding *a)
{
    const struct profile *p = a->s->p;
    size_t count = 0;
    uint32_t *order = arena_alloc(&a->arena, 2 * a->count * sizeof *order);
    if (!order)
        return false;
    for (uint32_t file = 1; file < a->count; file++)
        if (is_weighed(a, file))
            order[count++] = file;
    sort_u32(order, count, order + a->count, heavier, a);
    json_begin(w, JSON_ARRAY);
    for (size_t i = 0; i < count; i++) {
        json_begin(w, JSON_OBJECT);
        json_member_str(w, "name", profile_string(p, order[i]));
        reply_figures(w, a, order[i], 0);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    return true;
}

bool reply_files(struct json_writer *w, const struct shown *s, struct error *err)
{
    struct adding a = {.s = s};
    string_id *moved = arena_zalloc(&a.arena, s->p->strings.count, sizeof *moved);
    bool ok = moved && add_files(&a) && (!s->base || find_moved(&a, moved));
    if (ok && s->base)
        join_moved(&a, moved);
    ok = ok && reply_each_file(w, &a);
    arena_deinit(&a.arena);
    return ok || error_memory(err);
}

/* --- Lines ------------------------------------------------------------------------- */

struct line {
    uint32_t line;
    string_id label; /* of its first frame */
    uint32_t was;    /* its number before, if an edit moved its function; otherwise 0 */
};

/* The file before that is this one after, see find_moved; 0: none. False if out of memory. */
static bool find_before(const struct shown *s, string_id file, string_id *before)
{
    struct adding a = {.s = s};
    size_t count = s->base ? s->p->strings.count : 0;
    string_id *moved = arena_zalloc(&a.arena, count + 1, sizeof *moved);
    bool ok = moved && (!count || (add_files(&a) && find_moved(&a, moved)));
    *before = 0;
    for (string_id one = 1; ok && one < count; one++)
        if (moved[one] == file)
            *before = one;
    arena_deinit(&a.arena);
    return ok;
}

struct numbering {
    struct adding *a;
    struct idmap map; /* numbers, by line */
    struct line *lines;
    size_t cap;
    const int64_t *shifts; /* by label; NULL: without a comparison */
};

/* The number of the line, which is new if it was not seen before; 0 when out of memory. */
static uint32_t number_line(struct numbering *n, uint32_t line, string_id label)
{
    struct adding *a = n->a;
    uint64_t *number = idmap_put(&n->map, &a->arena, line);
    struct line *grown =
        arena_grow(&a->arena, n->lines, &n->cap, a->count + 1, sizeof *grown);
    if (!number || !grown)
        return 0;
    n->lines = grown;
    if (*number == 0) {
        grown[a->count] = (struct line){line, label, 0};
        *number = a->count++;
    }
    return (uint32_t)*number;
}

/* The line after that the frame's line before is compared with. */
static uint32_t line_after(const struct numbering *n, frame_id f)
{
    uint32_t line = n->a->s->p->frames[f].line;
    int64_t moved =
        (int64_t)line + (n->shifts ? n->shifts[n->a->s->paths.label_of_frame[f]] : 0);
    return moved > 0 && moved <= UINT32_MAX ? (uint32_t)moved : line;
}

/* Numbers the lines of the file, of which `before` is the other name or 0; frames of other files
 * have 0. False if out of memory. */
static bool number_lines(struct numbering *n, string_id file, string_id before)
{
    struct adding *a = n->a;
    const struct profile *p = a->s->p;
    uint32_t *now = arena_zalloc(&a->arena, p->frame_count, sizeof *now);
    uint32_t *earlier = arena_zalloc(&a->arena, p->frame_count, sizeof *earlier);
    a->count = 1;
    for (frame_id f = 1; now && earlier && f < p->frame_count; f++) {
        const struct frame *frame = &p->frames[f];
        if (!frame->file || frame->line == 0 ||
            (frame->file != file && frame->file != before))
            continue;
        string_id label = a->s->paths.label_of_frame[f];
        uint32_t moved = line_after(n, f);
        now[f] = number_line(n, frame->line, label);
        earlier[f] = number_line(n, moved, label);
        if (!now[f] || !earlier[f])
            return false;
        if (moved != frame->line)
            n->lines[earlier[f]].was = frame->line;
    }
    a->now.numbers = now;
    a->before.numbers = earlier;
    return now && earlier;
}

static void reply_each_line(struct json_writer *w, const struct adding *a,
                            const struct line *lines)
{
    json_begin(w, JSON_ARRAY);
    for (uint32_t i = 1; i < a->count && i <= LINES_MOST; i++) {
        if (!is_weighed(a, i))
            continue;
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "line", lines[i].line);
        json_member_u64(w, "label", lines[i].label);
        if (lines[i].was && a->before.total[i] > 0)
            json_member_u64(w, "was", lines[i].was);
        reply_figures(w, a, i, lines[i].label);
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
}

bool reply_lines(struct json_writer *w, const struct shown *s, struct str file,
                 struct error *err)
{
    struct adding a = {.s = s};
    string_id id = strings_find(&s->p->strings, file), before = 0;
    int64_t *shifts = arena_zalloc(&a.arena, s->paths.labels.count, sizeof *shifts);
    struct numbering n = {.a = &a, .shifts = shifts};
    bool ok = id && shifts && find_before(s, id, &before) &&
              (!s->base || find_shifts(s, id, before, shifts)) &&
              number_lines(&n, id, before) && add_up(&a);
    if (ok)
        reply_each_line(w, &a, n.lines);
    arena_deinit(&a.arena);
    if (!id)
        return error_set(err, "the profile has no such file");
    return ok || error_memory(err);
}
