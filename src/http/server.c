/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"
#include "base/format.h"
#include "os/http.h"
#include "os/stream_server.h"
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>

#define MEMORY_MAX ((size_t)32 << 10) /* of a request's head */
#define IDLE_SECONDS 30u

struct http_server {
    const struct http_settings *settings;
    struct MHD_Daemon *daemon;
    bool is_local;
};

const char *http_query_argument(const struct http_query *q, const char *name)
{
    return MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
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
    MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, visit, &e);
}

static const char *field(struct MHD_Connection *c, const char *name)
{
    const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
    return value ? value : "";
}

/* True if the Host field is a name of this machine. */
static bool has_local_host(struct MHD_Connection *c)
{
    char head[512];
    struct http_request r;
    size_t length = format_text(head, sizeof head, "GET / HTTP/1.1\r\nHost: %s\r\n",
                                field(c, "Host"));
    return length + 1 < sizeof head && http_parse((struct str){head, length}, &r) &&
           r.host;
}

/* True if no page of another site makes the request. */
static bool has_own_origin(struct MHD_Connection *c)
{
    char own[512];
    const char *origin = field(c, "Origin");
    format_text(own, sizeof own, "http://%s", field(c, "Host"));
    return !origin[0] || strcmp(origin, own) == 0;
}

static bool has_token(const struct http_server *s, struct MHD_Connection *c)
{
    struct str given = str_of(field(c, "Authorization"));
    if (!s->settings->token)
        return true;
    return str_starts(given, STR("Bearer ")) &&
           http_same_secret(str_skip(given, sizeof "Bearer " - 1),
                            str_of(s->settings->token));
}

static void refuse(struct http_reply *r, unsigned status, const char *text)
{
    r->status = status;
    output_text(&r->body, text);
}

static void answer(const struct http_server *s, struct MHD_Connection *c,
                   const char *method, const char *path, struct http_reply *r)
{
    struct http_query q = {str_of(path), c};
    if (s->is_local && !has_local_host(c))
        refuse(r, MHD_HTTP_MISDIRECTED_REQUEST,
               "Not served by this name: use localhost or 127.0.0.1.\n");
    else if (!has_own_origin(c))
        refuse(r, MHD_HTTP_FORBIDDEN, "Pages of other sites have no access.\n");
    else if (!has_token(s, c))
        refuse(r, MHD_HTTP_UNAUTHORIZED, "The token is missing or wrong.\n");
    else if (strcmp(method, "GET") != 0)
        refuse(r, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is supported.\n");
    else
        s->settings->answer(s->settings->context, &q, r);
    if (r->body.failed) {
        output_deinit(&r->body);
        r->body = OUTPUT_BUFFER;
        refuse(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "Memory is short.\n");
    }
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c,
                                  const char *path, const char *method,
                                  const char *version, const char *body,
                                  size_t *body_size, void **state)
{
    struct http_reply r = {MHD_HTTP_OK, "text/plain; charset=utf-8", OUTPUT_BUFFER};
    (void)version, (void)body, (void)state;
    if (*body_size)
        return MHD_NO; /* requests have no body */
    answer(context, c, method, path, &r);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(r.body.used, r.body.bytes, MHD_RESPMEM_MUST_COPY);
    output_deinit(&r.body);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", r.type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'");
    if (r.status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    enum MHD_Result result = MHD_queue_response(c, r.status, response);
    MHD_destroy_response(response);
    return result;
}

static void ignore_message(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments;
}

static bool check_settings(struct http_server *s, struct error *err)
{
    const struct http_settings *settings = s->settings;
    if (!os_stream_address_is_valid(settings->address)) {
        error_set(err, "invalid address '%s'", settings->address);
        return error_hint(err, "ADDRESS:PORT, such as 127.0.0.1:4040");
    }
    s->is_local = os_stream_address_is_local(settings->address);
    if (!s->is_local && !settings->token) {
        error_set(err, "%s is not a loopback address: requests need a token",
                  settings->address);
        return error_hint(err, "--token-file FILE");
    }
    if (settings->token && strlen(settings->token) < HTTP_TOKEN_MIN)
        return error_set(err, "the token has less than %d characters", HTTP_TOKEN_MIN);
    return true;
}

static bool start(struct http_server *s, struct error *err)
{
    struct sockaddr_storage address;
    if (!check_settings(s, err) ||
        !os_stream_address_parse(s->settings->address, &address))
        return false;
    unsigned flags = MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG;
    if (address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_message,
        NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)HTTP_THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_CLIENTS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_MAX, MHD_OPTION_END);
    if (s->daemon)
        return true;
    error_set(err, "cannot serve HTTP at %s", s->settings->address);
    return error_hint(err, "choose another port");
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
    if (start(s, err))
        return s;
    http_server_stop(s);
    return NULL;
}

void http_server_stop(struct http_server *s)
{
    if (s && s->daemon)
        MHD_stop_daemon(s->daemon);
    free(s);
}

unsigned http_server_port(const struct http_server *s)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}
