/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/load.h"
#include "base/arena.h"
#include "base/format.h"
#include "codec/decode.h"
#include "engine/demangle.h"
#include "engine/merge.h"
#include "engine/package_hint.h"
#include "engine/parts.h"
#include "engine/source_maps.h"
#include "import/detect.h"
#include "import/folded.h"
#include "import/unread.h"
#include "model/code.h"
#include "os/file.h"
#include "os/spool.h"
#include "os/thread_pool.h"
#include "trace/reader.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limit of the data that stays in memory to find the format of a stream. */
#define DETECT_WINDOW_MAX ((size_t)64 << 20)

static const struct limits *limits_of(const struct load_settings *s)
{
    return s->limits.depth ? &s->limits : &limits_default;
}

/* The current input. */
struct loading {
    const struct load_settings *settings;
    const struct engine_report *report;
    struct import_options options;
    const char *name;
    struct os_input input;
    const struct importer *importer;
    /* the detected format if it differs from the format that the user gives; else
     * NULL */
    const struct importer *alike;
    uint64_t done;
    struct os_spool spool; /* data that was read to find the format, if it was long */
    struct source spooled; /* reads the spool */
    bool truncated;
};

static void on_progress(void *context, uint64_t bytes)
{
    struct loading *l = context;
    l->done += bytes;
    engine_progress(l->report, l->name, l->done, l->input.size);
}

#define CANDIDATES "--format NAME; possible formats: %s"

static bool no_format(const struct loading *l, struct str head, struct error *err)
{
    char names[sizeof err->hint - sizeof CANDIDATES + 3]; /* replaces %s and its end */
    if (head.len == 0) {
        error_set(err, "the input is empty");
        return error_hint(err, "check the command that wrote it");
    }
    const struct unread_format *unread = unread_format_of(head);
    if (unread) {
        error_set(err, "this is %s: stoke does not read it", unread->what);
        return error_hint(err, "%s", unread->hint);
    }
    error_set(err, "unknown format");
    struct folded_share lines = folded_share(head);
    if (lines.stacks)
        error_set(err, "unknown format: %zu of the first %zu lines are folded stacks",
                  lines.good, lines.good + lines.bad);
    detect_candidates(head, str_of(l->name), names, sizeof names);
    return error_hint(err, CANDIDATES, names);
}

static bool is_trace(const char *name, const struct trace_format *format,
                     struct error *err)
{
    error_set(err, "this is an instruction trace ('%s'), not a profile", format->name);
    return error_hint(err, "'stoke trace %s --dwarf BINARY' makes stacks of it", name);
}

static struct str input_head(const struct source *s)
{
    return str_head(str_span(s->begin, s->end), IMPORT_HEAD_SIZE);
}

/* The detected format if the input does not match the format that the user gives. */
static const struct importer *looks_like(const struct importer *said, struct str head,
                                         const char *name)
{
    int score;
    return said->probe(head) ? NULL : importer_probe(head, str_of(name), &score);
}

/* Makes more of the input visible: all of it if it is mapped; otherwise the window grows
 * up to a limit, and then the rest goes to a file. */
static bool see_more(struct loading *l, struct source **in, struct error *err)
{
    struct source *s = *in;
    struct str all;
    if (source_map(s, &all))
        return true;
    if ((size_t)(s->end - s->begin) < DETECT_WINDOW_MAX)
        return source_more(s, s->begin, err);
    if (!os_spool_copy(&l->spool, s, &l->spooled, err))
        return false;
    *in = &l->spooled;
    return true;
}

static bool detect_format(struct loading *l, struct source **in, struct error *err)
{
    struct detection *d = malloc(sizeof *d);
    struct str name = str_of(l->name);
    bool ok = d && source_peek(*in, IMPORT_HEAD_SIZE, err);
    if (!d)
        return error_memory(err);
    detection_init(d);
    while (ok && !detect(d, str_span((*in)->begin, (*in)->end), (*in)->last, name))
        ok = see_more(l, in, err);
    l->importer = d->found;
    free(d);
    return ok;
}

/* Piped input of a command that accepts folded stacks is read as folded stacks even if
 * only some lines are. */
static bool takes_as_folded(const struct loading *l, struct str head)
{
    return l->settings->pipe_is_folded && strcmp(l->name, "-") == 0 &&
           detect_some_folded(head);
}

static bool choose_importer(struct loading *l, struct source **in, struct error *err)
{
    if (!source_peek(*in, IMPORT_HEAD_SIZE, err))
        return false;
    struct str head = input_head(*in);
    if (l->settings->format) {
        l->importer = l->settings->format;
        l->alike = looks_like(l->importer, head, l->name);
        return head.len || no_format(l, head, err);
    }
    const struct trace_format *trace = trace_reader_knows(*in, err);
    if (trace)
        return is_trace(l->name, trace, err);
    if (!detect_format(l, in, err))
        return false;
    head = input_head(*in);
    if (!l->importer && takes_as_folded(l, head))
        l->importer = importer_named(STR("folded"));
    return l->importer || no_format(l, head, err);
}

