/* SPDX-License-Identifier: Apache-2.0 */
#include "record/session.h"
#include "os/machine.h"
#include "os/process_probe.h"
#include "os/rights.h"
#include "record/chain.h"
#include "record/used_time.h"
#include <stdlib.h>

#define MS ((uint64_t)1000000)
#define INTERVAL (750 * MS)

/* zstd level: the fastest one whose files are at most half as large as perf's. */
#define COMPRESSION_FASTEST (-1)

/* Times of the first collections, ns after the start: processes are read while they
 * exist. Later collections follow once per interval; after a second, the file has all
 * processes. */
static const uint64_t early[] = {20 * MS, 70 * MS, 200 * MS, 500 * MS};

struct record_session {
    const struct record_settings *settings;
    struct record_chain_settings chain_settings;
    struct os_process_probe *probe;
    struct record_chain chain;
    struct os_wait wait;
    struct os_child child;
    struct record_targets targets; /* from the settings, or the child */
    uint32_t child_tid;
    struct record_used_time used_time;
    struct record_jit_maps jit_maps;
    struct record_files_settings files_settings; /* from the settings, and the owner */
    struct record_files files;
    struct perf_file_head head;
    struct perf_file_event single; /* the event, if there is only one */
    struct record_maker lost_maker;
    size_t collections, cpus;
    uint64_t began, ended; /* ns */
    uint64_t enable_at;    /* when counters are enabled; 0: they are enabled */
    uint64_t end_at;       /* ns; 0: no limit */
    uint64_t collect_at,
        files_due; /* time of the next collection; the next time at which a file may be due */
    /* stacks of processes whose perf map is in the file, or is not because it is a stream */
    uint64_t jit_named, jit_left_out;
    bool requested; /* the recording ended by a signal, or by the settings */
    bool command_stopped;
    struct record_report closed; /* after it is closed */
    bool is_closed;
};

/* --- The report -------------------------------------------------------------------- */

/* Whether the command is the target; otherwise it sets the duration, as in perf record. */
static bool records_command(const struct record_session *s)
{
    const struct record_targets *t = &s->settings->sampler.targets;
    return s->settings->command && !t->everyone && t->tid_count == 0;
}

static void report_stacks(const struct record_session *s, struct record_stack_report *r)
{
    const struct unwinder_counts *u = &s->chain.unwinder.counts;
    uint64_t unnamed = u->no_file - s->jit_named - s->jit_left_out;
    uint64_t interpreted = record_chain_interpreted_code(&s->chain);
    *r = (struct record_stack_report){
        .unwound = u->stacks,
        .short_dumps = u->truncated,
        .switched = u->switched,
        .no_unwind_information = u->broken,
        .unwind_gaps = u->gaps,
        .jit_named = s->jit_named,
        .jit_left_out = s->jit_left_out,
        .unknown_code = unnamed > interpreted ? unnamed - interpreted : 0,
        .deep = s->chain.counts.deep,
        .frames_most = s->chain.frames_most,
        .kind = s->chain.sampler_settings.stacks,
        .dump_size = perf_sampler_least_dump(&s->chain.sampler_settings),
    };
    r->java_why = record_jit_maps_problem(&s->jit_maps, &r->java_unnamed);
}

static void report_files(const struct record_session *s, struct record_file_report *r)
{
    if (!s->files.settings)
        return; /* the counters were never opened */
    struct record_retained retained = record_files_retained(&s->files);
    *r = (struct record_file_report){
        .path = s->files.path,
        .base = s->files_settings.path,
        .samples = retained.samples,
        .bytes = retained.bytes,
        .first = record_files_first(&s->files),
        .last = s->files.number,
        .retired = s->files.retired,
        .rotated = s->files_settings.rotate && !s->files_settings.snapshot,
        .snapshots = s->files_settings.snapshot,
    };
}

static bool writer_failed(const struct record_session *s)
{
    return s->files.parts[s->files.now].writer.failed;
}

/* A notable difference of sampled and used CPU time: in standard deviations, and as a share. */
#define DEVIATIONS 4
#define NOTABLE_SHARE 0.85

/* Less was sampled than chance explains. Both are numbers of samples. */
static bool is_undersampled(double samples, double expected)
{
    double missing = expected - samples;
    return missing > 0 && missing * missing > DEVIATIONS * DEVIATIONS * expected &&
           samples < NOTABLE_SHARE * expected;
}

/* Whether the CPU time of the targets is known. That of a command is that of its processes that
 * ended. */
