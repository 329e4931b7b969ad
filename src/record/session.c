/* SPDX-License-Identifier: Apache-2.0 */
#include "record/session.h"
#include "base/number.h"
#include "os/machine.h"
#include "os/rights.h"
#include "perf/off_cpu.h"
#include <stdlib.h>

#define MS ((uint64_t)1000000)
#define TICK (750 * MS)
#define TICK_COUNTED (900 * MS) /* no ring fills up: it may be later */

/* What is counted is read before there may be so many different stacks. */
#define COUNTED_AT_MOST (BPF_SAMPLER_ROOM / 2)

/* zstd's: the quickest that still halves what perf writes, and more. */
#define PACK_QUICK (-1)

/* When the rings are emptied at first: those who ran before the recording are read up
 * while they are there. Then it is once in TICK: within a second, the file has all. */
static const uint64_t early[] = {20 * MS, 70 * MS, 200 * MS, 500 * MS};

/* --- Counting ---------------------------------------------------------------------- */

/* How many frames of a stack the kernel follows. */
static uint64_t deepest_stack(const struct record_session *s)
{
    char room[32];
    uint64_t most = 0;
    struct str text =
        os_read_text("/proc/sys/kernel/perf_event_max_stack", room, sizeof room);
    bool frames = s->sampler_settings.stacks == RECORD_STACKS_FP;
    return frames && number_parse_u64(str_trim(text), &most) ? most : 0;
}

static bool is_deep(const struct record_session *s, const struct record *r)
{
    size_t behind = s->sampler.layout.behind;
    return s->deepest && r->bytes.len >= behind + 8 &&
           record_u64(r->bytes, behind) >= s->deepest;
}

/* perf counts what was lost by LOST_SAMPLES records, which its recorder adds at the end:
 * ours are beside those that the kernel gives, so that each file, and each part of one,
 * has its own. */
static void tell_perf_lost(struct record_session *s, const struct record *lost)
{
    struct record_maker *m = &s->lost_maker;
    size_t trailer = s->sampler.layout.trailer;
    if (lost->bytes.len < 24 + trailer)
        return;
    m->layout = &s->sampler.layout;
    record_begin(m, PERF_LOST_SAMPLES, 0);
    record_put(m, lost->bytes.ptr + 16, lost->bytes.len - 16); /* with the trailer */
    struct record told = record_end_bare(m, lost->time);
    struct record_sink next = perf_data_writer_sink(record_files_writer(&s->files));
    record_pass(&next, &told);
}

static void count_record(void *context, const struct record *r)
{
    struct record_session *s = context;
    struct record_counts *c = &s->counts;
    if (r->type == PERF_SAMPLE) {
        if (c->samples++ == 0)
            c->first = r->time;
        c->last = r->time;
        c->idle += record_tid(&s->sampler.layout, r) == 0;
        c->deep += is_deep(s, r);
    } else if (r->type == PERF_LOST) {
        c->lost += record_u64(r->bytes, 16);
        tell_perf_lost(s, r);
    } else if (r->type == PERF_THROTTLE) {
        c->throttled++;
    }
    struct record_sink next = perf_data_writer_sink(record_files_writer(&s->files));
    record_pass(&next, r);
}

static void count_round(void *context)
{
    struct record_session *s = context;
    struct record_sink next = perf_data_writer_sink(record_files_writer(&s->files));
    next.round(next.context);
}

/* --- Opening ----------------------------------------------------------------------- */

static bool start_command(struct record_session *s, struct error *err)
{
    struct record_targets *t = &s->sampler_settings.targets;
    struct os_person person = os_invoking_person();
    if (!s->settings->command)
        return true;
    if (!os_child_prepare(&s->child, s->settings->command, &person, err))
        return false;
    if (t->everyone)
        return true;
    s->child_tid = (uint32_t)s->child.pid;
    t->tids = &s->child_tid;
    t->tid_count = 1;
    t->from_exec = s->settings->delay == 0;
    return true;
}

/* Where the tracepoint's bytes tell whom is woken: "field:pid_t pid;\toffset:24;". */
static size_t woken_at(struct str format)
{
    uint64_t at = 0;
    struct str rest = str_skip(format, str_search(format, STR("pid_t pid;")));
    rest = str_skip(rest, str_search(rest, STR("offset:")) + 7);
    return number_parse_u64(str_head(rest, str_find(rest, ';')), &at) ? (size_t)at : 0;
}

