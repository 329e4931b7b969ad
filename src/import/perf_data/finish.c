/* SPDX-License-Identifier: Apache-2.0 */
/* Names the locations, then makes the profile's stacks and samples. The frames are those
 * that import/perf_script.c makes of perf script's text. */
#include "base/array.h"
#include "base/text_cache.h"
#include "import/perf_data/profile.h"
#include "import/perf_data/wait_reason.h"
#include "import/perf_line.h"
#include "model/lock_kind.h"
#include "model/name.h"
#include "model/sample_labels.h"
#include "perf/interpreted.h"

#define CACHED_SYMBOLS 32768

struct finish {
    struct perf_profile *p;
    struct builder *b;         /* of the new profile */
    const struct profile *raw; /* stacks of locations, and samples */
    struct arena *arena;
    struct frame_run *runs; /* by location: its frames */
    frame_id *frames;
    size_t frame_count, frame_cap;
    bool is_last;            /* the recording is read to its end */
    bool *drops_callers;     /* by frame of the profile: see skip_after */
    struct text_cache cache; /* by the text of a symbol: first frame and count */
};

/* --- Names ------------------------------------------------------------------------- */

bool perf_locations_name(struct perf_profile *p)
{
    size_t from = p->named_count, count = p->locations.count;
    if (!ARRAY_RESERVE(&p->arena, p->jobs, p->job_cap, count + 1))
        return false;
    p->named_count = count;
    p->jobs[0] = from ? p->jobs[0] : (struct name_job){0}; /* location 0 is unused */
    for (size_t i = from ? from : 1; i < count; i++) {
        const struct perf_location *location = &p->locations.items[i];
        p->jobs[i] = (struct name_job){.object = p->files[location->file].object,
                                       .address = location->address,
                                       .is_call = location->is_call,
                                       .version = location->version};
    }
    if (count > from)
        p->resolver->name(p->resolver->context, p->jobs + from, count - from);
    return true;
}

/* --- Frames ------------------------------------------------------------------------ */

static frame_id *reserve_frames(struct finish *f, size_t more)
{
    return ARRAY_RESERVE(f->arena, f->frames, f->frame_cap, f->frame_count + more)
               ? f->frames
               : NULL;
}

static void add_frame(struct finish *f, const struct frame *frame)
{
    frame_id *frames = reserve_frames(f, 1);
    if (frames)
        frames[f->frame_count++] = builder_frame(f->b, frame);
}

/* The kernel moves at each boot. 0: there is none, as for memory without a file. */
static uint64_t stable_offset(const struct perf_location *location,
                              const struct perf_file *file, enum frame_kind kind)
{
    uint64_t at = location->address - location->is_call;
    if (file->of_kernel)
        return at > file->start ? at - file->start : 0;
    return kind == FRAME_USER && !str_starts(file->module, STR("//")) ? at : 0;
}

/* A frame at the location, without its name. An inlined function is part of the module
 * that it is inlined into. */
static struct frame frame_at(const struct finish *f, const struct perf_location *location,
                             bool inlined, bool known)
{
    struct perf_profile *p = f->p;
    const struct perf_file *file = &p->files[location->file];
    struct frame frame = {.kind = inlined ? FRAME_INLINED : module_kind(file->module)};
    if (location->of_waker)
        frame.kind = FRAME_WAKER;
    if (file->module.len)
        frame.module = builder_module(f->b, file->module, file->build_id);
    if (p->options->every_address || (!known && p->options->addresses))
        frame.address = location->pc;
    /* Of memory without a file ("//anon"), the kernel reports the address as the offset. */
    if (!known && p->options->addresses && frame.kind == FRAME_USER &&
        !str_starts(file->module, STR("//")))
        frame.offset = location->address;
    if (!known && p->options->stable_offsets)
        frame.offset = stable_offset(location, file, (enum frame_kind)frame.kind);
    return frame;
}

/* Adds the frames of a symbol. A JIT's symbol may be a chain "a->b->c". */
static void add_symbol(struct finish *f, const struct perf_location *location,
                       struct str symbol, bool inlined, const struct resolved_frame *at)
{
    const struct import_options *options = f->p->options;
    struct str rest = name_without_offset(symbol);
    if (perf_symbol_is_process(rest))
        return;
    do {
        struct str link = name_next_link(&rest);
        struct frame frame = frame_at(f, location, inlined, true);
        frame.name = builder_string(f->b, link.len == 0         ? STR(" ")
                                          : options->signatures ? link
                                                                : name_tidy(link));
        if (options->sizes && at)
            frame.offset = at->size;
        if (options->lines && at && rest.len == 0) {
            frame.file = builder_string(f->b, at->file);
            frame.line = at->file.len ? at->line : 0;
        }
        add_frame(f, &frame);
        inlined = true;
    } while (rest.len);
}

