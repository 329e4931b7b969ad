/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"
#include "base/format.h"
#include "http/access.h"
#include "http/pack.h"
#include "http/share.h"
#include "http/stream.h"
#include "os/machine.h"
#include "os/restriction.h"
#include "os/stream_server.h"
#include "os/thread.h"
#include <netinet/in.h>
#include <stdlib.h>

#define MEMORY_MAX ((size_t)32 << 10) /* of a request's head */
#define IDLE_SECONDS 30u
#define SECOND ((uint64_t)1000000000)

/* A request from its head to its reply. */
struct exchange {
    struct MHD_Connection *connection;
    struct exchange *next; /* that waits for a worker */
    struct output body;
    struct output key;         /* of requests that are the same; empty: none are */
    const char *path, *method; /* of the connection */
    const struct http_tenant *tenant;
    struct http_reply reply;
    size_t counted; /* bytes of the body, in body_bytes of the server */
    bool is_too_large, is_answered;
    bool is_one_too_many; /* other requests have taken the room for bodies */
};

struct http_worker {
    struct http_server *server;
    struct os_thread thread;
    const struct exchange *current; /* that it answers; under the server's lock */
};

struct http_server {
    const struct http_settings *settings;
    struct http_access access;
    struct MHD_Daemon *daemon;
    struct http_streams streams;
    struct http_shares shares;
    struct os_lock lock;
    struct os_condition changed;
    struct exchange *first, *last; /* waiting */
    size_t waiting;
    struct http_totals totals;
    bool stops;
    size_t body_bytes; /* of all requests; of the thread of libmicrohttpd */
    struct http_worker workers[HTTP_THREADS];
};

/* --- Arguments ---------------------------------------------------------------------- */

const char *http_query_argument(const struct http_query *q, const char *name)
{
    return http_library->lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND,
                                                 name);
}

const char *http_query_field(const struct http_query *q, const char *name)
{
    const char *value =
        http_library->lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

struct each {
    const char *name;
    void (*call)(void *context, const char *value);
    void *context;
};

static enum MHD_Result visit(void *context, enum MHD_ValueKind kind, const char *name,
                             const char *value)
{
    const struct each *e = context;
    (void)kind;
    if (value && strcmp(name, e->name) == 0)
        e->call(e->context, value);
    return MHD_YES;
}

void http_query_each(const struct http_query *q, const char *name,
                     void (*each)(void *context, const char *value), void *context)
{
    struct each e = {name, each, context};
    http_library->get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, visit, &e);
}

bool http_query_invite(const struct http_query *q, char text[HTTP_INVITE_SIZE])
{
    struct http_server *s = q->server;
    bool ok = true;
    text[0] = '\0';
    os_lock_acquire(&s->lock);
    if (s->access.token)
        ok = http_access_invite(&s->access, text);
    os_lock_release(&s->lock);
    return ok;
}

/* --- Workers ------------------------------------------------------------------------ */

static void refuse(struct http_reply *r, unsigned status, const char *text)
{
    r->status = status;
    output_text(&r->body, text);
}

static void answer(struct http_server *s, const struct http_totals *totals,
                   struct exchange *x)
{
    struct http_query q = {str_of(x->path), str_of(x->method), output_contents(&x->body),
                           *totals,         x->connection,     s,
                           x->tenant};
    struct http_reply *r = &x->reply;
    if (x->is_too_large || x->body.failed)
        refuse(r, MHD_HTTP_CONTENT_TOO_LARGE, "The body of the request is too large.\n");
    else
        s->settings->answer(s->settings->context, &q, r);
    if (!r->body.failed && !r->is_stream && !r->encoding)
        http_pack(&r->body, r->type, http_query_field(&q, "Accept-Encoding"),
                  &r->encoding);
    if (r->body.failed) {
        output_deinit(&r->body);
        *r = (struct http_reply){.type = "text/plain; charset=utf-8"};
        refuse(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "Out of memory.\n");
    }
}

/* Another worker answers the same request: its reply may be shared. */
static bool is_in_work(const struct http_server *s, const struct exchange *x)
{
    bool found = false;
    for (size_t i = 0; i < HTTP_THREADS && x->key.used; i++) {
        const struct exchange *current = s->workers[i].current;
        found |= current &&
                 str_equal(output_contents(&current->key), output_contents(&x->key));
    }
    return found;
}

