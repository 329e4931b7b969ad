/* SPDX-License-Identifier: Apache-2.0 */
/* Notes are stored when they are added or removed; what is damaged is left out. */
#include "daemon/notes.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/stoke-notes-XXXXXX";
static char store[64], file[80];

static int make_folder(void **state)
{
    (void)state;
    snprintf(store, sizeof store, "%s/h.db", mkdtemp(folder));
    snprintf(file, sizeof file, "%s.notes", store);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static char *listed(struct daemon_notes *n, uint64_t from, uint64_t to)
{
    static char text[4096];
    struct store_span span = {from * STORE_SECOND, to * STORE_SECOND};
    struct output o = OUTPUT_BUFFER;
    daemon_notes_write(n, &span, &o);
    snprintf(text, sizeof text, "%.*s", (int)o.used, o.bytes);
    output_deinit(&o);
    return text;
}

static void test_changes(void **state)
{
    struct daemon_notes n = {0}, again = {0};
    struct error err;
    (void)state;
    assert_true(daemon_notes_init(&n, store));
    assert_true(daemon_notes_add(&n, 10, STR("first"), &err));
    assert_true(daemon_notes_add(&n, 5, STR("second \"2\""), &err));
    assert_false(daemon_notes_add(&n, 5, STR("two\nlines"), &err));
    assert_false(daemon_notes_add(&n, 5, STR("\xff"), &err));
    assert_false(daemon_notes_remove(&n, 3, &err));
    assert_string_equal(listed(&n, 6, 20),
                        "{\"notes\":[{\"number\":1,\"time\":10,\"text\":\"first\"}]}");
    assert_true(daemon_notes_remove(&n, 1, &err));
    assert_true(daemon_notes_init(&again, store));
    assert_string_equal(
        listed(&again, 0, 20),
        "{\"notes\":[{\"number\":2,\"time\":5,\"text\":\"second \\\"2\\\"\"}]}");
    assert_true(daemon_notes_add(&again, 7, STR("third"), &err));
    assert_true(daemon_notes_remove(&again, 3, &err));
    daemon_notes_deinit(&n);
    daemon_notes_deinit(&again);
}

static void test_damage(void **state)
{
    static const char lines[] =
        "x\n1 2\n3 9 \n4 9 good\n4 9 again\n5 z bad\n6 9 \xff\n7 9 end";
    struct daemon_notes n = {0};
    FILE *out = fopen(file, "w");
    (void)state;
    assert_non_null(out);
    assert_true(fputs(lines, out) >= 0 && fclose(out) == 0);
    assert_true(daemon_notes_init(&n, store));
    assert_int_equal(n.count, 2);
    assert_int_equal(n.last, 7);
    daemon_notes_deinit(&n);
}

/* The oldest are removed. */
static void test_many(void **state)
{
    struct daemon_notes n = {0};
    struct error err;
    (void)state;
    assert_true(daemon_notes_init(&n, store));
    for (size_t i = n.count; i < DAEMON_NOTES_MAX; i++)
        n.items[n.count++] = (struct daemon_note){++n.last, 1, STR("x")};
    assert_true(daemon_notes_add(&n, 2, STR("one more"), &err));
    assert_int_equal(n.count, DAEMON_NOTES_MAX);
    assert_int_equal(n.items[n.count - 1].time, 2);
    daemon_notes_deinit(&n);
}

/* What cannot be stored is not changed. */
static void test_failure(void **state)
{
    struct daemon_notes n = {0}, server = {0};
    struct error err;
    (void)state;
    assert_true(daemon_notes_init(&n, "/nonexistent/h.db"));
    assert_false(daemon_notes_add(&n, 1, STR("text"), &err));
    assert_int_equal(n.count, 0);
    assert_true(daemon_notes_init(&server, "clickhouse://h/d"));
    assert_false(daemon_notes_add(&server, 1, STR("text"), &err));
    daemon_notes_deinit(&n);
    daemon_notes_deinit(&server);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(test_changes), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_many), cmocka_unit_test(test_failure)};
    return cmocka_run_group_tests_name("daemon/notes", units, make_folder, remove_folder);
}