static bool used_time(const struct record_session *s, bool user_only, uint64_t *time)
{
    const struct os_child *c = &s->child;
    if (!records_command(s)) { /* these are not divided */
        *time = user_only ? 0 : record_used_time(&s->used_time);
        return *time != 0;
    }
    *time = c->user_time + (user_only ? 0 : c->kernel_time);
    return c->ended && !s->command_stopped && s->settings->delay == 0 &&
           !s->chain.sampler_settings.targets.cpus &&
           !s->chain.sampler_settings.targets.alone;
}

/* The CPU time of the targets, if all of it was sampled at a rate. */
static void report_time(const struct record_session *s, struct record_report *r)
{
    const struct perf_sampler_settings *set = &s->chain.sampler_settings;
    const struct record_event *e = &set->events.items[0];
    uint32_t rate = e->rate ? e->rate : e->period ? 0 : set->rate;
    uint64_t used;
    r->of_cpus = s->chain.sampler.of_cpus || set->targets.everyone;
    if (s->chain.failed || writer_failed(s) || rate == 0 ||
        rate > PERF_SAMPLER_OF_CPUS_RATE || set->events.count != 1 ||
        !perf_sampler_counts_time(e) || r->throttled ||
        (e->exclude & PERF_FLAG_EXCLUDE_USER) || !used_time(s, r->user_only, &used))
        return;
    r->used_time = used;
    r->used_rate = rate;
    r->undersampled = is_undersampled((double)(r->samples - r->idle + r->lost),
                                      (double)used / 1e9 * rate);
}

void record_session_report(const struct record_session *s, struct record_report *r)
{
    const struct record_settings *set = s->settings;
    const struct record_chain *c = &s->chain;
    const struct record_event *first = &c->sampler_settings.events.items[0];
    if (s->is_closed) {
        *r = s->closed;
        return;
    }
    *r = (struct record_report){
        .event = first->name,
        .event_count = set->sampler.events.count,
        .user_only = first->exclude & PERF_FLAG_EXCLUDE_KERNEL,
        .samples = c->counts.samples,
        .bytes = record_files_bytes(&s->files),
        .lost = c->counts.lost,
        .losses = record_chain_losses(c),
        .throttled = c->counts.throttled,
        .idle = c->counts.idle,
        .first = c->counts.first,
        .last = c->counts.last,
        .duration =
            s->began ? (s->ended ? s->ended : os_clock_monotonic()) - s->began : 0,
        .cpus = s->cpus,
        .kernel_hidden = c->kernel_hidden,
        .command = set->command ? set->command[0] : NULL,
        .command_pid = s->child.pid,
        .command_status = s->child.status,
        .command_stopped = s->command_stopped,
    };
    report_stacks(s, &r->stacks);
    report_time(s, r);
    report_files(s, &r->files);
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        record_chain_report(c, (enum event_source_id)i, &r->sources[i]);
}

static void report_progress(const struct record_session *s)
{
    struct record_report r;
    if (!s->settings->progress)
        return;
    record_session_report(s, &r);
    s->settings->progress(s->settings->context, &r);
}

static void report_snapshot(const struct record_session *s, const struct error *why_not)
{
    struct record_report r;
    if (!s->settings->snapshot)
        return;
    record_session_report(s, &r);
    s->settings->snapshot(s->settings->context, &r, why_not);
}

static void report_waiting(const struct record_session *s, const struct error *why)
{
    struct record_report r;
    if (!s->settings->waiting)
        return;
    record_session_report(s, &r);
    s->settings->waiting(s->settings->context, &r, why);
}

/* --- The output -------------------------------------------------------------------- */

static struct record_sink writer_sink(struct record_session *s)
{
    return perf_data_writer_sink(record_files_writer(&s->files));
}

/* perf reads lost records from LOST_SAMPLES records, which perf record adds at the
 * end. Here each LOST record of the kernel gets a LOST_SAMPLES record, so each file
 * and each part has its own. */
static void write_lost_samples(struct record_session *s, const struct record *lost)
{
    struct record_maker *m = &s->lost_maker;
    size_t trailer = s->chain.sampler.layout.trailer;
    if (lost->bytes.len < 24 + trailer)
        return;
    m->layout = &s->chain.sampler.layout;
    record_begin(m, PERF_LOST_SAMPLES, 0);
    record_put(m, lost->bytes.ptr + 16, lost->bytes.len - 16); /* including the trailer */
    struct record copy = record_end_bare(m, lost->time);
    struct record_sink next = writer_sink(s);
    record_pass(&next, &copy);
}

