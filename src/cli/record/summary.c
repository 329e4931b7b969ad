/* SPDX-License-Identifier: Apache-2.0 */
/* What stoke record says of a recording: how it comes on, what there is of it, and what
 * to be careful about. */
#include "cli/record/summary.h"
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

static double seconds(const struct record_session *s, uint64_t until)
{
    return (double)(until - s->began) / NS;
}

void record_tell_progress(const struct record_session *s)
{
    double time = seconds(s, os_clock_monotonic());
    char size[32];
    message_progress_line("%.0f s, %llu samples, %.0f a second, %llu lost, %s; "
                          "Ctrl-C ends",
                          time, (unsigned long long)s->counts.samples,
                          time > 0 ? (double)s->counts.samples / time : 0,
                          (unsigned long long)s->counts.lost,
                          record_size_text(record_session_bytes(s), size));
}

/* A share of what was counted; nothing is said of what is less than a thousandth. */
static bool is_told(uint64_t part, uint64_t all, double *share)
{
    *share = all ? 100 * (double)part / (double)all : 0;
    return *share >= 0.1;
}

static void tell_stacks(const struct record_session *s)
{
    const struct unwinder_counts *u = &s->unwinder.counts;
    const struct record_counts *c = &s->counts;
    double share;
    if (u->truncated)
        message_note("%.1f%% of the stacks are truncated: their outer frames are not in "
                     "the dump (-g %s,%u takes more of the stack)",
                     100 * (double)u->truncated / (double)u->stacks,
                     sampling_stack_names[s->sampler_settings.stacks],
                     4 * s->sampler_settings.dump_size < SAMPLING_DUMP_MOST
                         ? 4 * s->sampler_settings.dump_size
                         : SAMPLING_DUMP_MOST);
    if (c->deep)
        message_note("%.1f%% of the stacks are truncated: the kernel follows %llu frames "
                     "at most (sysctl kernel.perf_event_max_stack)",
                     100 * (double)c->deep / (double)c->samples,
                     (unsigned long long)s->deepest);
    if (is_told(u->broken, u->stacks, &share))
        message_note("%.1f%% of the stacks could not be followed to their ends: there is "
                     "code that tells nothing of its callers",
                     share);
    if (is_told(c->named, u->stacks, &share))
        message_note("%.1f%% of the stacks end in a JIT's code: the names that it gave, "
                     "in /tmp/perf-PID.map, are in the recording",
                     share);
    if (is_told(u->no_file - c->named, u->stacks, &share))
        message_note("%.1f%% of the stacks end in unknown code, which is in no file: a "
                     "JIT's, of which there is no /tmp/perf-PID.map",
                     share);
}

static void tell_cautions(const struct record_session *s)
{
    const struct record_counts *c = &s->counts;
    const struct record_events *events = &s->sampler_settings.events;
    double share;
    if (c->samples == 0)
        message_note("there are no samples: nothing ran, or not for long enough (-F)");
    if (c->lost)
        message_note("%llu records (%.2f%%) were lost: the rings were full; sample less "
                     "often (-F), or take larger ones (-m)",
                     (unsigned long long)c->lost,
                     100 * (double)c->lost / (double)(c->lost + c->samples));
    tell_stacks(s);
    if (s->settings->off_cpu && !s->sees_waits)
        message_note("waits have no stacks: that takes root, CAP_PERFMON, or "
                     "kernel.perf_event_paranoid at 1 or less");
    if (s->off_cpu.failed)
        message_note("memory was short: some waits are missing");
    if (is_told(c->idle, c->samples, &share))
        message_note("%.1f%% of the samples are of CPUs that had nothing to do", share);
    if (c->throttled)
        message_note("the kernel held sampling back %llu times: the rate was less than "
                     "asked for (sysctl kernel.perf_event_max_sample_rate)",
                     (unsigned long long)c->throttled);
    if (s->kernel_hidden && !(events->items[0].exclude & PERF_FLAG_EXCLUDE_KERNEL))
        message_note("the system hides the kernel's addresses (sysctl %s): its functions "
                     "will have no names",
                     os_kernel_hidden_by());
}

/* Which files there are, where it is not the one that was named. */
static void tell_files(const struct record_session *s)
{
    const struct record_files *f = &s->files;
    uint32_t first = record_files_first(f);
    if (f->retired)
        message_note("%zu file%s of an earlier recording %s named %s.N.old now",
                     f->retired, f->retired == 1 ? "" : "s",
                     f->retired == 1 ? "is" : "are", f->settings->path);
    if (f->settings->snapshot && f->number)
        message_note("and %u before it, %s.1 to .%u: each has what led up to it, so that "
                     "they overlap",
                     f->number, f->settings->path, f->number);
    else if (f->settings->rotate && f->number > first)
        message_note("from %s.%u on: stoke takes several at once", f->settings->path,
                     first);
}

/* What is in the files where that is not all that was sampled. */
static void tell_kept(const struct record_session *s, uint64_t sampled,
                      const struct record_kept *kept)
{
    if (s->files.settings->snapshot)
        message_note("%llu were sampled in all", (unsigned long long)sampled);
    else if (s->files.settings->rotate)
        message_note("%llu were sampled in all: the files before are gone",
                     (unsigned long long)sampled);
    else
        message_note("%llu samples more could not be written",
                     (unsigned long long)(sampled - kept->samples));
}

void record_tell_summary(const struct record_session *s, bool drawn)
{
    const struct record_events *events = &s->sampler_settings.events;
    const struct off_cpu_counts *waits = &s->off_cpu.counts;
    struct record_kept kept = record_files_kept(&s->files);
    char size[32];
    size_t sampled = events->count - (s->switches_event > 0) - (s->wakings_event > 0);
    bool all = kept.samples == s->counts.samples;
    uint64_t of_waits = all ? waits->waits + waits->wakers : 0;
    message_note("%llu samples of %s%s in %.1f s%s%s%s%s%s",
                 (unsigned long long)(kept.samples - of_waits), events->items[0].name,
                 sampled > 1 || (of_waits == 0 && waits->waits) ? " and others" : "",
                 seconds(s, s->ended),
                 s->sampler_settings.program ? ", counted in the kernel" : "",
                 drawn ? "" : ", ", drawn ? "" : record_size_text(kept.bytes, size),
                 drawn ? "" : " in ", drawn ? "" : s->files.path);
    if (!all)
        tell_kept(s, s->counts.samples, &kept);
    tell_files(s);
    if (s->settings->off_cpu)
        message_note("%llu waits of %.3f s in all (the event off-cpu)",
                     (unsigned long long)waits->waits, (double)waits->nanoseconds / NS);
    if (s->ended_command)
        message_note("'%s' still ran, and was ended", s->settings->command[0]);
    tell_cautions(s);
}
