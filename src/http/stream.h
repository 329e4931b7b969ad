/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams: replies that continue with each event until the client leaves. */
#ifndef STOKE_HTTP_STREAM_H
#define STOKE_HTTP_STREAM_H

#include "base/output.h"
#include "http/library.h"
#include "os/thread_pool.h"

struct http_stream;

struct http_streams {
    struct os_lock lock;
    struct http_stream *first;
    size_t count;
    bool stops;
};

bool http_streams_init(struct http_streams *s); /* false when out of memory */
void http_streams_deinit(struct http_streams *s);

/* A reply that begins with `text`. NULL if there are too many, or if out of memory. */
struct MHD_Response *http_stream_create(struct http_streams *s, struct MHD_Connection *c,
                                        struct str text);

bool http_streams_any(struct http_streams *s);
void http_streams_send(struct http_streams *s, struct str text);

/* All streams end. */
void http_streams_stop(struct http_streams *s);

#endif
