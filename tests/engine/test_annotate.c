/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting for annotated functions, without a command line. */
#include "engine/annotate.h"
#include "engine/load.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char symbols[] = "/tmp/stoke-symbols-XXXXXX";
static struct error err;

/* Collects from `count` times the same recording. */
static void collect(struct annotations *a, const char *name, int count)
{
    char path[4096], *files[] = {path, path};
    struct load_settings load = {.import = {.lines = true}};
    struct annotate_collector *c = annotate_collector_create(a, count);
    assert_non_null(c);
    load.symbols.kallsyms = symbols;
    load.symbols.no_debuginfod = true;
    load.consumer = annotate_collector_consumer(c);
    snprintf(path, sizeof path, "%s/import/%s", TESTS_FOLDER, name);
    struct profile *p = engine_load(&load, count, files, &engine_silent, &err);
    if (!p)
        fail_msg("%s", err.message);
    profile_destroy(p);
    annotate_collector_destroy(c);
}

static void a_function_has_its_samples(void **state)
{
    struct annotations a = {.function = "everything"};
    (void)state;
    collect(&a, "perf-data/file.in", 1);
    assert_true(a.ended && a.ok);
    assert_int_equal(a.count, 1);
    assert_str(a.items[0].symbol, "everything");
    assert_int_equal(a.items[0].samples.count, 3);
    assert_double(a.items[0].samples.weight, 3000);
    assert_double(a.total, 9005);
    assert_true(a.items[0].low <= a.items[0].addresses[0].address);
    assert_true(a.items[0].no_code.len > 0); /* and there is nothing to disassemble */
    arena_deinit(&a.arena);
}

static void samples_of_several_recordings_are_added(void **state)
{
    struct annotations a = {.function = "every"}; /* a part that one function has */
    (void)state;
    collect(&a, "perf-data/file.in", 2);
    assert_true(a.ended && a.ok);
    assert_double(a.items[0].samples.weight, 6000);
    assert_double(a.total, 18010);
    arena_deinit(&a.arena);
}

static void what_is_not_there_is_an_error(void **state)
{
    struct annotations a = {.function = "nothing"};
    (void)state;
    collect(&a, "perf-data/file.in", 1);
    assert_true(a.ended && !a.ok);
    assert_non_null(strstr(a.err.message, "'nothing'"));
    arena_deinit(&a.arena);
    a = (struct annotations){.function = "everything", .event_pattern = "no-such-event"};
    collect(&a, "perf-data/file.in", 1);
    assert_true(a.ended && !a.ok);
    assert_non_null(strstr(a.err.message, "'no-such-event'"));
    arena_deinit(&a.arena);
}

static void an_input_without_addresses_is_noticed(void **state)
{
    struct annotations a = {.function = "everything"};
    (void)state;
    collect(&a, "folded/plain.in", 1);
    assert_false(a.ended);
    arena_deinit(&a.arena);
}

int main(void)
{
    static const char text[] =
        "ffffffff81000000 T _text\nffffffff81000000 T everything\n";
    const struct CMUnitTest units[] = {
        UNIT(a_function_has_its_samples), UNIT(samples_of_several_recordings_are_added),
        UNIT(what_is_not_there_is_an_error), UNIT(an_input_without_addresses_is_noticed)};
    int fd = mkstemp(symbols);
    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        return 1;
    close(fd);
    int failed = UNITS_RUN(units);
    unlink(symbols);
    return failed;
}
