/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/summary.h"
#include "analysis/losses.h"
#include "base/format.h"
#include "cli/message.h"
#include "cli/options/sampling.h"
#include "os/machine.h"

#define NS 1e9

const char *record_size_text(uint64_t bytes, char room[32])
{
    if (bytes < 1000000)
        format_text(room, 32, "%.1f kB", (double)bytes / 1e3);
    else
        format_text(room, 32, "%.1f MB", (double)bytes / 1e6);
    return room;
}

void record_show_progress(const struct record_report *r)
{
    double time = (double)r->duration / NS;
    char size[32];
    message_progress_line("%.0f s, %llu samples, %.0f per second, %llu lost, %s; "
                          "Ctrl-C ends",
                          time, (unsigned long long)r->samples,
                          time > 0 ? (double)r->samples / time : 0,
                          (unsigned long long)r->lost, record_size_text(r->bytes, size));
}

/* In percent; smaller shares are not printed. */
static bool is_notable(uint64_t part, uint64_t all, double *share)
{
    *share = all ? 100 * (double)part / (double)all : 0;
    return *share >= 0.1;
}

static void print_short_dumps(const struct record_report *r)
{
    const struct record_stack_report *s = &r->stacks;
    char advice[64] = "";
    uint32_t larger = 4 * s->dump_size;
    bool by_size = r->losses.short_dumps < s->short_dumps / 2;
    if (by_size && s->dump_size < SAMPLING_DUMP_MOST)
        format_text(advice, sizeof advice, " (-g %s,%u dumps more)",
                    sampling_stack_names[s->kind],
                    larger < SAMPLING_DUMP_MOST ? larger : SAMPLING_DUMP_MOST);
    message_note("%.1f%% of stacks are truncated: their outer frames are not in the "
                 "dump%s",
                 100 * (double)s->short_dumps / (double)s->unwound, advice);
}

static void print_stacks(const struct record_report *r)
{
    const struct record_stack_report *s = &r->stacks;
    double share;
    char why[LOSS_LINE_MAX];
    if (s->short_dumps)
        print_short_dumps(r);
    if (is_notable(s->switched, s->unwound, &share))
        message_note("%.1f%% of stacks are truncated: their callers are on another stack "
                     "(of a goroutine), which the dump does not contain (-g fp follows "
                     "Go's frame pointers)",
                     share);
    if (s->deep)
        message_note("%.1f%% of stacks are truncated: the kernel unwinds %llu frames at "
                     "most (sysctl kernel.perf_event_max_stack)",
                     100 * (double)s->deep / (double)r->samples,
                     (unsigned long long)s->frames_most);
    if (is_notable(s->no_unwind_information, s->unwound, &share) &&
        losses_unwind_gaps(&s->unwind_gaps, why))
        message_note("%.1f%% of stacks are truncated: %s", share, why);
    if (is_notable(s->jit_named, s->unwound, &share))
        message_note(
            "%.1f%% of stacks end in JIT code: the recording contains its names, "
            "from /tmp/perf-PID.map",
            share);
    if (s->java_unnamed)
        message_note("no names of compiled code from %llu Java virtual machine%s: %s",
                     (unsigned long long)s->java_unnamed, s->java_unnamed == 1 ? "" : "s",
                     s->java_why);
    if (is_notable(s->jit_left_out, s->unwound, &share))
        message_note(
            "%.1f%% of stacks end in JIT code, whose names are not in a pipe: read it "
            "here while /tmp/perf-PID.map exists, or record to a file (-o FILE)",
            share);
    if (is_notable(s->unknown_code, s->unwound, &share))
        message_note("%.1f%% of stacks end in unknown code that is in no file: JIT code "
                     "without /tmp/perf-PID.map",
                     share);
}

/* "1 wait", "2 waits": all names of items end in s. */
static const char *count_text(uint64_t count, const char *items, char room[64])
{
    int length = (int)strlen(items) - (count == 1);
    format_text(room, 64, "%llu %.*s", (unsigned long long)count, length, items);
    return room;
}

/* The results of the event sources, or why they recorded nothing. */
static void print_sources(const struct record_report *r)
{
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++) {
        const struct event_source *source = event_sources[i];
        const struct event_source_report *s = &r->sources[i];
        char room[64];
        if (!s->active || !source->event)
            continue;
        if (source->timed)
            message_note("%s of %.3f s in total (event %s)",
                         count_text(s->items, source->items, room), (double)s->sum / NS,
                         source->event);
        else
            message_note("%s (event %s)", count_text(s->items, source->items, room),
                         source->event);
    }
}

static void print_source_cautions(const struct record_report *r)
{
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++) {
        const char *items = event_sources[i]->items ? event_sources[i]->items : "samples";
        if (r->sources[i].no_stacks)
            message_note("%s have no stacks: these need root, CAP_PERFMON, or "
                         "kernel.perf_event_paranoid at 1 or less",
                         items);
        if (r->sources[i].incomplete)
            message_note("not enough memory: some %s are missing", items);
    }
}

