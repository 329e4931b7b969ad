/* SPDX-License-Identifier: Apache-2.0 */
/* Who may use the server: Host, Origin and token of a request. */
#ifndef STOKE_HTTP_ACCESS_H
#define STOKE_HTTP_ACCESS_H

#include "http/library.h"
#include "http/server.h"

#define HTTP_INVITES 8
#define HTTP_INVITE_SECONDS 600

/* Replaces the token in one address of the page. */
struct http_invite {
    char text[HTTP_INVITE_SIZE]; /* empty: none */
    uint64_t until;              /* os_clock_monotonic */
};

struct http_access {
    bool is_local;     /* the address is of this machine only */
    bool is_encrypted; /* TLS */
    const char *token; /* NULL: none */
    const struct http_tenant *tenants;
    size_t tenant_count;
    unsigned port;
    struct http_invite invites[HTTP_INVITES];
    size_t invited; /* until now: the next one replaces the oldest */
};

/* 0 if the request is allowed, and *tenant is then whose it is, or NULL; otherwise the status of
 * its reply, and *why. */
unsigned http_access_check(const struct http_access *a, struct MHD_Connection *c,
                           const struct http_tenant **tenant, const char **why);

/* The token, or an invitation, may be given once in the address of the page: true if it is
 * right. Then `cookie` becomes a field Set-Cookie, with which the browser proves it from now
 * on. */
bool http_access_by_address(struct http_access *a, struct MHD_Connection *c, char *cookie,
                            size_t size);

/* Makes an invitation. False if there are no random bytes. */
bool http_access_invite(struct http_access *a, char text[HTTP_INVITE_SIZE]);

#endif