static void write_record(void *context, const struct record *r)
{
    struct record_session *s = context;
    if (r->type == PERF_LOST)
        write_lost_samples(s, r);
    struct record_sink next = writer_sink(s);
    record_pass(&next, r);
}

static void write_round(void *context)
{
    struct record_sink next = writer_sink(context);
    next.round(next.context);
}

/* --- Opening ----------------------------------------------------------------------- */

static bool start_command(struct record_session *s, struct error *err)
{
    struct os_user_ids user = os_invoking_user();
    if (!s->settings->command)
        return true;
    if (!os_child_prepare(&s->child, s->settings->command, &user, err))
        return false;
    if (!records_command(s))
        return true;
    s->child_tid = (uint32_t)s->child.pid;
    s->targets.tids = &s->child_tid;
    s->targets.tid_count = 1;
    s->targets.from_exec = s->settings->delay == 0;
    return true;
}

static bool open_chain(struct record_session *s, struct error *err)
{
    const struct record_settings *set = s->settings;
    s->jit_maps.request_java = set->request_java;
    s->jit_maps.probe = s->probe = os_process_probe_start();
    s->chain_settings = (struct record_chain_settings){.sampler = set->sampler,
                                                       .sources = set->sources,
                                                       .pids = set->pids,
                                                       .pid_count = set->pid_count,
                                                       .keep_dumps = set->keep_dumps,
                                                       .interval = INTERVAL,
                                                       .resolve = &set->resolve,
                                                       .jit_maps = &s->jit_maps,
                                                       .probe = s->probe};
    return record_chain_open(&s->chain, &s->chain_settings, &s->targets, &s->wait, err);
}

static bool open_files(struct record_session *s, struct error *err)
{
    const struct record_settings *set = s->settings;
    size_t count = record_chain_event_count(&s->chain);
    s->single = s->chain.events[0]; /* records of one event have no id */
    s->single.id_count = 0;
    s->head = (struct perf_file_head){.events = count == 1 ? &s->single : s->chain.events,
                                      .event_count = count,
                                      .command = set->words,
                                      .command_count = set->word_count,
                                      .packed = !set->uncompressed,
                                      .jit_maps = &s->jit_maps,
                                      .put_interpreters = record_chain_put_interpreters,
                                      .chain = &s->chain,
                                      .pack_level = set->compression_level
                                                        ? set->compression_level
                                                        : COMPRESSION_FASTEST};
    s->files_settings = set->files;
    s->files_settings.owner = os_invoking_user();
    return record_files_open(&s->files, &s->files_settings, &s->head,
                             os_clock_monotonic(), err);
}

struct record_session *record_session_create(const struct record_settings *settings,
                                             struct error *err)
{
    struct record_session *s = calloc(1, sizeof *s);
    if (!s) {
        error_memory(err);
        return NULL;
    }
    s->settings = settings;
    s->targets = settings->sampler.targets;
    s->child.go = s->child.failed = -1;
    s->wait.epoll = s->wait.signals = -1;
    return s;
}

bool record_session_open(struct record_session *s, struct error *err)
{
    struct record_sink output = {s, write_record, write_round};
    bool ok = s->settings->hosted ? os_wait_init_plain(&s->wait, err)
                                  : os_wait_init(&s->wait, err);
    if (!ok || !start_command(s, err))
        return false;
    if (!s->settings->hosted)
        os_run_first(); /* a full ring loses samples; the command has its own priority */
    if (!open_chain(s, err) || !open_files(s, err) ||
        !record_chain_start(&s->chain, output, err))
        return false;
    s->cpus = s->chain.sampler.ring_count;
    if (!records_command(s))
        record_used_time_open(&s->used_time, &s->targets);
    return perf_data_writer_flush(record_files_writer(&s->files), err);
}

/* --- Running ----------------------------------------------------------------------- */

/* Open files stay open. */
static void drop_rights(const struct record_session *s, bool named)
{
    struct os_user_ids user = os_invoking_user();
    unsigned needed = OS_RIGHT_READ;
    if (s->settings->hosted)
        return;
    if (s->targets.everyone)
        needed |= OS_RIGHT_COUNT;
    const struct record_files_settings *f = &s->settings->files;
    if (!named || s->settings->writes_later || f->rotate || f->snapshot)
        needed |= OS_RIGHT_WRITE | (user.other ? OS_RIGHT_CHOWN : 0);
    /* requests to JVMs of other users begin with a signal */
    if (s->settings->command ? user.other : s->jit_maps.request_java)
        needed |= OS_RIGHT_KILL;
    os_rights_restrict(needed);
}

