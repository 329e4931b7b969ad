/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the blobs of a store: the rows of a window, blocks of metrics, and the labels of a
 * series. What is read is written and read again, and is then the same. */
#include "fuzz.h"
#include "store/metrics.h"
#include "store/rows.h"
#include "store/series.h"

FUZZ_ONE_WAY("store")

static void check_rows(struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct store_row *rows = NULL, *again = NULL;
    struct output out = OUTPUT_BUFFER;
    struct error err;
    size_t count, again_count;
    if (store_rows_decode(bytes, &arena, &rows, &count, &err) &&
        (count = store_rows_merge(rows, count)) > 0 &&
        store_rows_encode(rows, count, &out, &err)) {
        CHECK(
            store_rows_decode(output_contents(&out), &arena, &again, &again_count, &err));
        CHECK(count == again_count);
        for (size_t i = 0; i < count; i++)
            CHECK(rows[i].series == again[i].series && rows[i].stack == again[i].stack &&
                  rows[i].second == again[i].second && rows[i].count == again[i].count);
    }
    output_deinit(&out);
    arena_deinit(&arena);
}

static void check_metrics(struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct store_metric_block b = {0}, again = {0};
    struct output out = OUTPUT_BUFFER;
    struct error err;
    if (store_metrics_decode(bytes, &arena, &b, &err) &&
        store_metrics_encode(&b, &out, &err)) {
        CHECK(store_metrics_decode(output_contents(&out), &arena, &again, &err));
        CHECK(b.count == again.count);
        for (size_t i = 0; i < b.count; i++)
            CHECK(str_equal(b.items[i].name, again.items[i].name) &&
                  memcmp(b.items[i].values, again.items[i].values,
                         sizeof b.items[i].values) == 0);
    }
    output_deinit(&out);
    arena_deinit(&arena);
}

static void check_series(struct str bytes)
{
    struct builder b;
    struct error err;
    event_id event;
    thread_id thread;
    label_set_id labels;
    if (!builder_init(&b, BUILD_COUNT))
        return;
    if (store_series_read(bytes, &b, &event, &thread, &labels, &err))
        CHECK(event < b.profile->event_count && thread < b.profile->thread_count);
    builder_deinit(&b);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    check_rows(bytes);
    check_metrics(bytes);
    check_series(bytes);
    return 0;
}
