#include "sound.h"
#include "base/utf8.h"
#include "codec/json.h"
#include "export/exporter.h"
#include "fuzz.h"
#include "import/importer.h"
#include "model/code.h"
#include <math.h>

/* The maximum number of events in a callgrind file. */
#define CALLGRIND_EVENTS 32

/* The maximum count in a folded file; see COUNT_MAX in import/folded.c. */
#define FOLDED_MAX 1e15

static void sound_tables(const struct profile *p)
{
    for (size_t i = 1; i < p->module_count; i++) {
        CHECK(p->modules[i].path < p->strings.count);
        CHECK(p->modules[i].build_id < p->strings.count);
    }
    for (size_t i = 1; i < p->frame_count; i++) {
        const struct frame *f = &p->frames[i];
        CHECK(f->name < p->strings.count && f->file < p->strings.count);
        CHECK(f->module < p->module_count);
        CHECK(f->kind <= FRAME_WAKER);
    }
    for (size_t i = 1; i < p->stack_count; i++) {
        CHECK(p->stacks[i].parent < i);
        CHECK(p->stacks[i].frame && p->stacks[i].frame < p->frame_count);
    }
    for (size_t i = 1; i < p->thread_count; i++)
        CHECK(p->threads[i].name < p->strings.count);
    for (size_t i = 1; i < p->event_count; i++) {
        CHECK(p->events[i].name < p->strings.count);
        CHECK(unit_name(p->events[i].unit));
    }
}

void sound_profile(const struct profile *p)
{
    const struct facts *facts = &p->facts;
    uint64_t count = 0;
    sound_tables(p);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        CHECK(s->thread < p->thread_count && s->stack < p->stack_count);
        CHECK(s->event && s->event < p->event_count);
        CHECK(isfinite(s->weight));
        count += s->count;
    }
    /* a sample may have several values */
    CHECK(facts->filtered || count >= facts->samples);
    CHECK(facts->format < p->strings.count && facts->host < p->strings.count);
    CHECK(facts->command < p->strings.count);
    CHECK(facts->warning_count <= WARNINGS_MAX);
    for (unsigned i = 0; i < facts->warning_count; i++)
        CHECK(facts->warnings[i].what && facts->warnings[i].count);
    CHECK((facts->time_first == TIME_NONE) == (facts->time_last == TIME_NONE));
    CHECK(facts->time_first == TIME_NONE || facts->time_first <= facts->time_last);
}

/* The total weight of an event. */
struct weight {
    double sum, magnitude; /* of the weights, and of their absolute values */
    double smallest;       /* at most 0 */
};

static struct weight weigh(const struct profile *p, event_id event)
{
    struct weight w = {0};
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        if (s->event != event)
            continue;
        w.sum += s->weight;
        w.magnitude += fabs(s->weight);
        w.smallest = s->weight < w.smallest ? s->weight : w.smallest;
    }
    return w;
}

static void check_nodes(const struct calltree *t, const struct weight *w)
{
    double slack = w->magnitude * 1e-9;
    CHECK(t->nodes[0].end == t->count);
    CHECK(!isfinite(w->magnitude) || fabs(t->nodes[0].total - w->sum) <= slack);
    for (uint32_t n = 1; n < t->count; n++) {
        const struct calltree_node *node = &t->nodes[n], *up = &t->nodes[node->parent];
        CHECK(node->parent < n && node->end > n && node->end <= up->end);
        CHECK(node->depth == up->depth + 1 && node->depth <= t->depth);
        CHECK(node->label < t->paths.labels.count);
        CHECK(w->smallest < 0 || node->total <= up->total + slack);
        CHECK(w->smallest < 0 || node->self <= node->total + slack);
    }
}

void sound_tree(const struct profile *p, event_id event)
{
    struct calltree t;
    struct error err;
    struct calltree_options options = {.event = event};
    struct weight w;
    size_t count;
    CHECK(calltree_init(&t, p, &options, &err));
    w = weigh(p, t.event);
    check_nodes(&t, &w);
    const struct function *f = calltree_functions(&t, &count, &err);
    CHECK(f);
    for (size_t i = 0; i < count; i++) {
        CHECK(w.smallest < 0 || f[i].total <= t.nodes[0].total + w.magnitude * 1e-9);
        CHECK(w.smallest < 0 || f[i].self <= f[i].total + w.magnitude * 1e-9);
    }
    calltree_deinit(&t);
}

