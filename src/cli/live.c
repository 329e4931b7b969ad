/* SPDX-License-Identifier: Apache-2.0 */
/* stoke live: the live page of this login's daemon, which is started if none runs. */
#include "base/format.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/message.h"
#include "daemon/address.h"
#include "os/file.h"
#include "os/file_lock.h"
#include "os/http_client.h"
#include "os/machine.h"
#include "os/proc.h"
#include "store/store.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define PORT_MOST 65535
#define TICK_US 20000
#define TICKS_MOST 3000 /* a minute: a daemon that ends stores its last window */

struct live_settings {
    const char *store;
    int64_t port;
    bool no_browser, stops;
};

#define OFF(field) offsetof(struct live_settings, field)

static const struct option live_options[] = {
    {"store", 0, "FILE", "the daemon's store (default: that of this user)", OPTION_STRING,
     OFF(store)},
    {"port", 0, "N", "TCP port of a daemon that is started (default: any free port)",
     OPTION_INT, OFF(port), .least = 0, .most = PORT_MOST},
    {"no-browser", 0, NULL, "only print the address; do not open a browser", OPTION_FLAG,
     OFF(no_browser)},
    {"stop", 0, NULL, "end the daemon", OPTION_FLAG, OFF(stops)},
    {0}};

static const struct option_group live_groups[] = {{"options", live_options, 0, NULL},
                                                  {0}};

struct live {
    const struct live_settings *settings;
    char store[PATH_SIZE]; /* absolute */
    char log[PATH_SIZE + 8];
    struct daemon_address daemon;
    bool is_silent; /* the daemon did not answer */
};

/* --- The store ------------------------------------------------------------------------ */

/* The daemon runs in another folder. */
static bool choose_store(struct live *l, struct error *err)
{
    char room[PATH_SIZE], folder[PATH_SIZE] = ".";
    const char *path = l->settings->store;
    if (!path)
        path = store_default_location(STORE_WRITE, room, sizeof room);
    const char *slash = strrchr(path, '/');
    if (store_location_is_address(path)) {
        error_set(err, "stoke live needs a store in a file, not '%s'", path);
        return error_hint(err, "stoke daemon --store ADDRESS --listen ADDRESS:PORT");
    }
    if (slash)
        format_text(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    if (!os_make_folders(path, err))
        return false;
    char *whole = realpath(folder, NULL);
    size_t length = format_text(l->store, sizeof l->store, "%s/%s", whole ? whole : "",
                                slash ? slash + 1 : path);
    bool ok = whole && length < sizeof l->store - 16;
    free(whole);
    format_text(l->log, sizeof l->log, "%s.log", l->store);
    return ok || error_set(err, "'%s' is not a name of a file", path);
}

/* --- Starting a daemon ------------------------------------------------------------------ */

static bool start_process(const struct live *l, struct os_child *child, struct error *err)
{
    char program[PATH_SIZE], listen[32], store[PATH_SIZE];
    char words[5][16] = {"daemon", "--store", "--listen", "--own-token"};
    struct str own = os_own_program(program, sizeof program);
    if (own.len == 0)
        return error_set(err, "the path of this program is unknown");
    format_text(listen, sizeof listen, "127.0.0.1:%u", (unsigned)l->settings->port);
    format_text(store, sizeof store, "%s", l->store);
    char *const argv[] = {program,  words[0], words[1], store,
                          words[2], listen,   words[3], NULL};
    os_output_backup(l->log);
    return os_child_detach(child, argv, l->log, err);
}

/* The messages of a daemon that was started: what it cannot do, or why it ended. */
static void print_log(const struct live *l)
{
    char room[4096];
    struct str text = os_read_text(l->log, room, sizeof room), head = STR("stoke: ");
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (str_starts(line, head))
            line = str_skip(line, head.len);
        message_note("daemon: %.*s", STR_ARG(line));
    }
}

static bool wait_for_start(struct live *l, struct os_child *child, struct error *err)
{
    bool ended = false, found = false;
    for (int i = 0; i < TICKS_MOST && !ended && !found; i++) {
        usleep(TICK_US);
        ended = os_child_ended(child);
        found = daemon_address_find(&l->daemon, l->store);
    }
    print_log(l);
    if (found)
        return true;
    if (!ended) {
        os_child_terminate(child);
        return error_set(err, "the daemon does not publish its address");
    }
    error_set(err, "the daemon has ended with status %d", child->status);
    return error_hint(err,
                      "if another daemon writes this store, end it, or start it with "
                      "--listen 127.0.0.1:4040");
}