/* What distinguishes the frames of one symbol. */
static uint64_t symbol_tag(const struct perf_location *location, bool inlined)
{
    return (uint64_t)location->file << 2 | (uint64_t)inlined << 1 | location->of_waker;
}

/* The same through the cache, if the frames depend on the name only. */
static void add_cached_symbol(struct finish *f, const struct perf_location *location,
                              struct str symbol, bool inlined,
                              const struct resolved_frame *at)
{
    const struct import_options *options = f->p->options;
    uint64_t tag = symbol_tag(location, inlined), first = f->frame_count;
    struct text_cache_slot *slot = text_cache_slot(&f->cache, symbol, tag);
    if (options->every_address || options->lines || options->sizes) {
        add_symbol(f, location, symbol, inlined, at);
        return;
    }
    if (text_cache_has(slot, symbol, tag)) {
        uint32_t from = (uint32_t)(slot->value >> 32), count = (uint32_t)slot->value;
        frame_id *frames = reserve_frames(f, count);
        for (uint32_t i = 0; frames && i < count; i++)
            frames[f->frame_count++] = frames[from + i];
        return;
    }
    add_symbol(f, location, symbol, inlined, at);
    *slot = (struct text_cache_slot){symbol, tag,
                                     first << 32 | (uint32_t)(f->frame_count - first)};
}

static void add_resolved(struct finish *f, const struct perf_location *location,
                         const struct name_job *job)
{
    for (size_t i = job->count; i-- > 0;) {
        const struct resolved_frame *at = &job->frames[i];
        bool inlined = at->kind == FRAME_INLINED;
        if (at->name.len) {
            add_cached_symbol(f, location, at->name, inlined, at);
        } else {
            struct frame frame = frame_at(f, location, inlined, false);
            if (f->p->options->stable_offsets && frame.offset > at->offset)
                frame.offset -= at->offset; /* of the function */
            add_frame(f, &frame);
        }
    }
}

/* A function of an interpreted program, and its line. */
static void add_interpreted(struct finish *f, const struct perf_location *location,
                            const struct perf_file *file)
{
    struct frame frame = {.kind = location->of_waker ? FRAME_WAKER : FRAME_USER,
                          .name = builder_string(f->b, file->symbol)};
    if (file->module.len)
        frame.module = builder_module(f->b, file->module, STR(""));
    if (f->p->options->lines && file->module.len) {
        frame.file = builder_string(f->b, file->module);
        frame.line = perf_interpreted_line(location->address);
    }
    add_frame(f, &frame);
}

/* The reason of a wait is found with its stack. */
static void add_marker(struct finish *f, const struct perf_location *location,
                       const struct perf_file *file)
{
    struct frame frame = {.kind = file->marker};
    if (file->marker == FRAME_WAKER)
        frame.address = location->address; /* the thread ID */
    if (file->marker == FRAME_MARKER && str_equal(file->symbol, WAIT_MARK))
        return;
    frame.name = builder_string(f->b, file->symbol);
    add_frame(f, &frame);
}

/* How many locations ahead resolved frames and cache entries are prefetched. */
#define NAMES_AHEAD 16
#define CACHE_AHEAD 8

static void prefetch_names(const struct finish *f, size_t i)
{
    const struct perf_profile *p = f->p;
    if (!p->jobs || i + NAMES_AHEAD >= p->locations.count)
        return;
    const struct name_job *far = &p->jobs[i + NAMES_AHEAD],
                          *near = &p->jobs[i + CACHE_AHEAD];
    const struct perf_location *location = &p->locations.items[i + CACHE_AHEAD];
    if (far->count)
        __builtin_prefetch(far->frames);
    for (size_t k = 0; k < near->count; k++) {
        const struct resolved_frame *at = &near->frames[k];
        uint64_t tag = symbol_tag(location, at->kind == FRAME_INLINED);
        __builtin_prefetch(text_cache_slot(&f->cache, at->name, tag));
    }
}

