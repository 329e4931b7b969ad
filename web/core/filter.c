/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include "transform/suppressions.h"
#include "transform/transform.h"
#include "web/core/core.h"
#include <stdlib.h>

#define FILTERS_MAX 256

/* A filter as the page writes it. */
struct filter {
    struct str verb, text;
    bool exact; /* the text is a name, not a pattern */
    double from, to;
    double before[2]; /* the same two of the profile before, if they differ */
    bool has_before;
};

static const char *terminated(struct arena *a, struct str s)
{
    char *out = arena_alloc(a, s.len + 1);
    if (!out)
        return "";
    memcpy(out, s.ptr, s.len);
    out[s.len] = 0;
    return out;
}

/* The words of the options that a verb with patterns sets; NULL for other verbs. */
static struct transform_words *words_of(struct transform_options *o, struct str verb)
{
    static const struct {
        const char *verb;
        size_t offset;
    } members[] = {
        {"focus", offsetof(struct transform_options, focus)},
        {"ignore", offsetof(struct transform_options, ignore)},
        {"hide", offsetof(struct transform_options, hide)},
        {"show", offsetof(struct transform_options, show)},
        {"show-module", offsetof(struct transform_options, show_module)},
        {"collapse-module", offsetof(struct transform_options, collapse_module)},
        {"show-from", offsetof(struct transform_options, show_from)},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (str_equal(verb, str_of(members[i].verb)))
            return (void *)((char *)o + members[i].offset);
    return NULL;
}

static bool set_group(struct transform_options *o, struct str by)
{
    static const char *const names[] = {"function", "module",  "file",
                                        "comm",     "process", "thread"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_equal(by, str_of(names[i]))) {
            o->group = (enum group_by)i;
            return true;
        }
    return false;
}

/* "label:KEY" */
static bool set_group_label(struct transform_options *o, struct str by, struct arena *a)
{
    struct str label = STR("label:");
    if (!str_starts(by, label) || by.len == label.len)
        return false;
    o->group = GROUP_LABEL;
    o->group_label = terminated(a, str_skip(by, label.len));
    return true;
}

/* Threads become the outermost frames: one per name, per process, or per
 * thread; or processes with their threads. */
static bool set_threads(struct transform_options *o, struct str by)
{
    o->thread_frames = true;
    o->threads = str_equal(by, STR("process"))  ? THREAD_PID
                 : str_equal(by, STR("thread")) ? THREAD_TID
                                                : THREAD_COMM;
    if (str_equal(by, STR("both"))) {
        o->threads = THREAD_TID;
        o->process_frames = true;
    }
    return by.len == 0 || str_equal(by, STR("name")) || o->threads != THREAD_COMM;
}

/* Names, one per line. */
static bool set_names(struct transform_words *words, struct str text, struct arena *a,
                      struct error *err)
{
    while (text.len) {
        if (words->count == TRANSFORM_WORDS_MAX)
            return error_set(err, "more than %d names", TRANSFORM_WORDS_MAX);
        words->items[words->count++] = terminated(a, str_cut(&text, '\n'));
    }
    return true;
}

/* Suppressions of leaks. Whoever frees the options frees them, too. */
static bool set_suppressions(struct transform_options *o, struct str text,
                             struct arena *a, struct error *err)
{
    o->suppressions = arena_zalloc(a, 1, sizeof *o->suppressions);
    return o->suppressions ? suppressions_add(o->suppressions, text, err)
                           : error_memory(err);
}

static struct time_point at_ns(double ns)
{
    return (struct time_point){.at = TIME_POINT_FROM_FIRST,
                               .ns = ns > 0 && ns < 9e18 ? (uint64_t)ns : 0};
}

/* Verbs without a pattern. False for an unknown verb. */
static bool set_other(struct transform_options *o, const struct filter *f,
                      struct arena *a, struct error *err)
{
    if (str_equal(f->verb, STR("comm")))
        return set_names(&o->filter.comms, f->text, a, err);
    else if (str_equal(f->verb, STR("drop-comm")))
        o->filter.drop_comms =
            (struct transform_words){{terminated(a, f->text)}, 1, false};
    else if (str_equal(f->verb, STR("label")))
        return set_names(&o->filter.labels, f->text, a, err);
    else if (str_equal(f->verb, STR("drop-label")))
        return set_names(&o->filter.drop_labels, f->text, a, err);
    else if (str_equal(f->verb, STR("tid")))
        return number_set_add(&o->filter.tids, f->text, err);
    else if (str_equal(f->verb, STR("pid")))
        return number_set_add(&o->filter.pids, f->text, err);
    else if (str_equal(f->verb, STR("cpu")))
        return number_set_add(&o->filter.cpus, f->text, err);
    else if (str_equal(f->verb, STR("suppress")))
        return set_suppressions(o, f->text, a, err);
    else if (str_equal(f->verb, STR("collapse")))
        o->collapse =
            str_equal(f->text, STR("cycles")) ? COLLAPSE_CYCLES : COLLAPSE_ADJACENT;
    else if (str_equal(f->verb, STR("by")))
        return set_group(o, f->text) || set_group_label(o, f->text, a) ||
               error_set(err, "unknown grouping");
    else if (str_equal(f->verb, STR("threads")))
        return set_threads(o, f->text) ||
               error_set(err, "unknown way of merging threads");
    else if (str_equal(f->verb, STR("wall-clock"))) {
        o->wall = true;
        o->wall_event = f->text.len ? terminated(a, f->text) : NULL;
    } else if (str_equal(f->verb, STR("reverse")))
        o->reverse = true;
    else if (str_equal(f->verb, STR("strip")))
        o->strip = (struct strip_options){
            .arguments = true, .templates = true, .offsets = true, .hex = true};
    else if (str_equal(f->verb, STR("time"))) {
        o->filter.start = at_ns(f->from);
        o->filter.end = at_ns(f->to);
    } else if (str_equal(f->verb, STR("moment")))
        o->filter.end = at_ns(f->to);
    else
        return error_set(err, "no such filter: '%.*s'", STR_ARG(f->verb));
    return true;
}

static bool set_options(struct transform_options *o, const struct filter *f,
                        struct arena *a, struct error *err)
{
    struct transform_words *words = words_of(o, f->verb);
    if (!words)
        return set_other(o, f, a, err);
    words->items[words->count++] = terminated(a, f->text);
    words->exact = f->exact;
    return true;
}

/* [FROM, TO] */
static void read_before(struct json *j, struct filter *f)
{
    double value;
    if (!json_enter(j, JSON_ARRAY))
        return;
    for (size_t i = 0; json_item(j) && json_number(j, &value); i++)
        if (i < 2)
            f->before[i] = value;
    f->has_before = true;
}

static void read_filter(struct json *j, struct arena *a, struct filter *f)
{
    struct str key, text;
    *f = (struct filter){.verb = STR(""), .text = STR("")};
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("verb")) && json_string(j, &text))
            f->verb = arena_str(a, text);
        else if (str_equal(key, STR("text")) && json_string(j, &text))
            f->text = arena_str(a, text);
        else if (str_equal(key, STR("exact")))
            json_bool(j, &f->exact);
        else if (str_equal(key, STR("from")))
            json_number(j, &f->from);
        else if (str_equal(key, STR("to")))
            json_number(j, &f->to);
        else if (str_equal(key, STR("before")))
            read_before(j, f);
        else
            json_skip(j);
    }
}

