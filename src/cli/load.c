#include "cli/load.h"
#include "base/decode.h"
#include "base/nearest.h"
#include "base/scan.h"
#include "cli/message.h"
#include "cli/source_maps.h"
#include "cli/together.h"
#include "os/file.h"
#include "os/guard.h"
#include "os/parallel.h"
#include "os/spool.h"
#include <stdlib.h>
#include <unistd.h>

#define OFF(field) offsetof(struct load_settings, field)

#define THREADS_MAX 4096 /* more than any machine has cores */

/* What is looked at to find where a record begins. */
#define WINDOW_LEAST ((size_t)16 << 10)
#define WINDOW_MOST ((size_t)256 << 10)

/* A part smaller than this is not worth a thread. */
#define PART_MIN ((uint64_t)4 << 20)

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
    uint64_t begin; /* of the text: behind a byte-order mark */
};

static void on_progress(void *context, uint64_t bytes)
{
    struct loading *l = context;
    l->done += bytes;
    if (!l->settings->quiet)
        message_progress(l->name, l->done, l->input.size);
}

static bool no_format(const char *name, struct str head, struct error *err)
{
    if (head.len == 0) {
        error_set(err, "the input is empty");
        return error_hint(err, "check the command that wrote it");
    }
    error_set(err, "the format is not known");
    if (strcmp(name, "-") != 0)
        error_hint(err, "--format NAME; 'stoke help formats' lists what can be read");
    else
        error_hint(err, "look at what is piped in, or name it with --format");
    return false;
}

static struct str input_head(const struct source *s)
{
    return str_head(str_span(s->begin, s->end), IMPORT_HEAD_SIZE);
}

/* The format that the input looks like, where it is not at all what it is said to be. */
static const struct importer *looks_like(const struct importer *said, struct str head,
                                         const char *name)
{
    return said->probe(head) ? NULL : importer_probe(head, str_of(name));
}

static bool choose_importer(struct loading *l, struct source *s, struct error *err)
{
    if (!source_peek(s, IMPORT_HEAD_SIZE, err))
        return false;
    struct str head = input_head(s);
    if (l->settings->format) {
        l->importer = l->settings->format;
        l->alike = looks_like(l->importer, head, l->name);
        return head.len || no_format(l->name, head, err);
    }
    l->importer = importer_probe(head, str_of(l->name));
    return l->importer || no_format(l->name, head, err);
}

/* --- A file read in parts by several threads -------------------------------------- */

struct part {
    uint64_t from, to;
    struct builder builder;
    struct error err;
    bool ok;
};

struct parts {
    struct loading *loading;
    struct part *items;
    enum build_mode mode;
};

static void read_part(void *context, unsigned number)
{
    struct parts *parts = context;
    struct part *part = &parts->items[number];
    struct os_input input = os_input_part(&parts->loading->input, part->from, part->to);
    input.progress = NULL;
    struct source s = os_input_source(&input);
    part->ok = builder_init(&part->builder, parts->mode) &&
               parts->loading->importer->read(&s, &parts->loading->options,
                                              &part->builder, &part->err);
    source_deinit(&s);
}

/* Where a record begins behind `near`; at the end of the input where the next is longer
 * than the window. Most are short: a small part of it is tried first. */
static bool next_record(struct loading *l, uint64_t near, char *window, uint64_t *from,
                        struct error *err)
{
    *from = l->input.size;
    for (size_t size = WINDOW_LEAST; size <= WINDOW_MOST; size *= 4) {
        size_t got = 0;
        if (!os_input_read_at(&l->input, near, window, size, &got, err))
            return false;
        size_t at = l->importer->split((struct str){window, got}, 0);
        if (at < got) {
            *from = near + at;
            break;
        }
    }
    return true;
}

/* Moves each part's beginning to where a record begins. */
static bool place_parts(struct loading *l, struct part *parts, unsigned count,
                        struct error *err)
{
    char *window = malloc(WINDOW_MOST);
    bool ok = window || error_memory(err);
    parts[0].from = l->begin;
    for (unsigned i = 1; ok && i < count; i++) {
        ok = next_record(l, l->input.size / count * i, window, &parts[i].from, err);
        if (parts[i].from < parts[i - 1].from)
            parts[i].from = parts[i - 1].from;
    }
    for (unsigned i = 0; i < count; i++)
        parts[i].to = i + 1 < count ? parts[i + 1].from : l->input.size;
    free(window);
    return ok;
}

/* How many lines of the file lie in front of a part. */
static uint64_t lines_before(const struct loading *l, uint64_t offset)
{
    struct error ignored;
    uint64_t lines = 0;
    size_t got = 1;
    char *window = malloc(IMPORT_HEAD_SIZE);
    for (uint64_t at = 0; window && at < offset && got; at += got) {
        size_t size = offset - at < IMPORT_HEAD_SIZE ? offset - at : IMPORT_HEAD_SIZE;
        if (!os_input_read_at(&l->input, at, window, size, &got, &ignored))
            break;
        lines += scan_count((struct str){window, got}, '\n');
    }
    free(window);
    return lines;
}

