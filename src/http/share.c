/* SPDX-License-Identifier: Apache-2.0 */
#include "http/share.h"
#include "os/machine.h"

bool http_shares_init(struct http_shares *s)
{
    return os_lock_init(&s->lock);
}

static void forget(struct http_share *x)
{
    output_deinit(&x->key);
    output_deinit(&x->reply.body);
    *x = (struct http_share){.key = OUTPUT_BUFFER};
}

void http_shares_deinit(struct http_shares *s)
{
    for (size_t i = 0; i < HTTP_SHARES_MAX; i++)
        forget(&s->items[i]);
    os_lock_deinit(&s->lock);
}

static enum MHD_Result put_argument(void *context, enum MHD_ValueKind kind,
                                    const char *name, const char *value)
{
    struct output *key = context;
    (void)kind;
    output_bytes(key, name, strlen(name) + 1);
    if (value)
        output_bytes(key, value, strlen(value) + 1);
    output_char(key, '\1');
    return MHD_YES;
}

void http_share_key(struct MHD_Connection *c, const char *path,
                    const struct http_tenant *tenant, struct output *key)
{
    const char *encodings =
        http_library->lookup_connection_value(c, MHD_HEADER_KIND, "Accept-Encoding");
    output_bytes(key, (const char *)&tenant, sizeof tenant);
    output_bytes(key, path, strlen(path) + 1);
    http_library->get_connection_values(c, MHD_GET_ARGUMENT_KIND, put_argument, key);
    output_text(key, encodings ? encodings : "");
}

static bool is_valid(const struct http_share *x)
{
    return x->reply.shared_until > os_clock_monotonic();
}

bool http_shares_find(struct http_shares *s, struct str key, struct http_reply *r)
{
    bool found = false;
    os_lock_acquire(&s->lock);
    for (size_t i = 0; i < HTTP_SHARES_MAX && !found; i++) {
        const struct http_share *x = &s->items[i];
        if (!is_valid(x) || !str_equal(output_contents(&x->key), key))
            continue;
        struct output body = r->body;
        *r = x->reply;
        r->body = body;
        output_str(&r->body, output_contents(&x->reply.body));
        found = true;
    }
    os_lock_release(&s->lock);
    return found;
}

/* The share that is valid for the shortest time. Those that are not valid free their
 * memory. */
static struct http_share *slot_of(struct http_shares *s)
{
    struct http_share *slot = &s->items[0];
    for (size_t i = 0; i < HTTP_SHARES_MAX; i++) {
        struct http_share *x = &s->items[i];
        if (!is_valid(x))
            forget(x);
        if (x->reply.shared_until < slot->reply.shared_until)
            slot = x;
    }
    forget(slot);
    return slot;
}

void http_shares_add(struct http_shares *s, struct str key, const struct http_reply *r)
{
    if (!r->shared_until || r->is_stream || r->body.used > HTTP_SHARED_BYTES_MAX)
        return;
    os_lock_acquire(&s->lock);
    struct http_share *x = slot_of(s);
    x->reply = *r;
    x->reply.body = OUTPUT_BUFFER;
    output_str(&x->key, key);
    output_str(&x->reply.body, output_contents(&r->body));
    if (x->key.failed || x->reply.body.failed)
        forget(x);
    os_lock_release(&s->lock);
}