/* Runs the transform over the samples that it may leave. */
static struct profile *run_narrowed(const struct transform *t, const struct profile *from,
                                    const struct row_index *rows,
                                    const struct transform_options *o, struct error *err)
{
    struct arena a = ARENA_INIT;
    struct profile view;
    bool narrow = rows && row_index_narrow(rows, &o->filter, &a, &view);
    struct profile *to = transform_run(t, narrow ? &view : from, o, err);
    if (to && narrow)
        to->facts.filtered |= view.sample_count < from->sample_count;
    arena_deinit(&a);
    return to;
}

bool filter_rows(const struct profile *p, row_stays stays, const void *context,
                 struct arena *a, struct profile *view)
{
    struct sample *samples = arena_alloc(a, (p->sample_count + 1) * sizeof *samples);
    label_set_id *labels =
        p->sample_labels ? arena_alloc(a, (p->sample_count + 1) * sizeof *labels) : NULL;
    size_t used = 0;
    if (a->failed)
        return false;
    for (size_t i = 0; i < p->sample_count; i++) {
        if (!stays(p, &p->samples[i], context))
            continue;
        if (labels)
            labels[used] = p->sample_labels[i];
        samples[used++] = p->samples[i];
    }
    *view = *p;
    view->samples = samples;
    view->sample_labels = labels;
    view->sample_count = used;
    return true;
}

static bool is_of_threads(const struct profile *p, const struct sample *s,
                          const void *context)
{
    (void)p;
    return ((const unsigned char *)context)[s->thread];
}

