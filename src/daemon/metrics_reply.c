/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/metrics_reply.h"
#include "base/array.h"
#include "codec/json.h"

#define MINUTE ((uint64_t)60)

/* The values of a metric: means, because a value can stand for several minutes. */
struct column {
    struct str name, unit;
    double *sums;
    uint32_t *counts;
};

struct reply {
    const struct daemon_metric_names *names;
    struct arena arena;
    uint64_t start, step, count; /* seconds */
    uint32_t block_step;         /* of the blocks that are read */
    struct column *columns;
    size_t column_count, column_cap;
    struct store_metric_block recent[DAEMON_METRIC_BLOCKS]; /* copies of the memory's */
    size_t recent_count;
};

static bool is_requested(const struct daemon_metric_names *names, struct str name)
{
    for (size_t i = 0; i < names->count; i++) {
        struct str asked = names->items[i];
        if (str_starts(name, asked) &&
            (name.len == asked.len || name.ptr[asked.len] == '.'))
            return true;
    }
    return names->count == 0;
}

static struct column *column_of(struct reply *r, const struct store_metric *m,
                                size_t hint)
{
    if (hint < r->column_count && str_equal(r->columns[hint].name, m->name))
        return &r->columns[hint];
    for (size_t i = 0; i < r->column_count; i++)
        if (str_equal(r->columns[i].name, m->name))
            return &r->columns[i];
    struct column *c =
        r->column_count < STORE_METRICS_MAX
            ? ARRAY_APPEND(&r->arena, r->columns, r->column_count, r->column_cap)
            : NULL;
    if (!c)
        return NULL;
    *c = (struct column){
        .name = arena_str(&r->arena, m->name),
        .unit = arena_str(&r->arena, m->unit),
        .sums = arena_zalloc(&r->arena, (size_t)r->count, sizeof *c->sums),
        .counts = arena_zalloc(&r->arena, (size_t)r->count, sizeof *c->counts)};
    return r->arena.failed ? NULL : c;
}

/* The values from `start` on; steps of the reply are at least as long as those of the block. */
static void add_values(const struct reply *r, struct column *c,
                       const struct store_metric *m, uint64_t start)
{
    size_t i = 0;
    while (i < STORE_BLOCK_VALUES && start + i * r->block_step < r->start)
        i++;
    uint64_t since = start + i * r->block_step - r->start;
    uint64_t at = since / r->step, within = since % r->step;
    for (; i < STORE_BLOCK_VALUES && at < r->count; i++) {
        if (m->values[i] != STORE_NO_VALUE) {
            c->sums[at] += (double)m->values[i];
            c->counts[at]++;
        }
        within += r->block_step;
        if (within >= r->step) {
            within -= r->step;
            at++;
        }
    }
}

static bool add_block(struct reply *r, const struct store_metric_block *b)
{
    size_t index = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (!is_requested(r->names, b->items[i].name))
            continue;
        struct column *c = column_of(r, &b->items[i], index);
        if (!c)
            return !r->arena.failed;
        index = (size_t)(c - r->columns) + 1;
        add_values(r, c, &b->items[i], b->start);
    }
    return true;
}

/* What is in memory may be newer than what is stored of the same time. */
static bool copy_recent(void *context, const struct store_metric_block *b)
{
    struct reply *r = context;
    struct store_metric_block *copy = &r->recent[r->recent_count++];
    *copy = (struct store_metric_block){.start = b->start, .step = b->step};
    return store_metrics_merge(copy, b, &r->arena);
}

static bool add_stored(void *context, const struct store_metric_block *b)
{
    struct reply *r = context;
    for (size_t i = 0; i < r->recent_count; i++)
        if (r->recent[i].start == b->start)
            return store_metrics_merge(&r->recent[i], b, &r->arena);
    return add_block(r, b);
}

static bool read_blocks(struct reply *r, struct daemon_metrics *m, const char *location,
                        const struct store_span *span, struct error *err)
{
    bool ok = true;
    if (m)
        daemon_metrics_each(m, span, r->block_step, copy_recent, r);
    if (!m || r->block_step != 1 || !daemon_metrics_has(m, span)) {
        struct store *s = store_open(location, STORE_READ, err);
        ok = s && s->kind->read_metrics(s, span, r->block_step, add_stored, r, err);
        store_close(s);
    }
    for (size_t i = 0; ok && i < r->recent_count; i++)
        add_block(r, &r->recent[i]);
    return ok && (!r->arena.failed || error_memory(err));
}

