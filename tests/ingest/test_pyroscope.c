/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/pyroscope.h"
#include "unit.h"

static void check_name(const char *text, const char *service, const char *measure)
{
    struct ingest_labels labels = {.count = 0};
    struct str got;
    struct error err;
    if (!ingest_pyroscope_name(str_of(text), &labels, &got, &err))
        fail_msg("'%s': %s", text, err.message);
    assert_true(str_equal(ingest_label(&labels, STR("service_name")), str_of(service)));
    assert_true(str_equal(got, str_of(measure)));
}

static void names_of_applications(void **state)
{
    (void)state;
    check_name("web", "web", "");
    check_name("web.cpu", "web", "cpu");
    check_name("a.b.alloc_space{}", "a.b", "alloc_space");
    check_name("  web.unknown { a = b , c=d=e, } ", "web.unknown", "");
    check_name("web.cpu{service_name=other}", "other", "cpu");
    check_name(".cpu", ".cpu", "");
}

static void names_that_are_refused(void **state)
{
    static const char *const texts[] = {"",      " ",       "{a=b}", "x{",
                                        "x{a=b", "x{a=b}y", "x{a}",  "x{=b}"};
    struct str measure;
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ingest_labels labels = {.count = 0};
        if (ingest_pyroscope_name(str_of(texts[i]), &labels, &measure, &err))
            fail_msg("'%s' is accepted", texts[i]);
    }
}

/* The total weight of what is read; a negative number if it is refused. */
static double total(enum ingest_text kind, struct str body, double period)
{
    struct builder b;
    struct error err;
    double sum = 0;
    assert_true(builder_init(&b, BUILD_COUNT));
    event_id event = builder_event(&b, STR("cpu"), UNIT_NANOSECONDS);
    bool ok = ingest_pyroscope_text(kind, body, &b, event, period, &err);
    for (size_t i = 0; ok && i < b.profile->sample_count; i++)
        sum += b.profile->samples[i].weight;
    builder_deinit(&b);
    return ok ? sum : -1;
}

static void texts(void **state)
{
    (void)state;
    assert_true(total(INGEST_GROUPS, STR("a;b 3\r\n\n a b;c 4\n"), 10) == 70);
    assert_true(total(INGEST_GROUPS, STR("a;b 3"), 0) == 3);
    assert_true(total(INGEST_GROUPS, STR("a;b 0"), 1) == 0);
    assert_true(total(INGEST_GROUPS, STR("a;b x"), 1) < 0);
    assert_true(total(INGEST_GROUPS, STR("3"), 1) < 0);
    assert_true(total(INGEST_GROUPS, STR("a -3"), 1) < 0);
    assert_true(total(INGEST_LINES, STR("a;b 3\na\n"), 2) == 4);
}

static void trees(void **state)
{
    (void)state;
    struct str tree = {"\0\0\1"
                       "\4main\0\2"
                       "\1f\5\0"
                       "\1g\3\0",
                       3 + 7 + 4 + 4};
    assert_true(total(INGEST_TREE, tree, 2) == 16);
    assert_true(total(INGEST_TRIE, tree, 2) == 16);
    for (size_t length = 1; length < tree.len; length++)
        assert_true(total(INGEST_TREE, str_head(tree, length), 1) < 0);
    assert_true(total(INGEST_TREE, STR(""), 1) == 0);
}

/* A prefix of 4,000 bytes with many nodes below it stands for much text. */
static void tries_that_repeat_text(void **state)
{
    enum { BELOW = 60000, LENGTH = 4000 };
    struct output body = OUTPUT_BUFFER;
    (void)state;
    output_bytes(&body, "\xa0\x1f", 2); /* 4000 */
    for (int i = 0; i < LENGTH; i++)
        output_char(&body, 'x');
    output_bytes(&body, "\0\xe0\xd4\x03", 4); /* 60000 */
    for (int i = 0; i < BELOW; i++)
        output_bytes(&body, "\1y\1\0", 4);
    struct limits limits = limits_default;
    limits.expanded = 1 << 20;
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    builder_set_limits(&b, &limits);
    event_id event = builder_event(&b, STR("cpu"), UNIT_NANOSECONDS);
    assert_false(
        ingest_pyroscope_text(INGEST_TRIE, output_contents(&body), &b, event, 1, &err));
    assert_non_null(strstr(err.message, "too often"));
    builder_deinit(&b);
    output_deinit(&body);
}

static void times(void **state)
{
    (void)state;
    assert_true(ingest_time(1790000000) == 1790000000 * INGEST_SECOND);
    assert_true(ingest_time(1790000000123) == 1790000000123000000);
    assert_true(ingest_time(1790000000123456789) == 1790000000123456789);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {UNIT(names_of_applications),
                                              UNIT(names_that_are_refused),
                                              UNIT(texts),
                                              UNIT(trees),
                                              UNIT(tries_that_repeat_text),
                                              UNIT(times)};
    return UNITS_RUN(tests);
}
