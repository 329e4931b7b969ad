/* SPDX-License-Identifier: Apache-2.0 */
/* The store on a ClickHouse server. */
#include "os/machine.h"
#include "store/clickhouse/parts.h"

#define ADDED_QUERY_SQL 20005 /* CREATE USER, GRANT */

/* --- Opening ------------------------------------------------------------------------------ */

/* A writer starts without its server: blocks wait in the spool. */
static bool open_writer(struct clickhouse_store *s, struct error *err)
{
    s->writes = true;
    if (!os_random(&s->writer, sizeof s->writer))
        return error_set(err, "there are no random bytes for the keys of blocks");
    s->shipper.host = s->host;
    /* libcurl is loaded here, before there are other threads */
    return clickhouse_connect(&s->client, &s->address, NULL, err) &&
           clickhouse_spool_open(&s->spool, &s->address, err) &&
           clickhouse_shipper_start(&s->shipper, &s->spool, err);
}

static bool open_store(struct store *base, const char *location, enum store_mode mode,
                       struct error *err)
{
    struct clickhouse_store *s = clickhouse_store_of(base);
    struct os_machine machine;
    s->spool.lock = -1;
    os_machine_read(&machine);
    format_text(s->host, sizeof s->host, "%s", machine.host);
    if (!clickhouse_address_parse(&s->address, location, err))
        return false;
    if (mode == STORE_WRITE)
        return open_writer(s, err);
    if (!clickhouse_connect(&s->client, &s->address, NULL, err))
        return false;
    return mode == STORE_CREATE ? clickhouse_schema_create(&s->client, err)
                                : clickhouse_schema_check(&s->client, err);
}

static void close_store(struct store *base)
{
    struct clickhouse_store *s = clickhouse_store_of(base);
    if (s->writes)
        clickhouse_shipper_stop(&s->shipper);
    clickhouse_spool_close(&s->spool);
    clickhouse_disconnect(&s->client);
    clickhouse_forget(s);
}

/* --- Writing ------------------------------------------------------------------------------ */

/* Names and stacks are a file of their own, so that samples can be dropped without them. */
static bool add(struct store *base, const struct store_window *w, struct error *err)
{
    struct clickhouse_store *s = clickhouse_store_of(base);
    struct output names = OUTPUT_BUFFER, samples = OUTPUT_BUFFER;
    uint64_t second = w->end / STORE_SECOND;
    bool forgets = false;
    bool ok = clickhouse_make_blocks(s, w, &names, &samples, err);
    ok = ok && (!names.used || clickhouse_spool_add(&s->spool, output_contents(&names),
                                                    false, second, &forgets, err));
    ok =
        ok && (!samples.used || clickhouse_spool_add(&s->spool, output_contents(&samples),
                                                     true, second, &forgets, err));
    if (!ok || forgets) /* what is not in the spool is made again */
        clickhouse_forget(s);
    if (ok)
        clickhouse_shipper_wake(&s->shipper);
    output_deinit(&names);
    output_deinit(&samples);
    return ok;
}

/* Who removes data of a fleet is not an agent: see stoke-store(1). */
static bool retain(struct store *base, const struct store_limits *limits, uint64_t now,
                   struct error *err)
{
    (void)base, (void)limits, (void)now, (void)err;
    return true;
}

/* Says once when the server cannot be used, and when it can be used again. */
static bool fix(struct store *base, char *done, size_t size, struct error *err)
{
    struct clickhouse_store *s = clickhouse_store_of(base);
    struct clickhouse_shipper *h = &s->shipper;
    uint64_t dropped = clickhouse_spool_dropped(&s->spool);
    (void)err;
    done[0] = '\0';
    os_lock_acquire(&h->lock);
    if (dropped > s->reported)
        format_text(done, size, "the spool is full: %llu blocks of samples are lost",
                    (unsigned long long)dropped);
    else if (h->is_failing && !h->was_failing)
        format_text(done, size, "%s; samples are in %s and are sent later", h->error,
                    s->address.spool);
    else if (!h->is_failing && h->was_failing)
        format_text(done, size, "%s can be used again", s->address.origin);
    h->was_failing = h->is_failing;
    s->reported = dropped;
    os_lock_release(&h->lock);
    return true;
}

/* --- What an administrator needs ---------------------------------------------------------- */

static void describe_users(const struct clickhouse_store *s, uint64_t version,
                           struct output *o)
{
    const char *db = s->address.database;
    if (version < ADDED_QUERY_SQL) {
        output_format(
            o,
            "users      this server has its users in users.xml: give agents one "
            "with <allow_databases><database>%s</database></allow_databases>, "
            "readers one with a profile that has <readonly>1</readonly>\n",
            db);
        return;
    }
    output_format(
        o,
        "users      CREATE USER stoke_agent IDENTIFIED BY '...';\n"
        "           GRANT INSERT ON %s.* TO stoke_agent;\n"
        "           GRANT SELECT(version) ON %s.schema_version TO stoke_agent;\n"
        "           GRANT SELECT(day, hour, at, stream, block) ON %s.samples TO "
        "stoke_agent;\n"
        "           CREATE USER stoke_reader IDENTIFIED BY '...' SETTINGS "
        "readonly = 1;\n"
        "           GRANT SELECT ON %s.* TO stoke_reader;\n",
        db, db, db, db);
}

static bool describe(struct store *base, struct output *o, struct error *err)
{
    struct clickhouse_store *s = clickhouse_store_of(base);
    uint64_t version;
    if (!clickhouse_server_version(&s->client, &version, err))
        return false;
    output_format(o, "server     ClickHouse %llu.%llu at %s, database %s\n",
                  (unsigned long long)(version / 1000),
                  (unsigned long long)(version % 1000), s->address.origin,
                  s->address.database);
    output_format(o, "tables     version %d\n", CLICKHOUSE_VERSION);
    describe_users(s, version, o);
    return true;
}

const struct store_kind store_kind_clickhouse = {
    .name = "clickhouse",
    .scheme = CLICKHOUSE_SCHEME,
    .size = sizeof(struct clickhouse_store),
    .open = open_store,
    .close = close_store,
    .add = add,
    .read = clickhouse_store_read,
    .read_metrics = clickhouse_store_read_metrics,
    .retain = retain,
    .usage = clickhouse_store_usage,
    .fix = fix,
    .describe = describe,
};
