/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the places, then the profile's stacks and samples. Frames are made as
 * import/perf_script.c makes them of perf script's lines. */
#include "base/hash.h"
#include "import/perf_data/profile.h"
#include "import/perf_data/wait_reason.h"
#include "import/perf_line.h"
#include "model/name.h"

/* The frames of a symbol that was met before, remembered by where its text lies: names of
 * functions come again and again, and from the resolver with the same text. */
struct kept_symbol {
    struct str symbol;
    uint32_t file; /* of the place */
    bool inlined, of_waker;
    struct frame_run run;
};

#define KEPT_SYMBOLS 32768

struct finish {
    struct perf_profile *p;
    struct builder *b;         /* of the profile that is made */
    const struct profile *raw; /* stacks of places, and samples */
    struct arena *arena;
    struct frame_run *runs; /* by place: what becomes of it */
    frame_id *frames;
    size_t frame_count, frame_cap;
    bool is_last;        /* the recording is read to its end */
    bool *drops_callers; /* by frame of the profile: see skip_after */
    struct kept_symbol *kept;
};

/* --- Names ------------------------------------------------------------------------- */

bool perf_places_name(struct perf_profile *p)
{
    size_t from = p->named_count, count = p->places.count;
    struct name_job *jobs =
        arena_grow(&p->arena, p->jobs, &p->job_cap, count + 1, sizeof *jobs);
    if (!jobs)
        return false;
    p->jobs = jobs;
    p->named_count = count;
    jobs[0] = from ? jobs[0] : (struct name_job){0}; /* place 0 is none */
    for (size_t i = from ? from : 1; i < count; i++) {
        const struct perf_place *place = &p->places.items[i];
        jobs[i] = (struct name_job){.object = p->files[place->file].object,
                                    .address = place->address,
                                    .is_call = place->is_call,
                                    .version = place->version};
    }
    if (count > from)
        p->resolver->name(p->resolver->context, jobs + from, count - from);
    return true;
}

/* --- Frames ------------------------------------------------------------------------ */

static frame_id *frame_room(struct finish *f, size_t more)
{
    frame_id *frames = arena_grow(f->arena, f->frames, &f->frame_cap,
                                  f->frame_count + more, sizeof *frames);
    if (frames)
        f->frames = frames;
    return frames;
}

static void add_frame(struct finish *f, const struct frame *frame)
{
    frame_id *frames = frame_room(f, 1);
    if (frames)
        frames[f->frame_count++] = builder_frame(f->b, frame);
}

/* A frame at the place: of a known symbol, or with an empty one of an unknown. What is
 * inlined is code of the module that it was inlined into. */
static struct frame frame_at(const struct finish *f, const struct perf_place *place,
                             bool inlined, bool known)
{
    struct perf_profile *p = f->p;
    const struct perf_file *file = &p->files[place->file];
    struct frame frame = {.kind = inlined ? FRAME_INLINED : module_kind(file->module)};
    if (place->of_waker)
        frame.kind = FRAME_WAKER;
    if (file->module.len)
        frame.module = builder_module(f->b, file->module, file->build_id);
    if (p->options->every_address || (!known && p->options->addresses))
        frame.address = place->pc;
    return frame;
}

/* The frames of a symbol, which with a JIT may be a chain "a->b->c". */
static void add_symbol(struct finish *f, const struct perf_place *place,
                       struct str symbol, bool inlined, const struct resolved_frame *at)
{
    const struct import_options *options = f->p->options;
    struct str rest = name_without_offset(symbol);
    if (perf_symbol_is_process(rest))
        return;
    do {
        struct str link = name_next_link(&rest);
        struct frame frame = frame_at(f, place, inlined, true);
        frame.name = builder_string(f->b, link.len == 0         ? STR(" ")
                                          : options->signatures ? link
                                                                : name_tidy(link));
        if (options->lines && at && rest.len == 0) {
            frame.file = builder_string(f->b, at->file);
            frame.line = at->file.len ? at->line : 0;
        }
        add_frame(f, &frame);
        inlined = true;
    } while (rest.len);
}

/* Where the frames of such a symbol are remembered. */
static struct kept_symbol *kept_at(const struct finish *f, const struct perf_place *place,
                                   struct str symbol, bool inlined)
{
    uint64_t hash = hash_mix((uint64_t)(uintptr_t)symbol.ptr ^ HASH_A,
                             hash_pair(place->file, inlined) ^ symbol.len ^
                                 (uint64_t)place->of_waker << 63);
    return &f->kept[hash % KEPT_SYMBOLS];
}