/* The next collection after `now`. */
static uint64_t next_collection(const struct record_session *s, uint64_t now)
{
    uint64_t due = record_files_due_at(&s->files);
    uint64_t next = s->collections < sizeof early / sizeof *early
                        ? s->began + early[s->collections]
                        : now + s->chain.interval;
    return due && due < next ? due : next;
}

static void enable(struct record_session *s)
{
    if (!records_command(s))
        record_used_time_start(&s->used_time);
    perf_sampler_enable(&s->chain.sampler); /* takes a while for many threads */
}

bool record_session_start(struct record_session *s, struct error *err)
{
    const struct record_settings *set = s->settings;
    drop_rights(s, false);
    if (set->delay == 0)
        enable(s);
    s->began = os_clock_monotonic();
    s->enable_at = set->delay ? s->began + set->delay : 0;
    s->end_at = set->duration ? s->began + set->duration + set->delay : 0;
    s->chain.sampler.end = s->end_at; /* the stages may reach it later */
    s->collect_at = s->began + early[0];
    if (set->command && !os_child_start(&s->child, set->command[0], err)) {
        perf_sampler_disable(&s->chain.sampler);
        return false; /* a file with the name of the recording remains as it was */
    }
    bool ok = record_files_name(&s->files, err);
    drop_rights(s, true);
    return ok;
}

/* Starts the next file. Each file and each part must contain the processes. All
 * records before `drained` are written. */
static bool next_file(struct record_session *s, uint64_t drained)
{
    struct error ignored; /* the writer has stored it */
    if (!record_files_switch(&s->files, drained, &ignored))
        return false;
    record_tasks_add_again(&s->chain.tasks, drained);
    return true;
}

/* SIGUSR2 requests the next file, or a snapshot. If a snapshot cannot be written, the
 * recording continues. */
static bool on_signal(struct record_session *s, uint64_t drained)
{
    const struct record_files_settings *f = &s->files_settings;
    struct error why_not;
    if (!f->snapshot)
        return !f->rotate || next_file(s, drained);
    if (!record_chain_drain_sources(&s->chain))
        return false;
    bool ok = record_files_snapshot(&s->files, &why_not);
    report_snapshot(s, ok ? NULL : &why_not);
    return true;
}

/* The tasks of each interval. */
static bool collect(struct record_session *s, const struct record_turn *t)
{
    struct error ignored; /* the writer has stored it */
    struct perf_data_writer *w = record_files_writer(&s->files);
    s->collections++;
    if (!record_chain_collect(&s->chain))
        return false;
    report_progress(s);
    if (!perf_data_writer_flush(w, &ignored) ||
        (record_files_due(&s->files, t->now) && !next_file(s, t->drained)))
        return false;
    s->collect_at = next_collection(s, t->now);
    return true;
}

/* Samples after the end of the requested time are dropped: the CPU time that is read much later
 * cannot be compared. */
static bool ends_late(const struct record_session *s)
{
    return s->end_at && s->ended > s->end_at &&
           s->ended - s->end_at > (s->end_at - s->began) / 20;
}

/* No more samples follow: stages output the records that they hold. */
static void end(struct record_session *s)
{
    perf_sampler_disable(&s->chain.sampler);
    s->ended = os_clock_monotonic();
    if (!records_command(s) && s->enable_at == 0 && !ends_late(s))
        record_used_time_stop(&s->used_time);
    if (s->end_at && s->end_at < s->ended)
        s->ended = s->end_at;
    record_chain_finish(&s->chain, s->ended);
}

/* One turn of the loop: waits at most that long, then handles the events. */
static bool turn(struct record_session *s, int milliseconds)
{
    /* the counters of a command end before the command */
    unsigned over = OS_WAIT_STOP | (records_command(s) ? 0 : OS_WAIT_ALONE);
    struct record_turn t = record_chain_turn(&s->chain, milliseconds);
    s->requested = t.reasons & OS_WAIT_STOP || (s->end_at && t.now >= s->end_at) ||
                   record_files_full(&s->files);
    bool ends = s->requested || t.reasons & over || writer_failed(s) ||
                (t.reasons & OS_WAIT_CHILD && os_child_ended(&s->child));
    if (t.reasons & OS_WAIT_USER)
        ends |= !on_signal(s, t.drained);
    if (t.now >= s->collect_at)
        ends |= !collect(s, &t);
    if (s->enable_at && t.now >= s->enable_at) {
        enable(s);
        s->enable_at = 0;
    }
    if (ends)
        end(s);
    return !ends;
}

