/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/heap.h"
#include "base/array.h"
#include "base/format.h"
#include "model/name.h"
#include "model/sample_labels.h"
#include "os/file.h"
#include "os/proc.h"
#include <math.h>

/* --- The library -------------------------------------------------------------------- */

bool engine_heap_library(const char *name, char *path, size_t size, struct error *err)
{
    static const char *const folders[] = {"/src/agents/heap", "/../lib/stoke"};
    char room[4096];
    struct str program = os_own_program(room, sizeof room);
    struct str folder = str_head(program, str_rfind(program, '/'));
    for (size_t i = 0; folder.len && i < sizeof folders / sizeof *folders; i++) {
        format_text(path, size, "%.*s%s/%s", STR_ARG(folder), folders[i], name);
        if (os_output_exists(path) && !strpbrk(path, " :"))
            return true;
    }
    error_set(err, "%s is not installed, or its path has a space or colon", name);
    return error_hint(err, "it belongs to ../lib/stoke beside the folder of stoke");
}

/* --- Names -------------------------------------------------------------------------- */

struct naming {
    const struct heap_events *events;
    struct builder *b;
    struct arena arena;
    struct name_job *jobs;  /* by location */
    struct frame_run *runs; /* by location */
    frame_id *frames;
    size_t frame_count, frame_cap;
    bool lines;
};

static void add_frame(struct naming *n, const struct frame *frame)
{
    if (ARRAY_RESERVE(&n->arena, n->frames, n->frame_cap, n->frame_count + 1))
        n->frames[n->frame_count++] = builder_frame(n->b, frame);
}

/* The frames of a location, outermost first. */
static void add_frames(struct naming *n, uint32_t number)
{
    const struct heap_location *location = &n->events->locations[number];
    const struct heap_file *file = &n->events->files[location->file];
    const struct name_job *job = &n->jobs[number];
    struct frame frame = {.kind = module_kind(file->path)};
    n->runs[number].first = (uint32_t)n->frame_count;
    if (file->path.len)
        frame.module = builder_module(n->b, file->path, STR(""));
    for (size_t i = job->count; i-- > 0;) {
        const struct resolved_frame *at = &job->frames[i];
        struct frame named = frame;
        if (at->kind == FRAME_INLINED)
            named.kind = FRAME_INLINED;
        if (at->name.len)
            named.name = builder_string(n->b, name_tidy(at->name));
        if (n->lines && at->file.len) {
            named.file = builder_string(n->b, at->file);
            named.line = at->line;
        }
        add_frame(n, &named);
    }
    if (job->count == 0) {
        frame.offset = file->path.len ? location->address : 0;
        frame.address = file->path.len ? 0 : location->pc;
        add_frame(n, &frame);
    }
    n->runs[number].count = (uint32_t)n->frame_count - n->runs[number].first;
}

static bool name_locations(struct naming *n, const struct resolver *resolver)
{
    const struct heap_events *e = n->events;
    n->jobs = arena_zalloc(&n->arena, e->location_count, sizeof *n->jobs);
    n->runs = arena_zalloc(&n->arena, e->location_count, sizeof *n->runs);
    if (!n->jobs || !n->runs)
        return false;
    for (size_t i = 1; i < e->location_count; i++) {
        const struct heap_location *location = &e->locations[i];
        n->jobs[i] = (struct name_job){.object = e->files[location->file].object,
                                       .address = location->address,
                                       .is_call = location->is_call};
    }
    if (e->location_count > 1)
        resolver->name(resolver->context, n->jobs + 1, e->location_count - 1);
    for (uint32_t i = 1; i < e->location_count; i++)
        add_frames(n, i);
    return !n->arena.failed;
}

/* --- The profile -------------------------------------------------------------------- */

enum heap_event {
    PEAK,
    LEAKED,
    ALLOCATED,
    ALLOCATIONS,
    TEMPORARY,
    LIVE,
    FREED,
    RELEASES,
    HEAP_EVENTS
};

static const struct {
    const char *name;
    enum unit unit;
} heap_events[HEAP_EVENTS] = {
    {"peak", UNIT_BYTES},         {"leaked", UNIT_BYTES},     {"allocated", UNIT_BYTES},
    {"allocations", UNIT_EVENTS}, {"temporary", UNIT_EVENTS}, {"live", UNIT_BYTES},
    {"freed", UNIT_BYTES},        {"releases", UNIT_EVENTS},
};

/* State of adding the samples. */
struct adding {
    const struct heap_events *e;
    const struct heap_collect_result *collected;
    struct builder *b;
    event_id events[HEAP_EVENTS];
    stack_id *stacks; /* of the builder, by those of `e` */
    stack_id unknown;
    thread_id *threads;
    label_set_id sizes[HEAP_SIZES]; /* with the label of the class */
    label_id lifetimes[HEAP_LIFETIMES];
    /* By site: its change of the live bytes from the start of the interval that has the peak
     * to the peak. */
    double *to_peak;
};

