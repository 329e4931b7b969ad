/* SPDX-License-Identifier: Apache-2.0 */
/* The entrances for agents: /ingest, push.v1.PusherService/Push and OTLP profiles. */
#include "codec/json.h"
#include "codec/protobuf.h"
#include "daemon/api_parts.h"
#include "daemon/intake.h"
#include "ingest/otlp.h"
#include "ingest/push.h"
#include "ingest/pyroscope.h"
#include "metrics/openmetrics.h"
#include "os/machine.h"

/* A request on its way. */
struct intake_request {
    enum daemon_entrance entrance;
    struct ingest in;
    struct daemon_intake_claims claims;
};

/* Codes of gRPC, which Connect and OTLP name in errors. */
#define CODE_INVALID 3
#define CODE_UNAVAILABLE 14

/* Each protocol has its own form of errors; all have the message. */
static void fail_intake(struct http_reply *r, enum daemon_entrance e, unsigned status,
                        const struct error *err)
{
    struct json_writer w = {.out = &r->body};
    bool is_request = status < STATUS_FAILED;
    if (e == ENTRANCE_INGEST) {
        api_fail(r, status, err);
        return;
    }
    r->body.used = 0;
    r->status = status;
    if (e == ENTRANCE_OTLP) {
        r->type = "application/x-protobuf";
        proto_put_u64(&r->body, 1, is_request ? CODE_INVALID : CODE_UNAVAILABLE);
        proto_put_str(&r->body, 2, str_of(err->message));
        return;
    }
    r->type = "application/json";
    json_begin(&w, JSON_OBJECT);
    json_member_str(&w, "code",
                    is_request ? STR("invalid_argument") : STR("unavailable"));
    json_member_str(&w, "message", str_of(err->message));
    json_end(&w, JSON_OBJECT);
}

static bool has_intake(const struct daemon_api *api, struct http_reply *r)
{
    struct error err;
    if (api->intake)
        return true;
    error_set(&err, "stoke daemon takes no profiles of other agents");
    error_hint(&err, "stoke server does");
    api_fail(r, STATUS_UNSUPPORTED, &err);
    return false;
}

static bool begin(struct daemon_api *api, struct intake_request *q,
                  enum daemon_entrance e, const struct http_tenant *tenant,
                  struct error *err)
{
    uint64_t now = os_clock_real();
    *q = (struct intake_request){.entrance = e};
    q->claims.intake = api->intake;
    q->in.now = now;
    q->in.oldest = daemon_intake_oldest(api->intake, now);
    q->in.claim = daemon_intake_claim;
    q->in.context = &q->claims;
    if (tenant) {
        q->claims.salt = hash_mix(hash_bytes(tenant->key.ptr, tenant->key.len),
                                  hash_bytes(tenant->value.ptr, tenant->value.len));
        q->in.own = (struct ingest_label){tenant->key, tenant->value};
    }
    return ingest_init(&q->in, err);
}

/* Stores what was read if that succeeded, and answers. */
static void end(struct daemon_api *api, struct intake_request *q, bool is_read,
                struct http_reply *r, struct error *err)
{
    uint64_t samples = is_read ? q->in.builder.profile->sample_count : 0;
    bool is_short =
        q->in.arena.failed || !q->in.builder.profile || builder_failed(&q->in.builder);
    bool is_stored = is_read && daemon_intake_store(api->intake, &q->in, err);
    enum daemon_intake_result result = is_stored                  ? INTAKE_STORED
                                       : is_read || q->in.is_busy ? INTAKE_FAILED
                                                                  : INTAKE_REFUSED;
    daemon_intake_settle(&q->claims, is_stored);
    daemon_intake_count(api->intake, q->entrance, result, &q->in, samples);
    ingest_deinit(&q->in);
    if (result == INTAKE_FAILED)
        fail_intake(r, q->entrance, STATUS_UNAVAILABLE, err);
    else if (!is_stored)
        fail_intake(r, q->entrance, is_short ? STATUS_TOO_LARGE : STATUS_BAD, err);
}

static struct str argument(const struct http_query *q, const char *name)
{
    const char *value = http_query_argument(q, name);
    return value ? str_of(value) : STR("");
}

