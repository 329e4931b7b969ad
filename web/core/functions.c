/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "transform/pattern.h"
#include "web/core/core.h"
#include <stdlib.h>

/* --- Self and total by function ---------------------------------------------------- */

/* Walks the tree of paths in preorder, and counts the open nodes of each label: only
 * the outermost adds to the label's total. */
static void add_totals(struct functions *f, const struct tree *t, uint32_t *open,
                       uint32_t *next)
{
    const struct children *c = &t->children;
    uint32_t at = 0;
    for (size_t n = 0; n < t->count; n++)
        next[n] = c->first[n];
    for (;;) {
        if (next[at] < c->first[at + 1]) {
            at = c->items[next[at]++];
            string_id label = tree_label(t, at);
            f->self[label] += t->self[at];
            if (f->base_self && t->base_self)
                f->base_self[label] += t->base_self[at];
            if (open[label]++ > 0)
                continue;
            f->total[label] += t->total[at];
            if (f->base_total && t->base_total)
                f->base_total[label] += t->base_total[at];
            continue;
        }
        if (at == 0)
            return;
        open[tree_label(t, at)]--;
        at = t->nodes[at].parent;
    }
}

bool functions_init(struct functions *f, const struct shown *s, const struct tree *down,
                    struct error *err)
{
    struct arena scratch = ARENA_INIT;
    *f = (struct functions){.labels = s->paths.labels.count};
    f->self = arena_zalloc(&f->arena, f->labels, sizeof *f->self);
    f->total = arena_zalloc(&f->arena, f->labels, sizeof *f->total);
    if (down->base_total) {
        f->base_self = arena_zalloc(&f->arena, f->labels, sizeof *f->base_self);
        f->base_total = arena_zalloc(&f->arena, f->labels, sizeof *f->base_total);
    }
    f->order = arena_alloc(&f->arena, 2 * (f->labels + 1) * sizeof *f->order);
    uint32_t *open = arena_zalloc(&scratch, f->labels, sizeof *open);
    uint32_t *next = arena_alloc(&scratch, (down->count + 1) * sizeof *next);
    f->made = !f->arena.failed && open && next;
    if (f->made)
        add_totals(f, down, open, next);
    arena_deinit(&scratch);
    return f->made || error_memory(err);
}

void functions_deinit(struct functions *f)
{
    arena_deinit(&f->arena);
    *f = (struct functions){0};
}

/* --- Order ------------------------------------------------------------------------- */

struct sorting {
    const struct functions *f;
    const struct shown *s;
    enum function_sort by;
    bool up;
    double scale; /* factor of the weights before, to the total after */
};

static struct str module_of(const struct shown *s, string_id label)
{
    const struct profile *p = s->p;
    const struct frame *frame = &p->frames[s->frame_of_label[label]];
    return profile_string(p, p->modules[frame->module].path);
}

static int compare_text(const struct sorting *o, string_id a, string_id b)
{
    int order = 0;
    if (o->by == SORT_MODULE)
        order = str_compare(module_of(o->s, a), module_of(o->s, b));
    return order ? order
                 : str_compare(strings_get(&o->s->paths.labels, a),
                               strings_get(&o->s->paths.labels, b));
}

/* Findings are above all others. */
static double found_figure(const struct sorting *o, string_id label)
{
    const struct functions *f = o->f;
    struct change c =
        change_of(o->s, label, PART_SELF, f->base_self[label], f->self[label]);
    double delta = c.difference.after - c.difference.before;
    bool found = c.verdict == CHANGE_MORE || c.verdict == CHANGE_LESS;
    return (delta < 0 ? -delta : delta) + (found ? 2 : 0);
}

static double figure(const struct sorting *o, string_id label)
{
    const struct functions *f = o->f;
    if (o->by == SORT_FOUND && f->base_self && o->s->changes.made)
        return found_figure(o, label);
    if (o->by == SORT_CHANGE && f->base_total)
        return f->total[label] - f->base_total[label] * o->scale;
    return o->by == SORT_SELF ? f->self[label] : f->total[label];
}

static bool before(const void *context, uint32_t a, uint32_t b)
{
    const struct sorting *o = context;
    if (o->by == SORT_NAME || o->by == SORT_MODULE) {
        int order = compare_text(o, a, b);
        return o->up ? order < 0 : order > 0;
    }
    double x = figure(o, a), y = figure(o, b);
    if (x < y || x > y)
        return o->up ? x < y : x > y;
    return o->f->total[a] >
           o->f->total[b]; /* most functions have no samples of their own */
}

bool functions_sort(struct functions *f, const struct shown *s, enum function_sort by,
                    bool up, const uint8_t *matches, struct error *err)
{
    struct sorting o = {f, s, by, up, s->base_total > 0 ? s->total / s->base_total : 0};
    if (!f->made)
        return error_memory(err);
    f->count = 0;
    for (string_id label = 1; label < f->labels; label++) {
        bool weighs = f->total[label] > 0 || (f->base_total && f->base_total[label] > 0);
        if (weighs && s->kind_of_label[label] < KIND_PROCESS &&
            (!matches || matches[label]))
            f->order[f->count++] = label;
    }
    sort_u32(f->order, f->count, f->order + f->labels + 1, before, &o);
    return true;
}