/* Weight of the samples that folded lines can express: those with a stack, or a thread
 * instead. */
static double weight_in_folded(const struct profile *p, event_id event)
{
    double sum = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        const struct thread *t = &p->threads[s->thread];
        if (s->event == event && (s->stack || t->name))
            sum += s->weight;
    }
    return sum;
}

/* Reads the text: the weight of the event that is displayed first, or of all events. */
static double reread(const char *format, struct str text, bool all)
{
    struct builder b;
    struct error err;
    struct source in = source_of(text, STR("again"));
    const struct import_options none = {0};
    event_id shown, base;
    double sum = 0;
    CHECK(builder_init(&b, BUILD_COUNT));
    CHECK(import_read(importer_named(str_of(format)), &in, &none, &b, &err));
    sound_profile(b.profile);
    calltree_events(b.profile, &(struct calltree_options){0}, &shown, &base);
    for (event_id e = 1; e < b.profile->event_count; e++)
        if (all || e == shown)
            sum += weigh(b.profile, e).sum;
    builder_deinit(&b);
    return sum;
}

void sound_folded(const struct profile *p)
{
    struct export_options options = {0};
    struct output text = OUTPUT_BUFFER;
    struct error err;
    event_id event, base;
    calltree_events(p, &options.tree, &event, &base);
    struct weight w = weigh(p, event);
    CHECK(exporter_named(STR("folded"))->write(p, &options, &text, &err));
    if (w.smallest >= 0 && w.magnitude <= FOLDED_MAX && text.used) {
        double written = weight_in_folded(p, event);
        double got = reread("folded", output_contents(&text), false);
        CHECK(fabs(got - written) <= written * 1e-9);
    }
    output_deinit(&text);
}

static void write_as(const char *format, const struct profile *p, struct output *text)
{
    struct export_options options = {.tree.threads = THREAD_TID};
    struct error err;
    text->used = 0;
    CHECK(exporter_named(str_of(format))->write(p, &options, text, &err));
    CHECK(!text->failed);
}

static void check_json(struct str text)
{
    struct source in = source_of(text, STR("json"));
    struct error err;
    struct json j;
    json_init(&j, &in, false, &err);
    j.depth_max = SIZE_MAX;
    CHECK(utf8_valid(text) == text.len);
    json_skip(&j);
    CHECK(json_finish(&j));
    json_deinit(&j);
}

/* Returns true if a pprof file can express the names of the events. */
static bool pprof_can_name(const struct profile *p)
{
    for (event_id e = 1; e < p->event_count; e++) {
        struct str name = profile_string(p, p->events[e].name);
        if (name.len == 0 || utf8_valid(name) < name.len)
            return false;
    }
    return p->sample_count;
}

/* Returns true if a pprof file can express the weights of the events: as integers. */
static bool pprof_can_weigh(const struct profile *p)
{
    for (event_id e = 1; e < p->event_count; e++)
        if (p->events[e].unit == UNIT_MILLISECONDS)
            return false;
    return true;
}

/* A pprof file has the weights of all events, and shows the same one first; of a heap, the
 * exporter chooses that. A single event gets the number of samples beside it. */
static void check_pprof(const struct profile *p, struct str text)
{
    event_id shown, base;
    double sum = 0;
    if (!pprof_can_name(p))
        return;
    for (event_id e = 1; e < p->event_count; e++)
        sum += weigh(p, e).sum;
    double rounding = sum * 1e-9 + (double)p->sample_count;
    if (pprof_can_weigh(p))
        CHECK(fabs(reread("pprof", text, p->event_count > 2) - sum) <= rounding);
    calltree_events(p, &(struct calltree_options){0}, &shown, &base);
    if (p->events[shown].unit != UNIT_MILLISECONDS && !profile_find_kind(p, EVENT_LIVE))
        CHECK(fabs(reread("pprof", text, false) - weigh(p, shown).sum) <= rounding);
}

/* Returns true if a callgrind file can express the profile: its units are unchanged
 * after reading. The costs of calls that an input states are written as they are, and those
 * of a damaged input disagree with its own costs. */
static bool callgrind_can_express(const struct profile *p)
{
    if (p->call_count)
        return false;
    for (event_id e = 1; e < p->event_count; e++) {
        struct str name = profile_string(p, p->events[e].name);
        if (p->events[e].unit == UNIT_MILLISECONDS || name.len == 0 ||
            str_has(name, STR("(")))
            return false;
    }
    return p->event_count <= CALLGRIND_EVENTS;
}