/* "PROCESS/THREAD,...": in an instruction trace, threads of several processes have one number. */
static bool mark_threads(const struct profile *p, struct str text, unsigned char *marks,
                         struct error *err)
{
    while (text.len) {
        struct str part = str_cut(&text, ','), process = str_cut(&part, '/');
        uint64_t pid, tid;
        if (!number_parse_u64(process, &pid) || !number_parse_u64(part, &tid))
            return error_set(err, "invalid thread '%.*s'", STR_ARG(process));
        for (thread_id i = 0; i < p->thread_count; i++)
            marks[i] |= p->threads[i].pid >= 0 && (uint64_t)p->threads[i].pid == pid &&
                        p->threads[i].tid >= 0 && (uint64_t)p->threads[i].tid == tid;
    }
    return true;
}

/* Only the samples of these threads. NULL with err set. */
static struct profile *apply_threads(const struct profile *from, struct str text,
                                     struct error *err)
{
    struct arena a = ARENA_INIT;
    struct profile view, *to = NULL;
    unsigned char *marks = arena_zalloc(&a, from->thread_count + 1, 1);
    if (!marks)
        error_memory(err);
    else if (mark_threads(from, text, marks, err)) {
        if (filter_rows(from, is_of_threads, marks, &a, &view))
            to = profile_compact(&view, err);
        else
            error_memory(err);
    }
    if (to)
        to->facts.filtered |= view.sample_count < from->sample_count;
    arena_deinit(&a);
    return to;
}

/* By the transform of its verb. */
static struct profile *apply_verb(const struct profile *from,
                                  const struct row_index *rows, const struct filter *f,
                                  struct error *err)
{
    struct transform_options options = {0};
    struct arena words = ARENA_INIT;
    struct profile *to = NULL;
    bool ok = set_options(&options, f, &words, err) && !words.failed;
    for (size_t i = 0; ok && !to && transforms[i]; i++)
        if (transforms[i]->requested(&options)) {
            to = run_narrowed(transforms[i], from, rows, &options, err);
            ok = to != NULL;
        }
    if (options.suppressions)
        suppressions_deinit(options.suppressions);
    arena_deinit(&words);
    return to;
}

/* The result of the filter; `from` does not change. */
static struct profile *apply_one(const struct profile *from, const struct row_index *rows,
                                 const struct filter *f, bool may_be_empty,
                                 struct error *err)
{
    struct profile *to = str_equal(f->verb, STR("thread"))
                             ? apply_threads(from, f->text, err)
                             : apply_verb(from, rows, f, err);
    if (to && to->sample_count == 0 && !may_be_empty) {
        profile_destroy(to);
        error_set(err, "no samples remain after '%.*s%s%.*s'", STR_ARG(f->verb),
                  f->text.len ? " " : "", STR_ARG(str_head(f->text, 80)));
        return NULL;
    }
    return to;
}

struct filters {
    struct filter items[FILTERS_MAX];
    size_t count;
};

/* False with err set. */
static bool read_filters(struct str text, struct arena *a, struct filters *all,
                         struct error *err)
{
    struct source s = source_of(text, STR("filters"));
    struct json j;
    bool too_many = false;
    all->count = 0;
    json_init(&j, &s, false, err);
    if (json_enter(&j, JSON_ARRAY))
        while (!too_many && json_item(&j)) {
            too_many = all->count == FILTERS_MAX;
            if (!too_many)
                read_filter(&j, a, &all->items[all->count++]);
        }
    bool ok = !j.failed && !a->failed;
    json_deinit(&j);
    source_deinit(&s);
    return ok && (!too_many || error_set(err, "more than %d filters", FILTERS_MAX));
}

static struct profile *apply_all(struct profile *from, const struct row_index *rows,
                                 const struct filters *all, bool may_be_empty,
                                 struct error *err)
{
    struct profile *p = from;
    for (size_t i = 0; p && i < all->count; i++) {
        struct profile *next =
            apply_one(p, p == from ? rows : NULL, &all->items[i], may_be_empty, err);
        if (p != from)
            profile_destroy(p);
        p = next;
    }
    return p;
}

struct profile *filter_apply(struct profile *from, const struct row_index *rows,
                             struct str filters, bool may_be_empty, struct error *err)
{
    struct arena a = ARENA_INIT;
    struct filters *all = arena_alloc(&a, sizeof *all);
    struct profile *p = NULL;
    if (!all)
        error_memory(err);
    else if (read_filters(filters, &a, all, err))
        p = apply_all(from, rows, all, may_be_empty, err);
    arena_deinit(&a);
    return p;
}

