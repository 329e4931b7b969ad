/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a server anywhere, by HTTP or HTTPS, with libcurl. The library is loaded with the
 * first client, so that other commands do not pay for it. For short requests to this machine,
 * see http_client.h. */
#ifndef STOKE_OS_WEB_CLIENT_H
#define STOKE_OS_WEB_CLIENT_H

#include "base/error.h"

/* A client has one connection, which the next request uses again. One thread at a time uses it. */
struct os_web_client;

#define OS_WEB_FIELDS_MAX 8

struct os_web_settings {
    const char *address;                   /* "https://HOST:PORT", for messages too */
    const char *fields[OS_WEB_FIELDS_MAX]; /* "Name: value", sent with every request */
    const char *authorities; /* a file (PEM) that replaces the system's; or NULL */
    bool is_local;           /* a server of this machine: never by a proxy */
    const int *stops;        /* not 0: the request ends immediately (atomic); or NULL */
};

struct os_web_call {
    const char *path; /* "/?query=..." */
    struct str body;
    bool is_packed; /* the body is gzip */

    /* Receives the body of a reply with status 200. False ends the request. NULL: ignored. */
    bool (*take)(void *context, struct str bytes);
    void *context;
};

struct os_web_answer {
    unsigned status; /* 0: there is none */
    char text[400];  /* the beginning of the body if the status is not 200 */
    bool is_unsent;  /* there was no connection: the server has not seen the request */
};

/* The strings of the settings are copied. NULL with err set if libcurl is not
 * installed, or if out of memory. */
struct os_web_client *os_web_open(const struct os_web_settings *settings,
                                  struct error *err);
void os_web_close(struct os_web_client *c); /* NULL is allowed */

/* Sends the body by POST and waits for the whole reply. A request may take any time as long as
 * bytes move at least once a minute. False with err set if there is no whole reply; a reply with
 * any status is true. */
bool os_web_post(struct os_web_client *c, const struct os_web_call *call,
                 struct os_web_answer *answer, struct error *err);

/* The same by GET, without a body. */
bool os_web_get(struct os_web_client *c, const struct os_web_call *call,
                struct os_web_answer *answer, struct error *err);

#endif
