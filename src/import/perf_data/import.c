/* SPDX-License-Identifier: Apache-2.0 */
/* The perf.data importer: reads the records, follows processes, and queues the samples.
 * See perf/perf_data.h for the format and profile.h for the forms that a sample
 * takes. */
#include "base/format.h"
#include "base/hash.h"
#include "import/perf_data/profile.h"
#include "perf/off_cpu.h"
#include <stdlib.h>

static const char *const flaws[PERF_FLAWS] = {
    [PERF_FLAW_TRUNCATED] = "the recording is truncated: it ends within a record",
    [PERF_FLAW_UNFINISHED] = "the recorder ended before it finished the file",
    [PERF_FLAW_CORRUPTED] = "corrupted records are skipped",
    [PERF_FLAW_UNKNOWN] = "a record of an unknown type is skipped",
    [PERF_FLAW_PACKED] = "compressed records that cannot be decompressed are skipped",
    [PERF_FLAW_HEADER] = "an invalid part of the header is skipped",
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

/* Stores that the event has samples, and the period of the last one. */
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

/* Only waits are samples of "dummy" events. */
enum perf_wait perf_wait_of(const struct perf_event *e)
{
    bool made =
        e->type == PERF_TYPE_SOFTWARE && e->named &&
        (e->config == PERF_SOFTWARE_DUMMY || e->config == PERF_SOFTWARE_BPF_OUTPUT);
    if (!made)
        return WAIT_NONE;
    if (str_equal(e->name, STR(PERF_WAKER_EVENT)))
        return WAIT_WAKER;
    if (str_equal(e->name, STR(PERF_LOCK_HOLDER_EVENT)))
        return WAIT_HOLDER;
    return str_equal(e->name, STR(PERF_OFF_CPU_EVENT)) ||
                   str_equal(e->name, STR("offcpu-time"))
               ? WAIT_OFF_CPU
               : WAIT_NONE;
}

/* An upper bound of how often an event occurs in a nanosecond on one CPU. */
static double rate_limit(const struct perf_event *e)
{
    bool software = e->type == PERF_TYPE_SOFTWARE;
    bool general = e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_HW_CACHE;
    return software && e->config <= 1 ? 1 : software || general ? 16 : 1e4;
}

#define NS 1e9 /* a sampler adapts its periods within a second */

/* True if the event can have occurred this number of times since the recording began. */
static bool is_possible(const struct perf_profile *p, const struct perf_event *e,
                        const struct perf_sample *s)
{
    if (s->time == TIME_NONE || p->first_time == TIME_NONE || perf_wait_of(e) ||
        s->event->sample_type & PERF_SAMPLE_READ)
        return true;
    double since = s->time > p->first_time ? (double)(s->time - p->first_time) : 0;
    double set = e->flags & PERF_FLAG_FREQUENCY ? 0 : (double)e->period;
    return (double)s->period <= (since + NS) * rate_limit(e) + set;
}

/* The period of a sample. An impossible period, which would exceed the sum of all
 * others, is replaced by the period of the preceding sample. */
static uint64_t period_of(struct perf_profile *p, const struct perf_sample *s,
                          uint32_t event)
{
    const struct perf_event *e = &p->data.events[event];
    const uint64_t *last = idmap_find(&p->seen_events, event);
    if (is_possible(p, e, s))
        return s->period;
    builder_warn_offset(
        p->b, "a sample has an impossible period: the one before it is used", p->offset);
    return last && *last ? *last : 1;
}

/* A tracepoint can count nothing, such as a delay of 0 ns. Other samples without a period weigh 1,
 * as their lines of perf script do. */
static bool weighs_period(const struct perf_profile *p, const struct perf_sample *s,
                          uint32_t event)
{
    bool recorded = s->event->sample_type & PERF_SAMPLE_PERIOD;
    bool is_tracepoint = p->data.events[event].type == PERF_TYPE_TRACEPOINT;
    return !p->options->samples && (s->period || (recorded && is_tracepoint));
}

/* Adds a sample of an event. Its weight is its period, as in perf report. Lines of perf script have
 * no period for tracepoints: in them, each sample weighs 1. */
static void add_sample(struct perf_profile *p, const struct perf_sample *s,
                       uint32_t event)
{
    uint64_t period = s->period ? period_of(p, s, event) : 0;
    struct sample sample = {.time = s->time,
                            .cpu = s->cpu,
                            .thread = perf_profile_thread(p, s->pid, s->tid),
                            .event = event,
                            .count = 1,
                            .weight = weighs_period(p, s, event) ? (double)period : 1};
    if (p->consumer || perf_wait_of(s->event) != WAIT_WAKER)
        note_event(p, event, period);
    if (p->consumer) {
        p->b->profile->facts.samples++;
        if (!p->consumer->sample(p->consumer->context, p, s, &sample))
            return;
    }
    perf_stacks_sample(p, s, &sample);
}

/* Each branch of the sample is a sample of the event, and weighs 1. */
static void add_branches(struct perf_profile *p, const struct perf_sample *s)
{
    uint32_t event = (uint32_t)(s->event - p->data.events);
    struct sample sample = {.time = s->time,
                            .cpu = s->cpu,
                            .thread = perf_profile_thread(p, s->pid, s->tid),
                            .event = event,
                            .count = 1,
                            .weight = 1};
    size_t count = perf_branch_count(s->branches);
    for (size_t i = 0; i < count; i++) {
        struct perf_branch branch = perf_branch_at(s->branches, i);
        perf_stacks_branch(p, s, &sample, &branch);
    }
    p->saw_branches |= count > 0;
    if (count)
        note_event(p, event, 1);
}

/* A sample with counters is one sample of each counter's event. Its period is the
 * difference of the counter to the last sample. */
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

/* A sample with a damaged size may contain the records after it, up to its end. Returns
 * their bytes; empty if the rest is something else. */
static struct str inner_records(struct perf_profile *p, const struct perf_record *r,
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

/* Returns the bytes of records in it. */
static struct str read_sample(struct perf_profile *p, const struct perf_record *r)
{
    struct perf_sample s;
    p->offset = r->offset;
    if (!perf_sample_of(&p->data, r, &s)) {
        builder_warn_offset(p->b,
                            s.event ? "a truncated sample is skipped"
                                    : "a sample of an unknown event is skipped",
                            r->offset);
        return STR("");
    }
    if (perf_event_of(&p->data, r) < 0)
        builder_warn_offset(
            p->b, "a sample of an unknown event is counted as one of the first event",
            r->offset);
    if (p->first_time == TIME_NONE)
        p->first_time = s.time;
    if (p->options->branches)
        add_branches(p, &s);
    else if (s.event->sample_type & PERF_SAMPLE_READ &&
             s.event->read_format & PERF_READ_ID)
        add_counters(p, &s);
    else
        add_sample(p, &s, (uint32_t)(s.event - p->data.events));
    return inner_records(p, r, s.rest);
}

static void read_task(struct perf_profile *p, const struct perf_record *r)
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

/* The kernel reports lost records when it has room again (LOST); recorders report the
 * same records again (LOST_SAMPLES). The larger sum counts. Samples that a filter
 * dropped are not lost. */
static void read_lost(struct perf_profile *p, const struct perf_record *r)
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

static void read_deferred(struct perf_profile *p, const struct perf_record *r)
{
    struct perf_deferred chain;
    struct perf_identity id = perf_identity(&p->data, r);
    if (perf_deferred_of(&p->data, r, &chain))
        perf_stacks_deferred(p, &id, r->time, &chain);
    else
        builder_warn_offset(p->b, "a truncated call chain is skipped", r->offset);
}

/* Returns the bytes of records in it, if it is a sample with a damaged size. */
static struct str apply_record(struct perf_profile *p, const struct perf_record *r)
{
    if (p->consumer && p->consumer->raw)
        p->consumer->raw(p->consumer->context, p, r);
    switch (r->type) {
    case PERF_SAMPLE:
        return read_sample(p, r);
    case PERF_MMAP:
    case PERF_MMAP2:
    case PERF_KSYMBOL:
        perf_file_mapped(p, r);
        break;
    case PERF_COMM:
    case PERF_FORK:
        read_task(p, r);
        break;
    case PERF_CGROUP:
        perf_cgroup_named(p, r);
        break;
    case PERF_LOST:
    case PERF_LOST_SAMPLES:
        read_lost(p, r);
        break;
    case PERF_THROTTLE:
        builder_warn_offset(p->b, "the kernel throttled the sampling for a while",
                            r->offset);
        break;
    case PERF_CALLCHAIN_DEFERRED:
        read_deferred(p, r);
        break;
    default:
        break;
    }
    if (p->consumer && p->consumer->record && r->type != PERF_SAMPLE)
        p->consumer->record(p->consumer->context, p, r);
    return STR("");
}

static void read_record(struct perf_profile *p, const struct perf_record *r)
{
    struct str rest = apply_record(p, r);
    struct perf_record inner;
    while (rest.len && perf_data_inner(&p->data, &rest, r->offset, &inner)) {
        struct str more = apply_record(p, &inner);
        if (more.len) /* the others follow it */
            rest = str_span(more.ptr, rest.ptr + rest.len);
    }
}

/* --- Facts ------------------------------------------------------------------------- */

/* The requested samples per second. */
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

static void note_header(struct perf_profile *p)
{
    struct output text = OUTPUT_BUFFER;
    perf_header_write(&p->data, &text);
    p->arena.failed |= text.failed;
    p->b->profile->facts.header = builder_string(p->b, output_contents(&text));
    output_deinit(&text);
}

/* The recorder found that it sampled less CPU time than the command used. */
static void note_cpu_time(struct perf_profile *p)
{
    char text[96];
    const struct perf_facts *f = &p->data.facts;
    if (f->time_sampled >= f->time_used)
        return;
    size_t length =
        format_text(text, sizeof text, "sampled %.2f s of %.2f s CPU time",
                    (double)f->time_sampled / 1e9, (double)f->time_used / 1e9);
    struct str copy = arena_str(&p->b->profile->arena,
                                (struct str){text, length + 1}); /* with its end */
    if (copy.len)
        builder_warn_times(p->b, copy.ptr, 1);
}

static void note_facts(struct perf_profile *p)
{
    const struct perf_data *d = &p->data;
    struct facts *facts = &p->b->profile->facts;
    if (!facts->host)
        facts->host = builder_string(p->b, d->facts.host);
    if (!facts->command)
        facts->command = builder_string(p->b, d->facts.command);
    if (!facts->interpreters)
        facts->interpreters = builder_string(p->b, d->facts.interpreters);
    if (p->options->header && !facts->header)
        note_header(p);
    if (facts->rate == 0)
        facts->rate = rate_of(d);
    for (unsigned i = 0; i < PERF_FLAWS; i++) {
        if (d->flaws[i] == 0)
            continue;
        builder_warn_offset(p->b, flaws[i], d->flaw_offset[i]);
        facts->incomplete |= i == PERF_FLAW_TRUNCATED;
        for (unsigned k = 0; k < facts->warning_count; k++)
            if (facts->warnings[k].what == flaws[i])
                facts->warnings[k].count += d->flaws[i] - 1;
    }
    note_cpu_time(p);
    if (d->aux_bytes)
        builder_warn(p->b, "instruction traces (AUX data) are not read", 0, 0, STR(""));
}

/* --- Accessors --------------------------------------------------------------------- */

const struct perf_data *perf_profile_data(const struct perf_profile *p)
{
    return &p->data;
}

struct builder *perf_profile_builder(struct perf_profile *p)
{
    return p->b;
}

const struct resolver *perf_profile_resolver(const struct perf_profile *p)
{
    return p->resolver;
}

struct str perf_profile_comm(struct perf_profile *p, uint32_t pid, uint32_t tid)
{
    if (pid == PERF_ID_NONE && tid == PERF_ID_NONE)
        return STR(":-1");
    thread_id thread = perf_profile_thread(p, pid, tid);
    const struct profile *profile = p->b->profile;
    return profile_string(profile, profile->threads[thread].name);
}

struct perf_profile_size perf_profile_size(const struct perf_profile *p)
{
    return (struct perf_profile_size){
        .bytes = p->arena.total + p->data.arena.total + p->processes.arena.total +
                 p->processes.spaces.arena.total + p->b->profile->arena.total,
        .files = p->keys.count};
}

struct perf_location_info perf_profile_location(const struct perf_profile *p,
                                                location_id location)
{
    struct perf_location_info info = {
        .module = STR(""), .build_id = STR(""), .symbol = STR("")};
    if (location == 0)
        return info;
    const struct perf_location *l = &p->locations.items[location];
    const struct perf_file *file = &p->files[l->file];
    info =
        (struct perf_location_info){.address = l->address,
                                    .pc = l->pc,
                                    .is_call = l->is_call,
                                    .by_address = file->by_address,
                                    .object = file->object,
                                    .module = file->module,
                                    .build_id = file->build_id,
                                    .symbol = file->symbol,
                                    .symbol_start = file->symbol.len ? file->start : 0};
    if (location < p->named_count) {
        info.frames = p->jobs[location].frames;
        info.frame_count = p->jobs[location].count;
    }
    return info;
}

bool perf_profile_name(struct perf_profile *p)
{
    perf_files_finish(p);
    return !p->resolver || !p->locations.count || perf_locations_name(p);
}

void perf_profile_name_again(struct perf_profile *p)
{
    for (size_t i = 1; p->resolver && i < p->named_count; i++)
        if (p->jobs[i].count == 0)
            p->resolver->name(p->resolver->context, &p->jobs[i], 1);
}

/* --- Reading ----------------------------------------------------------------------- */

static void moving(void *context)
{
    perf_stacks_unwind(context);
}

static void release_input(struct pool_task *e, unsigned worker)
{
    struct source *in = ((struct perf_release *)(void *)e)->input;
    (void)worker;
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
    bool ok = true;
    p->data.moving = moving;
    p->data.moving_context = p;
    while (!failed(p) && perf_data_next(&p->data, &r, err))
        read_record(p, &r);
    if (p->data.input_failed)
        return false;
    perf_stacks_unwind(p);
    perf_stacks_abandon(p);
    p->release =
        (struct perf_release){{.work = release_input, .can_wait = true}, p->data.input};
    thread_pool_start(perf_thread_pool(p), &p->release.task);
    if (!failed(p) && p->consumer)
        p->consumer->end(p->consumer->context, p);
    else if (!failed(p))
        perf_profile_finish(p);
    if (p->options->branches && !p->saw_branches && !failed(p)) {
        error_set(err, "the recording has no branches");
        error_hint(err, "perf record -b records them, if the processor can");
        ok = false;
    }
    note_facts(p);
    thread_pool_finish(perf_thread_pool(p), &p->release.task);
    return ok && (!failed(p) || error_memory(err));
}

/* --- Recordings in several files ---------------------------------------------------- */

/* A hash that the files of one recording have in common: the kernel gives every event a
 * unique id. 0: unknown. */
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

/* Frees the state of the file that was read, except the state for the next file. */
static void end_part(struct perf_profile *p)
{
    const size_t part = offsetof(struct perf_profile, data);
    perf_stacks_deinit(p);
    perf_data_deinit(&p->data);
    arena_deinit(&p->arena);
    memset((char *)p + part, 0, sizeof *p - part);
    for (size_t i = 1; i <= p->processes.task_count; i++)
        p->processes.tasks[i].tag = 0; /* its index in that file's profile */
    for (size_t i = 0; i < p->cgroup_count; i++)
        p->cgroups[i].labels = 0;
}

/* The state for the next file: the state of the preceding file, or a new one. NULL if
 * out of memory. */
static struct perf_profile *begin_part(struct perf_session *s)
{
    struct perf_profile *p = s ? s->carried : NULL;
    if (!p)
        return calloc(1, sizeof *p);
    s->carried = NULL;
    return p;
}

/* Adds the maps that every recording has, unless this file continues a recording. */
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
                      struct builder *b, const struct perf_consumer *consumer,
                      struct error *err)
{
    struct perf_session *session = options->session;
    struct perf_profile *p = begin_part(session);
    if (!p)
        return error_memory(err);
    p->b = b;
    p->options = options;
    p->consumer = consumer;
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

/* A file has its build IDs and other features at its end. */
static bool perf_data_needs_seek(struct str head)
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
    .needs_seek = perf_data_needs_seek,
};
