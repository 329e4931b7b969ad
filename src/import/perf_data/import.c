/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: the recording's records to a profile. See perf_data.h for the format, and
 * perf_data_profile.h for the way. */
#include "base/format.h"
#include "base/hash.h"
#include "import/perf_data/profile.h"
#include "perf/off_cpu.h"
#include <stdlib.h>

static const char *const flaws[PERF_FLAWS] = {
    [PERF_FLAW_TRUNCATED] = "the recording ends within a record: the rest is missing",
    [PERF_FLAW_UNFINISHED] = "the recorder was ended before it could finish the file",
    [PERF_FLAW_CORRUPTED] = "corrupted records are left out",
    [PERF_FLAW_UNKNOWN] = "a record of a type that is not known is left out",
    [PERF_FLAW_PACKED] = "compressed records that cannot be unpacked are left out",
    [PERF_FLAW_HEADER] = "a part of the header makes no sense and is left out",
};

/* --- Records ----------------------------------------------------------------------- */

thread_id perf_profile_thread(struct perf_profile *p, uint32_t pid, uint32_t tid)
{
    struct task *task = processes_task(&p->processes, tid);
    char text[24];
    int64_t process = pid == PERF_ID_NONE ? ID_NONE : (int64_t)pid;
    if (!task)
        return 0;
    if (task->tag && p->b->profile->threads[task->tag].pid == process)
        return task->tag;
    struct str name = task_name(&p->processes, task);
    if (name.len == 0 && tid == 0)
        name = STR("swapper");
    else if (name.len == 0)
        name = (struct str){text, format_text(text, sizeof text, ":%d", (int)tid)};
    task->tag =
        builder_thread(p->b, process, tid == PERF_ID_NONE ? ID_NONE : (int64_t)tid, name);
    return task->tag;
}

/* Remembers that samples of the event came, and the period of the last. */
static void note_event(struct perf_profile *p, uint32_t event, uint64_t period)
{
    uint64_t *seen = idmap_put(&p->seen_events, &p->arena, event);
    if (seen)
        *seen = period;
}

bool perf_event_seen(const struct perf_profile *p, size_t event)
{
    return idmap_find(&p->seen_events, event) != NULL;
}

/* "dummy" events have no samples but those. */
enum perf_wait perf_wait_of(const struct perf_event *e)
{
    bool made =
        e->type == PERF_TYPE_SOFTWARE && e->named &&
        (e->config == PERF_SOFTWARE_DUMMY || e->config == PERF_SOFTWARE_BPF_OUTPUT);
    if (!made)
        return WAIT_NONE;
    if (str_equal(e->name, STR(PERF_WAKER_EVENT)))
        return WAIT_WAKER;
    return str_equal(e->name, STR(PERF_OFF_CPU_EVENT)) ||
                   str_equal(e->name, STR("offcpu-time"))
               ? WAIT_OFF_CPU
               : WAIT_NONE;
}

/* How much of an event there may be in a nanosecond, on one processor: more than any
 * counts. */
static double most_of(const struct perf_event *e)
{
    bool software = e->type == PERF_TYPE_SOFTWARE;
    bool general = e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_HW_CACHE;
    return software && e->config <= 1 ? 1 : software || general ? 16 : 1e4;
}

#define NS 1e9 /* a sampler adapts its periods within a second */

/* Whether so much of the event may have come since the recording began. */
static bool is_possible(const struct perf_profile *p, const struct perf_event *e,
                        const struct perf_sample *s)
{
    if (s->time == TIME_NONE || p->first_time == TIME_NONE || perf_wait_of(e) ||
        s->event->sample_type & PERF_SAMPLE_READ)
        return true;
    double since = s->time > p->first_time ? (double)(s->time - p->first_time) : 0;
    double set = e->flags & PERF_FLAG_FREQUENCY ? 0 : (double)e->period;
    return (double)s->period <= (since + NS) * most_of(e) + set;
}

/* The period of a sample; in place of one that cannot be true, which would make nothing of
 * all others, that of the sample before. */
static uint64_t period_of(struct perf_profile *p, const struct perf_sample *s,
                          uint32_t event)
{
    const struct perf_event *e = &p->data.events[event];
    const uint64_t *last = idmap_find(&p->seen_events, event);
    if (is_possible(p, e, s))
        return s->period;
    builder_warn_offset(
        p->b, "an impossible period: the sample weighs as much as the one before it",
        p->at);
    return last && *last ? *last : 1;
}

