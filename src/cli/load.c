/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/load.h"
#include "base/arena.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "base/number.h"
#include "cli/demangle_names.h"
#include "cli/load_parts.h"
#include "cli/message.h"
#include "cli/package_hint.h"
#include "cli/source_maps.h"
#include "cli/together.h"
#include "codec/decode.h"
#include "import/detect.h"
#include "import/folded.h"
#include "os/file.h"
#include "os/guard.h"
#include "os/parallel.h"
#include "os/spool.h"
#include "trace/reader.h"
#include <stdlib.h>
#include <unistd.h>

#define OFF(field) offsetof(struct load_settings, field)

/* More of an input that only comes by is not kept in memory to find its format. */
#define DETECT_WINDOW_MAX ((size_t)64 << 20)

#define THREADS_MAX 4096 /* more than any machine has cores */

static const char *const ghc_columns[] = {"time", "ticks", "bytes", NULL};

static bool parse_format(const char *text, void *value, struct error *err)
{
    const struct importer **format = value;
    struct nearest nearest = {.word = str_of(text)};
    *format = importer_named(nearest.word);
    if (*format)
        return true;
    for (size_t i = 0; importers[i]; i++)
        nearest_offer(&nearest, str_of(importers[i]->name));
    error_set(err, "there is no format '%s'", text);
    return nearest_hint(&nearest, "", "'stoke help formats' lists them", err);
}

bool load_parse_limit(const char *text, void *value, struct error *err)
{
    const char **kept = value;
    uint64_t number = 0;
    struct str digits = str_skip(str_of(text), text[0] == 'x');
    bool none = strcmp(text, "none") == 0;
    if (!none && (!number_parse_u64(digits, &number) || number == 0 ||
                  number > LIMITS_FACTOR_MAX)) {
        error_set(err, "invalid limits '%s'", text);
        return error_hint(err, "--limits x8, up to x%d, or --limit none",
                          LIMITS_FACTOR_MAX);
    }
    *kept = text;
    limits_raise((unsigned)number);
    return true;
}

const struct option load_options[] = {
    {"format", 0, "NAME", "what the input is, when its content does not tell",
     OPTION_PARSED, OFF(format), .parse = parse_format},
    {"threads,nthreads", 'j', "N", "cores to read with (default: all)", OPTION_INT,
     OFF(threads), .least = 0, .most = THREADS_MAX},
    {"count-samples", 0, NULL, "weigh every sample 1, whatever period it carries",
     OPTION_FLAG, OFF(import.samples)},
    {"keep-arguments", 0, NULL, "keep argument lists in names", OPTION_FLAG,
     OFF(import.signatures)},
    {"includeoffset", 0, NULL, "keep offsets (+0x1f) in names", OPTION_FLAG,
     OFF(import.offsets)},
    {"limits", 0, "xN",
     "raise the limits of stack depth, line length and unpacking N times; or none",
     OPTION_PARSED, OFF(limits), .parse = load_parse_limit},
    {"all-threads", 0, NULL, "thread dumps: idle and waiting threads too", OPTION_FLAG,
     OFF(import.all_threads)},
    {"ghc", 0, "COLUMN", "GHC profiles: time (the default), ticks or bytes",
     OPTION_CHOICE, OFF(import.ghc), ghc_columns},
    {"skip-after", 0, "NAME", "drop the callers of this function (repeatable)",
     OPTION_LIST, OFF(skip_after)},
    {"source-map", 0, "FILE",
     "JavaScript: names and places as the sources have them (repeatable)", OPTION_LIST,
     OFF(source_maps)},
    {"symfs", 0, "DIR", "recordings: look for files below this folder", OPTION_STRING,
     OFF(symbols.symfs)},
    {"debug-dir", 0, "DIR", "look for debug files there, not in /usr/lib/debug",
     OPTION_LIST, OFF(symbols.debug_dirs)},
    {"kallsyms", 0, "FILE", "the kernel's symbols, as /proc/kallsyms has them",
     OPTION_STRING, OFF(symbols.kallsyms)},
    {"vmlinux", 0, "FILE", "the kernel's object file", OPTION_STRING,
     OFF(symbols.vmlinux)},
    {"no-inline", 0, NULL, "do not look for inlined functions", OPTION_FLAG,
     OFF(symbols.no_inline)},
    {"no-debuginfod", 0, NULL, "do not ask the servers of $DEBUGINFOD_URLS", OPTION_FLAG,
     OFF(symbols.no_debuginfod)},
    {"demangle", 0, "HOW", "C++ and Rust names: simple (the default), no or full",
     OPTION_CHOICE, OFF(symbols.demangle), demangle_choices},
    {"quiet", 'q', NULL, "no warnings and no progress", OPTION_FLAG, OFF(quiet)},
    {0}};

