/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings on demand: /api/record, /api/record/stop, /api/recording, /api/recorded. */
#include "daemon/api_parts.h"

static bool has_loop(const struct daemon_api *api, struct http_reply *r)
{
    struct error err;
    if (api->recording)
        return true;
    error_set(&err, "no daemon samples here");
    api_fail(r, STATUS_MISSING, &err);
    return false;
}

static void put_state(struct daemon_api *api, struct http_reply *r)
{
    struct json_writer w = {.out = &r->body};
    r->type = "application/json";
    daemon_recording_write(api->recording, &w);
}

void api_record(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    bool busy;
    if (!has_loop(api, r))
        return;
    if (daemon_recording_request(api->recording, q->body, &busy, &err))
        put_state(api, r);
    else
        api_fail(r, busy ? STATUS_CONFLICT : STATUS_BAD, &err);
}

void api_record_stop(struct daemon_api *api, const struct http_query *q,
                     struct http_reply *r)
{
    (void)q;
    if (!has_loop(api, r))
        return;
    daemon_recording_stop(api->recording);
    put_state(api, r);
}

void api_recording(struct daemon_api *api, const struct http_query *q,
                   struct http_reply *r)
{
    (void)q;
    if (has_loop(api, r))
        put_state(api, r);
}

void api_recorded(struct daemon_api *api, const struct http_query *q,
                  struct http_reply *r)
{
    struct error err = {.message = ""};
    (void)q;
    if (!has_loop(api, r))
        return;
    r->type = "application/octet-stream";
    if (!daemon_recording_read(api->recording, &r->body, &err))
        api_fail(r, STATUS_MISSING, &err);
}