/* Weight of the samples with a stack, of all events. */
static double in_stacks(const struct profile *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        sum += p->samples[i].stack ? p->samples[i].weight : 0;
    return sum;
}

void sound_exports(const struct profile *p)
{
    struct output text = OUTPUT_BUFFER;
    struct weight all = {0};
    for (event_id e = 1; e < p->event_count; e++) {
        struct weight w = weigh(p, e);
        all.sum += w.sum;
        all.magnitude += w.magnitude;
        all.smallest = w.smallest < all.smallest ? w.smallest : all.smallest;
    }
    write_as("d3", p, &text);
    check_json(output_contents(&text));
    write_as("speedscope", p, &text);
    check_json(output_contents(&text));
    bool exact = all.smallest >= 0 && all.magnitude <= FOLDED_MAX && p->sample_count;
    if (exact) {
        double got = reread("speedscope", output_contents(&text), true);
        CHECK(fabs(got - all.sum) <= all.sum * 1e-9);
    }
    write_as("stoke", p, &text);
    if (p->facts.samples && isfinite(all.magnitude)) {
        double got = reread("stoke", output_contents(&text), true);
        CHECK(fabs(got - all.sum) <= all.magnitude * 1e-9);
    }
    write_as("firefox", p, &text);
    check_json(output_contents(&text));
    write_as("callgrind", p, &text);
    double stacked = in_stacks(p), rows = (double)p->sample_count;
    if (exact && callgrind_can_express(p) && stacked > 4 * rows) {
        double got = reread("callgrind", output_contents(&text), true);
        CHECK(fabs(got - stacked) <= stacked * 1e-4 + rows);
    }
    write_as("pprof", p, &text);
    if (exact)
        check_pprof(p, output_contents(&text));
    output_deinit(&text);
}

static bool is_within(const struct code_range *range, size_t count)
{
    return range->count == 0 ||
           (range->first < count && range->count <= count - range->first);
}

static void sound_code_rows(const struct code *c)
{
    for (size_t i = 0; i < c->row_count; i++)
        CHECK(c->rows[i].function && c->rows[i].function < c->function_count &&
              c->rows[i].file < c->strings.count &&
              (!i || c->rows[i].function >= c->rows[i - 1].function));
    for (size_t i = 0; i < c->note_count; i++)
        CHECK(c->notes[i].function && c->notes[i].function < c->function_count &&
              c->notes[i].text < c->strings.count &&
              (!i || c->notes[i].function >= c->notes[i - 1].function));
    for (size_t i = 0; i < c->spot_count; i++)
        CHECK(c->spots[i].function < c->function_count && c->spots[i].event &&
              c->spots[i].event < c->event_count && isfinite(c->spots[i].weight) &&
              (!i || c->spots[i].function >= c->spots[i - 1].function));
}

void sound_code(const struct profile *p, const struct code *c)
{
    struct output text = OUTPUT_BUFFER;
    struct export_options options = {.code = c};
    struct error err;
    struct builder b;
    struct code again;
    struct import_options reading = {.code = &again};
    for (size_t i = 0; i < c->function_count; i++) {
        const struct code_function *f = &c->functions[i];
        CHECK(f->name < c->strings.count && f->module < c->strings.count &&
              f->build_id < c->strings.count && f->path < c->strings.count &&
              f->bytes < c->strings.count && f->why < c->strings.count);
        CHECK(f->low <= f->high && is_within(&f->rows, c->row_count) &&
              is_within(&f->notes, c->note_count) && is_within(&f->spots, c->spot_count));
    }
    for (size_t i = 0; i < c->source_count; i++)
        CHECK(c->sources[i].name < c->strings.count &&
              c->sources[i].text < c->strings.count);
    sound_code_rows(c);
    CHECK(exporter_named(STR("stoke"))->write(p, &options, &text, &err));
    struct source in = source_of(output_contents(&text), STR("memory"));
    CHECK(code_init(&again) && builder_init(&b, BUILD_COUNT));
    if (import_read(importer_named(STR("stoke")), &in, &reading, &b, &err))
        CHECK(again.strings.count == c->strings.count &&
              again.function_count == c->function_count &&
              again.row_count == c->row_count && again.note_count == c->note_count &&
              again.spot_count == c->spot_count && again.source_count == c->source_count);
    code_deinit(&again);
    builder_deinit(&b);
    output_deinit(&text);
}
