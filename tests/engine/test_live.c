/* SPDX-License-Identifier: Apache-2.0 */
/* Live samples and their table, from a recording in place of the kernel. */
#include "engine/live_rows.h"
#include "engine/live_samples.h"
#include "os/file.h"
#include "unit.h"
#include <stdio.h>

/* The weight of all samples. */
#define ALL 10005

/* Does something with the samples while the reader still has them. */
static struct live_samples *samples;
static void (*at_end)(struct live_samples *s);

static void on_end(void *context, struct perf_profile *p)
{
    (void)context, (void)p;
    at_end(samples);
}

static void read_recording(struct live_samples *s, void (*then)(struct live_samples *s))
{
    char path[4096];
    struct error err = {.message = ""};
    struct os_input input;
    struct builder b;
    struct import_options options = {.lines = false};
    struct perf_consumer consumer = live_samples_consumer(s);
    samples = s;
    at_end = then;
    consumer.end = on_end;
    snprintf(path, sizeof path, "%s/import/perf-data/file.in", TESTS_FOLDER);
    assert_true(os_input_open(&input, path, &err) && builder_init(&b, BUILD_COUNT));
    struct source in = os_input_source(&input);
    if (!perf_data_replay(&in, &options, &b, &consumer, &err))
        fail_msg("%s", err.message);
    live_samples_detach(s);
    assert_null(s->reader);
    builder_deinit(&b);
    source_deinit(&in);
    os_input_close(&input);
}

static double total(const struct live_samples *s)
{
    double sum = 0;
    for (size_t i = 0; s->shown && i < s->shown->sample_count; i++)
        sum += s->shown->samples[i].weight;
    return sum;
}

static bool refresh(struct live_samples *s)
{
    struct error err;
    return live_samples_refresh(s, &err);
}

static void check_decay(struct live_samples *s)
{
    assert_int_equal(s->taken, 11);
    assert_true(refresh(s));
    assert_double(total(s), ALL);
    assert_int_equal(s->shown_taken, 11);
    assert_int_equal(s->taken, 0);
    assert_true(refresh(s));
    assert_double(total(s), (ALL - 5) * 0.875); /* the sample of weight 5 is dropped */
    assert_int_equal(s->shown_taken, 0);
    for (int i = 0; i < 30; i++)
        assert_true(refresh(s));
    assert_int_equal(s->shown->sample_count, 0);
    assert_false(live_samples_full(s));
}

static void old_samples_lose_weight_until_they_are_dropped(void **state)
{
    struct live_samples s = {.zero = false};
    (void)state;
    read_recording(&s, check_decay);
    live_samples_deinit(&s);
}

static void check_zero(struct live_samples *s)
{
    assert_true(refresh(s));
    assert_double(total(s), ALL);
    assert_true(refresh(s));
    assert_double(total(s), 0);
}

static void with_zero_each_refresh_is_new(void **state)
{
    struct live_samples s = {.zero = true};
    (void)state;
    read_recording(&s, check_zero);
    live_samples_deinit(&s);
}

static void check_clear(struct live_samples *s)
{
    assert_true(refresh(s));
    assert_non_null(s->shown);
    live_samples_clear(s);
    assert_null(s->shown);
    assert_true(refresh(s)); /* without samples */
    assert_null(s->shown);
}

static void clearing_drops_everything(void **state)
{
    struct live_samples s = {.zero = false};
    (void)state;
    read_recording(&s, check_clear);
    live_samples_deinit(&s);
}

static void show(struct live_samples *s)
{
    assert_true(refresh(s));
}

static size_t rows_of(const struct live_samples *s, const struct live_request *request)
{
    struct live_rows rows;
    struct error err;
    assert_true(live_rows_init(&rows, s->shown, request, &err));
    size_t count = rows.count;
    live_rows_deinit(&rows);
    return count;
}

/* The profile stays when its reader has ended. */
static void a_table_has_the_requested_rows(void **state)
{
    struct live_samples s = {.zero = false};
    struct live_rows rows;
    struct error err;
    (void)state;
    read_recording(&s, show);
    assert_true(live_rows_init(&rows, s.shown, &(struct live_request){0}, &err));
    assert_true(rows.count > 1);
    assert_double(rows.total, 9005); /* of the first event */
    for (size_t i = 1; i < rows.count; i++)
        assert_true(rows.items[i - 1].self >= rows.items[i].self);
    assert_int_equal(rows_of(&s, &(struct live_request){.filter = "KERNEL"}), 1);
    assert_int_equal(rows_of(&s, &(struct live_request){.filter = "no such"}), 0);
    assert_in_range(rows_of(&s, &(struct live_request){.no_kernel = true}), 1,
                    rows.count - 1);
    assert_true(rows_of(&s, &(struct live_request){.expand_all = true}) > rows.count);
    assert_int_equal(rows_of(&s, &(struct live_request){.min_percent = 101}), 0);
    live_rows_deinit(&rows);
    live_samples_deinit(&s);
    assert_int_equal(rows_of(&s, &(struct live_request){0}), 0); /* no profile */
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(old_samples_lose_weight_until_they_are_dropped),
        UNIT(with_zero_each_refresh_is_new),
        UNIT(clearing_drops_everything),
        UNIT(a_table_has_the_requested_rows),
    };
    return UNITS_RUN(units);
}