/* The same, from memory where nothing but the name tells the frames apart. */
static void add_kept_symbol(struct finish *f, const struct perf_place *place,
                            struct str symbol, bool inlined,
                            const struct resolved_frame *at)
{
    const struct import_options *options = f->p->options;
    struct kept_symbol *kept = kept_at(f, place, symbol, inlined);
    struct frame_run run = {(uint32_t)f->frame_count, 0};
    if (options->every_address || options->lines) {
        add_symbol(f, place, symbol, inlined, at);
        return;
    }
    if (kept->symbol.ptr == symbol.ptr && kept->symbol.len == symbol.len &&
        kept->file == place->file && kept->inlined == inlined &&
        kept->of_waker == place->of_waker) {
        frame_id *frames = frame_room(f, kept->run.count);
        for (uint32_t i = 0; frames && i < kept->run.count; i++)
            frames[f->frame_count++] = frames[kept->run.first + i];
        return;
    }
    add_symbol(f, place, symbol, inlined, at);
    run.count = (uint32_t)(f->frame_count - run.first);
    *kept = (struct kept_symbol){symbol, place->file, inlined, place->of_waker, run};
}

static void add_resolved(struct finish *f, const struct perf_place *place,
                         const struct name_job *job)
{
    for (size_t i = job->count; i-- > 0;) {
        const struct resolved_frame *at = &job->frames[i];
        bool inlined = at->kind == FRAME_INLINED;
        if (at->name.len) {
            add_kept_symbol(f, place, at->name, inlined, at);
        } else {
            struct frame frame = frame_at(f, place, inlined, false);
            add_frame(f, &frame);
        }
    }
}

/* A wait's reason is told later, by what it was called by. */
static void add_marker(struct finish *f, const struct perf_file *file)
{
    struct frame frame = {.kind = file->marker};
    if (file->marker == FRAME_MARKER && str_equal(file->symbol, WAIT_MARK))
        return;
    frame.name = builder_string(f->b, file->symbol);
    add_frame(f, &frame);
}

/* So far ahead what a place's frames are made of is fetched, and nearer, what is
 * remembered of them. */
#define NAMES_AHEAD 16
#define KEPT_AHEAD 8

static void fetch_names(const struct finish *f, size_t i)
{
    const struct perf_profile *p = f->p;
    if (!p->jobs || i + NAMES_AHEAD >= p->places.count)
        return;
    const struct name_job *far = &p->jobs[i + NAMES_AHEAD],
                          *near = &p->jobs[i + KEPT_AHEAD];
    const struct perf_place *place = &p->places.items[i + KEPT_AHEAD];
    if (far->count)
        __builtin_prefetch(far->frames);
    for (size_t k = 0; k < near->count; k++) {
        const struct resolved_frame *at = &near->frames[k];
        __builtin_prefetch(kept_at(f, place, at->name, at->kind == FRAME_INLINED));
    }
}

static bool make_runs(struct finish *f)
{
    struct perf_profile *p = f->p;
    f->runs = arena_zalloc(f->arena, p->places.count, sizeof *f->runs);
    f->kept = arena_zalloc(f->arena, KEPT_SYMBOLS, sizeof *f->kept);
    for (size_t i = 1; f->runs && f->kept && i < p->places.count; i++) {
        const struct perf_place *place = &p->places.items[i];
        const struct perf_file *file = &p->files[place->file];
        size_t first = f->frame_count;
        fetch_names(f, i);
        if (file->marker) {
            add_marker(f, file);
        } else if (p->jobs && p->jobs[i].count) {
            add_resolved(f, place, &p->jobs[i]);
        } else if (file->symbol.len) {
            add_symbol(f, place, file->symbol, false, NULL);
        } else {
            struct frame frame = frame_at(f, place, false, false);
            add_frame(f, &frame);
        }
        f->runs[i] =
            (struct frame_run){(uint32_t)first, (uint32_t)(f->frame_count - first)};
    }
    return f->runs && f->kept && !f->arena->failed && !builder_failed(f->b);
}

/* --- Stacks ------------------------------------------------------------------------ */

