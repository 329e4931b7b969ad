/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting for annotated functions, without a command line. */
#include "engine/annotate.h"
#include "engine/bundle.h"
#include "engine/load.h"
#include "export/exporter.h"
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
    load.code_consumer = annotate_collector_code_consumer(c);
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

/* --- Bundles ----------------------------------------------------------------------- */

static void a_bundle_has_code_lines_and_sources(void **state)
{
    struct annotations a = {.most = 10};
    (void)state;
    collect(&a, "stoke/code.in", 1);
    assert_true(a.ended && a.ok);
    assert_int_equal(a.count, 2);
    const struct annotation *f = &a.items[0], *light = &a.items[1];
    assert_str(f->symbol, "main");
    assert_true(f->is_bundled && !f->is_left_out);
    assert_int_equal(f->low, 0x1120);
    assert_int_equal(f->high, 0x1120 + f->bytes.len);
    assert_int_equal(f->machine.machine, ELF_X86_64);
    assert_int_equal(f->row_count, 3);
    assert_int_equal(annotation_row(f, 0x1125)->line, 3);
    assert_double(f->samples.weight, 2000);
    assert_int_equal(a.source_count, 1);
    assert_str(a.sources[0].name, "/tmp/a.c");
    assert_str(light->symbol, "print");
    assert_true(light->is_left_out && light->address_count == 1);
    arena_deinit(&a.arena);
}

/* A bundle of a bundle: all that has code, up to a limit. */
static void read_bundle(struct annotation_keeping *k, struct code *code, uint64_t most)
{
    char path[4096], *files[] = {path};
    struct load_settings load = {.symbols = {.no_debuginfod = true}};
    *k = (struct annotation_keeping){.most = most, .code = code};
    snprintf(path, sizeof path, "%s/import/stoke/code.in", TESTS_FOLDER);
    if (!bundle_read(k, &load, 1, files, &err))
        fail_msg("%s", err.message);
}

static void what_fits_is_included(void **state)
{
    struct annotation_keeping k;
    struct code code;
    (void)state;
    read_bundle(&k, &code, 1000);
    assert_int_equal(k.function_count, 2);
    assert_int_equal(k.included_count, 1);
    assert_int_equal(k.without_code, 1); /* it was left out before */
    assert_int_equal(k.over_limit, 0);
    assert_in_range((unsigned)(k.share * 100), 6666, 6667);
    assert_int_equal(k.source_count, 1);
    assert_int_equal(code.function_count, 3);
    assert_int_equal(code.row_count, 3);
    assert_int_equal(code.spot_count, 3);
    code_deinit(&code);
    read_bundle(&k, &code, 4);
    assert_int_equal(k.included_count, 0);
    assert_int_equal(k.over_limit, 2); /* the function and the source */
    assert_int_equal(code.spot_count, 3);
    code_deinit(&code);
}

int main(void)
{
    static const char text[] =
        "ffffffff81000000 T _text\nffffffff81000000 T everything\n";
    const struct CMUnitTest units[] = {UNIT(a_function_has_its_samples),
                                       UNIT(samples_of_several_recordings_are_added),
                                       UNIT(what_is_not_there_is_an_error),
                                       UNIT(an_input_without_addresses_is_noticed),
                                       UNIT(a_bundle_has_code_lines_and_sources),
                                       UNIT(what_fits_is_included)};
    int fd = mkstemp(symbols);
    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        return 1;
    close(fd);
    int failed = UNITS_RUN(units);
    unlink(symbols);
    return failed;
}
