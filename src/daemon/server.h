/* SPDX-License-Identifier: Apache-2.0 */
/* The page and the API over a store, with the entrances for agents, and without sampling.
 *
 * The threads of the HTTP server do the work of requests. The loop reads the metrics of this
 * machine each second, which the page follows; they are in memory only. */
#ifndef STOKE_DAEMON_SERVER_H
#define STOKE_DAEMON_SERVER_H

#include "engine/report.h"
#include "http/server.h"
#include "ingest/scrape_config.h"
#include "store/store.h"

#define SERVER_ADDRESS "127.0.0.1:4040"

struct server_settings {
    const char *store;  /* location */
    const char *listen; /* ADDRESS:PORT */
    const char *token;  /* that requests need, see http/server.h; NULL: none */
    const struct http_tenant *tenants; /* they need the token, too */
    size_t tenant_count;
    const char *certificate, *key;       /* PEM texts: HTTPS; NULL: none */
    const struct scrape_config *scrapes; /* NULL: none */
    struct store_limits limits;
    bool only_reads; /* the store is not opened for writing, and agents are refused */
};

/* Serves until SIGINT or SIGTERM. Requests that have arrived are answered. Returns false with err
 * set if it cannot start. */
bool server_run(const struct server_settings *settings,
                const struct engine_report *report, struct error *err);

#endif
