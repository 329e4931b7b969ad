/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/api.h"
#include "base/number.h"
#include "daemon/api_parts.h"
#include "os/machine.h"
#include <unistd.h>

#define SPAN_MAX ((uint64_t)366 * 86400 * STORE_SECOND)

bool daemon_api_init(struct daemon_api *api)
{
    return daemon_processes_init(&api->processes);
}

void daemon_api_deinit(struct daemon_api *api)
{
    daemon_processes_deinit(&api->processes);
}

void api_fail(struct http_reply *r, unsigned status, const struct error *err)
{
    r->status = status;
    r->shared_until = 0;
    r->type = "text/plain; charset=utf-8";
    r->body.used = 0;
    output_format(&r->body, "%s\n", err->message);
    if (err->hint[0])
        output_format(&r->body, "%s\n", err->hint);
}

bool api_store_is_absent(const struct daemon_api *api, struct error *err)
{
    struct daemon_store_state s = {.failing = false};
    bool is_file = !store_location_is_address(api->store);
    if (!api->history || !is_file)
        return false;
    daemon_history_state(api->history, &s);
    if (access(api->store, F_OK) == 0)
        return false;
    error_set(err, "the store cannot be read now: %s",
              s.failing ? s.error : "it was removed, and will be written again");
    return !error_hint(err, "ask again in some seconds: nothing that was stored is lost");
}

void api_fail_read(const struct daemon_api *api, struct http_reply *r, unsigned status,
                   const struct error *err)
{
    struct error why;
    bool is_absent = api_store_is_absent(api, &why);
    api_fail(r, is_absent ? STATUS_UNAVAILABLE : status, is_absent ? &why : err);
}

void api_share(struct http_reply *r, uint64_t time)
{
    r->shared_until = os_clock_monotonic() + time;
}

/* --- Times -------------------------------------------------------------------------- */

static bool parse_ago(struct str text, uint64_t now, uint64_t *out)
{
    static const char letters[] = "smhd";
    static const uint64_t seconds[] = {1, 60, 3600, 86400};
    uint64_t count;
    if (text.len < 2 || !number_parse_u64(str_head(text, text.len - 1), &count))
        return false;
    const char *letter = strchr(letters, text.ptr[text.len - 1]);
    if (!letter || !*letter || count > SPAN_MAX / STORE_SECOND)
        return false;
    uint64_t ago = count * seconds[letter - letters] * STORE_SECOND;
    *out = ago < now ? now - ago : 0;
    return true;
}

bool daemon_api_time(struct str text, uint64_t now, uint64_t *out)
{
    uint64_t v;
    if (str_starts(text, STR("now")))
        text = str_skip(text, 3);
    else if (number_parse_u64(text, &v)) {
        uint64_t unit = v < 100000000000         ? STORE_SECOND
                        : v < 100000000000000    ? 1000000
                        : v < 100000000000000000 ? 1000
                                                 : 1;
        *out = v * unit;
        return true;
    }
    *out = now;
    return text.len == 0 ||
           (text.ptr[0] == '-' && parse_ago(str_skip(text, 1), now, out));
}

bool api_read_span(const struct http_query *q, uint64_t seconds, struct store_span *span,
                   struct error *err)
{
    return api_read_span_to(q, "to", seconds, span, err);
}

bool api_read_span_to(const struct http_query *q, const char *end, uint64_t seconds,
                      struct store_span *span, struct error *err)
{
    const char *from = http_query_argument(q, "from"), *to = http_query_argument(q, end);
    uint64_t now = os_clock_real();
    span->to = now;
    if (to && !daemon_api_time(str_of(to), now, &span->to))
        return error_set(err, "invalid time '%s'", to);
    span->from = span->to - seconds * STORE_SECOND;
    if (from && !daemon_api_time(str_of(from), now, &span->from))
        return error_set(err, "invalid time '%s'", from);
    if (span->from >= span->to || span->to - span->from > SPAN_MAX)
        return error_set(err, "invalid span: it ends before it begins, or is too long");
    return true;
}

/* --- Requests ----------------------------------------------------------------------- */

static const struct api_route routes[] = {
#define ROUTE(name, method, path, type, arguments, summary) \
    {#name, method, path, type, arguments, summary, api_##name},
#include "daemon/api_routes.def"
#undef ROUTE
};

#define ROUTES (sizeof routes / sizeof *routes)

const struct api_route *api_route_at(size_t i)
{
    return i < ROUTES ? &routes[i] : NULL;
}

/* A path that ends with an asterisk is that of all addresses below it. */
static bool is_path(struct str path, struct str route)
{
    size_t length = route.len - 1;
    if (route.ptr[length] == '*')
        return str_starts(path, str_head(route, length));
    return str_equal(path, route);
}

/* The route of the request; another one of the same path if the method is wrong. */
static const struct api_route *find_route(const struct http_query *q, bool *has_path)
{
    *has_path = false;
    for (size_t i = 0; i < ROUTES; i++) {
        if (!is_path(q->path, str_of(routes[i].path)))
            continue;
        *has_path = true;
        if (str_equal(q->method, str_of(routes[i].method)))
            return &routes[i];
    }
    return NULL;
}

bool api_serves(const struct daemon_api *api, const struct api_route *route)
{
    if (route->answer == api_ingest || route->answer == api_ingest_below ||
        route->answer == api_push || route->answer == api_otlp)
        return api->intake != NULL;
    if (route->answer == api_record || route->answer == api_record_stop ||
        route->answer == api_recording || route->answer == api_recorded)
        return api->recording != NULL;
    if (route->answer == api_notes || route->answer == api_note ||
        route->answer == api_note_remove)
        return api->notes != NULL;
    return true;
}

static void refuse(const struct daemon_api *api, struct http_reply *r, bool has_path)
{
    r->status = has_path ? STATUS_METHOD : STATUS_MISSING;
    output_text(&r->body, has_path ? "This address has another method.\n"
                                   : "No such address. There are:\n");
    for (size_t i = 0; i < ROUTES && !has_path; i++)
        if (api_serves(api, &routes[i]))
            output_format(&r->body, "%s %s\n", routes[i].method, routes[i].path);
}

/* What is restricted to the samples of a tenant. All others show the machine, or all samples. */
static bool is_for_tenants(const struct api_route *route)
{
    static void (*const answers[])(struct daemon_api *, const struct http_query *,
                                   struct http_reply *) = {
        api_profile, api_labels,       api_usage, api_pprof, api_querier, api_render,
        api_ingest,  api_ingest_below, api_push,  api_otlp,  api_openapi};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (route->answer == answers[i])
            return true;
    return false;
}

static int64_t memory_of_request(const struct daemon_api *api)
{
    uint64_t half = api->budget.memory / 2;
    if (half == 0 || half > (uint64_t)DAEMON_API_MEMORY)
        return DAEMON_API_MEMORY;
    return half > (uint64_t)DAEMON_API_MEMORY_LEAST ? (int64_t)half
                                                    : DAEMON_API_MEMORY_LEAST;
}

void daemon_api_answer(void *context, const struct http_query *q, struct http_reply *r)
{
    struct arena_bound bound = {.most = memory_of_request(context)}, *before;
    bool has_path;
    const struct api_route *route = find_route(q, &has_path);
    if (!route) {
        refuse(context, r, has_path);
        return;
    }
    if (q->tenant && !is_for_tenants(route)) {
        r->status = STATUS_FORBIDDEN;
        output_text(&r->body, "The token of a tenant gives no access to this address.\n");
        return;
    }
    before = arena_count_in(&bound);
    route->answer(context, q, r);
    arena_count_in(before);
}