/* Adds the events that waits are told by. */
static bool add_off_cpu(struct record_session *s, struct error *err)
{
    struct record_events *events = &s->sampler_settings.events;
    char format[4096];
    if (!s->settings->off_cpu)
        return true;
    if (events->count + 2 > RECORD_EVENTS_MAX)
        return error_set(err, "there are more than %d events", RECORD_EVENTS_MAX);
    struct record_event switches = record_event_switches();
    s->sees_waits = perf_sampler_sees_kernel(&switches);
    if (!s->sees_waits)
        switches.exclude |= PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV;
    s->switches_event = events->count;
    events->items[events->count++] = switches;
    if (!s->settings->wakers)
        return true;
    struct record_event *wakings = &events->items[events->count];
    if (!record_event_tracepoint("sched:sched_waking", wakings, format, sizeof format,
                                 err))
        return false;
    wakings->of_everyone = true;
    s->woken_at = woken_at(str_of(format));
    s->wakings_event = events->count++;
    s->sampler_settings.more_fields = PERF_SAMPLE_RAW;
    return true;
}

/* What the file says of an event. */
static void describe(const struct record_session *s, size_t i, struct perf_file_event *e)
{
    if (s->unwinds)
        record_unwinder_attr(&e->attr);
    if (!s->settings->off_cpu)
        return;
    e->attr.sample_type &= ~PERF_SAMPLE_RAW;
    e->tracepoint = NULL;
    if (i == 0 || (i != s->switches_event && i != s->wakings_event))
        return;
    record_off_cpu_attr(&e->attr);
    e->name = i == s->switches_event ? PERF_OFF_CPU_EVENT : PERF_WAKER_EVENT;
    e->id_count = e->id_count ? 1 : 0;
    e->id_room = e->id_count;
}

/* The file has room for the ids of so many counters more, of CPUs that come. */
static size_t ids_to_come(void)
{
    return 4 * os_cpus_possible() + 16;
}

static bool describe_events(struct record_session *s, struct error *err)
{
    const struct record_events *events = &s->sampler_settings.events;
    size_t each = s->sampler.counter_count / events->count + ids_to_come();
    if (events->count == 1)
        each = 0; /* its records do not say whose they are */
    s->ids = calloc(each * events->count + 1, sizeof *s->ids);
    if (!s->ids)
        return error_memory(err);
    for (size_t i = 0; i < events->count; i++) {
        uint64_t *ids = s->ids + i * each;
        s->events[i] =
            (struct perf_file_event){.attr = s->sampler.attrs[i],
                                     .name = events->items[i].name,
                                     .tracepoint = events->items[i].tracepoint,
                                     .members = perf_sampler_members(&s->sampler, i),
                                     .ids = ids,
                                     .id_room = each};
        if (s->events[i].members)
            s->events[i].group = events->groups[events->items[i].group - 1].name;
        s->events[i].id_count = perf_sampler_ids(&s->sampler, i, ids, each);
        describe(s, i, &s->events[i]);
    }
    s->head = (struct perf_file_head){
        .events = s->events,
        .event_count = events->count,
        .command = s->settings->words,
        .command_count = s->settings->word_count,
        .packed = !s->settings->unpacked,
        .jit_maps = &s->jit_maps,
        .pack_level = s->settings->pack_level ? s->settings->pack_level : PACK_QUICK};
    return true;
}

static bool open_files(struct record_session *s, struct error *err)
{
    s->files_settings = s->settings->files;
    s->files_settings.owner = os_invoking_person();
    return record_files_open(&s->files, &s->files_settings, &s->head,
                             os_clock_monotonic(), err);
}

/* The ids of the counters by which waits are told, which are more when CPUs come. */
static void note_ids(struct record_session *s, size_t event, enum off_cpu_event what)
{
    size_t room = s->sampler.counter_count;
    uint64_t *ids = malloc((room + 1) * sizeof *ids);
    if (event && ids)
        record_off_cpu_ids(&s->off_cpu, what, ids,
                           perf_sampler_ids(&s->sampler, event, ids, room));
    free(ids);
}

static void note_off_cpu(struct record_session *s)
{
    note_ids(s, s->switches_event, OFF_CPU_SWITCHES);
    note_ids(s, s->wakings_event, OFF_CPU_WAKINGS);
}