static void print_undersampled(const struct record_report *r)
{
    message_note("sampled %.2f s of %.2f s CPU time%s",
                 (double)(r->samples - r->idle) / r->used_rate, (double)r->used_time / NS,
                 r->of_cpus ? ": the machine was too busy, another user of the counters "
                              "had priority, or programs ran with other rights (setuid)"
                            : ": threads that run for less than a sampling period are "
                              "missed, and programs with other rights (setuid); root, "
                              "CAP_PERFMON or kernel.perf_event_paranoid "
                              "at 0 or less prevents it, a higher rate (-F) reduces it");
}

/* `why` is what was full, and what the user can do. */
static void print_lost(const struct record_report *r, uint64_t lost, const char *why)
{
    if (lost)
        message_note("%llu records (%.2f%%) were lost because %s",
                     (unsigned long long)lost,
                     100 * (double)lost / (double)(r->lost + r->samples), why);
}

static void print_losses(const struct record_report *r)
{
    const struct record_losses *l = &r->losses;
    print_lost(r, l->by_rings,
               "rings of the kernel were full: sample less often (-F), or use larger "
               "rings (-m)");
    print_lost(r, l->by_queues,
               "stoke fell behind (a slow disk, or a busy machine): sample less often "
               "(-F), or use larger queues (-m)");
    print_lost(r, l->by_sources,
               "tables in the kernel were full: sample less often (-F)");
    if (l->short_dumps)
        message_note("%llu stack dumps were shortened, because stoke fell behind (a slow "
                     "disk, or a busy machine): outer frames of these stacks may be "
                     "missing",
                     (unsigned long long)l->short_dumps);
    if (l->dump_limit)
        message_note("stack dumps of context switches and other events without a rate "
                     "were limited to %u bytes, because there were too many for the "
                     "rings: outer frames of these stacks may be missing",
                     l->dump_limit);
}

static void print_cautions(const struct record_report *r)
{
    double share;
    if (r->undersampled)
        print_undersampled(r);
    else if (r->samples == 0)
        message_note("no samples: nothing ran, or not for long enough (-F)");
    print_losses(r);
    print_stacks(r);
    print_source_cautions(r);
    if (is_notable(r->idle, r->samples, &share))
        message_note("%.1f%% of samples are of idle CPUs", share);
    if (r->throttled)
        message_note("the kernel throttled sampling %llu times: the rate was lower than "
                     "requested (sysctl kernel.perf_event_max_sample_rate)",
                     (unsigned long long)r->throttled);
    if (r->kernel_hidden && !r->user_only)
        message_note("the system hides kernel addresses (sysctl %s): kernel functions "
                     "will have no names",
                     os_kernel_hidden_by());
}

static void print_files(const struct record_file_report *f)
{
    if (f->retired)
        message_note("%zu file%s of an earlier recording renamed to %s.N.old", f->retired,
                     f->retired == 1 ? "" : "s", f->base);
    if (f->snapshots && f->last)
        message_note("and %u snapshot%s before it, %s.1 to .%u; they overlap", f->last,
                     f->last == 1 ? "" : "s", f->base, f->last);
    else if (f->rotated && f->last > f->first)
        message_note("from %s.%u on: stoke reads several files at once", f->base,
                     f->first);
}

/* The reasons why the files do not contain all samples. */
static void print_missing(const struct record_report *r)
{
    unsigned long long sampled = r->samples;
    if (r->files.snapshots)
        message_note("%llu samples in total", sampled);
    else if (r->files.rotated)
        message_note("%llu samples in total: older files were removed", sampled);
    else
        message_note("%llu samples could not be written", sampled - r->files.samples);
}

/* Samples that event sources made. */
static uint64_t samples_of_sources(const struct record_report *r)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
        samples += r->sources[i].samples;
    return samples;
}

void record_print_summary(const struct record_report *r, uint32_t rate, bool drawn)
{
    char size[32], count[64], at[32] = "";
    bool all = r->files.samples == r->samples;
    uint64_t by_sources = samples_of_sources(r), own = r->files.samples;
    bool others = r->event_count > 1 || (!all && by_sources);
    if (rate)
        format_text(at, sizeof at, " at %u Hz", rate);
    message_note("%s of %s%s in %.1f s%s%s%s%s%s%s",
                 count_text(all ? own - by_sources : own, "samples", count), r->event,
                 others ? " and others" : "", (double)r->duration / NS, at,
                 r->sources[EVENT_SOURCE_bpf].active ? ", counted in the kernel" : "",
                 drawn ? "" : ", ", drawn ? "" : record_size_text(r->files.bytes, size),
                 drawn ? "" : " in ", drawn ? "" : r->files.path);
    if (!all)
        print_missing(r);
    print_files(&r->files);
    print_sources(r);
    if (r->command_stopped)
        message_note("'%s' still ran, and was stopped", r->command);
    print_cautions(r);
}