/* Removes the first exchange that is not in work from the queue. */
static struct exchange *remove_first(struct http_server *s)
{
    struct exchange *before = NULL, *x = s->first;
    while (x && is_in_work(s, x)) {
        before = x;
        x = x->next;
    }
    if (!x)
        return NULL;
    if (before)
        before->next = x->next;
    else
        s->first = x->next;
    if (s->last == x)
        s->last = before;
    s->waiting--;
    return x;
}

/* The next exchange for a worker. NULL: the server stops, and what waits is left to the
 * worker that answers the same request. */
static struct exchange *take(struct http_worker *w, struct http_totals *totals)
{
    struct http_server *s = w->server;
    struct exchange *x;
    os_lock_acquire(&s->lock);
    while (!(x = remove_first(s)) && !s->stops)
        os_condition_wait(&s->changed, &s->lock, os_clock_monotonic() + 60 * SECOND);
    w->current = x;
    *totals = s->totals;
    os_lock_release(&s->lock);
    return x;
}

/* The reply exists: the same requests can have it. */
static void finish(struct http_worker *w, bool is_shared)
{
    struct http_totals *totals = &w->server->totals;
    os_lock_acquire(&w->server->lock);
    w->current = NULL;
    (*(is_shared ? &totals->shared : &totals->answered))++;
    os_condition_wake(&w->server->changed);
    os_lock_release(&w->server->lock);
}

static void work(void *context)
{
    struct http_worker *w = context;
    struct http_shares *shares = &w->server->shares;
    struct http_totals totals;
    struct exchange *x;
    while ((x = take(w, &totals)) != NULL) {
        struct str key = output_contents(&x->key);
        bool is_shared = key.len && http_shares_find(shares, key, &x->reply);
        if (!is_shared) {
            answer(w->server, &totals, x);
            if (key.len)
                http_shares_add(shares, key, &x->reply);
        }
        finish(w, is_shared);
        x->is_answered = true;
        http_library->resume_connection(x->connection); /* then x may be freed */
    }
}

/* Gives it to a worker; false if too many wait. */
static bool enqueue(struct http_server *s, struct exchange *x)
{
    if (strcmp(x->method, "GET") == 0)
        http_share_key(x->connection, x->path, x->tenant, &x->key);
    if (x->key.failed)
        output_deinit(&x->key);
    os_lock_acquire(&s->lock);
    bool fits = s->waiting < HTTP_WAITING_MAX && !s->stops;
    if (fits) {
        http_library->suspend_connection(x->connection);
        x->next = NULL;
        if (s->first)
            s->last->next = x;
        else
            s->first = x;
        s->last = x;
        s->waiting++;
        os_condition_wake(&s->changed);
    }
    os_lock_release(&s->lock);
    return fits;
}

/* --- Connections: the thread of libmicrohttpd ----------------------------------------- */

static void add_field(struct MHD_Response *to, const char *name, const char *value)
{
    if (value)
        http_library->add_response_header(to, name, value);
}