static void make_labels(struct adding *a)
{
    char room[32];
    for (unsigned i = 0; i < HEAP_SIZES; i++) {
        heap_size_name(i, room, sizeof room);
        a->sizes[i] = builder_label_set_add(
            a->b, 0, builder_label_text(a->b, STR("size"), str_of(room)));
    }
    for (unsigned i = 0; i < HEAP_LIFETIMES; i++)
        a->lifetimes[i] =
            builder_label_text(a->b, STR("lifetime"), str_of(heap_lifetime_name(i)));
}

/* A time of the records on the monotonic clock. */
static uint64_t time_of(const struct adding *a, uint64_t units)
{
    const struct heap_collect_result *c = a->collected;
    if (units > c->end)
        units = c->end;
    return c->start_ns + (uint64_t)((double)units * c->unit_ns);
}

static struct sample sample_of(const struct adding *a, const struct heap_site *site,
                               uint64_t units)
{
    stack_id stack = a->stacks[site->stack];
    return (struct sample){.time = time_of(a, units),
                           .cpu = CPU_NONE,
                           .thread = a->threads[site->thread],
                           .stack = stack ? stack : a->unknown};
}

static void add_weight(const struct adding *a, struct sample *s, label_set_id labels,
                       enum heap_event event, double weight)
{
    s->event = a->events[event];
    s->weight = weight;
    if (weight > 0 || weight < 0)
        builder_add_mapped_labelled(a->b, s, labels);
}

static uint64_t peak_interval(const struct heap_events *e)
{
    return e->peak_time >> e->timeline.shift;
}

/* The change of the live bytes in a slice: that of the peak's interval is in two parts, so that
 * the live bytes at the time of the peak are the peak. */
static void add_live(const struct adding *a, const struct heap_slice *slice,
                     struct sample s, label_set_id labels)
{
    double to_peak = a->to_peak[slice->site];
    if (slice->interval == peak_interval(a->e) && fabs(to_peak) > 0) {
        struct sample until = s;
        until.time = time_of(a, a->e->peak_time);
        s.count = 0; /* the blocks of the slice count once */
        add_weight(a, &until, labels, LIVE, to_peak);
        add_weight(a, &s, labels, LIVE, slice->change - to_peak);
    } else {
        add_weight(a, &s, labels, LIVE, slice->change);
    }
}

static bool find_changes_to_peak(struct adding *a, struct arena *arena)
{
    const struct heap_events *e = a->e;
    a->to_peak = arena_zalloc(arena, e->site_count, sizeof *a->to_peak);
    for (size_t i = 1; a->to_peak && i < e->site_count; i++)
        a->to_peak[i] = heap_site_peak(e, &e->sites[i]);
    for (size_t i = 1; a->to_peak && i < e->timeline.count; i++) {
        const struct heap_slice *slice = &e->timeline.slices[i];
        if (slice->interval < peak_interval(e))
            a->to_peak[slice->site] -= slice->change;
    }
    return a->to_peak;
}

/* What happened at a site in a slice of time. */
static void add_slice(const struct adding *a, const struct heap_slice *slice)
{
    const struct heap_site *site = &a->e->sites[slice->site];
    struct sample s = sample_of(a, site, heap_slice_end(&a->e->timeline, slice));
    label_set_id labels = a->sizes[site->size_class];
    s.count = slice->samples;
    s.event = a->events[ALLOCATIONS];
    s.weight = slice->count;
    if (slice->count > 0)
        builder_add_labelled(a->b, &s, labels);
    add_weight(a, &s, labels, ALLOCATED, slice->bytes);
    add_live(a, slice, s, labels);
    s.count = slice->leaked_samples;
    add_weight(a, &s, labels, LEAKED, slice->leaked);
    s.count = (uint64_t)slice->temporary; /* only a complete recording has them */
    add_weight(a, &s, labels, TEMPORARY, slice->temporary);
}

static void add_peak(const struct adding *a, const struct heap_site *site)
{
    struct sample s = sample_of(a, site, a->e->peak_time);
    s.count = heap_site_peak_blocks(a->e, site);
    add_weight(a, &s, a->sizes[site->size_class], PEAK, heap_site_peak(a->e, site));
}

/* What was released of a site, by lifetime, at the end. */
static void add_releases(const struct adding *a, size_t number)
{
    const struct heap_site *site = &a->e->sites[number];
    const struct heap_releases *releases = &a->e->releases[number];
    struct sample s = sample_of(a, site, a->collected->end);
    for (unsigned i = 0; i < HEAP_LIFETIMES; i++) {
        if (!(releases->count[i] > 0))
            continue;
        label_set_id labels =
            builder_label_set_add(a->b, a->sizes[site->size_class], a->lifetimes[i]);
        s.count = releases->samples[i];
        add_weight(a, &s, labels, FREED, releases->bytes[i]);
        add_weight(a, &s, labels, RELEASES, releases->count[i]);
    }
}