static bool open_stages(struct record_session *s, struct error *err)
{
    struct record_sink next = {s, count_record, count_round};
    const struct record_layout *layout = &s->sampler.layout;
    if (s->settings->off_cpu) {
        if (!record_off_cpu_init(&s->off_cpu, layout, next, err))
            return false;
        s->off_cpu.woken_at = s->woken_at;
        note_off_cpu(s);
        next = record_off_cpu_sink(&s->off_cpu);
    }
    if (s->unwinds) {
        if (!record_unwinder_init(&s->unwinder, layout,
                                  s->sampler.attrs[0].user_registers,
                                  &s->settings->resolve, next, err))
            return false;
        next = record_unwinder_sink(&s->unwinder);
    }
    if (!record_tasks_init(&s->tasks, layout, next, err))
        return false;
    s->tasks.jit_maps = &s->jit_maps;
    s->deepest = deepest_stack(s);
    s->first = record_tasks_sink(&s->tasks);
    s->kernel_hidden = !record_tasks_add_kernel(&s->tasks);
    for (size_t i = 0; i < s->settings->pid_count; i++)
        record_tasks_add(&s->tasks, s->settings->pids[i]);
    return perf_data_writer_flush(record_files_writer(&s->files), err);
}

static uint64_t choose_tick(const struct record_settings *settings)
{
    uint64_t a_second = settings->sampler.rate * os_cpus_possible();
    if (!settings->counted || a_second == 0)
        return TICK;
    uint64_t tick = (uint64_t)COUNTED_AT_MOST * 1000 / a_second * MS;
    return tick < TICK_COUNTED ? tick : TICK_COUNTED;
}

/* What cannot be counted in the kernel is sampled as always. */
static bool open_sampler(struct record_session *s, struct error *err)
{
    struct perf_sampler_settings *set = &s->sampler_settings;
    s->tick = choose_tick(s->settings);
    if (s->settings->counted && s->settings->off_cpu)
        error_set(&s->why_not, "each wait (--off-cpu, --wakers) is told by itself");
    else if (s->settings->counted &&
             bpf_sampler_open(&s->bpf, set, s->tick, &s->why_not)) {
        set->program = s->bpf.counts.handle;
        if (perf_sampler_open(&s->sampler, set, &s->wait, &s->why_not)) {
            s->bpf.layout = s->bpf.maker.layout = &s->sampler.layout;
            return true;
        }
        perf_sampler_close(&s->sampler);
    }
    bpf_sampler_close(&s->bpf);
    set->program = 0;
    s->tick = TICK;
    return perf_sampler_open(&s->sampler, set, &s->wait, err);
}

bool record_session_open(struct record_session *s, const struct record_settings *settings,
                         struct error *err)
{
    *s = (struct record_session){.settings = settings,
                                 .sampler_settings = settings->sampler,
                                 .child = {.go = -1, .failed = -1}};
    s->unwinds = record_stacks_dumped(settings->sampler.stacks) && !settings->keep_dumps;
    return add_off_cpu(s, err) && os_wait_init(&s->wait, err) && start_command(s, err) &&
           open_sampler(s, err) && describe_events(s, err) && open_files(s, err) &&
           open_stages(s, err);
}

/* --- Running ----------------------------------------------------------------------- */

/* What is open stays open. */
static void drop_rights(const struct record_session *s, bool named)
{
    struct os_person person = os_invoking_person();
    unsigned kept = OS_RIGHT_LOOK;
    if (s->sampler_settings.targets.everyone)
        kept |= OS_RIGHT_COUNT;
    const struct record_files_settings *f = &s->settings->files;
    if (!named || s->settings->drawn_later || f->rotate || f->snapshot)
        kept |= OS_RIGHT_WRITE | (person.other ? OS_RIGHT_GIVE : 0);
    if (s->settings->command && person.other)
        kept |= OS_RIGHT_END;
    os_rights_keep(kept);
}

static bool begin(struct record_session *s, struct error *err)
{
    os_run_first(); /* a ring that is not emptied loses samples */
    drop_rights(s, false);
    if (s->settings->delay == 0)
        perf_sampler_enable(&s->sampler); /* of many threads, that takes its time */
    s->began = os_clock_monotonic();
    s->enable_at = s->settings->delay ? s->began + s->settings->delay : 0;
    if (s->settings->command && !os_child_go(&s->child, s->settings->command[0], err))
        return false; /* and what was recorded before stays under its name */
    bool ok = record_files_name(&s->files, err);
    drop_rights(s, true);
    return ok;
}

/* Milliseconds to the next thing that is to be done, rounded up. */
static int time_left(uint64_t now, uint64_t next, uint64_t deadline)
{
    uint64_t until = deadline && deadline < next ? deadline : next;
    return until > now ? (int)((until - now + MS - 1) / MS) : 0;
}

