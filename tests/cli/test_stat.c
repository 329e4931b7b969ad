/* SPDX-License-Identifier: Apache-2.0 */
/* What stoke stat prints for counts that this machine may not have. */
#include "cli/stat/parts.h"
#include "perf/format.h"
#include "unit.h"

#define MS 1e6

static struct record_events events;
static bool missing[RECORD_EVENTS_MAX];
static struct stat_cell cells[RECORD_EVENTS_MAX];
static struct stat_row row = {.targets = 1};
static struct stat_table table;

static void begin(void)
{
    memset(&events, 0, sizeof events);
    memset(missing, 0, sizeof missing);
    memset(cells, 0, sizeof cells);
    table = (struct stat_table){.events = &events,
                                .missing = missing,
                                .rows = &row,
                                .row_count = 1,
                                .cells = cells,
                                .runs = 1,
                                .elapsed = 200 * MS};
}

static struct stat_cell *add(const char *name, uint32_t type, uint64_t config,
                             double value)
{
    struct record_event *e = &events.items[events.count];
    struct stat_cell *c = &cells[events.count++];
    *e = (struct record_event){.type = type, .config = config};
    format_text(e->name, sizeof e->name, "%s", name);
    *c = (struct stat_cell){
        .value = value, .enabled = 100 * MS, .running = 100 * MS, .counted = true};
    return c;
}

static void add_processor(void)
{
    begin();
    add("task-clock", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_TASK_CLOCK, 100 * MS);
    add("cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_CYCLES, 300e6);
    add("instructions", PERF_TYPE_HARDWARE, PERF_HARDWARE_INSTRUCTIONS, 450e6);
    add("branches", PERF_TYPE_HARDWARE, PERF_HARDWARE_BRANCHES, 50e6);
    add("branch-misses", PERF_TYPE_HARDWARE, PERF_HARDWARE_BRANCH_MISSES, 1e6);
    add("L1-dcache-loads", PERF_TYPE_HW_CACHE, 0, 80e6);
    add("L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 1 << 16, 2e6);
}

static void check(struct output *out, const char *want)
{
    output_char(out, '\0');
    assert_string_equal(out->bytes, want);
    output_deinit(out);
}

static void test_text_of_a_processor(void **state)
{
    (void)state;
    struct output out = OUTPUT_BUFFER;
    struct stat_form form = {.rows = STAT_TOTAL};
    add_processor();
    stat_put_text(&out, &table, &form);
    check(&out,
          "            100.00 msec task-clock                       #    0.500 CPUs "
          "utilized\n"
          "       300,000,000      cycles                           #    3.000 GHz\n"
          "       450,000,000      instructions                     #     1.50 insn per "
          "cycle\n"
          "        50,000,000      branches                         #  500.000 M/sec\n"
          "         1,000,000      branch-misses                    #    2.00% of all "
          "branches\n"
          "        80,000,000      L1-dcache-loads                  #  800.000 M/sec\n"
          "         2,000,000      L1-dcache-load-misses            #    2.50% of all "
          "L1-dcache accesses\n");
}

static void test_ratios_need_the_same_modes(void **state)
{
    (void)state;
    struct stat_metric m;
    begin();
    add("cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_CYCLES, 300e6);
    add("instructions:u", PERF_TYPE_HARDWARE, PERF_HARDWARE_INSTRUCTIONS, 450e6);
    events.items[1].exclude = PERF_FLAG_EXCLUDE_KERNEL;
    assert_false(stat_metric(&table, 0, 1, &m));
    events.items[0].exclude = PERF_FLAG_EXCLUDE_KERNEL;
    assert_true(stat_metric(&table, 0, 1, &m));
    assert_string_equal(m.unit, "insn per cycle");
    cells[0].value = 0;
    assert_false(stat_metric(&table, 0, 1, &m));
}

static void test_scaled_and_absent_counts(void **state)
{
    (void)state;
    struct output out = OUTPUT_BUFFER;
    struct stat_form form = {.rows = STAT_TOTAL, .all_digits = true};
    begin();
    add("cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_CYCLES, 1234567)->running = 25 * MS;
    add("cache-misses", PERF_TYPE_HARDWARE, PERF_HARDWARE_CACHE_MISSES, 0)->counted =
        false;
    add("ref-cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_REF_CYCLES, 0);
    missing[2] = true;
    stat_put_text(&out, &table, &form);
    check(&out, "           1234567      cycles                                          "
                "                      (25.00%)\n"
                "     <not counted>      cache-misses\n"
                "   <not supported>      ref-cycles\n");
}

static void test_energy_has_a_unit_and_fractions(void **state)
{
    (void)state;
    struct output out = OUTPUT_BUFFER;
    struct stat_form form = {.separator = ",", .rows = STAT_TOTAL};
    begin();
    add("power/energy-pkg/", PERF_TYPE_KNOWN, 2, 12.345);
    events.items[0].scale = 2.3e-10;
    format_text(events.items[0].unit, sizeof events.items[0].unit, "Joules");
    stat_put_lines(&out, &table, &form);
    check(&out, "12.35,Joules,power/energy-pkg/,100000000,100.00,,\n");
}

static void test_fields_of_rows(void **state)
{
    (void)state;
    struct output out = OUTPUT_BUFFER;
    struct stat_form form = {.separator = ";", .intervals = true, .rows = STAT_BY_CPU};
    begin();
    row.id = 1;
    format_text(row.name, sizeof row.name, "CPU1");
    table.time = 1500000000;
    table.runs = 2;
    struct stat_cell *c =
        add("cs,\"x\";", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CONTEXT_SWITCHES, 8);
    c->deviation = 2;
    stat_put_lines(&out, &table, &form);
    check(&out, "1.500000000;CPU1;8;;\"cs,\"\"x\"\";\";25.00%;100000000;100.00;;\n");
    out = OUTPUT_BUFFER;
    form.json = true;
    stat_put_lines(&out, &table, &form);
    check(&out,
          "{\"interval\":1.5,\"cpu\":\"1\",\"counter-value\":\"8.000000\",\"unit\":\"\","
          "\"event\":\"cs,\\\"x\\\";\",\"variance\":25,\"event-runtime\":100000000,"
          "\"pcnt-running\":100,\"metric-value\":0,\"metric-unit\":\"\"}\n");
}

static void test_times(void **state)
{
    (void)state;
    struct output out = OUTPUT_BUFFER;
    struct stat_form form = {.each_run = true};
    double times[] = {178 * MS, 222 * MS};
    begin();
    table.runs = 2;
    table.times = times;
    table.elapsed_deviation = 10 * MS;
    stat_put_times(&out, &table, &form, true);
    check(&out, "\n          # Table of individual measurements:\n"
                "            0.1780 (-0.0220) ###\n"
                "            0.2220 (+0.0220) ###\n"
                "\n          # Final result:\n"
                "            0.2000 +- 0.0100 seconds time elapsed  ( +-  5.00% )\n\n");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(test_text_of_a_processor),
        cmocka_unit_test(test_ratios_need_the_same_modes),
        cmocka_unit_test(test_scaled_and_absent_counts),
        cmocka_unit_test(test_energy_has_a_unit_and_fractions),
        cmocka_unit_test(test_fields_of_rows),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(units, NULL, NULL);
}
