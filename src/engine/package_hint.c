/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/package_hint.h"
#include "analysis/unnamed.h"
#include "base/output.h"
#include "resolve/debuginfod.h"
#include "resolve/packages.h"
#include <stdlib.h>
#include <string.h>

#define SHARE_MIN 0.01 /* minimum share of the samples for a hint */
#define NAME_MAX_SHOWN 64

struct hint {
    struct unnamed_module modules[UNNAMED_MODULES_MAX];
    struct str paths[UNNAMED_MODULES_MAX];
    char packages[UNNAMED_MODULES_MAX][PACKAGE_NAME_MAX]; /* packages of debug symbols */
    size_t count;
    bool owned[UNNAMED_MODULES_MAX]; /* whether a package contains the module, if known */
    bool packages_known;
    bool asks_server; /* a debuginfod server may have one of them */
    struct distribution distribution;
};

/* Selects the modules whose files exist here without symbols. */
static void choose_modules(struct hint *h, const struct symbols *s,
                           const struct profile *p)
{
    struct unnamed_module all[UNNAMED_MODULES_MAX];
    size_t count = unnamed_modules(p, SHARE_MIN, all);
    for (size_t i = 0; i < count; i++) {
        bool has_build_id;
        struct str path = profile_string(p, p->modules[all[i].module].path);
        if (!local_resolver_is_stripped(s->machine, path, &has_build_id))
            continue;
        h->modules[h->count] = all[i];
        h->paths[h->count] = path;
        h->owned[h->count++] = true;
        h->asks_server |= has_build_id;
    }
}

static void find_packages(struct hint *h, const char *root)
{
    char owners[UNNAMED_MODULES_MAX][PACKAGE_NAME_MAX];
    h->distribution = distribution_find(root);
    if (h->distribution.manager != PACKAGES_DPKG ||
        !packages_find(root, h->paths, h->count, owners))
        return;
    h->packages_known = true;
    for (size_t i = 0; i < h->count; i++) {
        h->owned[i] = owners[i][0] != 0;
        if (h->owned[i])
            package_debug_name(owners[i], h->packages[i]);
    }
}

static bool is_repeated(const struct hint *h, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(h->packages[j], h->packages[i]) == 0)
            return true;
    return false;
}

static void put_name(struct output *o, struct str path)
{
    output_str(o, str_head(str_basename(path), NAME_MAX_SHOWN));
}

/* "install A, B" */
static void put_packages(struct output *o, const struct hint *h)
{
    const char *before = "install ";
    if (!h->packages_known) {
        output_text(o, h->distribution.manager == PACKAGES_DNF
                           ? "install the debuginfo packages (dnf debuginfo-install "
                             "PACKAGE)"
                       : h->distribution.manager == PACKAGES_ZYPPER
                           ? "install the debuginfo packages (zypper install "
                             "PACKAGE-debuginfo)"
                           : "install the packages with their debug symbols");
        return;
    }
    for (size_t i = 0; i < h->count; i++) {
        if (!h->owned[i] || is_repeated(h, i))
            continue;
        output_format(o, "%s%s", before, h->packages[i]);
        before = ", ";
    }
}

/* Suggests no server if one was asked already, or if the options forbid it. */
static void put_server(struct output *o, const struct hint *h, const struct symbols *s)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (!h->asks_server || s->settings.find.no_debuginfod || (servers && servers[0]))
        return;
    output_format(o, ", or %sset DEBUGINFOD_URLS=%s",
                  debuginfod_is_installed() ? "" : "install libdebuginfod1 and ",
                  h->distribution.server);
}

/* Modules that are in no package: the user's own. */
static void put_unowned(struct output *o, const struct hint *h, bool any_owned)
{
    const char *before = any_owned ? "; build " : "build ";
    bool any = false;
    for (size_t i = 0; i < h->count; i++) {
        if (h->owned[i])
            continue;
        output_text(o, any ? ", " : before);
        put_name(o, h->paths[i]);
        any = true;
    }
    if (any)
        output_text(o, " without stripping the symbols (no package contains the file)");
}

void package_hint(const struct symbols *s, const struct profile *p,
                  const struct engine_report *report)
{
    struct hint h = {.count = 0};
    struct output line = OUTPUT_BUFFER;
    bool any_owned = false;
    double share = 0;
    choose_modules(&h, s, p);
    if (h.count == 0)
        return;
    find_packages(&h, s->settings.find.symfs ? s->settings.find.symfs : "");
    for (size_t i = 0; i < h.count; i++) {
        share += h.modules[i].share;
        any_owned |= h.owned[i];
    }
    output_format(&line, "no function names for %.0f%% of the samples (", share * 100);
    for (size_t i = 0; i < h.count; i++) {
        output_format(&line, "%s%.0f%% in ", i ? ", " : "", h.modules[i].share * 100);
        put_name(&line, h.paths[i]);
    }
    output_text(&line, "): ");
    if (any_owned) {
        put_packages(&line, &h);
        put_server(&line, &h, s);
    }
    put_unowned(&line, &h, any_owned);
    engine_note(report, "%.*s", STR_ARG(output_contents(&line)));
    output_deinit(&line);
}