/* Slots of the cache, a power of two: a small recording does not need all. */
static size_t cache_slots(size_t locations)
{
    size_t slots = 64;
    while (slots < locations && slots < CACHED_SYMBOLS)
        slots *= 2;
    return slots;
}

static bool make_runs(struct finish *f)
{
    struct perf_profile *p = f->p;
    f->runs = arena_zalloc(f->arena, p->locations.count, sizeof *f->runs);
    bool has_cache =
        text_cache_init(&f->cache, f->arena, cache_slots(p->locations.count));
    for (size_t i = 1; f->runs && has_cache && i < p->locations.count; i++) {
        const struct perf_location *location = &p->locations.items[i];
        const struct perf_file *file = &p->files[location->file];
        size_t first = f->frame_count;
        prefetch_names(f, i);
        if (file->marker) {
            add_marker(f, location, file);
        } else if (file->is_interpreted) {
            add_interpreted(f, location, file);
        } else if (p->jobs && p->jobs[i].count) {
            add_resolved(f, location, &p->jobs[i]);
        } else if (file->symbol.len) {
            add_symbol(f, location, file->symbol, false, NULL);
        } else {
            struct frame frame = frame_at(f, location, false, false);
            add_frame(f, &frame);
        }
        f->runs[i] =
            (struct frame_run){(uint32_t)first, (uint32_t)(f->frame_count - first)};
    }
    return f->runs && has_cache && !f->arena->failed && !builder_failed(f->b);
}

/* --- Stacks ------------------------------------------------------------------------ */

/* Finds the frames of functions whose callers are dropped (skip_after). */
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

/* The number of innermost frames that are searched for the reason of a wait. */
#define REASON_DEPTH 24

/* The stack of a wait with a frame for its reason, if one of the functions implies one.
 */
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
    const char *kind = "";
    if (str_equal(reason, STR("[lock]")))
        lock_user(p, stack, &kind);
    if (lock_kind_is_idle(kind))
        reason = STR("[idle]");
    struct frame marker = {.name = builder_string(f->b, reason), .kind = FRAME_MARKER};
    return builder_push(f->b, stack, builder_frame(f->b, &marker));
}

/* Whether the location is a kernel entry function of interrupts, of x86-64 or AArch64. If
 * an interrupt ended the wait, the code that it interrupted is not the waker. */
static bool is_interrupt_entry(const struct finish *f,
                               const struct perf_location *location, struct frame_run run)
{
    static const char *const entries[] = {"asm_sysvec_", "asm_common_interrupt",
                                          "asm_exc_nmi", "el1h_64_irq", "el0t_64_irq"};
    const struct profile *p = f->b->profile;
    bool is = false;
    for (size_t i = 0; location->of_waker && run.count && i < 5; i++)
        is |= str_starts(profile_string(p, p->frames[f->frames[run.first]].name),
                         str_of(entries[i]));
    return is;
}

/* Replaces the rest of a waker that is an interrupt by one frame. */
static stack_id push_interrupt(struct finish *f, stack_id parent,
                               const struct perf_location *location)
{
    struct frame frame = {.kind = FRAME_WAKER};
    if (f->p->files[location->file].marker != FRAME_WAKER)
        return parent;
    frame.name = builder_string(f->b, STR("[interrupt]"));
    return builder_push(f->b, parent, builder_frame(f->b, &frame));
}

/* Pushes the frames of a location, which may be a marker. */
static stack_id push_location(struct finish *f, stack_id parent, frame_id number)
{
    const struct perf_location *location = &f->p->locations.items[number];
    const struct perf_file *file = &f->p->files[location->file];
    if (file->marker == FRAME_MARKER && str_equal(file->symbol, WAIT_MARK))
        return push_reason(f, parent, location->address);
    return push_frames(f, parent, f->runs[number]);
}

/* Whether no location needs special treatment. This is the usual case, and faster. */
static bool is_all_code(const struct finish *f)
{
    const struct perf_profile *p = f->p;
    bool all = f->frames && !f->drops_callers;
    for (size_t i = 1; all && i < p->locations.count; i++) {
        const struct perf_location *location = &p->locations.items[i];
        all = !location->of_waker && !p->files[location->file].marker;
    }
    return all;
}