/* The number of threads that read the file in parts; 1: it is read as a whole. */
static unsigned thread_count(const struct loading *l, const struct decoder *d)
{
    uint64_t limit =
        l->settings->threads > 0 ? (uint64_t)l->settings->threads : os_core_count();
    if (!l->input.regular || d->what || !l->importer->split || l->options.in_order)
        return 1;
    if (lseek(l->input.fd, 0, SEEK_CUR) != (off_t)l->done)
        return 1; /* the file was not at its beginning when it was passed to us */
    return parts_threads(l->input.size, limit);
}

/* --- One file, all files ------------------------------------------------------------ */

/* Reads a .stoke with the code of its functions. */
static bool load_code(struct loading *l, struct source *in, struct builder *b,
                      struct error *err)
{
    const struct code_consumer *consumer = l->settings->code_consumer;
    struct import_options options = l->options;
    struct code code;
    bool ok = code_init(&code) || error_memory(err);
    options.code = &code;
    ok = ok && import_read(l->importer, in, &options, b, err);
    if (ok && code.event_count > 1)
        consumer->take(consumer->context, &code, l->options.resolver);
    code_deinit(&code);
    return ok;
}

static bool load_whole(struct loading *l, struct source *in, struct builder *b,
                       struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    if (l->settings->code_consumer && l->importer == importer_named(STR("stoke")))
        return load_code(l, in, b, err);
    if (!l->settings->consumer || l->importer != importer_named(STR("perf-data")))
        return import_read(l->importer, in, &l->options, b, err);
    return perf_data_replay(in, &l->options, b, l->settings->consumer, err) &&
           import_check(l->importer, &l->options, b, before, err);
}

/* Loads the input as a whole; a stream is copied first. */
static bool load_seekable(struct loading *l, struct source *in, struct builder *b,
                          struct error *err)
{
    struct str all;
    struct os_spool spool = {0};
    struct source spooled;
    bool needs_seek = l->importer->needs_seek && l->importer->needs_seek(input_head(in));
    if (!needs_seek || source_map(in, &all))
        return load_whole(l, in, b, err);
    bool ok = os_spool_copy(&spool, in, &spooled, err) && load_whole(l, &spooled, b, err);
    os_spool_free(&spool);
    return ok;
}

/* Adds a hint if nothing was read because of the limits. */
static void explain_limits(const struct decoder *d, const struct arena_bound *bound,
                           struct error *err)
{
    if (bound->refused)
        error_set(err, "the decompressed data needs more memory than the limit");
    if (d->stopped || bound->refused)
        error_hint(err, "--limits x8: the decompressed data exceeds the limits");
}

static bool load_decoded(struct loading *l, struct builder *b, struct error *err)
{
    struct decoder d;
    struct arena_bound bound = {.held = 0};
    struct source raw = os_input_source(&l->input);
    raw.limits = limits_of(l->settings);
    if (!decoder_init(&d, &raw, err)) {
        source_deinit(&raw);
        return false;
    }
    struct source *in = &d.source;
    decoder_bound_memory(&d, &bound);
    bool ok = choose_importer(l, &in, err);
    if (ok) {
        unsigned threads = thread_count(l, &d);
        struct parts_input parts = {&l->input, in->offset, l->importer, &l->options};
        l->options.head = threads > 1 ? input_head(in) : STR("");
        ok = threads > 1 ? parts_read(&parts, threads, b, err)
                         : load_seekable(l, in, b, err);
    }
    if (!ok)
        explain_limits(&d, &bound, err);
    b->profile->facts.incomplete |= d.broken;
    if (ok && d.flaw)
        builder_warn_offset(b, d.flaw, d.in);
    if (os_input_was_truncated(&l->input)) {
        l->truncated = true;
        builder_warn(b, "the file was truncated while it was read", 0, 0, STR(""));
    }
    os_spool_free(&l->spool);
    decoder_deinit(&d);
    source_deinit(&raw);
    return ok;
}

/* If the input does not match the format that the user gives, the result may be wrong or
 * empty: both are reported. */
static void report_format(const struct loading *l, bool ok, struct error *err)
{
    if (!l->alike)
        return;
    if (!ok)
        error_hint(err, "without --format: it looks like %s, not %s", l->alike->name,
                   l->importer->name);
    else
        engine_note(l->report, "%s looks like %s, but is read as %s because of --format",
                    l->input.name, l->alike->name, l->importer->name);
}

/* Common settings of all files of a load. */
struct job {
    const struct load_settings *settings;
    const struct engine_report *report;
    const struct resolver *resolver;
};

