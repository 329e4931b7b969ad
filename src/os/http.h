/* SPDX-License-Identifier: Apache-2.0 */
/* A parser for the parts of an HTTP/1 request that stoke's server needs. */
#ifndef STOKE_OS_HTTP_H
#define STOKE_OS_HTTP_H

#include "base/str.h"
#include <stdint.h>

/* Views of the request's head, which must outlive them. */
struct http_request {
    struct str method, path;
    struct str fields; /* the lines after the request line */
    /* the name of this machine in the Host field ("localhost", "127.0.0.1", "[::1]");
     * NULL for any other name */
    const char *host;
    /* the port that the browser uses: a tunnel may have another one than the server */
    unsigned port;
    /* a page of another site links here: the browser does not send cookies that are
     * SameSite=Strict */
    bool from_elsewhere;
    bool other_origin; /* the Origin field names another server than this one */
    bool is_json;      /* the type of the body is application/json */
    uint64_t length;   /* of the body; HTTP_NO_LENGTH if the field is invalid */
};

#define HTTP_NO_LENGTH UINT64_MAX

/* Parses the head, up to the empty line. False if it is not an HTTP/1 request. */
bool http_parse(struct str head, struct http_request *r);

/* Returns true if a cookie of the request has that name and value. The time that it
 * takes does not depend on how much of the value is right. */
bool http_has_cookie(const struct http_request *r, struct str name, struct str value);

/* Compares secrets of known length, in a time that does not depend on their bytes. */
bool http_same_secret(struct str a, struct str b);

#endif
