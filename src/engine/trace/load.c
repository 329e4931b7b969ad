/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/trace/load.h"
#include "base/format.h"
#include "base/number.h"
#include "base/qemu_format.h"
#include "codec/decode.h"
#include "engine/trace/binaries.h"
#include "os/file.h"
#include "os/file_lock.h"
#include "os/thread_pool.h"
#include <stdlib.h>

/* --- One trace ---------------------------------------------------------------------- */

/* The part of a trace in one binary: see struct trace_known. */
struct share {
    uint64_t instructions, described, differing;
};

struct job {
    const char *path;
    struct builder builder;
    struct error err;
    uint64_t instructions, left_out;
    /* the trigger of the recording, according to the trace */
    struct trace_trigger recorded;
    struct trace_report report; /* of all its cores */
    struct share *shares;       /* by binary */
    bool *switched;             /* by --switch: the function ran */
    bool truncated;
    bool is_growing; /* the guest still runs */
    bool ok;
};

struct jobs {
    const struct trace_load *settings;
    const struct engine_report *report; /* silent if the settings are quiet */
    struct trace_files *files;
    const char *const *switches;
    struct trace_trigger trigger;
    enum demangle demangle;
    struct job *items;
    size_t count, next; /* next is atomic */
};

/* TRACEFILE-C3 is the trace of core 3. */
static int64_t core_of(const char *path)
{
    struct str name = str_basename(str_of(path));
    uint64_t core;
    size_t at = str_rsearch(name, STR("-C")), end = at + 2;
    if (at == name.len)
        return 0;
    while (end < name.len && byte_is_digit(name.ptr[end]))
        end++;
    struct str digits = str_head(str_skip(name, at + 2), end - at - 2);
    return number_parse_u64(digits, &core) && core < 1u << 20 ? (int64_t)core : 0;
}

static void add_report(struct trace_report *sum, const struct trace_report *r)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)r;
    uint64_t deepest = sum->deepest > r->deepest ? sum->deepest : r->deepest;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
    sum->deepest = deepest;
}

static void add_shares(struct job *job, const struct trace_files *files,
                       const struct trace_code *code)
{
    for (uint32_t i = 1; i < code->known_count; i++) {
        const struct trace_known *k = &code->known[i];
        size_t at = (size_t)(k->binary - files->binaries);
        if (k->binary < files->binaries || at >= files->count)
            continue; /* named in the trace */
        job->shares[at].instructions += k->instructions;
        job->shares[at].described += k->described;
        job->shares[at].differing += k->differing;
    }
}

/* Finds the functions of --switch that ran. */
static void add_switches(struct job *job, const struct trace_load *s,
                         const struct trace_code *code)
{
    for (size_t i = 0; i < code->function_count; i++)
        for (size_t k = 0; k < s->switches.count; k++)
            job->switched[k] |=
                (code->functions[i].flags & TRACE_FUNCTION_SWITCH) &&
                str_equal(code->functions[i].name, str_of(s->switches.items[k]));
}

static bool read_source(const struct jobs *jobs, struct job *job, struct source *in)
{
    const struct trace_load *s = jobs->settings;
    struct trace_reader_options options = {.binaries = jobs->files->binaries,
                                           .binary_count = jobs->files->count,
                                           .keeps = s->keep,
                                           .ipc = (unsigned)s->ipc,
                                           .core = core_of(job->path),
                                           .trigger = jobs->trigger,
                                           .switches = jobs->switches,
                                           .find = trace_files_find,
                                           .find_context = jobs->files};
    struct trace_reader *r = malloc(sizeof *r);
    job->shares = calloc(jobs->files->count + 1, sizeof *job->shares);
    job->switched = calloc(s->switches.count + 1, sizeof *job->switched);
    if (!r || !job->shares || !job->switched) {
        free(r);
        return error_memory(&job->err);
    }
    trace_reader_init(r, in, &options);
    bool ok = trace_read(r, s->format, &job->err);
    job->instructions = ok ? trace_reader_instructions(r) : 0;
    job->left_out = trace_reader_left_out(r);
    job->recorded = r->recorded;
    ok = ok && trace_reader_finish(r, &job->builder, jobs->demangle, &job->err);
    for (size_t i = 0; ok && i < r->core_count; i++) {
        add_report(&job->report, &r->cores[i]->tracer.report);
        add_shares(job, jobs->files, &r->cores[i]->tracer.code);
        add_switches(job, s, &r->cores[i]->tracer.code);
    }
    trace_reader_deinit(r);
    free(r);
    return ok;
}

static bool read_trace(const struct jobs *jobs, struct job *job)
{
    struct os_input input;
    struct decoder d;
    os_file_wait_for_writer(job->path, QEMU_LOCK_WRITER, QEMU_LOCK_GUEST);
    job->is_growing = os_file_is_locked(job->path, QEMU_LOCK_GUEST);
    if (!builder_init(&job->builder, jobs->settings->keep ? BUILD_KEEP : BUILD_COUNT))
        return error_memory(&job->err);
    if (!os_input_open(&input, job->path, &job->err))
        return false;
    struct source raw = os_input_source(&input);
    bool ok = decoder_init(&d, &raw, &job->err);
    if (ok) {
        ok = read_source(jobs, job, &d.source);
        if (ok && d.flaw)
            builder_warn_offset(&job->builder, d.flaw, d.in);
        decoder_deinit(&d);
    }
    job->truncated = os_input_was_truncated(&input);
    source_deinit(&raw);
    os_input_close(&input);
    return ok;
}