/* Adds a sample of an event. It weighs what perf script prints as its period, so that its
 * text gives the same profile. */
static void add_sample(struct perf_profile *p, const struct perf_sample *s,
                       uint32_t event)
{
    bool prints = s->period && perf_prints_period(&p->data.events[event]);
    uint64_t period = prints ? period_of(p, s, event) : 0;
    struct sample sample = {.time = s->time,
                            .cpu = s->cpu,
                            .thread = perf_profile_thread(p, s->pid, s->tid),
                            .event = event,
                            .count = 1,
                            .weight =
                                prints && !p->options->samples ? (double)period : 1};
    if (p->taker || perf_wait_of(s->event) != WAIT_WAKER)
        note_event(p, event, period);
    if (p->taker) {
        p->b->profile->facts.samples++;
        if (!p->taker->sample(p->taker->context, p, s, &sample))
            return;
    }
    perf_stacks_sample(p, s, &sample);
}

/* A sample that tells counters is one of each of their events; its period is what the
 * counter counted since the last one. */
static void add_counters(struct perf_profile *p, const struct perf_sample *s)
{
    struct perf_counter c;
    for (size_t i = 0; perf_counter_at(&p->data, s->event, s->read, i, &c); i++) {
        const uint64_t *event = idmap_find(&p->data.ids, c.id);
        uint64_t *last = event ? idmap_put(&p->counters, &p->maps, c.id) : NULL;
        if (!last || *last == c.value)
            continue;
        struct perf_sample one = *s;
        one.period = c.value - *last;
        add_sample(p, &one, (uint32_t)(*event - 1));
        *last = c.value;
    }
}

/* A sample whose size is damaged may hold the records behind it: they follow its parts up
 * to its end. Empty where the rest is not that. */
static struct str swallowed(struct perf_profile *p, const struct perf_record *r,
                            size_t rest)
{
    struct str bytes = str_skip(r->body, r->body.len - rest), left = bytes;
    struct perf_record inner;
    while (left.len)
        if (!perf_data_inner(&p->data, &left, r->offset, &inner))
            return STR("");
    if (rest)
        perf_data_damaged(&p->data, r);
    return bytes;
}

/* Gives the records that it holds. */
static struct str take_sample(struct perf_profile *p, const struct perf_record *r)
{
    struct perf_sample s;
    p->at = r->offset;
    if (!perf_sample_of(&p->data, r, &s)) {
        builder_warn_offset(p->b,
                            s.event
                                ? "a sample that is cut short is left out"
                                : "a sample of an event that is not known is left out",
                            r->offset);
        return STR("");
    }
    if (perf_event_of(&p->data, r) < 0)
        builder_warn_offset(
            p->b, "a sample of an event that is not known is given to the first",
            r->offset);
    if (p->first_time == TIME_NONE)
        p->first_time = s.time;
    if (s.event->sample_type & PERF_SAMPLE_READ && s.event->read_format & PERF_READ_ID)
        add_counters(p, &s);
    else
        add_sample(p, &s, (uint32_t)(s.event - p->data.events));
    return swallowed(p, r, s.rest);
}

static void take_task(struct perf_profile *p, const struct perf_record *r)
{
    struct perf_task t;
    if (!perf_task_of(&p->data, r, &t))
        return;
    if (r->type == PERF_COMM)
        processes_name(&p->processes, t.pid, t.tid, t.name,
                       r->misc & PERF_MISC_COMM_EXEC);
    else
        processes_fork(&p->processes, t.pid, t.parent_pid, t.tid, t.parent_tid,
                       r->misc & PERF_MISC_FORK_EXEC);
}

/* What the kernel tells when it has room again (LOST) a recorder tells once more, as
 * LOST_SAMPLES: what is lost is the more of both. What a filter of samples left out was not
 * lost. */
static void take_lost(struct perf_profile *p, const struct perf_record *r)
{
    uint64_t lost = 0;
    if (!perf_lost_of(&p->data, r, &lost) ||
        (r->type == PERF_LOST_SAMPLES && r->misc & PERF_MISC_LOST_BY_FILTER))
        return;
    uint64_t *kind = r->type == PERF_LOST ? &p->lost_records : &p->lost_samples;
    *kind = lost > UINT64_MAX - *kind ? UINT64_MAX : *kind + lost;
    if (*kind <= p->lost)
        return;
    builder_lost(p->b, r->time, *kind - p->lost);
    p->lost = *kind;
}

