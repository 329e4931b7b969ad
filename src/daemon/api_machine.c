/* SPDX-License-Identifier: Apache-2.0 */
/* The page, its invitations, /api/status and /api/processes. */
#include "base/number.h"
#include "codec/json.h"
#include "daemon/api_parts.h"
#include "export/html_page.h"
#include "os/machine.h"

void api_page(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    static const struct export_options options = {
        .title = {"", 0}, .with_callgraph = true, .live = true};
    struct error err = {.message = ""};
    (void)api, (void)q;
    r->type = "text/html; charset=utf-8";
    r->is_page = true;
    if (!html_put_page(NULL, &options, &r->body, &err)) {
        r->is_page = false;
        api_fail(r, STATUS_FAILED, &err);
    }
}

void api_processes(struct daemon_api *api, const struct http_query *q,
                   struct http_reply *r)
{
    (void)q;
    r->type = "application/json";
    r->body.failed |=
        !daemon_processes_write(&api->processes, &r->body, &r->shared_until);
}

static void put_machine(struct json_writer *w)
{
    char text[64];
    struct os_machine machine;
    os_machine_read(&machine);
    struct str up = os_read_text("/proc/uptime", text, sizeof text);
    json_member_str(w, "host", str_of(machine.host));
    json_member_str(w, "kernel", str_of(machine.release));
    json_member_u64(w, "cpus", os_cpus_online(NULL));
    json_member_u64(w, "memory", machine.memory);
    uint64_t seconds = 0;
    if (number_parse_u64(str_cut(&up, '.'), &seconds))
        json_member_u64(w, "uptime", seconds);
}

/* What happened to the store since the daemon started. */
static void put_faults(struct json_writer *w, const struct daemon_api *api)
{
    struct daemon_store_state s;
    if (!api->history)
        return;
    daemon_history_state(api->history, &s);
    json_put_key(w, "failing");
    json_put_bool(w, s.failing);
    if (s.failing) {
        json_member_str(w, "error", str_of(s.error));
        json_member_u64(w, "since", s.failing_since / STORE_SECOND);
    }
    json_member_u64(w, "failures", s.failures);
    json_member_u64(w, "pending", s.pending);
    json_member_u64(w, "dropped", s.dropped);
    json_member_u64(w, "fixed", s.fixed);
    if (s.fixed) {
        json_member_str(w, "done", str_of(s.done));
        json_member_u64(w, "done_at", s.done_at / STORE_SECOND);
    }
}

static void put_store(struct json_writer *w, const struct daemon_api *api)
{
    struct error ignored;
    struct store_usage u = {0};
    struct store *s = store_open(api->store, STORE_READ, &ignored);
    bool ok = s && s->kind->usage(s, &u, &ignored);
    store_close(s);
    json_put_key(w, "store");
    json_begin(w, JSON_OBJECT);
    if (ok) {
        json_member_u64(w, "bytes", u.bytes);
        json_member_u64(w, "first", u.first / STORE_SECOND);
        json_member_u64(w, "lost", u.lost);
    }
    put_faults(w, api);
    json_end(w, JSON_OBJECT);
}

/* {"host":"a","cpus":8,...,"daemon":{"cpu":...},"store":{"bytes":...}} */
void api_status(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct json_writer w = {.out = &r->body};
    (void)q;
    r->type = "application/json";
    api_share(r, API_SHARED_LONG);
    json_begin(&w, JSON_OBJECT);
    put_machine(&w);
    json_member_u64(&w, "time", os_clock_real() / STORE_SECOND);
    json_member_u64(&w, "rate", api->rate);
    json_member_u64(&w, "requested_rate", api->requested_rate);
    if (api->least_wait)
        json_member_u64(&w, "least_wait_ns", api->least_wait);
    if (api->notes) {
        json_put_key(&w, "can_note");
        json_put_bool(&w, api->has_token);
    }
    json_put_key(&w, "daemon");
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "cpu_ns", os_own_cpu_time());
    json_member_u64(&w, "bytes", os_own_bytes());
    json_member_u64(&w, "peak_bytes", os_own_peak_bytes());
    if (api->budget.cpu > 0)
        json_member_double(&w, "cpu_limit", api->budget.cpu);
    if (api->budget.memory)
        json_member_u64(&w, "memory_limit", api->budget.memory);
    json_end(&w, JSON_OBJECT);
    put_store(&w, api);
    json_end(&w, JSON_OBJECT);
}

void api_invite(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err;
    char text[HTTP_INVITE_SIZE];
    (void)api;
    if (http_query_invite(q, text)) {
        output_format(&r->body, "/%s%s\n", text[0] ? "?token=" : "", text);
    } else {
        error_set(&err, "there are no random bytes");
        api_fail(r, STATUS_FAILED, &err);
    }
}