void api_ingest(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct intake_request request;
    struct ingest_pyroscope_query query = {
        .name = argument(q, "name"),
        .from = argument(q, "from"),
        .until = argument(q, "until"),
        .format = argument(q, "format"),
        .rate = argument(q, "sampleRate"),
        .units = argument(q, "units"),
        .content_type = str_of(http_query_field(q, "Content-Type"))};
    if (!has_intake(api, r))
        return;
    bool ok = begin(api, &request, ENTRANCE_INGEST, q->tenant, &err) &&
              ingest_pyroscope(&request.in, &query, q->body, &err);
    end(api, &request, ok, r, &err);
}

/* Agents of a server that is below a path. */
void api_ingest_below(struct daemon_api *api, const struct http_query *q,
                      struct http_reply *r)
{
    api_ingest(api, q, r);
}

/* The media type, without its parameters. */
static struct str media_type(const struct http_query *q)
{
    struct str type = str_of(http_query_field(q, "Content-Type"));
    return str_trim(str_cut(&type, ';'));
}

static void refuse_type(struct daemon_api *api, enum daemon_entrance e, const char *type,
                        struct http_reply *r)
{
    struct error err;
    struct ingest none = {.profiles = 0};
    error_set(&err, "this address takes %s only", type);
    daemon_intake_count(api->intake, e, INTAKE_REFUSED, &none, 0);
    fail_intake(r, e, STATUS_TYPE, &err);
}

void api_push(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct intake_request request;
    struct str type = media_type(q);
    if (!has_intake(api, r))
        return;
    if (!str_equal(type, STR("application/proto")) &&
        !str_equal(type, STR("application/x-protobuf"))) {
        refuse_type(api, ENTRANCE_PUSH, "application/proto", r);
        return;
    }
    r->type = "application/proto";
    bool ok = begin(api, &request, ENTRANCE_PUSH, q->tenant, &err) &&
              ingest_push(&request.in, q->body, &err);
    end(api, &request, ok, r, &err);
}

void api_otlp(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct intake_request request;
    if (!has_intake(api, r))
        return;
    if (!str_equal(media_type(q), STR("application/x-protobuf"))) {
        refuse_type(api, ENTRANCE_OTLP, "application/x-protobuf", r);
        return;
    }
    r->type = "application/x-protobuf";
    bool ok = begin(api, &request, ENTRANCE_OTLP, q->tenant, &err) &&
              ingest_otlp(&request.in, q->body, &err);
    end(api, &request, ok, r, &err);
}

/* --- Metrics ---------------------------------------------------------------------------- */

static void put_family(struct output *o, const char *name, const char *help)
{
    openmetrics_family(o, name, OPENMETRICS_COUNTER, "", help);
}

static void put_value(struct output *o, const char *name, enum daemon_entrance e,
                      const char *result, uint64_t value)
{
    output_format(o, "%s_total{entrance=\"%s\"", name, daemon_entrance_name(e));
    if (result)
        output_format(o, ",result=\"%s\"", result);
    output_format(o, "} %llu\n", (unsigned long long)value);
}

void api_put_intake(struct output *o, struct daemon_intake *intake)
{
    struct daemon_entrance_totals t[ENTRANCES];
    daemon_intake_totals(intake, t);
    put_family(o, "stoke_intake_requests",
               "Requests of agents: stored, refused because of what they are, failed "
               "because the store cannot be written.");
    for (enum daemon_entrance e = 0; e < ENTRANCES; e++) {
        put_value(o, "stoke_intake_requests", e, "stored", t[e].stored);
        put_value(o, "stoke_intake_requests", e, "refused", t[e].refused);
        put_value(o, "stoke_intake_requests", e, "failed", t[e].failed);
    }
    put_family(
        o, "stoke_intake_profiles",
        "Profiles in stored requests: stored, or left out because they were stored "
        "before.");
    for (enum daemon_entrance e = 0; e < ENTRANCES; e++) {
        put_value(o, "stoke_intake_profiles", e, "stored", t[e].profiles);
        put_value(o, "stoke_intake_profiles", e, "repeated", t[e].repeated);
    }
    put_family(o, "stoke_intake_rows", "Stacks with a value that were stored.");
    for (enum daemon_entrance e = 0; e < ENTRANCES; e++)
        put_value(o, "stoke_intake_rows", e, NULL, t[e].samples);
    put_family(o, "stoke_intake_left_out_values",
               "Values that were left out: negative, or above the limit.");
    for (enum daemon_entrance e = 0; e < ENTRANCES; e++)
        put_value(o, "stoke_intake_left_out_values", e, NULL, t[e].left_out);
}
