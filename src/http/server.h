/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server (libmicrohttpd). A function answers the requests, in a few threads of
 * the server; another thread serves all connections and never waits for an answer.
 *
 * At a loopback address, the Host field of a request must be a name of this machine, so
 * that no page of another site reaches the server by a name that resolves to it. Requests
 * with an Origin are refused unless it is this server. At any other address, a request
 * must have the token: as "Authorization: Bearer TOKEN", as the password of basic
 * authentication, or as a cookie, which the address /?token=TOKEN sets.
 *
 * Tenants have tokens of their own, which are accepted in the Authorization field only. Their
 * requests say whose they are, and what they may see is decided by the function that answers.
 *
 * The same request of several clients at the same time is answered once if the reply says
 * that it may be shared.
 *
 * All is bounded: clients, the head and the body of a request, requests that wait for an
 * answer, event streams, and what waits for a slow client. */
#ifndef STOKE_HTTP_SERVER_H
#define STOKE_HTTP_SERVER_H

#include "base/error.h"
#include "base/output.h"

#define HTTP_CLIENTS_MAX 256
#define HTTP_THREADS 2      /* requests that are answered at the same time */
#define HTTP_WAITING_MAX 64 /* requests that wait for these; others are refused (503) */
#define HTTP_STREAMS_MAX 64 /* clients that receive events */
#define HTTP_BODY_MAX ((size_t)1 << 20)
#define HTTP_BODIES_MAX ((size_t)256 << 20) /* of all requests at the same time */
#define HTTP_TOKEN_MIN 16
#define HTTP_INVITE_SIZE 33 /* with the null */

/* What the workers of a server have done since it started. */
struct http_totals {
    uint64_t answered; /* requests, by http_settings.answer */
    uint64_t shared;   /* requests that got the reply to another one */
};

/* Clients that see and write only what has a label. */
struct http_tenant {
    const char *token;
    struct str key, value; /* the label */
};

/* A request. */
struct http_query {
    struct str path;
    struct str method;                /* GET or POST */
    struct str body;                  /* of a POST */
    struct http_totals totals;        /* until now */
    void *connection, *server;        /* private */
    const struct http_tenant *tenant; /* whose token it has; NULL: it may see all */
};

/* The value of an argument of the address, decoded; NULL if there is none. */
const char *http_query_argument(const struct http_query *q, const char *name);

/* The value of a field of the head; empty if there is none. */
const char *http_query_field(const struct http_query *q, const char *name);

/* Calls `each` with all values of an argument that may be given several times. */
void http_query_each(const struct http_query *q, const char *name,
                     void (*each)(void *context, const char *value), void *context);

/* Makes a text that replaces the token in the address /?token=TEXT once, within ten minutes, so
 * that the token itself is in no process list and no browser's history. Empty if the server
 * needs no token. False if there are no random bytes. */
bool http_query_invite(const struct http_query *q, char text[HTTP_INVITE_SIZE]);

struct http_reply {
    unsigned status;      /* 200 at first */
    const char *type;     /* of the content; "text/plain; charset=utf-8" at first */
    const char *encoding; /* of the body, which the client must accept; NULL: none yet */
    bool is_page;         /* a page with a content security policy of its own */
    bool
        is_stream; /* the body begins a stream of events: http_server_send continues it */
    /* Until this time (os_clock_monotonic), the same GET request of any client may get
     * this reply; 0: never. */
    uint64_t shared_until;
    struct output body; /* a buffer; the server frees it */
};

struct http_settings {
    const char *address; /* ADDRESS:PORT */
    const char *token;   /* NULL: none; then the address must be a loopback address */
    /* PEM texts of a certificate and its private key: TLS. NULL: none */
    const char *certificate, *key;
    const struct http_tenant *tenants; /* they need a token of the server, too */
    size_t tenant_count;
    size_t body_max; /* bytes of a request's body; 0: HTTP_BODY_MAX */

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

/* Whether anybody receives events. */
bool http_server_has_streams(struct http_server *s);

/* Sends an event to all streams: "event: NAME\ndata: TEXT\n\n". A client that does not
 * receive misses events. */
void http_server_send(struct http_server *s, struct str event);

#endif
