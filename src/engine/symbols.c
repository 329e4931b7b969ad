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

/* According to the XDG base directory specification. */
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
                                              .no_debuginfod = settings->no_debuginfod,
                                              .limits = settings->limits};
    s->settings.cache_dir = symbols_cache_dir(s->cache_dir, sizeof s->cache_dir);
    s->settings.demangle = symbols_demangle(settings);
    s->settings.threads = threads > 0 ? (unsigned)threads : 0;
    if (!find_check(&s->settings.find, err) || !kernel_check(&s->settings, err))
        return false;
    s->machine = local_resolver_create(&s->settings);
    if (!s->machine)
        return error_memory(err);
    s->seam = local_resolver_interface(s->machine);
    return true;
}

void symbols_deinit(struct symbols *s)
{
    local_resolver_destroy(s->machine);
    free(s->debug_dirs);
}

/* Number of files with their own warning; the others share one. */
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
static void add_warning(void *context, const char *why)
{
    struct doubts *d = context;
    if (has_warning(&d->b->profile->facts, why))
        return;
    if (++d->count > DOUBTS_MAX) {
        builder_warn_times(d->b, "names in more such files may be wrong or incomplete",
                           1);
        return;
    }
    struct str with_end = {why, strlen(why) + 1};
    struct str copy = arena_str(&d->b->profile->arena, with_end);
    if (copy.len)
        builder_warn_times(d->b, copy.ptr, 1);
}

void symbols_warn(const struct symbols *s, struct builder *b)
{
    local_resolver_doubts(s->machine, add_warning, &(struct doubts){.b = b});
}

static void report_kernel(const struct symbols *s, const struct resolve_report *r,
                          const struct engine_report *to)
{
    if (r->kernel_hidden && s->settings.kallsyms)
        engine_note(to,
                    "kernel functions have no names: all addresses in %s are 0, because "
                    "the copy was not made by root",
                    s->settings.kallsyms);
    else if (r->kernel_hidden)
        engine_note(to,
                    "kernel functions have no names: the kernel hides its addresses "
                    "(sysctl %s); give --kallsyms or --vmlinux, or run as root",
                    os_kernel_hidden_by());
    if (r->kernel_unknown && r->kernel_release.len)
        engine_note(to,
                    "kernel functions have no names: the symbols of the recorded kernel, "
                    "%.*s, are not on this machine; give its --kallsyms or --vmlinux",
                    STR_ARG(r->kernel_release));
    else if (r->kernel_unknown)
        engine_note(to, "kernel functions have no names: the recording does not identify "
                        "its kernel; give its --kallsyms or --vmlinux");
}

/* A suggestion for files with a build ID, if no server was asked. */
static const char *server_hint(const struct symbols *s)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    bool asked = s->settings.find.no_debuginfod || (servers && servers[0]);
    return asked ? "" : ", or set DEBUGINFOD_URLS";
}

void symbols_report(const struct symbols *s, const struct engine_report *to)
{
    struct resolve_report r;
    local_resolver_report(s->machine, &r);
    if (r.missing)
        engine_note(to,
                    "%zu recorded %s missing on this machine (%.*s%s): no function names "
                    "there; use --symfs or --debug-dir%s",
                    r.missing, r.missing == 1 ? "file is" : "files are",
                    STR_ARG(r.missing_path), r.missing == 1 ? "" : ", ...",
                    server_hint(s));
    if (r.changed)
        engine_note(to,
                    "%zu %s changed since the recording (%.*s%s): no function names "
                    "there; --symfs DIR sets the folder with the recorded %s",
                    r.changed, r.changed == 1 ? "file has" : "files have",
                    STR_ARG(r.changed_path), r.changed == 1 ? "" : ", ...",
                    r.changed == 1 ? "version is" : "versions are");
    report_kernel(s, &r, to);
    if (r.unread)
        engine_note(to, "no names for JIT code: %.*s%s", STR_ARG(r.unread_why),
                    r.unread == 1 ? "" : "; similar files have the same problem");
    if (r.unsplit)
        engine_note(to,
                    "no inlined functions for %zu %s: missing .dwo or .dwp %s (%.*s%s)",
                    r.unsplit, r.unsplit == 1 ? "binary" : "binaries",
                    r.unsplit == 1 ? "file" : "files", STR_ARG(r.unsplit_path),
                    r.unsplit == 1 ? "" : ", ...");
    if (r.unshared)
        engine_note(to,
                    "inlined functions and lines may be incomplete for %zu %s: missing "
                    "%s made by dwz (%.*s%s); use --debug-dir",
                    r.unshared, r.unshared == 1 ? "binary" : "binaries",
                    r.unshared == 1 ? "file" : "files", STR_ARG(r.unshared_path),
                    r.unshared == 1 ? "" : ", ...");
}
