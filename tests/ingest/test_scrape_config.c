/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/scrape_config.h"
#include "unit.h"
#include <stdlib.h>

#define FILE_TEXT                                 \
    "global:\n"                                   \
    "  scrape_interval: 1m # of all\n"            \
    "scrape_configs:\n"                           \
    "- job_name: \"a # b\"\r\n"                   \
    "  static_configs:\n"                         \
    "  - targets: ['h1:1', \"h2:2\" , [::1]:3]\n" \
    "    labels:\n"                               \
    "      'region': 'west'\n"                    \
    "      targets: 'a label'\n"                  \
    "  - targets:\n"                              \
    "    - h4:4\n"                                \
    "    - 'h5:5'\n"                              \
    "  profiles: [heap, mutex]\n"                 \
    "\n"                                          \
    "- job_name: b\n"                             \
    "  scrape_interval: 10s\n"                    \
    "  scheme: https\n"                           \
    "  static_configs:\n"                         \
    "  - targets: [h6:6]\n"

static bool is_text(struct str got, const char *text)
{
    return str_equal(got, str_of(text));
}

static void targets_have_their_job_and_labels(void **state)
{
    static const char *const addresses[] = {"h1:1", "h2:2", "[::1]:3",
                                            "h4:4", "h5:5", "h6:6"};
    struct scrape_config c;
    struct error err = {.message = ""};
    (void)state;
    assert_true(scrape_config_parse(&c, STR(FILE_TEXT), &err));
    assert_int_equal(c.job_count, 2);
    assert_int_equal(c.target_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_true(is_text(c.targets[i].address, addresses[i]));
        assert_int_equal(c.targets[i].job, i == 5);
        assert_int_equal(c.labels[c.targets[i].labels].count, i < 3 ? 2 : 0);
    }
    assert_true(is_text(c.jobs[0].name, "a # b"));
    assert_true(is_text(c.labels[0].items[0].key, "region"));
    assert_true(is_text(c.labels[0].items[1].value, "a label"));
    assert_int_equal(c.jobs[0].interval, 60);
    assert_int_equal(c.jobs[0].profiles, 1U << SCRAPE_HEAP | 1U << SCRAPE_MUTEX);
    assert_int_equal(c.jobs[1].interval, 10);
    assert_int_equal(c.jobs[1].profiles, 1U << SCRAPE_PROFILE);
    assert_true(c.jobs[1].is_https && !c.jobs[0].is_https);
    scrape_config_deinit(&c);
}

/* In memory of its exact size, so that a sanitizer sees each read beyond the end. */
static void parse_copy(const char *text, size_t length)
{
    struct scrape_config c;
    struct error err = {.message = ""};
    char *copy = malloc(length + !length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    if (scrape_config_parse(&c, (struct str){copy, length}, &err)) {
        assert_true(c.target_count > 0);
        for (size_t i = 0; i < c.target_count; i++)
            assert_true(c.targets[i].job < c.job_count &&
                        c.targets[i].labels < c.label_count);
    } else {
        assert_true(err.message[0] != 0);
    }
    scrape_config_deinit(&c);
    free(copy);
}

static void damaged_files_are_read_safely(void **state)
{
    static const char bytes[] = " \t\n:-[]'\"#,a1\0\xff";
    char text[] = FILE_TEXT;
    uint64_t random = 1;
    (void)state;
    for (size_t length = 0; length < sizeof text; length++)
        parse_copy(text, length);
    for (unsigned i = 0; i < 20000; i++) {
        char damaged[sizeof text];
        memcpy(damaged, text, sizeof text);
        for (unsigned k = 0; k < 1 + i % 6; k++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            damaged[(random >> 33) % (sizeof text - 1)] =
                bytes[(random >> 20) % (sizeof bytes - 1)];
        }
        parse_copy(damaged, sizeof text - 1);
    }
}

static void too_many_targets_are_refused(void **state)
{
    struct output o = OUTPUT_BUFFER;
    struct scrape_config c;
    struct error err = {.message = ""};
    (void)state;
    output_text(&o, "- job_name: a\n  static_configs:\n  - targets: [");
    for (unsigned i = 0; i <= SCRAPE_TARGETS_MAX; i++)
        output_format(&o, "h:%u,", i);
    output_text(&o, "]\n");
    assert_false(scrape_config_parse(&c, output_contents(&o), &err));
    assert_string_equal(err.message, "line 3: more than 256 targets");
    scrape_config_deinit(&c);
    output_deinit(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_have_their_job_and_labels),
        cmocka_unit_test(damaged_files_are_read_safely),
        cmocka_unit_test(too_many_targets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
