/* SPDX-License-Identifier: Apache-2.0 */
/* What a browser asks for: the parts of an HTTP/1 request that stoke's server looks at. */
#ifndef STOKE_OS_HTTP_H
#define STOKE_OS_HTTP_H

#include "base/str.h"

/* Views of the request's head, which must outlive them. */
struct http_request {
    struct str method, path;
    struct str fields;   /* the lines below the request line */
    const char *host;    /* the name of this machine that it is asked by ("localhost",
                           "127.0.0.1", "[::1]"); NULL where it is none of these */
    unsigned port;       /* that the browser sees: a tunnel may have another one than the
                           server */
    bool from_elsewhere; /* a page of another site leads here: the browser then keeps
                            back cookies that are SameSite=Strict */
};

/* Reads the head, up to the empty line. False where it is not an HTTP/1 request. */
bool http_parse(struct str head, struct http_request *r);

/* Whether one of the request's cookies has that name and value. The time that it takes
 * tells nothing about how much of the value is right. */
bool http_has_cookie(const struct http_request *r, struct str name, struct str value);

/* Compares secrets of known length, in a time that does not depend on their bytes. */
bool http_same_secret(struct str a, struct str b);

#endif
