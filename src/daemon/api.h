/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP interface of stoke daemon: the live page at /, and what it and other programs
 * read. api_routes.def lists the addresses.
 *
 * Each request opens the store for itself, so requests do not wait for the sampling loop.
 * Its memory is bounded. */
#ifndef STOKE_DAEMON_API_H
#define STOKE_DAEMON_API_H

#include "daemon/budget.h"
#include "daemon/history.h"
#include "daemon/intake.h"
#include "daemon/metrics.h"
#include "daemon/notes.h"
#include "daemon/processes.h"
#include "daemon/recent.h"
#include "daemon/recording.h"
#include "http/server.h"

/* Memory of a request: half of the budget if there is one. */
#define DAEMON_API_MEMORY ((int64_t)256 << 20)
#define DAEMON_API_MEMORY_LEAST ((int64_t)16 << 20)

struct daemon_api {
    const char *store;           /* location */
    uint32_t requested_rate;     /* samples per second and CPU */
    _Atomic uint32_t rate;       /* that the budget permits now */
    _Atomic uint64_t least_wait; /* ns: shorter waits are not sampled now; 0: none is */
    _Atomic uint64_t waits, waited; /* sampled since the start; ns of them */
    struct daemon_limits budget;
    struct daemon_metrics *metrics;     /* NULL: those of the store only */
    struct daemon_recent *recent;       /* NULL: the store only */
    struct daemon_history *history;     /* NULL: no process writes the store */
    struct daemon_recording *recording; /* NULL: no process records */
    struct daemon_notes *notes;         /* NULL: none */
    bool has_token;                     /* requests need it */
    struct daemon_intake *intake;       /* NULL: agents cannot push */

    /* Private. */
    struct daemon_processes processes;
    uint64_t sent; /* the last second whose metrics were sent */
};

bool daemon_api_init(struct daemon_api *api); /* false when out of memory */
void daemon_api_deinit(struct daemon_api *api);

/* The function of struct http_settings; its context is a struct daemon_api. */
void daemon_api_answer(void *context, const struct http_query *q, struct http_reply *r);

/* Sends the newest metrics to all streams, if they are not sent yet. */
void daemon_api_send(struct daemon_api *api, struct http_server *s);

/* Parses a time of a request: "now", "-5m", "now-5m" (s, m, h, d), or a number since
 * 1970 in s, ms, us or ns (by its size). False if it is invalid. */
bool daemon_api_time(struct str text, uint64_t now, uint64_t *out);

#endif
