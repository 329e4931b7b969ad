#include "cli/symbols.h"
#include "base/format.h"
#include "cli/message.h"
#include <stdlib.h>

const char *const demangle_choices[] = {"simple", "no", "full", NULL};
static const enum demangle demangle_values[] = {DEMANGLE_SIMPLE, DEMANGLE_NO,
                                                DEMANGLE_FULL};

/* By the XDG base directory specification. */
const char *symbols_cache_dir(char *room, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        format_text(room, size, "%s/stoke", cache);
    else if (home && home[0] == '/')
        format_text(room, size, "%s/.cache/stoke", home);
    else
        return NULL;
    return room;
}

bool symbols_init(struct symbols *s, const struct symbol_settings *settings, bool lines,
                  int64_t threads, struct error *err)
{
    *s = (struct symbols){.settings = {.kallsyms = settings->kallsyms,
                                       .vmlinux = settings->vmlinux,
                                       .no_inline = settings->no_inline,
                                       .no_lines = !lines}};
    size_t count = settings->debug_dirs.count;
    s->debug_dirs = calloc(count + 1, sizeof *s->debug_dirs);
    if (!s->debug_dirs)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        s->debug_dirs[i] = settings->debug_dirs.items[i];
    s->settings.find = (struct find_settings){.symfs = settings->symfs,
                                              .debug_dirs = s->debug_dirs,
                                              .no_debuginfod = settings->no_debuginfod};
    s->settings.cache_dir = symbols_cache_dir(s->cache_dir, sizeof s->cache_dir);
    s->settings.demangle = demangle_values[settings->demangle];
    s->settings.threads = threads > 0 ? (unsigned)threads : 0;
    s->machine = machine_resolver_create(&s->settings);
    if (!s->machine)
        return error_memory(err);
    s->seam = machine_resolver_seam(s->machine);
    return true;
}

void symbols_deinit(struct symbols *s)
{
    machine_resolver_destroy(s->machine);
    free(s->debug_dirs);
}

void symbols_report(const struct symbols *s)
{
    struct resolve_report r;
    machine_resolver_report(s->machine, &r);
    if (r.missing)
        message_note("%zu of the files that were recorded are not on this machine, the "
                     "first %.*s: their functions have no names (--symfs, --debug-dir)",
                     r.missing, STR_ARG(r.missing_path));
    if (r.changed)
        message_note("%zu of the files are other ones than were recorded, the first "
                     "%.*s: their functions have no names (--symfs tells where the "
                     "recorded ones are)",
                     r.changed, STR_ARG(r.changed_path));
    if (r.kernel_hidden)
        message_note("the kernel hides its addresses (sysctl kernel.kptr_restrict), so "
                     "its functions have no names: give --kallsyms or --vmlinux, or run "
                     "this as root");
}
