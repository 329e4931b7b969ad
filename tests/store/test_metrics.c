/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of metrics as bytes: every value is read back; damage is reported. */
#include "store/metrics.h"
#include "unit.h"

static const int64_t samples[] = {0,
                                  1,
                                  -1,
                                  STORE_NO_VALUE,
                                  INT64_MAX / 2,
                                  5,
                                  -7,
                                  INT64_MAX / 2,
                                  12,
                                  12,
                                  STORE_NO_VALUE,
                                  -5000000};

static struct store_metric_block make_block(struct arena *a, size_t count)
{
    struct store_metric_block b = {.start = 60, .step = 1};
    char name[32];
    for (size_t i = 0; i < count; i++) {
        format_text(name, sizeof name, "metric.%zu", i);
        struct store_metric *m = store_metric_put(&b, a, str_of(name), STR("1/s"), i);
        assert_non_null(m);
        for (size_t k = 0; k < STORE_BLOCK_VALUES; k++)
            m->values[k] = samples[(i + k) % (sizeof samples / sizeof *samples)];
    }
    return b;
}

static void values_are_read_back(void **state)
{
    struct arena a = ARENA_INIT;
    struct error err;
    struct output out = OUTPUT_BUFFER;
    struct store_metric_block b = make_block(&a, 7), again = {0};
    (void)state;
    assert_true(store_metrics_encode(&b, &out, &err));
    assert_true(store_metrics_decode(output_contents(&out), &a, &again, &err));
    assert_int_equal(again.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_true(str_equal(again.items[i].name, b.items[i].name));
        assert_true(str_equal(again.items[i].unit, STR("1/s")));
        assert_memory_equal(again.items[i].values, b.items[i].values,
                            sizeof b.items[i].values);
    }
    output_deinit(&out);
    arena_deinit(&a);
}

static void names_are_unique_and_bounded(void **state)
{
    struct arena a = ARENA_INIT;
    struct store_metric_block b = make_block(&a, STORE_METRICS_MAX);
    (void)state;
    assert_null(store_metric_put(&b, &a, STR("one.more"), STR(""), 0));
    assert_ptr_equal(store_metric_put(&b, &a, STR("metric.9"), STR(""), 0), &b.items[9]);
    assert_int_equal(b.count, STORE_METRICS_MAX);
    arena_deinit(&a);
}

static void a_merge_retains_newer_values(void **state)
{
    struct arena a = ARENA_INIT;
    struct store_metric_block old = {0}, b = {0};
    (void)state;
    store_metric_put(&old, &a, STR("x"), STR(""), 0)->values[3] = 30;
    old.items[0].values[4] = 40;
    store_metric_put(&old, &a, STR("gone"), STR(""), 1)->values[0] = 1;
    store_metric_put(&b, &a, STR("y"), STR(""), 0)->values[0] = 9;
    store_metric_put(&b, &a, STR("x"), STR(""), 0)->values[4] = 44;
    assert_true(store_metrics_merge(&b, &old, &a));
    assert_int_equal(b.count, 3);
    assert_int_equal(b.items[1].values[3], 30);
    assert_int_equal(b.items[1].values[4], 44);
    assert_true(b.items[1].values[5] == STORE_NO_VALUE);
    assert_int_equal(b.items[2].values[0], 1);
    arena_deinit(&a);
}

static void damage_is_reported(void **state)
{
    struct arena a = ARENA_INIT;
    struct error err;
    struct output out = OUTPUT_BUFFER;
    struct store_metric_block b = make_block(&a, 3), again = {0};
    (void)state;
    assert_true(store_metrics_encode(&b, &out, &err));
    struct str bytes = output_contents(&out);
    assert_false(store_metrics_decode(STR(""), &a, &again, &err));
    assert_false(store_metrics_decode(STR("\x07zzz"), &a, &again, &err));
    assert_non_null(strstr(err.message, "unknown format"));
    for (size_t i = 0; i + 1 < bytes.len; i++)
        assert_false(store_metrics_decode(str_head(bytes, i), &a, &again, &err));
    output_deinit(&out);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_back),
        cmocka_unit_test(names_are_unique_and_bounded),
        cmocka_unit_test(a_merge_retains_newer_values),
        cmocka_unit_test(damage_is_reported),
    };
    return cmocka_run_group_tests_name("store/metrics", tests, NULL, NULL);
}
