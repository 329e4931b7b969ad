/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bundle.h"

static bool collect(struct annotations *a, const struct load_settings *given,
                    int file_count, char **files, struct error *err)
{
    struct load_settings load = *given;
    struct annotate_collector *c = annotate_collector_create(a, file_count);
    if (!c)
        return error_memory(err);
    load.consumer = annotate_collector_consumer(c);
    load.code_consumer = annotate_collector_code_consumer(c);
    load.quiet = true; /* the profile was read with messages */
    load.keep = load.events_apart = false;
    load.import.lines = true;
    struct profile *p = engine_load(&load, file_count, files, &engine_silent, err);
    bool ok = p != NULL;
    profile_destroy(p);
    annotate_collector_destroy(c);
    return ok;
}

bool bundle_read(struct annotation_keeping *k, const struct load_settings *load,
                 int file_count, char **files, struct error *err)
{
    struct annotations a = {.keep = k};
    *k->code = (struct code){.arena = ARENA_INIT};
    for (int i = 0; i < file_count; i++)
        if (strcmp(files[i], "-") == 0)
            return error_set(err, "the code of functions takes a second reading: give a "
                                  "file instead of the standard input");
    if (!code_init(k->code))
        return error_memory(err);
    bool ok = collect(&a, load, file_count, files, err);
    if (ok && !a.ended && !a.err.message[0]) {
        error_set(&a.err, "%s not a recording and has no code: the addresses are unknown",
                  file_count > 1 ? "one of the inputs is" : "the input is");
        error_hint(&a.err, "give a perf.data, as perf record writes it");
    }
    if (ok && !a.ok)
        *err = a.err;
    ok = ok && a.ok;
    arena_deinit(&a.arena);
    return ok;
}

/* "1.2 MB" */
static const char *size_text(uint64_t size, char *text, size_t room)
{
    if (size < 1000)
        format_text(text, room, "%u bytes", (unsigned)size);
    else if (size < 100000)
        format_text(text, room, "%.1f kB", (double)size / 1000);
    else
        format_text(text, room, "%.1f MB", (double)size / 1e6);
    return text;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void bundle_describe(const struct annotation_keeping *k,
                     const struct engine_report *report)
{
    char code[32], sources[32];
    if (!k->included_count && !k->over_limit) {
        engine_note(report,
                    "no code is included: the files with the code of the functions "
                    "are not on this machine");
        return;
    }
    engine_note(
        report,
        "included: the code of %zu of %zu functions (%.1f%% of self cost), %s; %zu "
        "source file%s, %s",
        k->included_count, k->function_count, k->share,
        size_text(k->code_size, code, sizeof code), k->source_count,
        plural(k->source_count), size_text(k->source_size, sources, sizeof sources));
    if (k->without_code)
        engine_note(report,
                    "left out: the code of %zu function%s, which no file on this machine "
                    "has (the kernel, a JIT)",
                    k->without_code, plural(k->without_code));
    if (k->unread)
        engine_note(report, "left out: %zu source file%s that cannot be read", k->unread,
                    plural(k->unread));
    if (k->over_limit)
        engine_note(report,
                    "left out: %zu function%s or source files beyond the limit of %s "
                    "(stoke convert --code-limit)",
                    k->over_limit, plural(k->over_limit),
                    size_text(k->most, code, sizeof code));
}