static void read_traces(void *context, unsigned thread)
{
    struct jobs *jobs = context;
    (void)thread;
    for (;;) {
        size_t i = __atomic_fetch_add(&jobs->next, 1, __ATOMIC_RELAXED);
        if (i >= jobs->count)
            return;
        struct job *job = &jobs->items[i];
        job->err.location = LOCATION_NONE;
        job->ok = read_trace(jobs, job);
    }
}

/* --- All traces -------------------------------------------------------------------- */

static bool no_instructions(const struct jobs *jobs, const struct job *job,
                            struct error *err)
{
    char text[120];
    if (job->left_out) {
        trace_trigger_say(&jobs->trigger, text, sizeof text);
        error_set(err, "the trigger never fired in %llu instructions (%s)",
                  (unsigned long long)job->left_out, text);
        return error_hint(err, "a trace that was recorded with it needs no --selector or "
                               "--config");
    }
    const struct trace_trigger *t =
        job->recorded.selector ? &job->recorded : &jobs->trigger;
    if (t->selector) {
        trace_trigger_say(t, text, sizeof text);
        error_set(err, "the trigger never fired: the trace is empty (%s)", text);
        return error_hint(err, "the guest must reach the start of the trigger");
    }
    error_set(err, "there are no instructions in the trace");
    return error_hint(err, "the trigger may never have fired: see 'selector', 'start' "
                           "and 'end' of the run");
}

/* An empty trace, or the trace of another program, has no stacks: the error contains the
 * reason. */
static bool check(const struct jobs *jobs, const struct job *job, struct error *err)
{
    const struct trace_report *r = &job->report;
    if (job->instructions == 0)
        return no_instructions(jobs, job, err);
    if (r->unknown < r->instructions || jobs->files->count == 0)
        return true;
    error_set(err, "none of the %llu addresses is in %.*s%s",
              (unsigned long long)job->instructions,
              STR_ARG(jobs->files->binaries[0].name),
              jobs->files->count > 1 ? ", or in another given binary" : "");
    return error_hint(err, "--dwarf needs the binary that the core executed");
}

/* With this share of wrong steps, the binary is a different build. */
#define OTHER_BUILD 0.01

static void note_binary(const struct engine_report *report, const struct job *job,
                        const struct trace_binary *b, const struct share *s)
{
    if (s->instructions == 0)
        engine_note(report, "%s: none of the instructions is in %.*s", job->path,
                    STR_ARG(b->name));
    else if ((double)s->differing > OTHER_BUILD * (double)s->described)
        engine_note(report,
                    "%s: %.1f%% of the instructions in the trace are others in %.*s: is "
                    "it the binary that ran?",
                    job->path, 100.0 * (double)s->differing / (double)s->described,
                    STR_ARG(b->name));
}

/* Reports the parts of the trace that the binaries do not explain, and these
 * binaries. */
static void note_binaries(const struct jobs *jobs, const struct job *job)
{
    const struct trace_report *r = &job->report;
    const struct trace_files *files = jobs->files;
    double all = (double)r->instructions, share = 100.0 * (double)r->unknown / all;
    if (share >= 0.05)
        engine_note(jobs->report,
                    "%s: %.1f%% of the instructions are in no binary that was given "
                    "(--dwarf, --user): they are shown as [user], [firmware] and "
                    "[kernel]",
                    job->path, share);
    for (size_t i = 0; i < files->count; i++)
        note_binary(jobs->report, job, &files->binaries[i], &job->shares[i]);
    double wrong = (double)(r->jumps + r->unmatched);
    if (wrong > OTHER_BUILD * all && files->count > 0)
        engine_note(jobs->report,
                    "%s: %.1f%% of the instructions do not follow from those before, as "
                    "the code of %.*s has it: is it the binary that ran?",
                    job->path, 100.0 * wrong / all, STR_ARG(files->binaries[0].name));
}

/* Reports the part of the stacks that is not in the trace. */
static void note_inferred(const struct engine_report *report, const struct job *job)
{
    const struct trace_report *r = &job->report;
    uint64_t inferred = r->callers + r->unwound + r->resumed;
    uint64_t repaired = r->unmatched + r->jumps + r->astray + r->too_deep;
    if (repaired)
        engine_note(report,
                    "%s: in %llu instructions, stacks were repaired %llu times, and data "
                    "was inferred %llu times: 'stoke info' shows more",
                    job->path, (unsigned long long)r->instructions,
                    (unsigned long long)repaired, (unsigned long long)inferred);
}

