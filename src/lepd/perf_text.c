/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/sort.h"
#include "lepd/texts.h"
#include "model/name.h"

#define SAMPLES_MAX 100000 /* of a second, that are printed */

/* LEPV splits lines at white space. */
static void put_word(struct output *o, struct str s, const char *otherwise)
{
    if (s.len == 0)
        output_text(o, otherwise);
    for (size_t i = 0; i < s.len; i++)
        output_char(o, (unsigned char)s.ptr[i] <= ' ' ? '_' : s.ptr[i]);
}

static bool is_event(const struct profile *p, event_id event, bool faults)
{
    struct str name = profile_string(p, p->events[event].name);
    if (faults)
        return str_has(name, STR("fault"));
    return p->events[event].kind == EVENT_ON_CPU;
}

/* --- perf script ------------------------------------------------------------------ */

static void put_module(struct output *o, const struct profile *p, const struct frame *f)
{
    output_text(o, " (");
    put_word(o, profile_string(p, p->modules[f->module].path), "[unknown]");
    output_text(o, ")\n");
}

/* A frame without "+0x1f": with it, LEPV would not merge the samples of a function. */
static void put_frame(struct output *o, const struct profile *p, frame_id id)
{
    const struct frame *f = &p->frames[id];
    output_format(o, "\t%16llx ", (unsigned long long)f->address);
    put_word(o, name_without_offset(profile_string(p, f->name)), "[unknown]");
    put_module(o, p, f);
}

static void put_sample(struct output *o, const struct profile *p, const struct sample *s,
                       uint64_t time)
{
    const struct thread *t = &p->threads[s->thread];
    uint64_t at = s->time == TIME_NONE ? time : s->time;
    put_word(o, profile_string(p, t->name), "unknown");
    output_format(o, " %5lld [%03u] %5llu.%06llu: %10.0f cpu-clock: \n",
                  (long long)(t->tid == ID_NONE ? 0 : t->tid),
                  s->cpu == CPU_NONE ? 0 : s->cpu, (unsigned long long)(at / 1000000000),
                  (unsigned long long)(at / 1000 % 1000000),
                  s->count ? s->weight / (double)s->count : 0);
    for (stack_id stack = s->stack; stack; stack = p->stacks[stack].parent)
        put_frame(o, p, p->stacks[stack].frame);
    output_char(o, '\n');
}

/* LEPV counts one sample for each block, and loses the last block: a comment. */
bool lepd_write_flame(const struct lepd_machine *m, struct output *o)
{
    const struct profile *p = m->profile;
    uint64_t printed = 0;
    for (size_t i = 0; p && i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (!is_event(p, s->event, false))
            continue;
        for (uint64_t n = 0; n < s->count && printed < SAMPLES_MAX; n++, printed++)
            put_sample(o, p, s, m->now->time);
    }
    output_format(o, "# %llu samples\n", (unsigned long long)printed);
    return p != NULL;
}

/* --- perf report ------------------------------------------------------------------ */

struct report_row {
    string_id command, module, name;
    uint32_t kind; /* enum frame_kind */
    double weight;
};

struct report {
    struct arena arena;
    const struct profile *profile;
    struct report_row *rows;
    size_t count, cap;
    uint64_t samples;
    double weight;
};