static void add_samples(struct naming *n, const struct heap_collect_result *collected)
{
    const struct heap_events *e = n->events;
    const struct profile *raw = e->raw.profile;
    struct adding a = {.e = e, .collected = collected, .b = n->b};
    for (int i = 0; i < HEAP_EVENTS; i++)
        a.events[i] =
            builder_event(n->b, str_of(heap_events[i].name), heap_events[i].unit);
    struct frame nameless = {.kind = FRAME_USER};
    a.unknown = builder_push(n->b, 0, builder_frame(n->b, &nameless));
    a.stacks = arena_zalloc(&n->arena, raw->stack_count, sizeof *a.stacks);
    a.threads = builder_map_threads(n->b, raw);
    if (!a.stacks || !a.threads || !find_changes_to_peak(&a, &n->arena))
        return;
    make_labels(&a);
    builder_map_runs(n->b, raw, n->runs, n->frames, a.stacks);
    for (size_t i = 1; i < e->timeline.count; i++)
        add_slice(&a, &e->timeline.slices[i]);
    for (size_t i = 1; i < e->site_count; i++) {
        add_peak(&a, &e->sites[i]);
        add_releases(&a, i);
    }
    n->b->profile->facts.time_first = time_of(&a, 0);
    n->b->profile->facts.time_last = time_of(&a, collected->end);
}

static void add_facts(const struct engine_heap_settings *settings,
                      const struct heap_events *e,
                      const struct heap_collect_result *collected, struct builder *b)
{
    struct facts *facts = &b->profile->facts;
    facts->format = builder_string(b, STR("heap"));
    char room[64];
    const char *command = settings->collect.command[0];
    struct str name = settings->collect.pid
                          ? os_thread_name(settings->collect.pid, settings->collect.pid,
                                           room, sizeof room)
                          : str_of(command ? command : "");
    facts->command = builder_string(b, name);
    facts->truncated += e->truncated;
    facts->sample_bytes = e->sample_bytes;
    if (collected->lost)
        builder_lost(b, TIME_NONE, collected->lost);
    builder_warn_times(b, "damaged records", e->damaged);
    builder_warn_times(b, "sampled blocks whose release is not recorded", e->untracked);
}

static struct profile *make_profile(const struct engine_heap_settings *settings,
                                    const struct heap_events *e,
                                    const struct heap_collect_result *collected,
                                    const struct symbols *symbols, struct error *err)
{
    struct builder b;
    struct naming n = {.events = e, .b = &b, .lines = settings->lines};
    if (e->failed || e->timeline.failed || !builder_init(&b, BUILD_KEEP)) {
        error_memory(err);
        return NULL;
    }
    if (name_locations(&n, &symbols->seam))
        add_samples(&n, collected);
    add_facts(settings, e, collected, &b);
    symbols_warn(symbols, &b);
    b.profile->arena.failed |= n.arena.failed;
    arena_deinit(&n.arena);
    struct profile *p = builder_finish(&b, err);
    builder_deinit(&b);
    return p;
}

static struct profile *record(const struct engine_heap_settings *settings,
                              const struct symbols *symbols, struct heap_events *e,
                              struct engine_heap_result *result, struct error *err)
{
    struct heap_collect_result collected;
    if (!heap_collect(&settings->collect, e, &collected, err))
        return NULL;
    *result = (struct engine_heap_result){.status = collected.status,
                                          .lost = collected.lost,
                                          .truncated = e->truncated,
                                          .allocations = e->allocations,
                                          .untracked = e->untracked,
                                          .unknown = e->unknown,
                                          .processes = e->process_count,
                                          .most = e->most,
                                          .left = collected.left};
    return make_profile(settings, e, &collected, symbols, err);
}

/* CPython takes small objects from arenas of its own unless a variable selects malloc. */
static bool uses_python_arenas(const struct profile *p)
{
    const char *set = getenv("PYTHONMALLOC");
    if (set && *set && !str_starts(str_of(set), STR("pymalloc")) &&
        !str_starts(str_of(set), STR("default")))
        return false;
    for (module_id m = 1; m < p->module_count; m++) {
        struct str name = str_basename(profile_string(p, p->modules[m].path));
        if (str_starts(name, STR("libpython")) || str_starts(name, STR("python")))
            return true;
    }
    return false;
}

struct profile *engine_heap(const struct engine_heap_settings *settings,
                            struct engine_heap_result *result,
                            const struct engine_report *report, struct error *err)
{
    struct engine_heap_settings s = *settings;
    struct symbols symbols;
    struct heap_events e;
    char library[4200];
    struct profile *p = NULL;
    const char *name = s.collect.pid ? HEAP_LATE_LIBRARY : HEAP_LIBRARY;
    if (!s.collect.library && !engine_heap_library(name, library, sizeof library, err))
        return NULL;
    if (!s.collect.library)
        s.collect.library = library;
    if (symbols_init(&symbols, &s.symbols, s.lines, 0, err)) {
        symbols.settings.few_addresses = true;
        if (heap_events_init(&e, &symbols.seam, s.collect.sample_bytes))
            p = record(&s, &symbols, &e, result, err);
        else
            error_memory(err);
        heap_events_deinit(&e);
        if (p)
            symbols_report(&symbols, report);
    }
    symbols_deinit(&symbols);
    result->python_arenas = p && uses_python_arenas(p);
    return p;
}