/* --- Search ------------------------------------------------------------------------ */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether s contains the lower-case text, ignoring the case of s. */
static bool has_text(struct str s, struct str text)
{
    for (size_t i = 0; text.len <= s.len && i <= s.len - text.len; i++) {
        size_t j = 0;
        while (j < text.len && lower(s.ptr[i + j]) == text.ptr[j])
            j++;
        if (j == text.len)
            return true;
    }
    return false;
}

static bool match_text(struct search *q, const struct shown *s, struct str text)
{
    char *small = arena_alloc(&q->arena, text.len + 1);
    if (!small)
        return false;
    for (size_t i = 0; i < text.len; i++)
        small[i] = lower(text.ptr[i]);
    text.ptr = small;
    for (string_id label = 1; label < s->paths.labels.count; label++) {
        const struct frame *f = &s->p->frames[s->frame_of_label[label]];
        q->matches[label] = has_text(strings_get(&s->paths.labels, label), text) ||
                            has_text(profile_string(s->p, f->file), text) ||
                            has_text(module_of(s, label), text);
    }
    return true;
}

static bool match_pattern(struct search *q, const struct shown *s, struct str text,
                          struct error *err)
{
    char *pattern = arena_alloc(&q->arena, text.len + 1);
    if (!pattern)
        return error_memory(err);
    memcpy(pattern, text.ptr, text.len);
    pattern[text.len] = 0;
    struct transform_words words = {{pattern}, 1};
    uint32_t *frames = pattern_match_frames(&q->arena, s->p, &words, err);
    for (frame_id f = 1; frames && f < s->p->frame_count; f++)
        if (frames[f])
            q->matches[s->paths.label_of_frame[f]] = 1;
    return frames != NULL;
}

/* A stack counts if one of its frames matches. */
static bool add_matches(struct search *q, const struct shown *s)
{
    struct arena scratch = ARENA_INIT;
    uint8_t *found = arena_zalloc(&scratch, s->node_count, 1);
    for (uint32_t n = 1; found && n < s->node_count; n++) {
        found[n] = found[s->nodes[n].parent] | q->matches[shown_label(s, n)];
        if (found[n])
            q->total += s->self[n];
    }
    arena_deinit(&scratch);
    return found != NULL;
}

/* Counts the functions that match, in nodes with a weight or with such callees. */
static bool count_matches(struct search *q, const struct shown *s)
{
    struct arena scratch = ARENA_INIT;
    uint8_t *weighs = arena_zalloc(&scratch, s->node_count, 1);
    uint8_t *counted = arena_zalloc(&scratch, s->paths.labels.count, 1);
    for (uint32_t n = (uint32_t)s->node_count; weighs && counted && n-- > 1;) {
        string_id label = shown_label(s, n);
        if (!weighs[n] && !shown_weighs(s, n))
            continue;
        weighs[s->nodes[n].parent] = 1;
        if (!q->matches[label] || counted[label] ||
            s->kind_of_label[label] >= KIND_PROCESS)
            continue;
        counted[label] = 1;
        q->functions++;
    }
    arena_deinit(&scratch);
    return weighs && counted;
}

bool search_init(struct search *q, const struct shown *s, struct str text, bool pattern,
                 struct error *err)
{
    search_deinit(q);
    if (text.len == 0)
        return true;
    q->matches = arena_zalloc(&q->arena, s->paths.labels.count, 1);
    if (!q->matches)
        return error_memory(err);
    bool ok = pattern ? match_pattern(q, s, text, err)
                      : match_text(q, s, text) || error_memory(err);
    ok = ok && ((add_matches(q, s) && count_matches(q, s)) || error_memory(err));
    if (!ok)
        search_deinit(q);
    return ok;
}

void search_deinit(struct search *q)
{
    arena_deinit(&q->arena);
    *q = (struct search){0};
}

bool reply_named(struct json_writer *w, const struct shown *s, const struct functions *f,
                 struct str text, uint32_t most, struct error *err)
{
    struct search q = {0};
    if (!search_init(&q, s, text, false, err))
        return false;
    json_begin(w, JSON_ARRAY);
    for (uint32_t n = 0; q.matches && n < most; n++) {
        string_id best = 0;
        for (string_id label = 1; label < f->labels; label++)
            if (q.matches[label] && s->kind_of_label[label] < KIND_PROCESS &&
                (!best || f->total[label] > f->total[best]))
                best = label;
        if (!best)
            break;
        q.matches[best] = 0;
        json_begin(w, JSON_OBJECT);
        json_member_u64(w, "label", best);
        json_member_str(w, "name", strings_get(&s->paths.labels, best));
        json_end(w, JSON_OBJECT);
    }
    json_end(w, JSON_ARRAY);
    search_deinit(&q);
    return true;
}
