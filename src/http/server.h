/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server for programs (libmicrohttpd): GET requests, answered by a function.
 *
 * At a loopback address, the Host field of a request must be a name of this machine, so
 * that no page of another site reaches the server by a name that resolves to it. Requests
 * with an Origin are refused unless it is this server. At any other address, a request
 * must have a token. */
#ifndef STOKE_HTTP_SERVER_H
#define STOKE_HTTP_SERVER_H

#include "base/error.h"
#include "base/output.h"

#define HTTP_CLIENTS_MAX 256
#define HTTP_THREADS 2 /* requests that are answered at the same time */
#define HTTP_TOKEN_MIN 16

/* A GET request. */
struct http_query {
    struct str path;
    void *connection; /* private */
};

/* The value of an argument of the address, decoded; NULL if there is none. */
const char *http_query_argument(const struct http_query *q, const char *name);

/* Calls `each` with all values of an argument that may be given several times. */
void http_query_each(const struct http_query *q, const char *name,
                     void (*each)(void *context, const char *value), void *context);

struct http_reply {
    unsigned status;    /* 200 at first */
    const char *type;   /* of the content; "text/plain; charset=utf-8" at first */
    struct output body; /* a buffer; the server frees it */
};

struct http_settings {
    const char *address; /* ADDRESS:PORT */
    const char *token;   /* NULL: none; then the address must be a loopback address */

    /* Answers a request. Several threads call it at the same time. */
    void (*answer)(void *context, const struct http_query *q, struct http_reply *r);
    void *context;
};

struct http_server;

/* Starts the server, in threads of its own. The settings must outlive it. NULL with err
 * set on failure, or if stoke was built without libmicrohttpd. */
struct http_server *http_server_start(const struct http_settings *settings,
                                      struct error *err);
void http_server_stop(struct http_server *s); /* NULL is allowed */
unsigned http_server_port(const struct http_server *s);

#endif
