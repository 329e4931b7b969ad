#include "cli/symbols.h"
#include "base/format.h"
#include "cli/message.h"
#include "resolve/kernel.h"
#include <stdlib.h>

const char *const demangle_choices[] = {"simple", "no", "full", NULL};
static const enum demangle demangle_values[] = {DEMANGLE_SIMPLE, DEMANGLE_NO,
                                                DEMANGLE_FULL};

/* Where unwind tables are kept, by the XDG base directory specification. */
static const char *find_cache_dir(struct symbols *s)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        format_text(s->cache_dir, sizeof s->cache_dir, "%s/stoke", cache);
    else if (home && home[0] == '/')
        format_text(s->cache_dir, sizeof s->cache_dir, "%s/.cache/stoke", home);
    return s->cache_dir[0] ? s->cache_dir : NULL;
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
    s->settings.cache_dir = find_cache_dir(s);
    s->settings.demangle = demangle_values[settings->demangle];
    s->settings.threads = threads > 0 ? (unsigned)threads : 0;
    if (!find_check(&s->settings.find, err) || !kernel_check(&s->settings, err))
        return false;
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

static void report_kernel(const struct resolve_report *r)
{
    if (r->kernel_unknown && r->kernel_release.len)
        message_note("the symbols of the recorded kernel, %.*s, are not here, so its "
                     "functions have no names: give its --kallsyms or --vmlinux",
                     STR_ARG(r->kernel_release));
    else if (r->kernel_unknown)
        message_note("the recording does not tell which kernel it was, so the kernel's "
                     "functions have no names: give its --kallsyms or --vmlinux");
}

void symbols_report(const struct symbols *s)
{
    struct resolve_report r;
    machine_resolver_report(s->machine, &r);
    if (r.missing)
        message_note(
            "%zu of the files that were recorded %s not on this machine, %s%.*s: "
            "%s functions have no names (--symfs, --debug-dir)",
            r.missing, r.missing == 1 ? "is" : "are", r.missing == 1 ? "" : "the first ",
            STR_ARG(r.missing_path), r.missing == 1 ? "its" : "their");
    if (r.changed)
        message_note("%zu of the files %s than %s recorded, %s%.*s: %s functions have no "
                     "names (--symfs tells where the recorded %s)",
                     r.changed, r.changed == 1 ? "is another one" : "are other ones",
                     r.changed == 1 ? "was" : "were", r.changed == 1 ? "" : "the first ",
                     STR_ARG(r.changed_path), r.changed == 1 ? "its" : "their",
                     r.changed == 1 ? "one is" : "ones are");
    if (r.kernel_hidden)
        message_note("the kernel hides its addresses (sysctl kernel.kptr_restrict), so "
                     "its functions have no names: give --kallsyms or --vmlinux, or run "
                     "this as root");
    report_kernel(&r);
    if (r.unread)
        message_note("%zu of the files in which programs tell of the code that they make "
                     "are not read, the first %.*s: that code has no names from there",
                     r.unread, STR_ARG(r.unread_why));
    if (r.unsplit)
        message_note("%zu of the programs have debug information in .dwo or .dwp files "
                     "that are missing, the first %.*s: their inlined functions are not "
                     "known",
                     r.unsplit, STR_ARG(r.unsplit_path));
    if (r.unshared)
        message_note("%zu of the programs have debug information in a file made by dwz "
                     "that is missing, the first %.*s: inlined functions and lines may "
                     "be missing, too (--debug-dir)",
                     r.unshared, STR_ARG(r.unshared_path));
}