/* The profile's stack for each raw stack. */
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
        const struct perf_location *location = &f->p->locations.items[s.frame];
        interrupt[i] =
            interrupt[s.parent] || is_interrupt_entry(f, location, f->runs[s.frame]);
        stacks[i] = interrupt[s.parent] ? push_interrupt(f, stacks[s.parent], location)
                                        : push_location(f, stacks[s.parent], s.frame);
    }
    return interrupt ? stacks : NULL;
}

static bool has_samples(const struct perf_profile *p)
{
    return p->seen_events.count > 0;
}

/* Adds the events of that kind of wait to the profile. */
static void number_events(const struct finish *f, event_id *events, enum perf_wait wait)
{
    const struct perf_profile *p = f->p;
    const struct perf_data *d = &p->data;
    for (size_t i = 0; i < d->event_count; i++) {
        const struct perf_event *e = &d->events[i];
        if (perf_wait_of(e) != wait || (has_samples(p) && !perf_event_seen(p, i)))
            continue;
        events[i] =
            builder_event(f->b, e->name, perf_event_unit(e->name, !p->options->samples));
    }
}

/* Notes which events were recorded as a group. Its first event may have no samples. */
static void group_events(const struct finish *f, const event_id *events)
{
    const struct perf_data *d = &f->p->data;
    struct perf_group group = {0};
    while (perf_next_group(d, &group)) {
        event_id first = 0;
        for (size_t i = group.first; i < group.first + group.count; i++) {
            first = first ? first : events[i];
            builder_event_group(f->b, events[i], first);
        }
    }
}

/* The profile's id for each of the recording's events: of those with samples, in their
 * order in the recording; if there are no samples, of all. Off-CPU events are last. */
static event_id *make_events(const struct finish *f)
{
    event_id *events = arena_zalloc(f->arena, f->p->data.event_count + 1, sizeof *events);
    /* An event that was named "waker" after its samples were read has samples. */
    int last = has_samples(f->p) ? WAIT_HOLDER : WAIT_OFF_CPU;
    for (int wait = WAIT_NONE; events && wait <= last; wait++)
        number_events(f, events, (enum perf_wait)wait);
    if (events)
        group_events(f, events);
    return events;
}

/* `threads` maps thread ids; NULL: they are the profile's. */
static void add_samples(struct finish *f, const stack_id *stacks, const event_id *events,
                        const thread_id *threads)
{
    const struct profile *raw = f->raw;
    struct facts *facts = &f->b->profile->facts;
    const label_set_id *labels =
        raw->sample_labels ? builder_map_label_sets(f->b, raw) : NULL;
    if (raw->sample_labels && !labels)
        return;
    for (size_t i = 0; i < raw->sample_count; i++) {
        struct sample s = raw->samples[i];
        s.stack = stacks[s.stack];
        s.event = events[s.event];
        s.thread = threads ? threads[s.thread] : s.thread;
        builder_add_labelled(f->b, &s, labels ? labels[raw->sample_labels[i]] : 0);
    }
    if (facts->time_first == TIME_NONE || raw->facts.time_first < facts->time_first)
        facts->time_first = raw->facts.time_first;
    if (raw->facts.time_last != TIME_NONE &&
        (facts->time_last == TIME_NONE || raw->facts.time_last > facts->time_last))
        facts->time_last = raw->facts.time_last;
}

static bool name_locations(const struct finish *f)
{
    struct perf_profile *p = f->p;
    bool ok = !p->resolver || perf_locations_name(p);
    /* The next file of the recording may need the same objects. */
    bool unused = f->is_last && !p->options->session;
    if (ok && p->resolver && p->resolver->release && unused)
        p->resolver->release(p->resolver->context);
    return ok;
}

static void finish(struct finish *f, const thread_id *threads)
{
    struct perf_profile *p = f->p;
    perf_files_finish(p);
    if (p->locations.count == 0)
        p->locations.count = 1;
    if (f->raw->arena.failed || !name_locations(f) || !make_runs(f) || !find_skipped(f))
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

bool perf_profile_snapshot(struct perf_profile *p, const struct profile *collected,
                           struct builder *b)
{
    struct arena scratch = ARENA_INIT;
    struct finish f = {.p = p, .b = b, .raw = collected, .arena = &scratch};
    const thread_id *threads = builder_map_threads(b, p->b->profile);
    if (threads)
        finish(&f, threads);
    bool ok = threads && !scratch.failed && !p->arena.failed && !builder_failed(b);
    arena_deinit(&scratch);
    return ok;
}
