/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP interface of stoke daemon: /metrics, /api/profile, /api/metrics, /api/labels
 * and /debug/pprof/profile.
 *
 * Each request opens the store for itself, so requests do not wait for the sampling loop.
 * Its memory is bounded. */
#ifndef STOKE_DAEMON_API_H
#define STOKE_DAEMON_API_H

#include "daemon/metrics.h"
#include "http/server.h"

#define DAEMON_API_MEMORY ((int64_t)256 << 20) /* of a request */

struct daemon_api {
    const char *store;              /* location */
    struct daemon_metrics *metrics; /* NULL: those of the store only */
};

/* The function of struct http_settings; its context is a struct daemon_api. */
void daemon_api_answer(void *context, const struct http_query *q, struct http_reply *r);

/* Parses a time of a request: "now", "-5m", "now-5m" (s, m, h, d), or a number since
 * 1970 in s, ms, us or ns (by its size). False if it is invalid. */
bool daemon_api_time(struct str text, uint64_t now, uint64_t *out);

#endif