struct profile *filter_apply_before(struct profile *from, struct str filters,
                                    struct error *err)
{
    struct arena a = ARENA_INIT;
    struct filters *all = arena_alloc(&a, sizeof *all);
    struct profile *p = NULL;
    bool ok = all ? read_filters(filters, &a, all, err) : error_memory(err);
    for (size_t i = 0; ok && i < all->count; i++) {
        struct filter *f = &all->items[i];
        if (f->has_before) {
            f->from = f->before[0];
            f->to = f->before[1];
        }
    }
    if (ok)
        p = apply_all(from, NULL, all, true, err);
    arena_deinit(&a);
    return p;
}

/* --- Condensed rows ------------------------------------------------------------------------ */

/* Narrows the range to that of the filter by time. */
static bool narrow_range(const struct condensed *c, const struct filter *f,
                         struct sample_range *range, struct error *err)
{
    const struct facts *facts = &c->p->facts;
    struct time_point start = at_ns(f->from), end = at_ns(f->to);
    uint64_t from = time_point_resolve(&start, facts->time_first, facts->time_last);
    uint64_t to = time_point_resolve(&end, facts->time_first, facts->time_last);
    if (str_equal(f->verb, STR("moment")))
        from = 0;
    else if (from >= to)
        return error_set(err, "the time range ends before it begins");
    size_t first = row_at(c->p, from), stop = row_at(c->p, to);
    range->from = first > range->from ? first : range->from;
    range->to = stop < range->to ? stop : range->to;
    return range->from < range->to ||
           error_set(err, "no samples remain after '%.*s'", STR_ARG(f->verb));
}

/* Filters by the time of a sample; the condensed rows have none. */
static bool is_of_time(const struct filter *f)
{
    return str_equal(f->verb, STR("time")) || str_equal(f->verb, STR("moment"));
}

/* Moves the filters by time to the range. All others change or drop whole rows, so that it does
 * not matter in which order they are applied. */
static bool split_filters(const struct condensed *c, struct filters *all,
                          struct sample_range *range, bool *done, struct error *err)
{
    size_t left = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct filter *f = &all->items[i];
        if (str_equal(f->verb, STR("cpu")) || str_equal(f->verb, STR("wall-clock")) ||
            (is_of_time(f) && !c->by_time)) {
            *done = false;
            return false;
        }
        if (!is_of_time(f))
            all->items[left++] = *f;
        else if (!narrow_range(c, f, range, err))
            return false;
    }
    all->count = left;
    return true;
}

struct profile *profile_compact(const struct profile *from, struct error *err)
{
    struct transform_options all = {.filter.events = {{"*"}, 1, false}};
    return transform_run(transform_named(STR("filter")), from, &all, err);
}

/* The rows of a span, with the tables of all rows. */
static struct profile *rows_of_span(const struct condensed *c,
                                    const struct sample_range *range, struct error *err)
{
    struct profile *p = calloc(1, sizeof *p), view;
    struct arena a = ARENA_INIT;
    if (!p || !condensed_span(c, range->from, range->to, &a, &view)) {
        arena_deinit(&a);
        free(p);
        error_memory(err);
        return NULL;
    }
    *p = view;
    p->arena = a;
    return p;
}

struct profile *filter_condensed(const struct condensed *c, struct str filters,
                                 struct sample_range *range, bool *done,
                                 struct error *err)
{
    struct arena a = ARENA_INIT;
    struct filters *all = arena_alloc(&a, sizeof *all);
    struct profile *view = arena_alloc(&a, sizeof *view), *to = NULL;
    *range = (struct sample_range){0, c->p->sample_count};
    *done = true;
    bool ok = (all && view) || error_memory(err);
    if (ok)
        *view = c->rows;
    ok = ok && read_filters(filters, &a, all, err) &&
         split_filters(c, all, range, done, err);
    bool part = ok && (range->from || range->to < c->p->sample_count);
    if (ok && !all->count)
        to = rows_of_span(c, range, err);
    else if (part && !condensed_span(c, range->from, range->to, &a, view))
        ok = error_memory(err);
    if (ok && all->count)
        to = apply_all(view, NULL, all, false, err);
    if (to == view) /* no filter applied */
        to = profile_compact(view, err);
    if (to)
        to->facts.filtered |= part;
    arena_deinit(&a);
    return to;
}