static bool incomplete; /* an input that was read ended before its end */

bool load_was_incomplete(void)
{
    return incomplete;
}

/* One input under way. */
struct loading {
    const struct load_settings *settings;
    struct import_options options;
    const char *name;
    struct os_input input;
    const struct importer *importer;
    const struct importer *alike; /* what the input looks like, where it was said to be of
                                     a format that it does not look like; else NULL */
    uint64_t done;
    struct os_spool spool; /* what the format was looked for in, where it was long */
    struct source kept;    /* over that */
};

static void on_progress(void *context, uint64_t bytes)
{
    struct loading *l = context;
    l->done += bytes;
    if (!l->settings->quiet)
        message_progress(l->name, l->done, l->input.size);
}

static bool no_format(const struct loading *l, struct str head, struct error *err)
{
    char names[400];
    if (head.len == 0) {
        error_set(err, "the input is empty");
        return error_hint(err, "check the command that wrote it");
    }
    error_set(err, "the format is not known");
    struct folded_share lines = folded_share(head);
    if (lines.stacks)
        error_set(err,
                  "the format is not known: %zu of the first %zu lines are folded stacks",
                  lines.good, lines.good + lines.bad);
    detect_candidates(head, str_of(l->name), names, sizeof names);
    return error_hint(err, "--format NAME, where it is one of: %s", names);
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

/* The format that the input looks like, where it is not at all what it is said to be. */
static const struct importer *looks_like(const struct importer *said, struct str head,
                                         const char *name)
{
    int score;
    return said->probe(head) ? NULL : importer_probe(head, str_of(name), &score);
}

/* Makes more of the input visible: what is mapped, all of it; else the window grows, up
 * to a size from which on the rest goes to a file. */
static bool see_more(struct loading *l, struct source **in, struct error *err)
{
    struct source *s = *in;
    struct str all;
    if (source_map(s, &all))
        return true;
    if ((size_t)(s->end - s->begin) < DETECT_WINDOW_MAX)
        return source_more(s, s->begin, err);
    if (!os_spool_keep(&l->spool, s, &l->kept, err))
        return false;
    *in = &l->kept;
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

/* What is piped to a command that others pipe folded stacks to is read as such where only
 * some lines are. */
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

/* How many threads are to read the file in parts; 1: it is read as a whole. */
static unsigned thread_count(const struct loading *l, const struct decoder *d)
{
    uint64_t wanted =
        l->settings->threads > 0 ? (uint64_t)l->settings->threads : os_core_count();
    if (!l->input.regular || d->what || !l->importer->split || l->options.in_order)
        return 1;
    if (lseek(l->input.fd, 0, SEEK_CUR) != (off_t)l->done)
        return 1; /* what was handed to us was not at its beginning */
    return parts_threads(l->input.size, wanted);
}

/* --- One file, all files ------------------------------------------------------------ */

static bool load_whole(struct loading *l, struct source *in, struct builder *b,
                       struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    if (!l->settings->taker || l->importer != importer_named(STR("perf-data")))
        return import_read(l->importer, in, &l->options, b, err);
    return perf_data_replay(in, &l->options, b, l->settings->taker, err) &&
           import_check(l->importer, &l->options, b, before, err);
}

/* Whole, from a copy where what is at hand can only be read on. */
static bool load_kept(struct loading *l, struct source *in, struct builder *b,
                      struct error *err)
{
    struct str all;
    struct os_spool spool = {0};
    struct source kept;
    bool jumps = l->importer->jumps && l->importer->jumps(input_head(in));
    if (!jumps || source_map(in, &all))
        return load_whole(l, in, b, err);
    bool ok = os_spool_keep(&spool, in, &kept, err) && load_whole(l, &kept, b, err);
    os_spool_free(&spool);
    return ok;
}

/* Where the limits are why nothing was read. */
static void explain_limits(const struct decoder *d, struct error *err)
{
    if (arena_was_refused())
        error_set(err, "what it unpacks to takes more memory than the limit");
    if (d->stopped || arena_was_refused())
        error_hint(err, "--limits x8: it unpacks to more than the limits allow");
}

static bool load_decoded(struct loading *l, struct builder *b, struct error *err)
{
    struct decoder d;
    struct source raw = os_input_source(&l->input);
    if (!decoder_init(&d, &raw, err)) {
        source_deinit(&raw);
        return false;
    }
    struct source *in = &d.source;
    decoder_bound_memory(&d);
    bool ok = choose_importer(l, &in, err);
    if (ok) {
        unsigned threads = thread_count(l, &d);
        struct parts_input parts = {&l->input, in->offset, l->importer, &l->options};
        l->options.head = threads > 1 ? input_head(in) : STR("");
        ok = threads > 1 ? parts_read(&parts, threads, b, err) : load_kept(l, in, b, err);
    }
    if (!ok)
        explain_limits(&d, err);
    b->profile->facts.incomplete |= d.broken;
    if (ok && d.flaw)
        builder_warn_offset(b, d.flaw, d.in);
    if (ok && os_guard_was_cut())
        builder_warn(b, "a file that was cut short while it was read", 0, 0, STR(""));
    os_spool_free(&l->spool);
    decoder_deinit(&d);
    source_deinit(&raw);
    return ok;
}

/* A format that was said and is not there is read as something, or as nothing: either
 * way the user has to know. */
static void tell_format(const struct loading *l, bool ok, struct error *err)
{
    if (!l->alike)
        return;
    if (!ok)
        error_hint(err, "without --format: it looks like %s, not %s", l->alike->name,
                   l->importer->name);
    else if (!l->settings->quiet)
        message_note("%s looks like %s, but is read as %s, as --format says",
                     l->input.name, l->alike->name, l->importer->name);
}

static bool load_file(const struct load_settings *settings, const char *name,
                      const struct resolver *resolver, struct builder *b,
                      struct error *err)
{
    struct loading l = {.settings = settings, .options = settings->import, .name = name};
    struct str *skip = calloc(settings->skip_after.count + 1, sizeof *skip);
    if (!skip)
        return error_memory(err);
    for (size_t i = 0; i < settings->skip_after.count; i++)
        skip[i] = str_of(settings->skip_after.items[i]);
    l.options.resolver = resolver;
    l.options.skip_after = skip;
    l.options.skip_after_count = settings->skip_after.count;
    if (strcmp(name, "-") == 0 && isatty(STDIN_FILENO) && !settings->quiet)
        message_note("reading from the terminal; end with Ctrl-D, or give a file");
    bool ok = os_input_open(&l.input, name, err);
    if (ok) {
        l.input.progress = on_progress;
        l.input.progress_context = &l;
        l.options.written = l.input.written;
        ok = load_decoded(&l, b, err);
        tell_format(&l, ok, err);
        os_input_close(&l.input);
    }
    free(skip);
    message_progress_end();
    if (!ok && err->file[0] == 0)
        format_text(err->file, sizeof err->file, "%s",
                    l.input.name ? l.input.name : name);
    return ok;
}

/* Several files: each is read by itself first, so that its events are known. */
static bool load_together(const struct load_settings *settings, int file_count,
                          char **files, const struct resolver *resolver,
                          struct builder *b, struct error *err)
{
    struct together together = {.apart = settings->events_apart};
    struct perf_session session = {.carried = NULL};
    struct load_settings each = *settings;
    struct builder part;
    bool ok = true;
    each.import.session = &session;
    each.import.empty = true; /* a part may be */
    for (int i = 0; ok && i < file_count; i++) {
        if (!builder_init(&part, b->mode)) {
            ok = error_memory(err);
            break;
        }
        part.modules_alike = b->modules_alike;
        ok = load_file(&each, files[i], resolver, &part, err);
        if (ok && part.profile->facts.samples == 0 && !settings->quiet)
            message_note("%s holds no samples", files[i]);
        ok = ok && (together_add(&together, b, &part, files[i]) || error_memory(err));
        builder_deinit(&part);
    }
    perf_session_deinit(&session);
    if (ok && b->profile->facts.samples == 0 && !settings->import.empty)
        ok = error_set(err, "none of the recordings has samples");
    if (ok && !settings->quiet)
        together_note(&together);
    return ok;
}

#define RECORDING "perf.data" /* as perf record and stoke record name it */

bool load_has_input(void)
{
    return os_input_is_given() || access(RECORDING, F_OK) == 0;
}

bool load_inputs(const struct option_list *inputs, int *file_count, char ***files,
                 struct error *err)
{
    static char standard_input[] = "-", recording[] = RECORDING;
    static char *chosen[1];
    if (inputs && inputs->count) {
        if (*file_count) {
            error_set(err, "'%s' stands beside --input", (*files)[0]);
            return error_hint(err, "give all files alone, or all with --input");
        }
        *file_count = (int)inputs->count;
        *files = (char **)(void *)inputs->items;
        return true;
    }
    if (*file_count)
        return true;
    if (!load_has_input()) {
        error_set(err, "there is no perf.data here, and no other input was named");
        return error_hint(err, "name a FILE, pipe one in, or run stoke record first");
    }
    chosen[0] = os_input_is_given() ? standard_input : recording;
    *file_count = 1;
    *files = chosen;
    return true;
}

struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err)
{
    struct builder b;
    struct symbols symbols;
    struct source_maps maps;
    struct load_settings with_maps = *settings;
    with_maps.import.source_maps = &maps;
    bool full = symbols_demangle(&settings->symbols) == DEMANGLE_FULL;
    with_maps.import.signatures |= full;
    bool ok = source_maps_load(&maps, &settings->source_maps, err);
    ok = symbols_init(&symbols, &settings->symbols, settings->import.lines,
                      settings->threads, err) &&
         ok;
    bool built = builder_init(&b, settings->keep ? BUILD_KEEP : BUILD_COUNT);
    b.modules_alike = settings->modules_alike;
    ok = ok && (built || error_memory(err));
    if (ok && file_count == 1)
        ok = load_file(&with_maps, files[0], &symbols.seam, &b, err);
    else if (ok)
        ok = load_together(&with_maps, file_count, files, &symbols.seam, &b, err);
    if (ok)
        symbols_warn(&symbols, &b);
    if (ok && !settings->quiet && !settings->own_warnings)
        symbols_report(&symbols);
    if (ok && !settings->quiet)
        package_hint(&symbols, b.profile);
    if (ok && !settings->quiet)
        source_maps_note(&maps, &settings->source_maps);
    source_maps_free(&maps);
    symbols_deinit(&symbols);
    struct profile *p = ok ? builder_finish(&b, err) : NULL;
    builder_deinit(&b);
    if (full)
        p = demangle_names(p, DEMANGLE_FULL, err);
    incomplete |= p && p->facts.incomplete;
    if (p && !settings->quiet && !settings->own_warnings)
        message_warnings(p, file_count == 1 ? files[0] : NULL);
    return p;
}

struct os_crew *load_crew(const struct load_settings *settings)
{
    return os_crew_create(settings->threads > 0 ? (unsigned)settings->threads
                                                : os_core_count());
}

/* The names of the events, as many as there is room for. */
static void list_events(const struct profile *p, char *room, size_t size)
{
    const size_t behind = sizeof " and 4294967295 more";
    size_t used = 0;
    event_id e = 1;
    room[0] = 0;
    for (; e < p->event_count; e++) {
        struct str name = profile_string(p, p->events[e].name);
        if (used + name.len + 2 + behind > size)
            break;
        used += format_text(room + used, size - used, "%s%.*s", e > 1 ? ", " : "",
                            STR_ARG(name));
    }
    if (e < p->event_count)
        format_text(room + used, size - used, "%s%zu more", e > 1 ? " and " : "",
                    p->event_count - e);
}

void load_note_event(const struct profile *p, bool quiet)
{
    char all[200];
    if (p->event_count <= 2 || p->facts.differential || quiet)
        return;
    list_events(p, all, sizeof all);
    message_note("showing %.*s of %zu events (%s); choose with --event",
                 STR_ARG(profile_string(p, p->events[1].name)), p->event_count - 1, all);
}