/* The rings were drained before. */
static bool drain_counted(struct record_session *s)
{
    s->broken = s->sampler_settings.program &&
                !bpf_sampler_drain(&s->bpf, &s->first, &s->why_not);
    return !s->broken;
}

static bool has_id(const struct perf_file_event *e, uint64_t id)
{
    for (size_t i = 0; i < e->id_count; i++)
        if (e->ids[i] == id)
            return true;
    return false;
}

/* New counters' ids, beside those of counters that are no more, whose records stay. */
static void add_ids(struct record_session *s, size_t event, uint64_t *room, size_t size)
{
    struct perf_file_event *e = &s->events[event];
    uint64_t *ids = s->ids + (e->ids - s->ids);
    size_t count = perf_sampler_ids(&s->sampler, event, room, size);
    for (size_t i = 0; i < count && e->id_count < e->id_room; i++)
        if (!has_id(e, room[i]))
            ids[e->id_count++] = room[i];
}

/* CPUs have come, or gone. */
static bool tell_counters(struct record_session *s, struct error *err)
{
    size_t size = s->sampler.counter_count;
    uint64_t *room = malloc((size + 1) * sizeof *room);
    if (s->settings->off_cpu)
        note_off_cpu(s);
    for (size_t i = 0; room && s->head.event_count > 1 && i < s->head.event_count; i++)
        add_ids(s, i, room, size);
    free(room);
    return perf_data_writer_tell_ids(record_files_writer(&s->files), err);
}

/* CPUs seldom come and go: they are looked for once in so many ticks. */
#define TICKS_OF_CPUS 2

/* What is done once in a while. */
static bool tick(struct record_session *s, struct error *err)
{
    s->ticks++;
    record_jit_maps_look(&s->jit_maps);
    if (!drain_counted(s))
        return false;
    if (s->sampler_settings.targets.everyone && s->ticks % TICKS_OF_CPUS == 0 &&
        perf_sampler_follow_cpus(&s->sampler) && !tell_counters(s, err))
        return false;
    if (s->settings->progress)
        s->settings->progress(s->settings->progress_context, s);
    return perf_data_writer_flush(record_files_writer(&s->files), err);
}

/* Whoever reads the next file, or has only this part of it, must know the tasks. All
 * that came before `drained` has been given. */
static bool next_file(struct record_session *s, uint64_t drained, struct error *err)
{
    if (!record_files_switch(&s->files, drained, err))
        return false;
    record_tasks_add_again(&s->tasks, drained);
    return true;
}

/* What the user asks for by a signal: the next file, or one of what led up to now. Where
 * that cannot be written, the recording goes on. */
static bool on_signal(struct record_session *s, uint64_t drained, struct error *err)
{
    const struct record_files_settings *f = &s->files_settings;
    if (!f->snapshot)
        return !f->rotate || next_file(s, drained, err);
    if (!drain_counted(s))
        return false;
    bool ok = record_files_snapshot(&s->files, err);
    if (s->settings->written)
        s->settings->written(s->settings->progress_context, s, ok ? NULL : err);
    return true;
}

static bool files_are_over(const struct record_session *s)
{
    return s->files.parts[s->files.now].writer.failed;
}

static uint64_t next_tick(const struct record_session *s, uint64_t now)
{
    uint64_t due = record_files_due_at(&s->files);
    uint64_t next = s->ticks < sizeof early / sizeof *early ? s->began + early[s->ticks]
                                                            : now + s->tick;
    return due && due < next ? due : next;
}

/* What was lost behind the last record that the rings had room for. */
static void tell_lost(struct record_session *s)
{
    struct record_maker *m = &s->tasks.maker;
    uint64_t lost = perf_sampler_lost(&s->sampler) + s->bpf.lost_told;
    if (lost <= s->counts.lost)
        return;
    record_begin(m, PERF_LOST, 0);
    record_put_u64(m, 0);
    record_put_u64(m, lost - s->counts.lost);
    struct record r = record_end(m, 0, 0, os_clock_monotonic());
    record_pass(&s->first, &r);
    s->first.round(s->first.context);
}

/* Begins to count where that was to be later; gives when there is something to be done, of
 * what is to be done at `next`, too. */
static uint64_t enable_late(struct record_session *s, uint64_t now, uint64_t next)
{
    if (s->enable_at && now >= s->enable_at) {
        perf_sampler_enable(&s->sampler);
        s->enable_at = 0;
    }
    return s->enable_at && s->enable_at < next ? s->enable_at : next;
}