/* Seconds for an hour, else minutes, or several of them. */
static void choose_steps(struct reply *r, const struct store_span *span)
{
    uint64_t from = span->from / STORE_SECOND, part = MINUTE * DAEMON_METRIC_VALUES_MAX;
    uint64_t to = (span->to + STORE_SECOND - 1) / STORE_SECOND;
    r->step = 1;
    if (to - from > DAEMON_METRIC_VALUES_MAX)
        r->step = MINUTE * ((to - from + part - 1) / part);
    r->block_step = r->step == 1 ? 1 : (uint32_t)MINUTE;
    r->start = from - from % r->step;
    r->count = (to - r->start + r->step - 1) / r->step;
}

static void write_column(struct json_writer *w, const struct column *c, uint64_t count)
{
    json_begin(w, JSON_OBJECT);
    json_member_str(w, "name", c->name);
    json_member_str(w, "unit", c->unit);
    json_put_key(w, "values");
    json_begin(w, JSON_ARRAY);
    for (uint64_t i = 0; i < count; i++) {
        double mean = c->counts[i] ? c->sums[i] / c->counts[i] : 0;
        if (!c->counts[i])
            json_put_null(w);
        else if (mean >= 0 && mean < 1e15)
            json_put_u64(w, (uint64_t)(mean + 0.5));
        else
            json_put_double(w, mean);
    }
    json_end(w, JSON_ARRAY);
    json_end(w, JSON_OBJECT);
}

static void write_reply(const struct reply *r, struct output *out)
{
    struct json_writer w = {.out = out};
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "start", r->start);
    json_member_u64(&w, "step", r->step);
    json_member_u64(&w, "count", r->count);
    json_put_key(&w, "metrics");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < r->column_count; i++)
        write_column(&w, &r->columns[i], r->count);
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
}

bool daemon_metrics_reply(struct daemon_metrics *m, const char *store,
                          const struct store_span *span,
                          const struct daemon_metric_names *names, struct output *out,
                          struct error *err)
{
    struct reply r = {.names = names};
    choose_steps(&r, span);
    bool ok = read_blocks(&r, m, store, span, err);
    if (ok)
        write_reply(&r, out);
    arena_deinit(&r.arena);
    return ok;
}

/* --- Triggers ------------------------------------------------------------------------- */

static void write_trigger(struct json_writer *w, const struct reply *r,
                          const struct column *c, uint64_t first, uint64_t last)
{
    struct str prefix = STR("trigger.");
    double sum = 0, count = 0;
    for (uint64_t i = first; i < last; i++) {
        sum += c->sums[i];
        count += c->counts[i];
    }
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "from", r->start + first * r->step);
    json_member_u64(w, "to", r->start + last * r->step);
    json_member_str(w, "name", str_skip(c->name, prefix.len));
    json_member_u64(w, "value", (uint64_t)(sum / count + 0.5));
    json_member_str(w, "unit", c->unit);
    json_end(w, JSON_OBJECT);
}

/* Neighbouring steps with values are one recording. */
static void write_triggers(const struct reply *r, struct output *out)
{
    struct json_writer w = {.out = out};
    json_begin(&w, JSON_OBJECT);
    json_put_key(&w, "triggers");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < r->column_count; i++) {
        const struct column *c = &r->columns[i];
        for (uint64_t first = 0, last; first < r->count; first = last + 1) {
            for (last = first; last < r->count && c->counts[last];)
                last++;
            if (last > first)
                write_trigger(&w, r, c, first, last);
        }
    }
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
}

bool daemon_triggers_reply(struct daemon_metrics *m, const char *store,
                           const struct store_span *span, struct output *out,
                           struct error *err)
{
    const struct daemon_metric_names names = {{STR("trigger")}, 1};
    struct reply r = {.names = &names};
    choose_steps(&r, span);
    bool ok = read_blocks(&r, m, store, span, err);
    if (ok)
        write_triggers(&r, out);
    arena_deinit(&r.arena);
    return ok;
}