/* The other cores are read although this one executed nothing. */
static bool is_left_out(const struct jobs *jobs, const struct job *job)
{
    struct error err = {.location = LOCATION_NONE};
    bool others = false;
    for (size_t i = 0; i < jobs->count; i++)
        others |= jobs->items[i].ok && jobs->items[i].instructions;
    if (!job->ok || job->instructions || !others)
        return false;
    no_instructions(jobs, job, &err);
    engine_note(jobs->report, "%s: %s", job->path, err.message);
    return true;
}

/* If no function with this name ran, the name is misspelled or belongs to another
 * binary. */
static void note_switches(const struct jobs *jobs)
{
    const struct trace_load *s = jobs->settings;
    for (size_t k = 0; k < s->switches.count; k++) {
        bool ran = false;
        for (size_t i = 0; i < jobs->count; i++)
            ran |= jobs->items[i].switched && jobs->items[i].switched[k];
        if (!ran)
            engine_note(jobs->report,
                        "--switch %s has no effect: no function of this name runs in "
                        "the trace",
                        s->switches.items[k]);
    }
}

static bool merge(struct jobs *jobs, struct builder *b, struct error *err)
{
    for (size_t i = 0; i < jobs->count; i++) {
        struct job *job = &jobs->items[i];
        if (is_left_out(jobs, job))
            continue;
        if (!job->ok)
            *err = job->err;
        bool ok = job->ok && check(jobs, job, err);
        if (!ok) {
            if (err->file[0] == 0)
                format_text(err->file, sizeof err->file, "%s", job->path);
            return err->message[0] ? false : error_memory(err);
        }
        if (job->is_growing)
            engine_note(
                jobs->report,
                "%s: the guest still runs: the trace ends at its current instruction",
                job->path);
        if (job->truncated && jobs->settings->result)
            jobs->settings->result->truncated = true;
        note_binaries(jobs, job);
        note_inferred(jobs->report, job);
        builder_absorb(b, &job->builder);
    }
    note_switches(jobs);
    return true;
}

static struct profile *load_jobs(struct jobs *jobs, struct error *err)
{
    struct builder b;
    uint64_t limit =
        jobs->settings->threads > 0 ? (uint64_t)jobs->settings->threads : os_core_count();
    unsigned threads = jobs->count < limit ? (unsigned)jobs->count : (unsigned)limit;
    if (!builder_init(&b, jobs->settings->keep ? BUILD_KEEP : BUILD_COUNT)) {
        builder_deinit(&b);
        error_memory(err);
        return NULL;
    }
    os_parallel(threads, read_traces, jobs);
    bool ok = merge(jobs, &b, err);
    struct profile *p = NULL;
    if (ok) {
        b.profile->facts.format = builder_string(&b, STR("trace"));
        p = builder_finish(&b, err);
    }
    builder_deinit(&b);
    return p;
}

struct profile *engine_load_traces(const struct trace_load *s, int file_count,
                                   char **files, const struct engine_report *report,
                                   struct error *err)
{
    struct symbols symbols = {0};
    struct trace_files opened = {0};
    struct jobs jobs = {.settings = s,
                        .report = s->quiet ? &engine_silent : report,
                        .files = &opened,
                        .count = (size_t)file_count};
    struct profile *p = NULL;
    const char **switches = calloc(s->switches.count + 1, sizeof *switches);
    jobs.items = calloc(jobs.count, sizeof *jobs.items);
    bool ok = (jobs.items && switches) || error_memory(err);
    for (size_t i = 0; switches && i < s->switches.count; i++)
        switches[i] = s->switches.items[i];
    ok = ok && trace_trigger_read(&jobs.trigger, &s->trigger, jobs.report, err);
    ok = ok && symbols_init(&symbols, &s->symbols, false, s->threads, err);
    ok = ok && trace_files_open(&opened, &s->binaries, &s->users, s->symbols.kallsyms,
                                &symbols.settings, err);
    if (ok && jobs.items) {
        jobs.switches = s->switches.count ? switches : NULL;
        jobs.demangle = symbols.settings.demangle;
        for (size_t i = 0; i < jobs.count; i++)
            jobs.items[i].path = files[i];
        p = load_jobs(&jobs, err);
        trace_files_report(&opened, jobs.report);
        if (s->result)
            s->result->truncated |= trace_files_truncated(&opened);
    }
    for (size_t i = 0; jobs.items && i < jobs.count; i++) {
        builder_deinit(&jobs.items[i].builder);
        free(jobs.items[i].shares);
        free(jobs.items[i].switched);
    }
    free(jobs.items);
    free(switches);
    trace_files_close(&opened);
    symbols_deinit(&symbols);
    return p;
}

bool engine_is_trace(const char *path)
{
    struct os_input input;
    struct decoder d;
    struct error ignored;
    bool known = false;
    if (strcmp(path, "-") == 0 || !os_input_open(&input, path, &ignored))
        return false;
    struct source raw = os_input_source(&input);
    if (decoder_init(&d, &raw, &ignored)) {
        known = trace_reader_knows(&d.source, &ignored) != NULL;
        decoder_deinit(&d);
    }
    source_deinit(&raw);
    os_input_close(&input);
    return known;
}