/* A part counts its lines from its own beginning; messages tell the file's. */
static void move_places(const struct loading *l, struct part *part)
{
    struct facts *facts = &part->builder.profile->facts;
    bool any = facts->warning_count || part->err.place.line;
    uint64_t lines = any && part->from ? lines_before(l, part->from) : 0;
    for (unsigned i = 0; i < facts->warning_count; i++)
        if (facts->warnings[i].first.line)
            facts->warnings[i].first.line += lines;
    if (part->err.place.line)
        part->err.place.line += lines;
}

static bool merge_parts(struct loading *l, struct part *parts, unsigned count,
                        struct builder *b, struct error *err)
{
    uint64_t before = b->profile->facts.samples;
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].builder.profile)
            move_places(l, &parts[i]);
        if (!parts[i].ok) {
            *err = parts[i].err;
            return err->message[0] ? false : error_memory(err);
        }
        builder_absorb(b, &parts[i].builder);
    }
    return import_check(l->importer, &l->options, b, before, err);
}

static bool load_parts(struct loading *l, unsigned count, struct builder *b,
                       struct error *err)
{
    struct part *items = calloc(count, sizeof *items);
    struct parts parts = {l, items, b->mode};
    if (!items)
        return error_memory(err);
    bool ok = place_parts(l, items, count, err);
    unsigned used = count; /* of a few long records the last parts have none */
    while (ok && used > 1 && items[used - 1].from == items[used - 1].to)
        used--;
    if (ok) {
        os_parallel(used, read_part, &parts);
        ok = merge_parts(l, items, used, b, err);
    }
    for (unsigned i = 0; i < count; i++)
        builder_deinit(&items[i].builder);
    free(items);
    return ok;
}

static unsigned part_count(const struct loading *l, const struct decoder *d)
{
    uint64_t wanted =
        l->settings->threads > 0 ? (uint64_t)l->settings->threads : os_core_count();
    uint64_t useful = l->input.size / PART_MIN;
    if (!l->input.regular || d->what || !l->importer->split)
        return 1;
    if (lseek(l->input.fd, 0, SEEK_CUR) != (off_t)l->done)
        return 1; /* what was handed to us was not at its beginning */
    return (unsigned)(useful < wanted ? useful : wanted);
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

static bool load_decoded(struct loading *l, struct builder *b, struct error *err)
{
    struct decoder d;
    struct source raw = os_input_source(&l->input);
    if (!decoder_init(&d, &raw, err)) {
        source_deinit(&raw);
        return false;
    }
    bool ok = choose_importer(l, &d.source, err);
    if (ok) {
        unsigned parts = part_count(l, &d);
        l->begin = d.source.offset;
        l->options.head = parts > 1 ? input_head(&d.source) : STR("");
        ok = parts > 1 ? load_parts(l, parts, b, err) : load_kept(l, &d.source, b, err);
    }
    if (ok && d.flaw)
        builder_warn_offset(b, d.flaw, d.in);
    if (ok && os_guard_was_cut())
        builder_warn(b, "a file that was cut short while it was read", 0, 0, STR(""));
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
    struct builder part;
    bool ok = true;
    for (int i = 0; ok && i < file_count; i++) {
        if (!builder_init(&part, b->mode))
            return error_memory(err);
        ok = load_file(settings, files[i], resolver, &part, err) &&
             (together_add(&together, b, &part, files[i]) || error_memory(err));
        builder_deinit(&part);
    }
    if (ok && !settings->quiet)
        together_note(&together);
    return ok;
}

bool load_inputs(const struct option_list *inputs, int *file_count, char ***files,
                 struct error *err)
{
    if (inputs->count == 0)
        return true;
    if (*file_count) {
        error_set(err, "'%s' stands beside --input", (*files)[0]);
        return error_hint(err, "give all files alone, or all with --input");
    }
    *file_count = (int)inputs->count;
    *files = (char **)(void *)inputs->items;
    return true;
}

struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err)
{
    struct builder b;
    static char standard_input[] = "-";
    char by_default[64], *only[] = {standard_input};
    if (file_count == 0 && settings->default_file && !os_input_is_given()) {
        format_text(by_default, sizeof by_default, "%s", settings->default_file);
        only[0] = by_default;
    }
    if (file_count == 0) {
        files = only;
        file_count = 1;
    }
    struct symbols symbols;
    struct source_maps maps;
    struct load_settings with_maps = *settings;
    with_maps.import.source_maps = &maps;
    bool ok = source_maps_load(&maps, &settings->source_maps, err);
    ok = symbols_init(&symbols, &settings->symbols, settings->import.lines,
                      settings->threads, err) &&
         ok;
    bool built = builder_init(&b, settings->keep ? BUILD_KEEP : BUILD_COUNT);
    ok = ok && (built || error_memory(err));
    if (ok && file_count == 1)
        ok = load_file(&with_maps, files[0], &symbols.seam, &b, err);
    else if (ok)
        ok = load_together(&with_maps, file_count, files, &symbols.seam, &b, err);
    if (ok && !settings->quiet && !settings->own_warnings)
        symbols_report(&symbols);
    if (ok && !settings->quiet)
        source_maps_note(&maps, &settings->source_maps);
    source_maps_free(&maps);
    symbols_deinit(&symbols);
    struct profile *p = ok ? builder_finish(&b, err) : NULL;
    builder_deinit(&b);
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
