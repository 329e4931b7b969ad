/* SPDX-License-Identifier: Apache-2.0 */
#include "http/stream.h"
#include "http/server.h"
#include <stdlib.h>

#define BLOCK 16384                     /* bytes that are sent at once */
#define BACKLOG_MAX ((size_t)256 << 10) /* of a client that does not receive */

struct http_stream {
    struct http_streams *all;
    struct http_stream *previous, *next;
    struct MHD_Connection *connection;
    struct output text; /* not sent yet */
    size_t sent;        /* of it */
    bool is_suspended;
};

bool http_streams_init(struct http_streams *s)
{
    return os_lock_init(&s->lock);
}

void http_streams_deinit(struct http_streams *s)
{
    os_lock_deinit(&s->lock);
}

static void resume(struct http_stream *x)
{
    if (x->is_suspended)
        http_library->resume_connection(x->connection);
    x->is_suspended = false;
}

static void drop_sent(struct http_stream *x)
{
    x->text.used -= x->sent;
    if (x->text.used)
        memmove(x->text.bytes, x->text.bytes + x->sent, x->text.used);
    x->sent = 0;
}

/* Called by the thread of the connections: sends, or waits for the next event. */
static ssize_t read_text(void *context, uint64_t at, char *to, size_t room)
{
    struct http_stream *x = context;
    ssize_t count = 0;
    (void)at;
    os_lock_acquire(&x->all->lock);
    size_t left = x->text.used - x->sent;
    if (left) {
        count = (ssize_t)(left < room ? left : room);
        memcpy(to, x->text.bytes + x->sent, (size_t)count);
        x->sent += (size_t)count;
    } else if (x->all->stops) {
        count = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        x->text.used = x->sent = 0;
        x->is_suspended = true;
        http_library->suspend_connection(x->connection);
    }
    os_lock_release(&x->all->lock);
    return count;
}

static void end_stream(void *context)
{
    struct http_stream *x = context;
    os_lock_acquire(&x->all->lock);
    if (x->previous)
        x->previous->next = x->next;
    else
        x->all->first = x->next;
    if (x->next)
        x->next->previous = x->previous;
    x->all->count--;
    os_lock_release(&x->all->lock);
    output_deinit(&x->text);
    free(x);
}

static void add_stream(struct http_streams *s, struct http_stream *x)
{
    x->next = s->first;
    if (s->first)
        s->first->previous = x;
    s->first = x;
    s->count++;
}

struct MHD_Response *http_stream_create(struct http_streams *s, struct MHD_Connection *c,
                                        struct str text)
{
    struct http_stream *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    *x = (struct http_stream){.all = s, .connection = c, .text = OUTPUT_BUFFER};
    output_str(&x->text, text);
    os_lock_acquire(&s->lock);
    bool fits = s->count < HTTP_STREAMS_MAX && !x->text.failed;
    if (fits)
        add_stream(s, x);
    os_lock_release(&s->lock);
    if (!fits) {
        output_deinit(&x->text);
        free(x);
        return NULL;
    }
    struct MHD_Response *r = http_library->create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK, read_text, x, end_stream);
    if (!r)
        end_stream(x);
    return r;
}

bool http_streams_any(struct http_streams *s)
{
    os_lock_acquire(&s->lock);
    bool any = s->count > 0;
    os_lock_release(&s->lock);
    return any;
}

void http_streams_send(struct http_streams *s, struct str text)
{
    os_lock_acquire(&s->lock);
    for (struct http_stream *x = s->first; x; x = x->next) {
        drop_sent(x);
        if (x->text.used + text.len <= BACKLOG_MAX)
            output_str(&x->text, text);
        resume(x);
    }
    os_lock_release(&s->lock);
}

void http_streams_stop(struct http_streams *s)
{
    os_lock_acquire(&s->lock);
    s->stops = true;
    for (struct http_stream *x = s->first; x; x = x->next)
        resume(x);
    os_lock_release(&s->lock);
}