/* Which frames stand for one of the names whose callers are not wanted. */
static bool find_skipped(struct finish *f)
{
    const struct import_options *options = f->p->options;
    const struct profile *profile = f->b->profile;
    if (options->skip_after_count == 0)
        return true;
    f->drops_callers =
        arena_zalloc(f->arena, profile->frame_count, sizeof *f->drops_callers);
    for (size_t i = 1; f->drops_callers && i < profile->frame_count; i++)
        for (size_t k = 0; k < options->skip_after_count; k++)
            f->drops_callers[i] |= str_equal(
                profile_string(profile, profile->frames[i].name), options->skip_after[k]);
    return f->drops_callers;
}

static stack_id push_frames(struct finish *f, stack_id parent, struct frame_run run)
{
    const frame_id *frames = f->frames ? f->frames + run.first : NULL;
    size_t first = 0;
    if (!frames || run.count == 0)
        return parent;
    for (size_t i = 0; f->drops_callers && i < run.count; i++) {
        if (!f->drops_callers[frames[i]])
            continue;
        first = i;
        parent = 0;
    }
    return builder_push_run(f->b, parent, frames + first, run.count - first, NULL);
}

/* So many functions away from where it waits a thread's reason may be. */
#define REASON_DEPTH 24

/* The stack of a wait with its reason on top, where one of its innermost functions tells
 * it. */
static stack_id push_reason(struct finish *f, stack_id stack, bool preempted)
{
    const struct profile *p = f->b->profile;
    struct str reason = preempted ? STR("[preempted]") : STR("");
    stack_id at = stack;
    for (int i = 0; at && reason.len == 0 && i < REASON_DEPTH; i++) {
        const struct frame *frame = &p->frames[p->stacks[at].frame];
        reason = wait_reason_of(profile_string(p, frame->name), frame->kind);
        at = p->stacks[at].parent;
    }
    if (reason.len == 0)
        return stack;
    struct frame marker = {.name = builder_string(f->b, reason), .kind = FRAME_MARKER};
    return builder_push(f->b, stack, builder_frame(f->b, &marker));
}

/* An interrupt ends waits, too; whom it interrupted has nothing to do with them. The
 * functions are those by which the kernel is entered, of x86-64 and of AArch64. */
static bool is_interrupt_entry(const struct finish *f, const struct perf_place *place,
                               struct frame_run run)
{
    static const char *const entries[] = {"asm_sysvec_", "asm_common_interrupt",
                                          "asm_exc_nmi", "el1h_64_irq", "el0t_64_irq"};
    const struct profile *p = f->b->profile;
    bool is = false;
    for (size_t i = 0; place->of_waker && run.count && i < 5; i++)
        is |= str_starts(profile_string(p, p->frames[f->frames[run.first]].name),
                         str_of(entries[i]));
    return is;
}

/* What is above a place in a waker that was an interrupt: nothing but what it is. */
static stack_id push_interrupt(struct finish *f, stack_id parent,
                               const struct perf_place *place)
{
    struct frame frame = {.kind = FRAME_WAKER};
    if (f->p->files[place->file].marker != FRAME_WAKER)
        return parent;
    frame.name = builder_string(f->b, STR("[interrupt]"));
    return builder_push(f->b, parent, builder_frame(f->b, &frame));
}

/* What is above a place that may be no code. */
static stack_id push_place(struct finish *f, stack_id parent, frame_id number)
{
    const struct perf_place *place = &f->p->places.items[number];
    const struct perf_file *file = &f->p->files[place->file];
    if (file->marker == FRAME_MARKER && str_equal(file->symbol, WAIT_MARK))
        return push_reason(f, parent, place->address);
    return push_frames(f, parent, f->runs[number]);
}

/* Whether every place is code that ran, called by what is below it, which is most often
 * so: then its frames are all that it becomes. */
static bool is_all_code(const struct finish *f)
{
    const struct perf_profile *p = f->p;
    bool all = f->frames && !f->drops_callers;
    for (size_t i = 1; all && i < p->places.count; i++) {
        const struct perf_place *place = &p->places.items[i];
        all = !place->of_waker && !p->files[place->file].marker;
    }
    return all;
}

