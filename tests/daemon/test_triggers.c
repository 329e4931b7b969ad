/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds and the recordings for them, with a clock and files of the test's own. */
#include "base/format.h"
#include "daemon/triggers.h"
#include "unit.h"
#include <math.h>

#define SECOND UINT64_C(1000000000)

/* --- Recordings ----------------------------------------------------------------------- */

static const struct daemon_trigger_settings two = {
    .items = {{.kind = THRESHOLD_CPU, .most = 90},
              {.kind = THRESHOLD_PROCESS_MEMORY, .most = 1e9, .process = "nginx"}},
    .count = 2,
    .rate = 999,
    .seconds = 10,
    .cooldown = 60};

static bool check(struct daemon_triggers *t, double cpu, double memory, unsigned second)
{
    const double values[] = {cpu, memory};
    return daemon_triggers_check(t, values, second * SECOND, true);
}

/* Runs a recording from `second` on, which costs this CPU time. */
static void record(struct daemon_triggers *t, unsigned second, double cpu,
                   const struct daemon_limits *limits)
{
    struct daemon_cost began = {.time = second * SECOND}, ended = began;
    daemon_triggers_begin(t, &began);
    assert_false(daemon_triggers_are_over(t, (second + 9) * SECOND));
    assert_true(daemon_triggers_are_over(t, (second + 10) * SECOND));
    ended.time += 10 * SECOND;
    ended.cpu = (uint64_t)(cpu * (double)SECOND);
    daemon_triggers_end(t, &ended, limits);
}

static const struct daemon_limits no_limits = {0, 0};

static void a_threshold_that_is_crossed_is_recorded_once(void **state)
{
    struct daemon_triggers t = {.settings = &two};
    (void)state;
    assert_false(check(&t, NAN, 0, 1));
    assert_false(check(&t, 90, 0, 2)); /* not above */
    assert_true(check(&t, 91, 0, 3));
    assert_int_equal(t.which, 0);
    assert_true(t.value == 91);
    record(&t, 3, 0, &no_limits);
    assert_false(check(&t, 99, 0, 14)); /* it stays above: no other recording */
    assert_false(check(&t, 99, 0, 1000));
    assert_false(check(&t, 50, 0, 1001));
    assert_true(check(&t, 95, 0, 1002));
    assert_int_equal(t.recorded, 1);
}

static void there_is_a_pause_between_two(void **state)
{
    struct daemon_triggers t = {.settings = &two};
    (void)state;
    assert_true(check(&t, 91, 0, 1));
    record(&t, 1, 0, &no_limits); /* ends in second 11 */
    assert_false(check(&t, 10, 0, 12));
    assert_false(check(&t, 91, 2e9, 13)); /* crossed in the pause */
    assert_false(check(&t, 10, 2e9, 70));
    assert_true(check(&t, 10, 2e9, 71)); /* still above at its end */
    assert_int_equal(t.which, 1);
}

static void others_wait_while_one_is_recorded(void **state)
{
    struct daemon_triggers t = {.settings = &two};
    struct daemon_cost cost = {.time = 5 * SECOND};
    (void)state;
    assert_true(check(&t, 91, 2e9, 5));
    assert_int_equal(t.which, 0);
    daemon_triggers_begin(&t, &cost);
    assert_false(check(&t, 91, 2e9, 6));
    assert_int_equal(t.which, 0);
    cost.time += 10 * SECOND;
    daemon_triggers_end(&t, &cost, &no_limits);
    assert_true(check(&t, 91, 2e9, 75));
    assert_int_equal(t.which, 1);
}

static void what_it_cost_is_saved_first(void **state)
{
    struct daemon_triggers t = {.settings = &two};
    const struct daemon_limits half = {.cpu = 0.005};
    (void)state;
    assert_true(check(&t, 91, 0, 1));
    record(&t, 1, 1, &half); /* 1 s of CPU time is that of 200 s */
    assert_false(check(&t, 50, 0, 12));
    assert_false(check(&t, 91, 0, 210));
    assert_true(check(&t, 91, 0, 211));
}