static enum MHD_Result send_reply(struct http_server *s, struct exchange *x)
{
    struct http_reply *r = &x->reply;
    struct MHD_Response *to;
    if (r->is_stream)
        to = http_stream_create(&s->streams, x->connection, output_contents(&r->body));
    else
        to = http_library->create_response_from_buffer(r->body.used, r->body.bytes,
                                                       MHD_RESPMEM_MUST_COPY);
    output_deinit(&r->body);
    if (!to)
        return MHD_NO;
    add_field(to, "Content-Type", r->type);
    add_field(to, "Content-Encoding", r->encoding);
    add_field(to, "Vary", "Accept-Encoding");
    add_field(to, "Cache-Control", "no-store");
    add_field(to, "X-Content-Type-Options", "nosniff");
    add_field(to, "Referrer-Policy", "no-referrer");
    add_field(to, "X-Frame-Options", "DENY");
    if (!r->is_page)
        add_field(to, "Content-Security-Policy", "default-src 'none'");
    if (r->status == MHD_HTTP_UNAUTHORIZED)
        add_field(to, "WWW-Authenticate", "Bearer");
    if (r->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        add_field(to, "Retry-After", "1");
    enum MHD_Result result = http_library->queue_response(x->connection, r->status, to);
    http_library->destroy_response(to);
    return result;
}

static enum MHD_Result send_refusal(struct http_server *s, struct exchange *x,
                                    unsigned status, const char *why)
{
    refuse(&x->reply, status, why);
    return send_reply(s, x);
}

/* Sends the page's address without the token. */
static enum MHD_Result send_cookie(struct MHD_Connection *c, const char *cookie)
{
    struct MHD_Response *to =
        http_library->create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (!to)
        return MHD_NO;
    add_field(to, "Location", "/");
    add_field(to, "Set-Cookie", cookie);
    add_field(to, "Cache-Control", "no-store");
    add_field(to, "Referrer-Policy", "no-referrer");
    enum MHD_Result result = http_library->queue_response(c, MHD_HTTP_SEE_OTHER, to);
    http_library->destroy_response(to);
    return result;
}

/* True if the address of the page admits the browser. */
static bool is_admitted(struct http_server *s, struct exchange *x, char *cookie,
                        size_t size)
{
    os_lock_acquire(&s->lock);
    bool ok = strcmp(x->path, "/") == 0 &&
              http_access_by_address(&s->access, x->connection, cookie, size);
    os_lock_release(&s->lock);
    return ok;
}

/* The head of a request has arrived. */
static enum MHD_Result begin(struct http_server *s, struct exchange *x, bool *ended)
{
    char cookie[512];
    const char *why = "";
    *ended = true;
    unsigned status = http_access_check(&s->access, x->connection, &x->tenant, &why);
    if (status == MHD_HTTP_UNAUTHORIZED && is_admitted(s, x, cookie, sizeof cookie))
        return send_cookie(x->connection, cookie);
    if (status)
        return send_refusal(s, x, status, why);
    if (strcmp(x->method, "GET") != 0 && strcmp(x->method, "POST") != 0)
        return send_refusal(s, x, MHD_HTTP_METHOD_NOT_ALLOWED,
                            "Only GET and POST are supported.\n");
    *ended = false;
    return MHD_YES;
}

static struct exchange *create_exchange(struct MHD_Connection *c, const char *path,
                                        const char *method)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (x)
        *x = (struct exchange){
            .connection = c,
            .path = path,
            .method = method,
            .reply = {MHD_HTTP_OK, "text/plain; charset=utf-8", .body = OUTPUT_BUFFER}};
    return x;
}

static size_t body_max(const struct http_server *s)
{
    return s->settings->body_max ? s->settings->body_max : HTTP_BODY_MAX;
}

/* A part of the body. What is too large is read without being held. */
static void receive(struct http_server *s, struct exchange *x, const char *bytes,
                    size_t size)
{
    x->is_too_large |= x->body.used + size > body_max(s);
    x->is_one_too_many |= s->body_bytes + size > HTTP_BODIES_MAX;
    if (x->is_too_large || x->is_one_too_many)
        return;
    output_bytes(&x->body, bytes, size);
    x->counted += size;
    s->body_bytes += size;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c,
                                  const char *path, const char *method,
                                  const char *version, const char *body,
                                  size_t *body_size, void **state)
{
    struct http_server *s = context;
    struct exchange *x = *state;
    bool ended;
    (void)version;
    if (!x) {
        *state = x = create_exchange(c, path, method);
        return x ? begin(s, x, &ended) : MHD_NO;
    }
    if (*body_size) {
        receive(s, x, body, *body_size);
        *body_size = 0;
        return MHD_YES;
    }
    if (x->is_one_too_many)
        return send_refusal(s, x, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "Too many large requests arrive at the same time.\n");
    if (x->is_answered)
        return send_reply(s, x);
    if (enqueue(s, x))
        return MHD_YES;
    return send_refusal(s, x, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many requests wait.\n");
}

static void on_completed(void *context, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode how)
{
    struct exchange *x = *state;
    (void)c, (void)how;
    if (!x)
        return;
    ((struct http_server *)context)->body_bytes -= x->counted;
    output_deinit(&x->body);
    output_deinit(&x->key);
    output_deinit(&x->reply.body);
    free(x);
    *state = NULL;
}

static void ignore_message(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments;
}

/* --- Starting ----------------------------------------------------------------------- */

/* As a cookie, it must not contain what ends a value. */
static bool check_token(const char *token, struct error *err)
{
    if (strlen(token) < HTTP_TOKEN_MIN)
        return error_set(err, "the token has less than %d characters", HTTP_TOKEN_MIN);
    for (const char *c = token; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr(";,\"\\", *c))
            return error_set(err, "the token has characters other than letters, digits "
                                  "and punctuation");
    return true;
}

static bool check_settings(struct http_server *s, struct error *err)
{
    const struct http_settings *settings = s->settings;
    if (!os_stream_address_is_valid(settings->address)) {
        error_set(err, "invalid address '%s'", settings->address);
        return error_hint(err, "ADDRESS:PORT, such as 127.0.0.1:4040");
    }
    s->access.is_local = os_stream_address_is_local(settings->address);
    s->access.is_encrypted = settings->certificate != NULL;
    s->access.token = settings->token;
    s->access.tenants = settings->tenants;
    s->access.tenant_count = settings->tenant_count;
    if (!s->access.is_local && !settings->token) {
        error_set(err, "%s is not a loopback address: requests need a token",
                  settings->address);
        return error_hint(err, "--token-file FILE");
    }
    if (settings->tenant_count && !settings->token) {
        error_set(err, "tenants have tokens, but the server has none");
        return error_hint(err, "--token-file FILE");
    }
    for (size_t i = 0; i < settings->tenant_count; i++)
        if (!check_token(settings->tenants[i].token, err))
            return false;
    return !settings->token || check_token(settings->token, err);
}

static bool listen_at_address(struct http_server *s, struct error *err)
{
    const struct http_settings *settings = s->settings;
    struct sockaddr_storage address;
    if (!os_stream_address_parse(settings->address, &address))
        return false;
    struct MHD_OptionItem encryption[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)settings->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)settings->key},
        {MHD_OPTION_END, 0, NULL}};
    unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    flags |= address.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0;
    flags |= settings->certificate ? MHD_USE_TLS : 0;
    s->daemon = http_library->start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_message,
        NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_CLIENTS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_MAX, MHD_OPTION_ARRAY,
        settings->certificate ? encryption : encryption + 2, MHD_OPTION_END);
    if (s->daemon) {
        s->access.port = http_server_port(s);
        return true;
    }
    error_set(err, "cannot serve %s at %s", settings->certificate ? "HTTPS" : "HTTP",
              settings->address);
    return error_hint(err, settings->certificate
                               ? "is the port free, and do certificate and key match?"
                               : "choose another port");
}