static int compare_ids(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_rows(const struct report_row *a, const struct report_row *b)
{
    int order = compare_ids(a->command, b->command);
    if (!order)
        order = compare_ids(a->module, b->module);
    return order ? order : compare_ids(a->name, b->name);
}

static bool row_before(const void *context, uint32_t a, uint32_t b)
{
    const struct report *r = context;
    return compare_rows(&r->rows[a], &r->rows[b]) < 0;
}

static bool row_heavier(const void *context, uint32_t a, uint32_t b)
{
    const struct report *r = context;
    return r->rows[a].weight > r->rows[b].weight;
}

static void add_row(struct report *r, const struct sample *s)
{
    const struct profile *p = r->profile;
    const struct frame *f = &p->frames[p->stacks[s->stack].frame];
    struct report_row *row = ARRAY_APPEND(&r->arena, r->rows, r->count, r->cap);
    if (!row)
        return;
    *row = (struct report_row){p->threads[s->thread].name, p->modules[f->module].path,
                               f->name, f->kind, s->weight};
    r->samples += s->count;
    r->weight += s->weight;
}

/* Sorts the indexes of the rows; NULL when out of memory. */
static uint32_t *sort_rows(struct report *r,
                           bool (*before)(const void *, uint32_t, uint32_t))
{
    uint32_t *order = arena_zalloc(&r->arena, 2 * r->count + 1, sizeof *order);
    for (size_t i = 0; order && i < r->count; i++)
        order[i] = (uint32_t)i;
    if (order)
        sort_u32(order, r->count, order + r->count, before, r);
    return order;
}

/* Merges equal rows; false when out of memory. */
static bool merge_rows(struct report *r)
{
    uint32_t *order = sort_rows(r, row_before);
    struct report_row *merged = arena_zalloc(&r->arena, r->count + 1, sizeof *merged);
    size_t count = 0;
    if (!order || !merged)
        return false;
    for (size_t i = 0; i < r->count; i++) {
        const struct report_row *row = &r->rows[order[i]];
        if (count && compare_rows(&merged[count - 1], row) == 0)
            merged[count - 1].weight += row->weight;
        else
            merged[count++] = *row;
    }
    r->rows = merged;
    r->count = r->cap = count;
    return true;
}

static void put_report_head(struct output *o, const struct report *r, const char *event)
{
    output_text(o, "# To display the perf.data header info, please use"
                   " --header/--header-only options.\n#\n#\n# Total Lost Samples: ");
    output_format(o, "%llu\n#\n# Samples: %llu  of event '%s'\n",
                  (unsigned long long)r->profile->facts.lost,
                  (unsigned long long)r->samples, event);
    output_format(o, "# Event count (approx.): %.0f\n#\n", r->weight);
    output_text(o, "# Overhead  Command          Shared Object        Symbol\n"
                   "# ........  ...............  ...................  ..........\n#\n");
}

static void put_report_row(struct output *o, const struct report *r,
                           const struct report_row *row)
{
    const struct profile *p = r->profile;
    struct output word = OUTPUT_BUFFER;
    output_format(o, "  %7.2f%%  ", r->weight > 0 ? row->weight / r->weight * 100 : 0);
    put_word(&word, profile_string(p, row->command), "unknown");
    output_format(o, "%-15.*s  ", STR_ARG(output_contents(&word)));
    word.used = 0;
    put_word(&word, str_basename(profile_string(p, row->module)), "[unknown]");
    output_format(o, "%-19.*s  [%c] ", STR_ARG(output_contents(&word)),
                  row->kind == FRAME_KERNEL ? 'k' : '.');
    output_deinit(&word);
    struct str name = name_without_offset(profile_string(p, row->name));
    output_str(o, name.len ? name : STR("[unknown]"));
    output_char(o, '\n');
}

static bool write_report(const struct lepd_machine *m, struct output *o, bool faults)
{
    const struct profile *p = m->profile;
    struct report r = {.arena = ARENA_INIT, .profile = p};
    for (size_t i = 0; p && i < p->sample_count; i++)
        if (is_event(p, p->samples[i].event, faults))
            add_row(&r, &p->samples[i]);
    bool ok = p && merge_rows(&r);
    uint32_t *order = ok ? sort_rows(&r, row_heavier) : NULL;
    if (order)
        put_report_head(o, &r, faults ? "page-faults" : "cpu-clock");
    for (size_t i = 0; order && i < r.count; i++)
        put_report_row(o, &r, &r.rows[order[i]]);
    ok &= !r.arena.failed;
    arena_deinit(&r.arena);
    return ok;
}

bool lepd_write_cpu_clock(const struct lepd_machine *m, struct output *o)
{
    return write_report(m, o, false);
}

bool lepd_write_faults(const struct lepd_machine *m, struct output *o)
{
    return write_report(m, o, true);
}
