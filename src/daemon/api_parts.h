/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the API share. */
#ifndef STOKE_DAEMON_API_PARTS_H
#define STOKE_DAEMON_API_PARTS_H

#include "daemon/api.h"

#define STATUS_BAD 400u
#define STATUS_FORBIDDEN 403u
#define STATUS_MISSING 404u
#define STATUS_METHOD 405u
#define STATUS_CONFLICT 409u
#define STATUS_TOO_LARGE 413u
#define STATUS_TYPE 415u
#define STATUS_FAILED 500u
#define STATUS_UNSUPPORTED 501u
#define STATUS_UNAVAILABLE 503u

/* The functions of the addresses. */
#define ROUTE(name, method, path, type, arguments, summary)             \
    void api_##name(struct daemon_api *api, const struct http_query *q, \
                    struct http_reply *r);
#include "daemon/api_routes.def"
#undef ROUTE

/* A row of api_routes.def. */
struct api_route {
    const char *name, *method, *path, *type, *arguments, *summary;
    void (*answer)(struct daemon_api *api, const struct http_query *q,
                   struct http_reply *r);
};

/* The i-th one; NULL after the last. */
const struct api_route *api_route_at(size_t i);

/* Whether a route does anything here: a daemon takes no profiles, and a server records nothing. */
bool api_serves(const struct daemon_api *api, const struct api_route *route);

/* How long clients share a reply, ns: what changes each second; what the page shows as a
 * mean of 10 s. */
#define API_SHARED_SHORT ((uint64_t)900000000)
#define API_SHARED_LONG ((uint64_t)5000000000)

/* The reply becomes the error. */
void api_fail(struct http_reply *r, unsigned status, const struct error *err);

/* The same for a failure to read the store: while it is absent or being written again, the status
 * is 503, after which clients ask again. */
void api_fail_read(const struct daemon_api *api, struct http_reply *r, unsigned status,
                   const struct error *err);

/* Whether the daemon writes the store, but it cannot be read now; *err is then why. */
bool api_store_is_absent(const struct daemon_api *api, struct error *err);

/* The same request of other clients gets this reply for `time` ns. */
void api_share(struct http_reply *r, uint64_t time);

/* Writes the metrics of the entrances for agents. */
void api_put_intake(struct output *o, struct daemon_intake *intake);

/* Reads `from` and `to`; by default the last `seconds`. */
bool api_read_span(const struct http_query *q, uint64_t seconds, struct store_span *span,
                   struct error *err);

/* The same with another name of the end than `to`. */
bool api_read_span_to(const struct http_query *q, const char *end, uint64_t seconds,
                      struct store_span *span, struct error *err);

/* The samples of the span, those that are not stored yet too. `keep`: each with its time.
 * `tenant`: only what it may see; NULL: all. The caller destroys the profile. */
struct profile *api_read_profile(const struct daemon_api *api,
                                 const struct http_tenant *tenant,
                                 const struct store_span *span, bool keep,
                                 struct error *err);

#endif
