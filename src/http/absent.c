/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server of a build without libmicrohttpd. */
#include "http/server.h"

const char *http_query_argument(const struct http_query *q, const char *name)
{
    (void)q, (void)name;
    return NULL;
}

const char *http_query_field(const struct http_query *q, const char *name)
{
    (void)q, (void)name;
    return "";
}

void http_query_each(const struct http_query *q, const char *name,
                     void (*each)(void *context, const char *value), void *context)
{
    (void)q, (void)name, (void)each, (void)context;
}

bool http_query_invite(const struct http_query *q, char text[HTTP_INVITE_SIZE])
{
    (void)q, (void)text;
    return false;
}

struct http_server *http_server_start(const struct http_settings *settings,
                                      struct error *err)
{
    (void)settings;
    error_set(err, "this stoke was built without libmicrohttpd, which serves HTTP");
    error_hint(err, "install libmicrohttpd-dev and build again");
    return NULL;
}

void http_server_stop(struct http_server *s)
{
    (void)s;
}

unsigned http_server_port(const struct http_server *s)
{
    (void)s;
    return 0;
}

bool http_server_has_streams(struct http_server *s)
{
    (void)s;
    return false;
}

void http_server_send(struct http_server *s, struct str event)
{
    (void)s, (void)event;
}