/* Another stoke live may start one at the same time. */
static bool find_or_start(struct live *l, struct error *err)
{
    char path[PATH_SIZE + 16];
    struct os_child child;
    format_text(path, sizeof path, "%s.live.lock", l->store);
    int lock = os_file_lock_wait(path, err);
    if (lock < 0)
        return false;
    bool found = daemon_address_find(&l->daemon, l->store);
    bool ok = found || (start_process(l, &child, err) && wait_for_start(l, &child, err));
    os_file_lock_release(lock);
    if (ok)
        message_note("%s: process %lld, store %s; 'stoke live --stop%s%s' ends it",
                     found ? "a daemon runs" : "the daemon is started",
                     (long long)l->daemon.pid, l->store,
                     l->settings->store ? " --store " : "",
                     l->settings->store ? l->settings->store : "");
    return ok;
}

/* --- The page --------------------------------------------------------------------------- */

#define ADDRESS_SIZE 256

/* Requests an address that works once. */
static bool invite(struct live *l, char address[ADDRESS_SIZE], struct error *err)
{
    struct os_http_call call = {l->daemon.address, "POST", "/api/invite",
                                l->daemon.token};
    struct os_http_answer answer;
    l->is_silent = !os_http_ask(&call, &answer, err);
    if (l->is_silent)
        return error_hint(err, "'stoke live --stop' ends the daemon");
    if (answer.status != 200)
        return error_set(err, "the daemon at %s refuses with status %u", call.address,
                         answer.status);
    format_text(address, ADDRESS_SIZE, "http://%s%.*s", call.address,
                STR_ARG(str_trim(answer.body)));
    return true;
}

/* How a browser on another machine reaches this one. */
static void print_forwarding(const struct live *l)
{
    struct os_machine machine;
    const char *port = strrchr(l->daemon.address, ':');
    os_machine_read(&machine);
    message_note("from another machine: ssh -L %s:%s %s, then open the address there",
                 port ? port + 1 : "", l->daemon.address, machine.host);
}

static bool show(struct live *l, struct error *err)
{
    char address[ADDRESS_SIZE];
    bool is_remote = getenv("SSH_CONNECTION") != NULL;
    if (l->daemon.is_encrypted) {
        printf("https://%s/\n", l->daemon.address);
        message_note(
            "the page needs the token of the daemon's --token-file: /?token=TOKEN");
        return true;
    }
    if (!invite(l, address, err))
        return false;
    printf("%s\n", address);
    fflush(stdout);
    if (l->daemon.token[0])
        message_note(
            "the address works once, within ten minutes; stoke live prints a new "
            "one");
    if (is_remote || !browser_is_available())
        print_forwarding(l);
    else if (!l->settings->no_browser && invite(l, address, err))
        browser_open(address);
    return true;
}

/* --- The end of a daemon ---------------------------------------------------------------- */

static bool wait_for_end(const struct live *l)
{
    struct daemon_address now;
    for (int i = 0; i < TICKS_MOST; i++) {
        if (!daemon_address_find(&now, l->store) || now.pid != l->daemon.pid) {
            message_note("the daemon, process %lld, has ended", (long long)l->daemon.pid);
            return true;
        }
        usleep(TICK_US);
    }
    return false;
}

static bool stop(struct live *l, struct error *err)
{
    if (!daemon_address_find(&l->daemon, l->store)) {
        message_note("no daemon with a page writes %s", l->store);
        return true;
    }
    if (kill((pid_t)l->daemon.pid, SIGTERM) != 0)
        return error_set(err, "cannot end process %lld", (long long)l->daemon.pid);
    if (wait_for_end(l))
        return true;
    error_set(err, "process %lld does not end", (long long)l->daemon.pid);
    return error_hint(err, "kill -KILL %lld", (long long)l->daemon.pid);
}

/* A daemon that is ending still holds its store when its server has closed: another one is
 * started when it has ended. */
static bool open_page(struct live *l, struct error *err)
{
    bool ok = find_or_start(l, err) && show(l, err);
    if (l->is_silent && wait_for_end(l))
        ok = find_or_start(l, err) && show(l, err);
    return ok;
}

static int live_command(void *settings, int word_count, char **words)
{
    struct live l = {.settings = settings};
    struct error err = {.location = LOCATION_NONE};
    if (word_count) {
        error_set(&err, "unexpected argument '%s'", words[0]);
        error_hint(&err, "stoke view FILE shows a recording");
        message_error(&err);
        return STATUS_USAGE;
    }
    if (!choose_store(&l, &err))
        return command_status(false, &err);
    if (l.settings->stops)
        return command_status(stop(&l, &err), &err);
    return command_status(open_page(&l, &err), &err);
}

const struct command command_live = {
    .name = "live",
    .summary = "show this machine now, and its history, in the browser",
    .usage = "[OPTION...]",
    .examples = "  stoke live\n"
                "  stoke live --no-browser\n"
                "  stoke live --stop\n",
    .groups = live_groups,
    .settings_size = sizeof(struct live_settings),
    .small_pages = true,
    .run = live_command,
};
