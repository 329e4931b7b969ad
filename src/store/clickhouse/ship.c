/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the blocks of the spool, in order, and again until the server has acknowledged them.
 *
 * A request that fails after it was sent may have been executed. Before samples are sent again,
 * the server is asked for the rows with the key of their block: an insert of one part is stored
 * as a whole or not at all. The server may execute an old request after it answers that query.
 * So the row in `windows` states that the block was sent again, and readers count its rows
 * once. */
#include "codec/encode.h"
#include "os/machine.h"
#include "os/thread.h"
#include "store/clickhouse/parts.h"

#define SECOND STORE_SECOND
#define DELAY_FIRST (SECOND / 2)
#define DELAY_MOST (60 * SECOND)
#define GRACE (5 * SECOND) /* to send what is left when the writer ends */

static const char *const statements[CLICKHOUSE_TABLES] = {
    [CLICKHOUSE_FRAMES] = "INSERT INTO frames (day, frame, kind, name, module, build_id, "
                          "file, line, offset) FORMAT RowBinary",
    [CLICKHOUSE_STACKS] = "INSERT INTO stacks (day, stack, frames) FORMAT RowBinary",
    [CLICKHOUSE_SERIES] = "INSERT INTO series (day, series, host, service, event, bytes) "
                          "FORMAT RowBinary",
    [CLICKHOUSE_NAMES] = "INSERT INTO names (day, module, build_id, start, end, name) "
                         "FORMAT RowBinary",
    [CLICKHOUSE_METRICS] =
        "INSERT INTO metrics (day, host, step, start, writer, version, "
        "data) FORMAT RowBinary",
    [CLICKHOUSE_SAMPLES] =
        "INSERT INTO samples_in (day, second, series, stack, block, count, "
        "weight) FORMAT RowBinary",
};

static const char windows_statement[] = "INSERT INTO windows (day, block, host, start, "
                                        "end, rate, rows, samples, lost, dropped, "
                                        "resent, sent) FORMAT RowBinary";

/* What the thread works with. */
struct shipping {
    struct clickhouse_shipper *shipper;
    struct clickhouse_client client;
    struct clickhouse_failure failure;
    bool is_checked; /* the tables are those of this version */
    bool was_tried;  /* the file */
};

/* --- Parts ------------------------------------------------------------------------------ */

static bool insert_window(struct shipping *s, const struct clickhouse_part *part,
                          uint64_t dropped, bool resent, struct error *err)
{
    struct output packed = OUTPUT_BUFFER;
    struct encoder e = {0};
    bool ok = encoder_init_gzip(&e, &packed, err);
    struct output *o = &e.output;
    if (ok) {
        clickhouse_put(o, part->day, 2);
        clickhouse_put(o, part->block, 8);
        clickhouse_put_text(o, str_of(s->shipper->host));
        clickhouse_put(o, part->start, 8);
        clickhouse_put(o, part->end, 8);
        clickhouse_put_double(o, part->rate);
        clickhouse_put(o, part->rows, 4);
        clickhouse_put(o, part->samples, 8);
        clickhouse_put(o, part->lost, 8);
        clickhouse_put(o, dropped, 8);
        clickhouse_put(o, resent, 4);
        clickhouse_put(o, os_clock_real(), 8);
        ok = (encoder_finish(&e) && !packed.failed) || error_memory(err);
    }
    ok = ok && clickhouse_insert(&s->client, windows_statement, output_contents(&packed),
                                 &s->failure, err);
    encoder_deinit(&e);
    output_deinit(&packed);
    return ok;
}

/* The rows of a block that the server has. */
static bool count_rows(struct shipping *s, const struct clickhouse_part *part,
                       uint64_t *rows, struct error *err)
{
    char sql[320];
    format_text(sql, sizeof sql,
                "SELECT count() FROM samples WHERE day = toDate(%u) AND hour >= %llu AND "
                "hour <= %llu AND block = %llu FORMAT RowBinary",
                part->day, (unsigned long long)(part->start / SECOND / 3600),
                (unsigned long long)(part->end / SECOND / 3600),
                (unsigned long long)part->block);
    return clickhouse_number(&s->client, sql, rows, err);
}

static bool send_samples(struct shipping *s, const struct clickhouse_part *part,
                         struct error *err)
{
    uint64_t rows = 0, dropped = clickhouse_spool_dropped(s->shipper->spool);
    s->failure.is_unsent = true; /* questions change nothing */
    if (s->was_tried && !count_rows(s, part, &rows, err))
        return false;
    if (rows && rows >= part->rows)
        return true;
    if (!insert_window(s, part, dropped, s->was_tried, err))
        return false;
    clickhouse_spool_dropped_stored(s->shipper->spool, dropped);
    return clickhouse_insert(&s->client, statements[CLICKHOUSE_SAMPLES], part->packed,
                             &s->failure, err);
}

