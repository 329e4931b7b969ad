/* SPDX-License-Identifier: Apache-2.0 */
/* stoke view: serves the viewer page with a profile to a browser on this machine. */
#include "base/format.h"
#include "cli/annotate/annotate.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options/load.h"
#include "cli/options/names.h"
#include "cli/options/transforms.h"
#include "engine/home.h"
#include "engine/save.h"
#include "engine/sources.h"
#include "export/html_page.h"
#include "os/file.h"
#include "os/server.h"
#include <stdio.h>

#define PORT_MOST 65535

struct viewer_settings {
    struct load_settings load;
    struct transforms_settings transforms;
    struct names_settings names;
    struct name_list source_dirs;
    int64_t port;
    bool no_browser;
};

#define OFF(field) offsetof(struct viewer_settings, field)

static const struct option viewer_options[] = {
    {"port", 0, "N", "TCP port of the server (default: any free port)", OPTION_INT,
     OFF(port), .least = 0, .most = PORT_MOST},
    {"source-dir", 0, "DIR", "also search source files in this directory (repeatable)",
     OPTION_LIST, OFF(source_dirs)},
    {"no-browser", 0, NULL, "only print the address; do not open a browser", OPTION_FLAG,
     OFF(no_browser)},
    {0}};

static const struct option_group viewer_groups[] = {
    {"options", viewer_options, 0},
    {"names", names_options, OFF(names)},
    {"filters and transforms", transforms_options, OFF(transforms)},
    {"input", load_options, OFF(load)},
    {0}};

static struct profile *load_page(struct viewer_settings *s, int file_count, char **files,
                                 struct error *err)
{
    return transforms_apply(&s->transforms,
                            load_profiles(&s->load, file_count, files, err), err);
}

/* Writes the page to `out`, with the profile of the files, if there are any, compared with
 * that of the file `before` unless it is NULL. */
static bool make_page(struct viewer_settings *s, int file_count, char **files,
                      char *before, struct output *out, struct error *err)
{
    struct export_options options = {.with_callgraph = true, .home = true};
    struct profile *earlier = NULL;
    if (file_count == 0 && !load_has_input())
        return html_put_page(NULL, &options, out, err);
    if (!load_inputs(&s->load, NULL, &file_count, &files, err))
        return false;
    if (file_count == 1 && strcmp(files[0], "-") != 0)
        options.title = str_basename(str_of(files[0]));
    save_prepare_load(exporter_named(STR("html")), &s->load);
    names_prepare(&s->names, THREAD_TID, &s->load, &s->transforms, &options);
    transforms_prepare(&s->transforms, &s->load);
    struct sources sources;
    struct output listing = OUTPUT_BUFFER;
    sources_init(&sources);
    struct code_consumer consumer = sources_consumer(&sources);
    s->load.code_consumer = &consumer;
    struct profile *p = load_page(s, file_count, files, err);
    bool has_code = sources.code_count == (size_t)file_count;
    bool ok = p && sources_read(&sources, p, &s->source_dirs, err);
    ok = ok && (!has_code ||
                annotate_write_listing(&s->load, file_count, files, &listing, err));
    options.assembly = output_contents(&listing);
    options.sources = sources.items;
    options.source_count = sources.count;
    s->load.code_consumer = NULL;
    if (ok && before) {
        options.before = earlier = load_page(s, 1, &before, err);
        options.before_title = str_basename(str_of(before));
        ok = earlier != NULL;
    }
    ok = ok && html_put_page(p, &options, out, err);
    sources_deinit(&sources);
    output_deinit(&listing);
    profile_destroy(earlier);
    profile_destroy(p);
    return ok;
}

/* For the home: writes the page of a file to standard output. */
static int make_page_of(void *context, const char *path, const char *before)
{
    struct error err = {.location = LOCATION_NONE};
    char name[4096], earlier[4096];
    char *files[] = {name, NULL};
    struct os_output to;
    struct viewer_settings *s = context;
    format_text(name, sizeof name, "%s", path);
    format_text(earlier, sizeof earlier, "%s", before ? before : "");
    s->load.quiet = true;
    if (!os_output_open(&to, "-", &err))
        return command_status(false, &err);
    struct output out = os_output_stream(&to);
    bool ok = make_page(s, 1, files, before ? earlier : NULL, &out, &err);
    ok = ok ? os_output_close(&to, &out, &err) : (os_output_abandon(&to), false);
    output_deinit(&out);
    if (ok && before)
        home_files_remember(before);
    if (ok)
        home_files_remember(path);
    return command_status(ok, &err);
}