static void take_deferred(struct perf_profile *p, const struct perf_record *r)
{
    struct perf_deferred chain;
    struct perf_identity id = perf_identity(&p->data, r);
    if (perf_deferred_of(&p->data, r, &chain))
        perf_stacks_deferred(p, &id, r->time, &chain);
    else
        builder_warn_offset(p->b, "a call chain that is cut short", r->offset);
}

/* Gives the records that it holds, if it is a sample whose size is damaged. */
static struct str take_one(struct perf_profile *p, const struct perf_record *r)
{
    switch (r->type) {
    case PERF_SAMPLE:
        return take_sample(p, r);
    case PERF_MMAP:
    case PERF_MMAP2:
    case PERF_KSYMBOL:
        perf_file_mapped(p, r);
        break;
    case PERF_COMM:
    case PERF_FORK:
        take_task(p, r);
        break;
    case PERF_LOST:
    case PERF_LOST_SAMPLES:
        take_lost(p, r);
        break;
    case PERF_THROTTLE:
        builder_warn_offset(p->b, "the kernel throttled the sampling for a while",
                            r->offset);
        break;
    case PERF_CALLCHAIN_DEFERRED:
        take_deferred(p, r);
        break;
    default:
        break;
    }
    if (p->taker && p->taker->record && r->type != PERF_SAMPLE)
        p->taker->record(p->taker->context, p, r);
    return STR("");
}

static void take_record(struct perf_profile *p, const struct perf_record *r)
{
    struct str held = take_one(p, r);
    struct perf_record inner;
    while (held.len && perf_data_inner(&p->data, &held, r->offset, &inner)) {
        struct str more = take_one(p, &inner);
        if (more.len) /* the others follow it */
            held = str_span(more.ptr, held.ptr + held.len);
    }
}

/* --- Facts ------------------------------------------------------------------------- */

/* Samples a second: what was asked for. */
static double rate_of(const struct perf_data *d)
{
    const struct perf_event *e = d->events;
    if (d->event_count == 0 || e->period == 0)
        return 0;
    if (e->flags & PERF_FLAG_FREQUENCY)
        return (double)e->period;
    bool clock = e->type == PERF_TYPE_SOFTWARE && e->config <= 1;
    return clock ? 1e9 / (double)e->period : 0;
}

static void note_facts(struct perf_profile *p)
{
    const struct perf_data *d = &p->data;
    struct facts *facts = &p->b->profile->facts;
    if (!facts->host)
        facts->host = builder_string(p->b, d->facts.host);
    if (!facts->command)
        facts->command = builder_string(p->b, d->facts.command);
    if (facts->rate == 0)
        facts->rate = rate_of(d);
    for (unsigned i = 0; i < PERF_FLAWS; i++) {
        if (d->flaws[i] == 0)
            continue;
        builder_warn_offset(p->b, flaws[i], d->flaw_offset[i]);
        for (unsigned k = 0; k < facts->warning_count; k++)
            if (facts->warnings[k].what == flaws[i])
                facts->warnings[k].count += d->flaws[i] - 1;
    }
    if (d->aux_bytes)
        builder_warn(p->b, "instruction traces (AUX data) are not read", 0, 0, STR(""));
}

/* --- Reading ----------------------------------------------------------------------- */

static void moving(void *context)
{
    perf_stacks_unwind(context);
}

static void release_input(struct errand *e, unsigned hand)
{
    struct source *in = ((struct perf_release *)(void *)e)->input;
    (void)hand;
    if (in->release)
        in->release(in->context);
}

static bool failed(const struct perf_profile *p)
{
    return p->arena.failed || p->maps.failed || p->data.arena.failed ||
           processes_failed(&p->processes) || builder_failed(p->b) ||
           (p->raw.profile && builder_failed(&p->raw));
}

static bool read_records(struct perf_profile *p, struct error *err)
{
    struct perf_record r;
    p->data.moving = moving;
    p->data.moving_context = p;
    while (!failed(p) && perf_data_next(&p->data, &r, err))
        take_record(p, &r);
    if (p->data.input_failed)
        return false;
    perf_stacks_unwind(p);
    perf_stacks_give_up(p);
    p->release =
        (struct perf_release){{.work = release_input, .can_wait = true}, p->data.input};
    crew_start(perf_crew(p), &p->release.errand);
    if (!failed(p) && p->taker)
        p->taker->end(p->taker->context, p);
    else if (!failed(p))
        perf_profile_finish(p);
    note_facts(p);
    crew_finish(perf_crew(p), &p->release.errand);
    return !failed(p) || error_memory(err);
}

/* --- The parts of a recording ------------------------------------------------------- */