static bool send_parts(struct shipping *s, struct bytes *b, struct error *err)
{
    struct clickhouse_part part;
    while (clickhouse_block_next(b, &part)) {
        bool ok = part.table == CLICKHOUSE_SAMPLES
                      ? send_samples(s, &part, err)
                      : clickhouse_insert(&s->client, statements[part.table], part.packed,
                                          &s->failure, err);
        if (!ok)
            return false;
    }
    return true;
}

static bool prepare(struct shipping *s, struct error *err)
{
    const struct clickhouse_spool *spool = s->shipper->spool;
    s->failure = (struct clickhouse_failure){.is_unsent = true};
    if (!s->client.web &&
        !clickhouse_connect(&s->client, spool->address, &s->shipper->stops, err))
        return false;
    s->is_checked = s->is_checked || clickhouse_schema_check(&s->client, err);
    return s->is_checked;
}

/* Sends a file. A damaged file, which only a fault of the disk can cause, is dropped. */
static bool send_file(struct shipping *s, const struct clickhouse_file *file,
                      struct error *err)
{
    struct arena a = ARENA_INIT;
    struct clickhouse_spool *spool = s->shipper->spool;
    struct str bytes;
    struct bytes b;
    bool ok = prepare(s, err);
    s->was_tried = file->was_tried;
    if (ok && (!clickhouse_spool_read(spool, file, &a, &bytes, err) ||
               !clickhouse_block_open(&b, bytes))) {
        clickhouse_spool_damaged(spool);
    } else if (ok && (ok = send_parts(s, &b, err))) {
        clickhouse_spool_sent(spool);
    } else {
        clickhouse_spool_retry(spool, !s->failure.is_unsent);
        s->is_checked = false;
    }
    arena_deinit(&a);
    return ok;
}

/* --- The thread --------------------------------------------------------------------------- */

/* Doubles with each failure. Half of it is random, so that many writers that lost their server at
 * the same time do not return at the same time. */
static uint64_t delay_after(unsigned failures)
{
    uint64_t delay = DELAY_FIRST << (failures < 8 ? failures - 1 : 7), random = 0;
    if (delay > DELAY_MOST)
        delay = DELAY_MOST;
    if (!os_random(&random, sizeof random))
        return delay;
    return delay / 2 + random % delay;
}

/* The lock is held. False: the thread ends. */
static bool after_file(struct clickhouse_shipper *s, bool ok, const struct error *err)
{
    s->is_failing = !ok;
    if (ok) {
        s->sent++;
        s->failures = 0;
        return true;
    }
    s->failures++;
    format_text(s->error, sizeof s->error, "%s", err->message);
    uint64_t until = os_clock_monotonic() + delay_after(s->failures);
    while (!s->ends && os_clock_monotonic() < until)
        os_condition_wait(&s->changed, &s->lock, until);
    return !s->ends;
}

static void run(void *context)
{
    struct clickhouse_shipper *s = context;
    struct shipping work = {.shipper = s};
    struct clickhouse_file file;
    struct error err;
    bool goes_on = true;
    os_lock_acquire(&s->lock);
    while (goes_on) {
        if (clickhouse_spool_take(s->spool, &file)) {
            os_lock_release(&s->lock);
            bool ok = send_file(&work, &file, &err);
            os_lock_acquire(&s->lock);
            goes_on = after_file(s, ok, &err);
        } else if (s->ends) {
            goes_on = false;
        } else {
            os_condition_wait(&s->changed, &s->lock, os_clock_monotonic() + DELAY_MOST);
        }
    }
    s->has_ended = true;
    os_condition_wake(&s->changed);
    os_lock_release(&s->lock);
    clickhouse_disconnect(&work.client);
}

bool clickhouse_shipper_start(struct clickhouse_shipper *s,
                              struct clickhouse_spool *spool, struct error *err)
{
    s->spool = spool;
    if (!os_lock_init(&s->lock) || !os_condition_init(&s->changed))
        return error_memory(err);
    return os_thread_start(&s->thread, run, s, err);
}

void clickhouse_shipper_wake(struct clickhouse_shipper *s)
{
    os_lock_acquire(&s->lock);
    os_condition_wake(&s->changed);
    os_lock_release(&s->lock);
}

void clickhouse_shipper_stop(struct clickhouse_shipper *s)
{
    uint64_t until = os_clock_monotonic() + GRACE;
    if (s->thread.body) {
        os_lock_acquire(&s->lock);
        s->ends = true;
        os_condition_wake(&s->changed);
        while (!s->has_ended && os_clock_monotonic() < until)
            os_condition_wait(&s->changed, &s->lock, until);
        os_lock_release(&s->lock);
        __atomic_store_n(&s->stops, 1, __ATOMIC_RELAXED);
        os_thread_join(&s->thread);
    }
    os_condition_deinit(&s->changed);
    os_lock_deinit(&s->lock);
}
