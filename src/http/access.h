/* SPDX-License-Identifier: Apache-2.0 */
/* Who may use the server: Host, Origin and token of a request. */
#ifndef STOKE_HTTP_ACCESS_H
#define STOKE_HTTP_ACCESS_H

#include "base/str.h"
#include "http/library.h"

struct http_access {
    bool is_local;     /* the address is of this machine only */
    bool is_encrypted; /* TLS */
    const char *token; /* NULL: none */
    unsigned port;
};

/* 0 if the request is allowed; otherwise the status of its reply, and *why. */
unsigned http_access_check(const struct http_access *a, struct MHD_Connection *c,
                           const char **why);

/* The token may be given once in the address of the page: true if it is right. Then
 * `cookie` becomes a field Set-Cookie, with which the browser proves it from now on. */
bool http_access_by_address(const struct http_access *a, struct MHD_Connection *c,
                            char *cookie, size_t size);

#endif
