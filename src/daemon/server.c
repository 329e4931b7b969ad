/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/server.h"
#include "daemon/api.h"
#include "daemon/scrape.h"
#include "os/machine.h"
#include "os/wait.h"
#include <stdlib.h>

#define TURN_MS 500

struct server {
    const struct server_settings *settings;
    const struct engine_report *report;
    struct os_wait wait;
    struct daemon_history history;
    struct daemon_intake intake;
    struct daemon_metrics metrics; /* of this machine: the page follows them */
    struct daemon_api api;
    struct http_settings http_settings;
    struct http_server *http;       /* or NULL */
    struct daemon_scrapes *scrapes; /* or NULL */
};

static bool open_store(struct server *s, struct error *err)
{
    enum store_mode mode = s->settings->only_reads ? STORE_READ : STORE_WRITE;
    s->history.store = store_open(s->settings->store, mode, err);
    return s->history.store != NULL;
}

static bool start_http(struct server *s, struct error *err)
{
    const struct server_settings *settings = s->settings;
    s->api.store = settings->store;
    s->api.metrics = &s->metrics;
    if (!settings->only_reads) {
        s->api.history = &s->history;
        s->api.intake = &s->intake;
    }
    s->http_settings = (struct http_settings){.address = settings->listen,
                                              .token = settings->token,
                                              .tenants = settings->tenants,
                                              .tenant_count = settings->tenant_count,
                                              .certificate = settings->certificate,
                                              .key = settings->key,
                                              .body_max = INGEST_BODY_MAX,
                                              .answer = daemon_api_answer,
                                              .context = &s->api};
    s->http = http_server_start(&s->http_settings, err);
    if (!s->http)
        return false;
    engine_note(s->report, "serving %s", settings->store);
    engine_note(s->report, "HTTP is served on port %u", http_server_port(s->http));
    return true;
}

static bool run(struct server *s, struct error *err)
{
    if (!os_wait_init(&s->wait, err) || !open_store(s, err) || !start_http(s, err))
        return false;
    if (s->settings->scrapes) {
        s->scrapes =
            daemon_scrapes_start(s->settings->scrapes, &s->intake, s->report, err);
        if (!s->scrapes)
            return false;
    }
    while (!(os_wait_for(&s->wait, TURN_MS) & OS_WAIT_STOP)) {
        daemon_metrics_turn(&s->metrics, os_clock_monotonic(), os_clock_real());
        daemon_api_send(&s->api, s->http);
    }
    return true;
}

bool server_run(const struct server_settings *settings,
                const struct engine_report *report, struct error *err)
{
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err);
    s->settings = settings;
    s->report = report;
    s->wait = (struct os_wait){.epoll = -1, .signals = -1};
    s->history.report = report;
    s->history.limits = settings->limits;
    s->history.is_direct = true;
    s->intake.history = &s->history;
    bool ok = daemon_metrics_init(&s->metrics) && daemon_history_init(&s->history) &&
                      daemon_intake_init(&s->intake) && daemon_api_init(&s->api)
                  ? run(s, err)
                  : error_memory(err);
    daemon_scrapes_stop(s->scrapes);
    http_server_stop(s->http);
    daemon_api_deinit(&s->api);
    daemon_intake_deinit(&s->intake);
    daemon_history_deinit(&s->history);
    daemon_metrics_deinit(&s->metrics);
    os_wait_deinit(&s->wait);
    free(s);
    return ok;
}