bool record_session_step(struct record_session *s)
{
    return turn(s, 0);
}

int record_session_fd(const struct record_session *s)
{
    return os_wait_fd(&s->wait);
}

uint64_t record_session_deadline(const struct record_session *s)
{
    uint64_t next = s->collect_at;
    if (s->enable_at && s->enable_at < next)
        next = s->enable_at;
    return s->end_at && s->end_at < next ? s->end_at : next;
}

bool record_session_run(struct record_session *s, struct error *err)
{
    if (!record_session_start(s, err))
        return false;
    while (turn(s, os_wait_left(record_session_deadline(s))))
        continue;
    return true;
}

/* --- The end ----------------------------------------------------------------------- */

/* A message follows if a command does not end within that time. */
#define WAIT_REPORTED 1000 /* ms */

/* Ends the command if it still runs: by a signal that it can handle, and by SIGKILL
 * when another signal requests the end. */
static void end_command(struct record_session *s)
{
    if (os_child_ended(&s->child) || !os_child_terminate(&s->child))
        return;
    s->command_stopped = true;
    for (bool reported = false; !os_child_ended(&s->child);) {
        unsigned why = os_wait_for(&s->wait, reported ? -1 : WAIT_REPORTED);
        if (why & OS_WAIT_STOP)
            os_child_kill(&s->child);
        if (why || reported)
            continue;
        report_waiting(s, NULL);
        reported = true;
    }
}

/* The recording cannot continue; the command continues until its end, or until the end
 * of the requested time. */
static void await_command(struct record_session *s, const struct error *why)
{
    if (s->child.pid == 0 || os_child_ended(&s->child))
        return;
    report_waiting(s, why);
    while (!os_child_ended(&s->child)) {
        uint64_t now = os_clock_monotonic();
        uint64_t left = s->end_at > now ? (s->end_at - now + MS - 1) / MS : 0;
        int most = s->end_at == 0 ? -1 : left < INT32_MAX ? (int)left : INT32_MAX;
        if (most == 0 || os_wait_for(&s->wait, most) & OS_WAIT_STOP)
            return;
    }
}

/* The recording states how much of the CPU time it has, if that is less than expected. */
static void note_time(struct record_session *s)
{
    struct record_report r;
    record_session_report(s, &r);
    if (!r.undersampled || s->settings->files.rotate)
        return;
    s->head.sampled_time = (r.samples - r.idle) * 1000000000 / r.used_rate;
    s->head.used_time = r.used_time;
}

bool record_session_finish(struct record_session *s, struct error *err)
{
    perf_sampler_close(&s->chain.sampler);
    /* A picture may be drawn in a child process, which must not be started while threads run. */
    os_process_probe_stop(s->probe);
    note_time(s);
    bool ok = record_files_finish(&s->files, err);
    const struct record_unwinder *u = &s->chain.unwinder;
    s->jit_named = record_jit_maps_count(&s->jit_maps, true, u->no_file_of, u->pid_limit);
    s->jit_left_out =
        record_jit_maps_count(&s->jit_maps, false, u->no_file_of, u->pid_limit);
    if (ok && s->chain.failed) {
        *err = s->chain.why;
        ok = false;
    }
    if (!ok && !s->requested)
        await_command(s, err);
    end_command(s);
    return ok;
}

bool record_session_close(struct record_session *s, struct error *err)
{
    if (s->is_closed)
        return true;
    perf_sampler_close(&s->chain.sampler);
    end_command(s);
    record_session_report(s, &s->closed);
    s->is_closed = true;
    record_chain_close(&s->chain);
    record_used_time_close(&s->used_time);
    os_wait_deinit(&s->wait);
    return record_files_close(&s->files, err);
}

void record_session_destroy(struct record_session *s)
{
    struct error ignored;
    if (!s)
        return;
    record_session_close(s, &ignored);
    record_jit_maps_deinit(&s->jit_maps); /* the report has texts of them */
    os_process_probe_destroy(s->probe);
    free(s);
}

const char *record_session_path(const struct record_session *s)
{
    return s->files.parts[s->files.now].file.path;
}

struct os_wait *record_session_wait(struct record_session *s)
{
    return &s->wait;
}