static bool load_file(const struct job *job, const char *name, struct builder *b,
                      struct error *err)
{
    const struct load_settings *settings = job->settings;
    struct loading l = {.settings = settings,
                        .report = job->report,
                        .options = settings->import,
                        .name = name};
    struct str *skip = calloc(settings->skip_after.count + 1, sizeof *skip);
    if (!skip)
        return error_memory(err);
    for (size_t i = 0; i < settings->skip_after.count; i++)
        skip[i] = str_of(settings->skip_after.items[i]);
    l.options.resolver = job->resolver;
    l.options.skip_after = skip;
    l.options.skip_after_count = settings->skip_after.count;
    if (strcmp(name, "-") == 0 && isatty(STDIN_FILENO))
        engine_note(job->report,
                    "reading from the terminal; end with Ctrl-D, or give a file");
    bool ok = os_input_open(&l.input, name, err);
    if (ok) {
        l.input.progress = on_progress;
        l.input.progress_context = &l;
        l.options.written = l.input.written;
        ok = load_decoded(&l, b, err);
        report_format(&l, ok, err);
        if (l.truncated && settings->result)
            settings->result->truncated = true;
        os_input_close(&l.input);
    }
    free(skip);
    engine_done(job->report);
    if (!ok && err->file[0] == 0)
        format_text(err->file, sizeof err->file, "%s",
                    l.input.name ? l.input.name : name);
    return ok;
}

/* Several files: each is read by itself first, so that its events are known. */
static bool load_files(const struct job *job, int file_count, char **files,
                       struct builder *b, struct error *err)
{
    struct merge merge = {.separate = job->settings->events_apart};
    struct perf_session session = {.carried = NULL};
    struct load_settings each = *job->settings;
    struct job each_job = {&each, job->report, job->resolver};
    struct builder part;
    bool ok = true;
    each.import.session = &session;
    each.import.empty = true; /* a single file may be empty */
    for (int i = 0; ok && i < file_count; i++) {
        if (!builder_init(&part, b->mode)) {
            ok = error_memory(err);
            break;
        }
        part.modules_alike = b->modules_alike;
        builder_set_limits(&part, b->limits);
        ok = load_file(&each_job, files[i], &part, err);
        if (ok && part.profile->facts.samples == 0)
            engine_note(job->report, "%s holds no samples", files[i]);
        ok = ok && (merge_add(&merge, b, &part, files[i]) || error_memory(err));
        builder_deinit(&part);
    }
    perf_session_deinit(&session);
    if (ok && b->profile->facts.samples == 0 && !job->settings->import.empty)
        ok = error_set(err, "none of the recordings has samples");
    if (ok)
        merge_note(&merge, job->report);
    return ok;
}

/* Notes on the loaded data: missing symbols, unused source maps. */
static void report_loaded(const struct load_settings *settings,
                          const struct symbols *symbols, const struct source_maps *maps,
                          const struct profile *p, const struct engine_report *report)
{
    if (!settings->own_warnings)
        symbols_report(symbols, report);
    package_hint(symbols, p, report);
    source_maps_note(maps, &settings->source_maps, report);
}

static void note_result(struct load_result *result, const struct symbols *symbols,
                        const struct profile *p)
{
    if (!result)
        return;
    result->incomplete |= p->facts.incomplete;
    result->truncated |= local_resolver_truncated(symbols->machine);
}

struct profile *engine_load(const struct load_settings *settings, int file_count,
                            char **files, const struct engine_report *report,
                            struct error *err)
{
    struct builder b;
    struct symbols symbols;
    struct source_maps maps;
    struct load_settings with_maps = *settings;
    struct job job = {&with_maps, settings->quiet ? &engine_silent : report,
                      settings->unresolved ? NULL : &symbols.seam};
    struct symbol_settings with_limits = settings->symbols;
    bool full = symbols_demangle(&settings->symbols) == DEMANGLE_FULL;
    with_maps.import.source_maps = &maps;
    with_maps.import.signatures |= full;
    with_limits.limits = limits_of(settings);
    bool ok = source_maps_load(&maps, &settings->source_maps, err);
    ok = symbols_init(&symbols, &with_limits, settings->import.lines, settings->threads,
                      err) &&
         ok;
    bool built = builder_init(&b, settings->keep ? BUILD_KEEP : BUILD_COUNT);
    b.modules_alike = settings->modules_alike;
    if (built)
        builder_set_limits(&b, limits_of(settings));
    ok = ok && (built || error_memory(err));
    if (ok && file_count == 1)
        ok = load_file(&job, files[0], &b, err);
    else if (ok)
        ok = load_files(&job, file_count, files, &b, err);
    if (ok) {
        symbols_warn(&symbols, &b);
        report_loaded(settings, &symbols, &maps, b.profile, job.report);
        note_result(settings->result, &symbols, b.profile);
    }
    source_maps_free(&maps);
    symbols_deinit(&symbols);
    struct profile *p = ok ? builder_finish(&b, err) : NULL;
    builder_deinit(&b);
    return full ? demangle_names(p, DEMANGLE_FULL, err) : p;
}

struct os_thread_pool *engine_load_thread_pool(const struct load_settings *settings)
{
    return os_thread_pool_create(settings->threads > 0 ? (unsigned)settings->threads
                                                       : os_core_count());
}
