/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of many functions, for a page. */
#include "cli/annotate/annotate.h"

#define FUNCTIONS_MOST 50

static bool load_recordings(const struct load_settings *given, struct annotations *a,
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
    struct profile *p = load_profiles(&load, file_count, files, err);
    bool ok = p != NULL;
    profile_destroy(p);
    annotate_collector_destroy(c);
    return ok;
}

bool annotate_write_listing(const struct load_settings *load, int file_count,
                            char **files, struct output *out, struct error *err)
{
    struct annotations a = {.most = FUNCTIONS_MOST};
    for (int i = 0; i < file_count; i++)
        if (strcmp(files[i], "-") == 0)
            return error_set(err, "--with-assembly reads a recording twice: give a file "
                                  "instead of the standard input");
    bool ok = load_recordings(load, &a, file_count, files, err);
    if (ok && !a.ended && !a.err.message[0]) {
        error_set(&a.err, "--with-assembly needs recordings: in other formats, the "
                          "addresses of code are unknown");
        error_hint(&a.err, "give a perf.data, as perf record writes it");
    }
    if (ok && !a.ok)
        *err = a.err;
    ok = ok && a.ok && (annotate_write_json(&a, false, out) || error_memory(err));
    arena_deinit(&a.arena);
    return ok;
}
