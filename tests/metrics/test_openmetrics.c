/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/openmetrics.h"
#include "unit.h"

struct file {
    const char *path, *text;
};

static const struct file files[] = {
    {"/proc/stat", "cpu 100 0 0 0\ncpu0 100 0 0 50\nctxt 5\n"},
    {"/proc/softirqs", "  CPU0\n NET_RX: 3\n"},
    {"/proc/meminfo", "MemTotal: 2 kB\nHugePages_Total: 3\n"},
    {"/proc/net/dev", "a\"b\\: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"},
    {"/proc/uptime", "12.50 3.00\n"},
    {"/proc/9/stat", "9 (b) S 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 33 4096 2\n"},
    {"/proc/3/stat", "3 (a) S 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 22 4096 2\n"},
};

static struct str read_file(void *context, const char *path, struct arena *a)
{
    (void)context;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0)
            return arena_str(a, str_of(files[i].text));
    return STR("");
}

static void each_process(void *context,
                         void (*each)(void *to, uint32_t pid, uint32_t user), void *to)
{
    (void)context;
    each(to, 9, 0);
    each(to, 5, 0); /* has ended */
    each(to, 3, 1000);
}

static const struct metrics_source source = {NULL, read_file, each_process};

static void assert_line(const struct output *o, const char *line)
{
    if (!str_has(output_contents(o), str_of(line)))
        fail_msg("no line \"%s\" in:\n%.*s", line, STR_ARG(output_contents(o)));
}

static void a_snapshot_as_text(void **state)
{
    (void)state;
    struct metrics m;
    struct output o = OUTPUT_BUFFER;
    assert_true(metrics_read(&m, &source, METRICS_SYSTEM, 1, 2));
    openmetrics_write(&o, &m);
    openmetrics_end(&o);
    assert_line(&o,
                "# TYPE system_cpu_seconds counter\n# UNIT system_cpu_seconds seconds\n");
    assert_line(&o, "\nsystem_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 0.5\n");
    assert_line(&o, "\nsystem_context_switches_total 5\n");
    assert_line(&o, "\nsystem_softirqs_total{cpu=\"0\",kind=\"NET_RX\"} 3\n");
    assert_line(&o, "\nsystem_memory_bytes{field=\"MemTotal\"} 2048\n");
    assert_line(&o, "\nsystem_memory_pages{field=\"HugePages_Total\"} 3\n");
    assert_line(&o, "{device=\"a\\\"b\\\\\",direction=\"sent\"} 9\n");
    assert_true(str_ends(output_contents(&o), STR("# EOF\n")));
    assert_false(str_has(output_contents(&o), STR("pressure")));
    output_deinit(&o);
    metrics_deinit(&m);
}

static void processes_are_in_order(void **state)
{
    (void)state;
    struct metrics m;
    assert_true(metrics_read(&m, &source, METRICS_SYSTEM | METRICS_PROCESSES, 1, 2));
    assert_int_equal(m.process_count, 2);
    assert_int_equal(m.processes[0].pid, 3);
    assert_int_equal(m.processes[0].user_id, 1000);
    assert_string_equal(metrics_find_process(&m, 9, 33)->name, "b");
    assert_null(metrics_find_process(&m, 9, 34)); /* the PID is reused */
    assert_null(metrics_find_process(&m, 10, 33));
    assert_double(m.uptime, 12.5);
    metrics_deinit(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT(a_snapshot_as_text),
        UNIT(processes_are_in_order),
    };
    return UNITS_RUN(tests);
}