/* The addresses of the server: one is printed, one is passed to the started browser. */
enum { FOR_TERMINAL, FOR_BROWSER };

#define BROWSER_SECONDS 120 /* lifetime of the address for the started browser */

/* Other users can see the arguments of the browser's process, so its address works once
 * and expires. */
static void invite_browser(struct os_server *server)
{
    char address[OS_SERVER_ADDRESS];
    struct error err;
    if (os_server_invite(server, FOR_BROWSER, BROWSER_SECONDS, address, &err))
        browser_open(address);
    else
        message_note("cannot open a browser: %s", err.message);
}

/* Serves until a signal arrives. Each printed address works once: prints a new one after
 * its use. */
static bool serve_browsers(struct os_server *server, struct engine_home *home,
                           struct os_wait *wait, bool quiet, struct error *err)
{
    char address[OS_SERVER_ADDRESS];
    int timeout = -1;
    while (!(os_wait_for(wait, timeout) & OS_WAIT_STOP)) {
        engine_home_turn(home);
        timeout = os_server_serve(server);
        if (quiet || !os_server_was_used(server, FOR_TERMINAL))
            continue;
        if (!os_server_invite(server, FOR_TERMINAL, 0, address, err))
            return false;
        message_note("address for another browser: %s", address);
    }
    return true;
}

/* Serves the page, and the home with the page without a profile. */
static bool serve(struct viewer_settings *s, struct str page, struct str bare,
                  struct error *err)
{
    char address[OS_SERVER_ADDRESS];
    struct os_wait wait;
    struct os_server server = {.listeners = {-1, -1}, .epoll = -1};
    struct engine_home home;
    engine_home_open(&home, &(struct engine_home_settings){bare, &wait, make_page_of, s});
    bool ok = os_wait_init(&wait, err) &&
              os_server_open(&server, (unsigned)s->port, page, &wait, err) &&
              os_server_invite(&server, FOR_TERMINAL, 0, address, err);
    if (ok) {
        server.pages = &home.pages;
        printf("%s\n", address);
        fflush(stdout);
        if (!s->load.quiet)
            message_note("serving until Ctrl-C; the address works once");
        if (!s->no_browser && browser_is_available())
            invite_browser(&server);
        ok = serve_browsers(&server, &home, &wait, s->load.quiet, err);
    }
    engine_home_close(&home);
    os_server_close(&server);
    os_wait_deinit(&wait);
    return ok;
}

static int viewer_run(void *settings, int file_count, char **files)
{
    struct viewer_settings *s = settings;
    struct error err = {.location = LOCATION_NONE};
    struct output page = OUTPUT_BUFFER, bare = OUTPUT_BUFFER;
    struct export_options options = {.with_callgraph = true, .home = true};
    bool ok = make_page(s, file_count, files, NULL, &page, &err) &&
              html_put_page(NULL, &options, &bare, &err) &&
              ((output_finish(&page) && output_finish(&bare)) || error_memory(&err));
    for (int i = 0; ok && i < file_count; i++)
        home_files_remember(files[i]);
    ok = ok && serve(s, output_contents(&page), output_contents(&bare), &err);
    output_deinit(&page);
    output_deinit(&bare);
    return command_status(ok, &err);
}

const struct command command_view = {
    .name = "view",
    .summary = "show a profile in the browser",
    .usage = "[OPTION...] [FILE...]",
    .examples = "  stoke view perf.data\n"
                "  stoke view --no-browser --port 8080 perf.data\n",
    .groups = viewer_groups,
    .settings_size = sizeof(struct viewer_settings),
    .result = offsetof(struct viewer_settings, load.result),
    .run = viewer_run,
};