bool record_session_run(struct record_session *s, struct error *err)
{
    /* a command's counters end before it does */
    unsigned over = OS_WAIT_STOP | (s->settings->command ? 0 : OS_WAIT_ALONE);
    bool ok = begin(s, err), ends = !ok;
    uint64_t now = s->began, next = now + early[0];
    uint64_t span = s->settings->duration + s->settings->delay;
    uint64_t deadline = s->settings->duration ? now + span : 0;
    s->deadline = deadline;
    while (!ends) {
        uint64_t first = enable_late(s, now, next);
        unsigned why = os_wait_for(&s->wait, time_left(now, first, deadline));
        uint64_t drained = os_clock_monotonic();
        perf_sampler_drain(&s->sampler, &s->first);
        now = os_clock_monotonic();
        s->asked = why & OS_WAIT_STOP || (deadline && now >= deadline) ||
                   record_files_full(&s->files);
        ends = s->asked || why & over || files_are_over(s) ||
               (why & OS_WAIT_CHILD && os_child_ended(&s->child));
        if (why & OS_WAIT_USER)
            ends |= !on_signal(s, drained, err);
        if (now < next)
            continue;
        ends |= !tick(s, err) ||
                (record_files_due(&s->files, now) && !next_file(s, drained, err));
        next = next_tick(s, now);
    }
    perf_sampler_disable(&s->sampler);
    s->ended = os_clock_monotonic();
    perf_sampler_drain(&s->sampler, &s->first);
    if (!s->broken)
        drain_counted(s);
    if (s->settings->off_cpu)
        record_off_cpu_end(&s->off_cpu, s->ended);
    tell_lost(s);
    return ok;
}

static void tell_wait(const struct record_session *s, const struct error *why)
{
    if (s->settings->waits)
        s->settings->waits(s->settings->progress_context, s, why);
}

/* What is not over by itself after so long is told of. */
#define WAIT_TOLD 1000 /* ms */

/* Ends the command where it still runs: asks first, and kills it once the user wants an
 * end once more. */
static void end_command(struct record_session *s)
{
    if (os_child_ended(&s->child) || !os_child_ask(&s->child))
        return;
    s->ended_command = true;
    for (bool told = false; !os_child_ended(&s->child);) {
        unsigned why = os_wait_for(&s->wait, told ? -1 : WAIT_TOLD);
        if (why & OS_WAIT_STOP)
            os_child_kill(&s->child);
        if (why || told)
            continue;
        tell_wait(s, NULL);
        told = true;
    }
}

/* The recording is at its end before its time: that is nothing to the command. */
static void leave_command(struct record_session *s, const struct error *why)
{
    if (s->child.pid == 0 || os_child_ended(&s->child))
        return;
    tell_wait(s, why);
    while (!os_child_ended(&s->child)) {
        uint64_t now = os_clock_monotonic();
        uint64_t left = s->deadline > now ? (s->deadline - now + MS - 1) / MS : 0;
        int most = s->deadline == 0 ? -1 : left < INT32_MAX ? (int)left : INT32_MAX;
        if (most == 0 || os_wait_for(&s->wait, most) & OS_WAIT_STOP)
            return;
    }
}

bool record_session_finish(struct record_session *s, struct error *err)
{
    perf_sampler_close(&s->sampler);
    bool ok = record_files_finish(&s->files, err);
    s->counts.named =
        record_jit_maps_take(&s->jit_maps, s->unwinder.no_file_of, s->unwinder.pid_limit);
    if (ok && s->broken) {
        *err = s->why_not;
        ok = false;
    }
    if (!ok && !s->asked)
        leave_command(s, err);
    end_command(s);
    s->command_status = s->child.status;
    return ok;
}

bool record_session_close(struct record_session *s, struct error *err)
{
    perf_sampler_close(&s->sampler);
    bpf_sampler_close(&s->bpf);
    end_command(s);
    record_tasks_deinit(&s->tasks);
    record_jit_maps_deinit(&s->jit_maps);
    record_unwinder_deinit(&s->unwinder);
    record_off_cpu_deinit(&s->off_cpu);
    free(s->ids);
    s->ids = NULL;
    os_wait_deinit(&s->wait);
    return record_files_close(&s->files, err);
}

const char *record_session_path(const struct record_session *s)
{
    return s->files.parts[s->files.now].file.path;
}

uint64_t record_session_bytes(const struct record_session *s)
{
    return record_files_bytes(&s->files);
}