static bool start(struct http_server *s, struct error *err)
{
    if (!check_settings(s, err))
        return false;
    if (!os_lock_init(&s->lock) || !os_condition_init(&s->changed) ||
        !http_streams_init(&s->streams) || !http_shares_init(&s->shares))
        return error_memory(err);
    for (size_t i = 0; i < HTTP_THREADS; i++) {
        s->workers[i].server = s;
        if (!os_thread_start(&s->workers[i].thread, work, &s->workers[i], err))
            return false;
    }
    return listen_at_address(s, err);
}

/* The threads of the server inherit the restriction of the one that starts them. */
struct starting {
    struct http_server *server;
    struct error *err;
    bool ok;
};

static void start_restricted(void *context)
{
    struct starting *s = context;
    os_thread_restrict();
    s->ok = start(s->server, s->err);
}

static bool start_in_thread(struct http_server *s, struct error *err)
{
    struct starting starting = {.server = s, .err = err};
    struct os_thread thread = {0};
    if (!os_thread_start(&thread, start_restricted, &starting, err))
        return false;
    os_thread_join(&thread);
    return starting.ok;
}

struct http_server *http_server_start(const struct http_settings *settings,
                                      struct error *err)
{
    struct http_server *s = calloc(1, sizeof *s);
    if (!s) {
        error_memory(err);
        return NULL;
    }
    s->settings = settings;
    if (http_library_load(err) && start_in_thread(s, err))
        return s;
    http_server_stop(s);
    return NULL;
}

/* Connections that are suspended cannot be closed: the workers answer what waits. */
void http_server_stop(struct http_server *s)
{
    if (!s)
        return;
    if (s->lock.mutex && s->changed.condition) {
        os_lock_acquire(&s->lock);
        s->stops = true;
        os_condition_wake(&s->changed);
        os_lock_release(&s->lock);
    }
    for (size_t i = 0; i < HTTP_THREADS; i++)
        os_thread_join(&s->workers[i].thread);
    if (s->streams.lock.mutex)
        http_streams_stop(&s->streams);
    if (s->daemon)
        http_library->stop_daemon(s->daemon);
    http_streams_deinit(&s->streams);
    http_shares_deinit(&s->shares);
    os_condition_deinit(&s->changed);
    os_lock_deinit(&s->lock);
    free(s);
}

unsigned http_server_port(const struct http_server *s)
{
    const union MHD_DaemonInfo *info =
        http_library->get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

bool http_server_has_streams(struct http_server *s)
{
    return http_streams_any(&s->streams);
}

void http_server_send(struct http_server *s, struct str event)
{
    http_streams_send(&s->streams, event);
}