static void without_room_it_waits_and_says_so_once(void **state)
{
    struct daemon_triggers t = {.settings = &two};
    const double above[] = {95, 0}, below[] = {5, 0};
    (void)state;
    assert_false(daemon_triggers_check(&t, above, SECOND, false));
    assert_true(t.is_refused);
    assert_false(daemon_triggers_check(&t, above, 2 * SECOND, false));
    assert_false(t.is_refused);
    assert_true(daemon_triggers_check(&t, above, 3 * SECOND, true));
    record(&t, 3, 0, &no_limits);
    assert_false(daemon_triggers_check(&t, below, 99 * SECOND, false));
    assert_false(t.is_refused);
    assert_false(daemon_triggers_check(&t, above, 100 * SECOND, false));
    assert_true(t.is_refused);
}

static void room_is_what_the_budget_leaves(void **state)
{
    const struct daemon_limits limits = {.cpu = 0.01, .memory = 100 << 20};
    struct daemon_cost cost = {.memory = 60 << 20};
    struct daemon_budget b;
    (void)state;
    daemon_budget_init(&b, &limits, 19);
    assert_true(daemon_budget_has_room(&b, &cost));
    cost.memory = 80 << 20;
    assert_false(daemon_budget_has_room(&b, &cost));
    cost.memory = 0;
    b.rate = 5;
    assert_false(daemon_budget_has_room(&b, &cost));
}

/* --- Numbers -------------------------------------------------------------------------- */

/* Processes with /proc/PID/stat; a tick of user time and a page are what a test varies. */
struct files {
    struct {
        unsigned pid, ticks, pages, start;
        const char *name;
    } items[4];
    size_t count;
    unsigned listed;
};

static struct str read_file(void *context, const char *path, struct arena *a)
{
    struct files *f = context;
    char text[256], name[64];
    for (size_t i = 0; i < f->count; i++) {
        format_text(name, sizeof name, "/proc/%u/stat", f->items[i].pid);
        if (!str_equal(str_of(name), str_of(path)))
            continue;
        format_text(
            text, sizeof text,
            "%u (%s) S 1 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 %u 4096 %u 0 0 0 0 0 "
            "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            f->items[i].pid, f->items[i].name, f->items[i].ticks, f->items[i].start,
            f->items[i].pages);
        return arena_str(a, str_of(text));
    }
    return (struct str){0};
}

static void list_processes(void *context,
                           void (*each)(void *to, uint32_t pid, uint32_t user), void *to)
{
    struct files *f = context;
    f->listed++;
    for (size_t i = 0; i < f->count; i++)
        each(to, f->items[i].pid, 0);
}

static const struct daemon_trigger_settings watched = {
    .items = {{.kind = THRESHOLD_PROCESS_CPU, .process = "a (b) c"},
              {.kind = THRESHOLD_PROCESS_MEMORY, .process = "other"}},
    .count = 2};

static void numbers_are_those_of_all_processes_of_a_name(void **state)
{
    struct files f = {.items = {{7, 1000, 5, 1, "a (b) c"},
                                {8, 50, 3, 2, "a (b) c"},
                                {9, 0, 10, 3, "other"},
                                {10, 99, 99, 4, "unknown"}},
                      .count = 4};
    const struct metrics_source source = {&f, read_file, list_processes};
    struct daemon_watch w = {.settings = &watched, .source = &source, .page_size = 4096};
    struct metrics m = {.time = SECOND};
    double values[DAEMON_THRESHOLDS_MAX];
    (void)state;
    daemon_watch_read(&w, &m, values);
    assert_true(values[0] == 0);
    assert_true(values[1] == 40960);
    f.items[0].ticks += 200;
    f.items[1].ticks += 100;
    m.time += 2 * SECOND;
    daemon_watch_read(&w, &m, values);
    assert_true(values[0] == 150);
    assert_int_equal(f.listed, 1);
    f.items[0].start = 77; /* another process with that PID */
    f.items[0].ticks = 9999;
    f.count = 2;
    m.time += SECOND;
    daemon_watch_read(&w, &m, values);
    assert_true(values[0] == 0 && values[1] == 0);
}