/* What the parts of a recording have in common, and others do not: the kernel gives each
 * event an id of its own. 0 where it is not known. */
static uint64_t identity_of(const struct perf_data *d)
{
    uint64_t hash = hash_bytes(d->facts.host.ptr, d->facts.host.len);
    hash = hash_mix(hash ^ HASH_A,
                    hash_bytes(d->facts.command.ptr, d->facts.command.len) ^ HASH_B);
    for (size_t i = 0; i < d->event_count; i++)
        hash = hash_mix(hash ^ d->events[i].config,
                        hash_mix(d->events[i].type ^ HASH_C, d->events[i].sample_type));
    for (size_t i = 1; i < d->ids.count; i++)
        hash = hash_mix(hash ^ d->ids.entries[i].id, HASH_D ^ d->ids.entries[i].value);
    bool known = d->event_count && d->facts.host.len && d->facts.command.len;
    return known ? hash | 1 : 0;
}

static void destroy_profile(struct perf_profile *p)
{
    if (!p)
        return;
    processes_deinit(&p->processes);
    arena_deinit(&p->maps);
    free(p);
}

void perf_session_deinit(struct perf_session *s)
{
    destroy_profile(s->carried);
    s->carried = NULL;
}

/* Forgets what is of the part that was read, but not what is carried. */
static void end_part(struct perf_profile *p)
{
    const size_t part = offsetof(struct perf_profile, data);
    perf_stacks_deinit(p);
    perf_data_deinit(&p->data);
    arena_deinit(&p->arena);
    memset((char *)p + part, 0, sizeof *p - part);
    for (size_t i = 1; i <= p->processes.task_count; i++)
        p->processes.tasks[i].tag = 0; /* the thread's number in that part's profile */
}

/* The profile of the next part with what the one before it has left; a new one where the
 * recording is another. NULL when memory is short. */
static struct perf_profile *begin_part(struct perf_session *s)
{
    struct perf_profile *p = s ? s->carried : NULL;
    if (!p)
        return calloc(1, sizeof *p);
    s->carried = NULL;
    return p;
}

/* Begins with the maps that every recording has, unless this is a further part. */
static bool begin_maps(struct perf_profile *p, struct perf_session *s)
{
    uint64_t identity = identity_of(&p->data);
    bool carried = s && p->keys.count && identity && identity == s->identity;
    if (s)
        s->identity = identity;
    if (carried)
        return true;
    processes_deinit(&p->processes);
    arena_deinit(&p->maps);
    memset(p, 0, offsetof(struct perf_profile, data));
    return processes_init(&p->processes) && perf_files_init(p);
}

bool perf_data_replay(struct source *in, const struct import_options *options,
                      struct builder *b, const struct perf_taker *taker,
                      struct error *err)
{
    struct perf_session *session = options->session;
    struct perf_profile *p = begin_part(session);
    if (!p)
        return error_memory(err);
    p->b = b;
    p->options = options;
    p->taker = taker;
    p->resolver = options->resolver;
    p->first_time = TIME_NONE;
    bool ok = perf_data_init(&p->data, in, err);
    if (ok)
        ok = (begin_maps(p, session) && perf_stacks_init(p)) || error_memory(err);
    ok = ok && read_records(p, err);
    end_part(p);
    if (session && ok)
        session->carried = p;
    else
        destroy_profile(p);
    return ok;
}

static bool perf_data_read(struct source *in, const struct import_options *options,
                           struct builder *b, struct error *err)
{
    return perf_data_replay(in, options, b, NULL, err);
}

static int perf_data_probe(struct str head)
{
    return str_starts(head, STR("PERFILE2")) || str_starts(head, STR("2ELIFREP")) ||
                   str_starts(head, STR("PERFFILE"))
               ? 100
               : 0;
}

/* A recording in a file tells at its end what it was made of, by which files are found.
 */
static bool perf_data_jumps(struct str head)
{
    struct bytes b = bytes_of(str_skip(head, 8), str_starts(head, STR("2ELIFREP")));
    return perf_data_probe(head) == 100 && bytes_u64(&b) != PERF_PIPE_HEADER;
}

const struct importer import_perf_data = {
    .name = "perf-data",
    .suffixes = "data",
    .summary = "perf.data, as perf record writes it (perf 3 to 7)",
    .probe = perf_data_probe,
    .shape = SHAPE_BINARY,
    .empty = "the recording has no samples",
    .resolves_lines = true,
    .read = perf_data_read,
    .jumps = perf_data_jumps,
};
