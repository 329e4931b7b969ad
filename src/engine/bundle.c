/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bundle.h"

bool bundle_read(struct annotation_keeping *k, const struct load_settings *load,
                 int file_count, char **files, struct error *err)
{
    struct annotations a = {.keep = k};
    *k->code = (struct code){.arena = ARENA_INIT};
    bool ok = (code_init(k->code) || error_memory(err)) &&
              annotate_read_again(&a, load, file_count, files, err);
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