static void a_new_process_is_found_within_ten_readings(void **state)
{
    struct files f = {.items = {{9, 0, 10, 3, "other"}}, .count = 0};
    const struct metrics_source source = {&f, read_file, list_processes};
    struct daemon_watch w = {.settings = &watched, .source = &source, .page_size = 1};
    struct metrics m = {.time = SECOND};
    double values[DAEMON_THRESHOLDS_MAX] = {0};
    unsigned readings = 0;
    (void)state;
    daemon_watch_read(&w, &m, values);
    f.count = 1;
    while (values[1] != 10 && readings < 100) {
        readings++;
        m.time += SECOND;
        daemon_watch_read(&w, &m, values);
    }
    assert_true(readings <= 10);
    assert_int_equal(f.listed, 2);
}

static const struct daemon_trigger_settings machine = {
    .items = {{.kind = THRESHOLD_CPU},
              {.kind = THRESHOLD_PRESSURE_IO},
              {.kind = THRESHOLD_PRESSURE_CPU},
              {.kind = THRESHOLD_MEMORY}},
    .count = 4};

static void numbers_of_the_machine_are_percent_of_the_time(void **state)
{
    struct daemon_watch w = {.settings = &machine};
    struct metrics m = {.time = SECOND, .has_pressure = true};
    struct metric_field fields[] = {{STR("MemTotal"), 1000}, {STR("MemAvailable"), 250}};
    double values[DAEMON_THRESHOLDS_MAX];
    (void)state;
    m.memory.items = fields;
    m.memory.count = 2;
    daemon_watch_read(&w, &m, values);
    assert_true(isnan(values[0]) && isnan(values[1]) && isnan(values[2]));
    assert_true(values[3] == 75);
    m.time += 2 * SECOND;
    m.cpu.all.ticks[CPU_USER] += 100;
    m.cpu.all.ticks[CPU_GUEST] += 100; /* part of the time of the user */
    m.cpu.all.ticks[CPU_STEAL] += 60;
    m.cpu.all.ticks[CPU_IDLE] += 230;
    m.cpu.all.ticks[CPU_IOWAIT] += 10;
    m.pressure[PRESSURE_IO][PRESSURE_SOME].total += 500000;
    daemon_watch_read(&w, &m, values);
    assert_true(values[0] == 40);
    assert_true(values[1] == 25);
    assert_true(values[2] == 0);
    m.has_pressure = false;
    daemon_watch_read(&w, &m, values);
    assert_true(isnan(values[0]) && isnan(values[1])); /* no time has passed */
}

static void marks_have_names(void **state)
{
    char room[64];
    const struct daemon_threshold process = {.kind = THRESHOLD_PROCESS_CPU,
                                             .process = "nginx"},
                                  io = {.kind = THRESHOLD_PRESSURE_IO};
    (void)state;
    assert_string_equal(daemon_threshold_name(&process, room, sizeof room),
                        "trigger.process.nginx.cpu");
    assert_string_equal(daemon_threshold_name(&io, room, sizeof room),
                        "trigger.pressure.io");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(a_threshold_that_is_crossed_is_recorded_once),
        UNIT(there_is_a_pause_between_two),
        UNIT(others_wait_while_one_is_recorded),
        UNIT(what_it_cost_is_saved_first),
        UNIT(without_room_it_waits_and_says_so_once),
        UNIT(room_is_what_the_budget_leaves),
        UNIT(numbers_are_those_of_all_processes_of_a_name),
        UNIT(a_new_process_is_found_within_ten_readings),
        UNIT(numbers_of_the_machine_are_percent_of_the_time),
        UNIT(marks_have_names),
    };
    return UNITS_RUN(units);
}
