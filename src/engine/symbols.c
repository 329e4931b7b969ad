/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/symbols.h"
#include "base/format.h"
#include "os/machine.h"
#include "resolve/kernel.h"
#include <stdlib.h>
#include <string.h>

const char *const demangle_choices[] = {"simple", "no", "full", NULL};
static const enum demangle demangle_values[] = {DEMANGLE_SIMPLE, DEMANGLE_NO,
                                                DEMANGLE_FULL};

enum demangle symbols_demangle(const struct symbol_settings *settings)
{
    return demangle_values[settings->demangle];
}

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
    s->settings.demangle = symbols_demangle(settings);
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

/* So many files are named; of those beyond them there is one warning. */
#define DOUBTS_MAX 6

struct doubts {
    struct builder *b;
    unsigned count;
};

static bool has_warning(const struct facts *facts, const char *what)
{
    for (unsigned i = 0; i < facts->warning_count; i++)
        if (strcmp(facts->warnings[i].what, what) == 0)
            return true;
    return false;
}

/* A file may be several objects: of several processes or inputs. */
static void add_doubt(void *context, const char *why)
{
    struct doubts *d = context;
    if (has_warning(&d->b->profile->facts, why))
        return;
    if (++d->count > DOUBTS_MAX) {
        builder_warn_times(d->b, "names in more such files may be wrong", 1);
        return;
    }
    struct str with_end = {why, strlen(why) + 1};
    struct str kept = arena_str(&d->b->profile->arena, with_end);
    if (kept.len)
        builder_warn_times(d->b, kept.ptr, 1);
}

void symbols_warn(const struct symbols *s, struct builder *b)
{
    machine_resolver_doubts(s->machine, add_doubt, &(struct doubts){.b = b});
}

static void report_kernel(const struct symbols *s, const struct resolve_report *r,
                          const struct engine_report *to)
{
    if (r->kernel_hidden && s->settings.kallsyms)
        engine_note(to,
                    "the kernel's functions have no names: all addresses in %s are 0, "
                    "as in a copy that is not made by root",
                    s->settings.kallsyms);
    else if (r->kernel_hidden)
        engine_note(to,
                    "the kernel hides its addresses (sysctl %s), so its functions have "
                    "no names: give --kallsyms or --vmlinux, or run this as root",
                    os_kernel_hidden_by());
    if (r->kernel_unknown && r->kernel_release.len)
        engine_note(to,
                    "the symbols of the recorded kernel, %.*s, are not here, so its "
                    "functions have no names: give its --kallsyms or --vmlinux",
                    STR_ARG(r->kernel_release));
    else if (r->kernel_unknown)
        engine_note(to,
                    "the recording does not tell which kernel it was, so the kernel's "
                    "functions have no names: give its --kallsyms or --vmlinux");
}

/* Another way to a file with a build id, where no server was asked. */
static const char *server_hint(const struct symbols *s)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    bool asked = s->settings.find.no_debuginfod || (servers && servers[0]);
    return asked ? "" : ", or set DEBUGINFOD_URLS";
}

void symbols_report(const struct symbols *s, const struct engine_report *to)
{
    struct resolve_report r;
    machine_resolver_report(s->machine, &r);
    if (r.missing)
        engine_note(to,
                    "%zu of the files that were recorded %s not on this machine, %s%.*s: "
                    "%s functions have no names (--symfs, --debug-dir%s)",
                    r.missing, r.missing == 1 ? "is" : "are",
                    r.missing == 1 ? "" : "the first ", STR_ARG(r.missing_path),
                    r.missing == 1 ? "its" : "their", server_hint(s));
    if (r.changed)
        engine_note(to,
                    "%zu of the files %s than %s recorded, %s%.*s: %s functions have no "
                    "names (--symfs tells where the recorded %s)",
                    r.changed, r.changed == 1 ? "is another one" : "are other ones",
                    r.changed == 1 ? "was" : "were", r.changed == 1 ? "" : "the first ",
                    STR_ARG(r.changed_path), r.changed == 1 ? "its" : "their",
                    r.changed == 1 ? "one is" : "ones are");
    report_kernel(s, &r, to);
    if (r.unread)
        engine_note(to, "a JIT's code has no names by %.*s%s", STR_ARG(r.unread_why),
                    r.unread == 1 ? "" : ", and others by files like it");
    if (r.unsplit)
        engine_note(to,
                    "inlined functions are not known of %zu %s: the .dwo or .dwp %s, "
                    "%s%.*s",
                    r.unsplit, r.unsplit == 1 ? "program" : "programs",
                    r.unsplit == 1 ? "file is missing" : "files are missing",
                    r.unsplit == 1 ? "" : "the first ", STR_ARG(r.unsplit_path));
    if (r.unshared)
        engine_note(to,
                    "inlined functions and lines may be missing of %zu %s: so %s "
                    "%s%.*s, made by dwz (--debug-dir)",
                    r.unshared, r.unshared == 1 ? "program" : "programs",
                    r.unshared == 1 ? "is" : "are",
                    r.unshared == 1 ? "" : "files such as ", STR_ARG(r.unshared_path));
}