/* The profile's stack for each stack of places. */
static stack_id *make_stacks(struct finish *f)
{
    const struct profile *raw = f->raw;
    stack_id *stacks = arena_zalloc(f->arena, raw->stack_count, sizeof *stacks);
    if (stacks && is_all_code(f)) {
        builder_map_runs(f->b, raw, f->runs, f->frames, stacks);
        return stacks;
    }
    bool *interrupt = arena_zalloc(f->arena, raw->stack_count, sizeof *interrupt);
    for (size_t i = 1; stacks && interrupt && i < raw->stack_count; i++) {
        struct stack s = raw->stacks[i];
        const struct perf_place *place = &f->p->places.items[s.frame];
        interrupt[i] =
            interrupt[s.parent] || is_interrupt_entry(f, place, f->runs[s.frame]);
        stacks[i] = interrupt[s.parent] ? push_interrupt(f, stacks[s.parent], place)
                                        : push_place(f, stacks[s.parent], s.frame);
    }
    return interrupt ? stacks : NULL;
}

static bool has_samples(const struct perf_profile *p)
{
    return p->seen_events.count > 0;
}

/* Numbers those events that tell of waits in that way. */
static void number_events(const struct finish *f, event_id *events, enum perf_wait wait)
{
    const struct perf_profile *p = f->p;
    const struct perf_data *d = &p->data;
    for (size_t i = 0; i < d->event_count; i++) {
        const struct perf_event *e = &d->events[i];
        if (perf_wait_of(e) != wait || (has_samples(p) && !perf_event_seen(p, i)))
            continue;
        enum unit unit =
            perf_event_unit(e->name, perf_prints_period(e) && !p->options->samples);
        events[i] = builder_event(f->b, e->name, unit);
    }
}

/* The profile's number for each of the recording's events: of those with samples, in the
 * order in which they were recorded, which is perf's; of a recording without samples, of
 * all. What runs comes before what waits. */
static event_id *make_events(const struct finish *f)
{
    event_id *events = arena_zalloc(f->arena, f->p->data.event_count + 1, sizeof *events);
    /* One with samples whose name came to tell of wakers when they were read has them. */
    int last = has_samples(f->p) ? WAIT_WAKER : WAIT_OFF_CPU;
    for (int wait = WAIT_NONE; events && wait <= last; wait++)
        number_events(f, events, (enum perf_wait)wait);
    return events;
}

/* The numbers of the threads are the profile's own, unless `threads` tells others. */
static void add_samples(struct finish *f, const stack_id *stacks, const event_id *events,
                        const thread_id *threads)
{
    const struct profile *raw = f->raw;
    struct facts *facts = &f->b->profile->facts;
    for (size_t i = 0; i < raw->sample_count; i++) {
        struct sample s = raw->samples[i];
        s.stack = stacks[s.stack];
        s.event = events[s.event];
        s.thread = threads ? threads[s.thread] : s.thread;
        builder_add(f->b, &s);
    }
    if (facts->time_first == TIME_NONE || raw->facts.time_first < facts->time_first)
        facts->time_first = raw->facts.time_first;
    if (raw->facts.time_last != TIME_NONE &&
        (facts->time_last == TIME_NONE || raw->facts.time_last > facts->time_last))
        facts->time_last = raw->facts.time_last;
}

static bool name_places(const struct finish *f)
{
    struct perf_profile *p = f->p;
    bool ok = !p->resolver || perf_places_name(p);
    /* The next part may ask for more of the same files. */
    bool left = f->is_last && !p->options->session;
    if (ok && p->resolver && p->resolver->leave && left)
        p->resolver->leave(p->resolver->context);
    return ok;
}

static void finish(struct finish *f, const thread_id *threads)
{
    struct perf_profile *p = f->p;
    perf_files_finish(p);
    if (p->places.count == 0)
        p->places.count = 1;
    if (f->raw->arena.failed || !name_places(f) || !make_runs(f) || !find_skipped(f))
        return;
    stack_id *stacks = make_stacks(f);
    event_id *events = make_events(f);
    if (stacks && events)
        add_samples(f, stacks, events, threads);
}

void perf_profile_finish(struct perf_profile *p)
{
    struct finish f = {
        .p = p, .b = p->b, .raw = p->raw.profile, .arena = &p->arena, .is_last = true};
    finish(&f, NULL);
}

bool perf_profile_snapshot(struct perf_profile *p, const struct profile *raw,
                           struct builder *b)
{
    struct arena scratch = ARENA_INIT;
    struct finish f = {.p = p, .b = b, .raw = raw, .arena = &scratch};
    const thread_id *threads = builder_map_threads(b, p->b->profile);
    if (threads)
        finish(&f, threads);
    bool ok = threads && !scratch.failed && !p->arena.failed && !builder_failed(b);
    arena_deinit(&scratch);
    return ok;
}
