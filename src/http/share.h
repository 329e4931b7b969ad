/* SPDX-License-Identifier: Apache-2.0 */
/* Replies that several clients share: what one request has cost, the same request of other
 * clients does not cost again for as long as the reply says (http_reply.shared_until). */
#ifndef STOKE_HTTP_SHARE_H
#define STOKE_HTTP_SHARE_H

#include "http/library.h"
#include "http/server.h"
#include "os/thread_pool.h"

#define HTTP_SHARES_MAX 8
#define HTTP_SHARED_BYTES_MAX ((size_t)1 << 20) /* larger replies are not retained */

struct http_share {
    struct output key;
    struct http_reply reply;
};

struct http_shares {
    struct os_lock lock;
    struct http_share items[HTTP_SHARES_MAX];
};

bool http_shares_init(struct http_shares *s); /* false when out of memory */
void http_shares_deinit(struct http_shares *s);

/* Writes the key of a request: its path, its arguments, the accepted encodings, and whose it is:
 * tenants share no reply with others. */
void http_share_key(struct MHD_Connection *c, const char *path,
                    const struct http_tenant *tenant, struct output *key);

/* Copies the reply to an earlier request with that key to `r`. False if there is none, or
 * it is too old. */
bool http_shares_find(struct http_shares *s, struct str key, struct http_reply *r);

/* Retains a copy of the reply if it may be shared. */
void http_shares_add(struct http_shares *s, struct str key, const struct http_reply *r);

#endif
