/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parsers of /proc: one input is the text of every file of the machine. The
 * OpenMetrics text of the result has no lines other than comments and values. */
#include "fuzz.h"
#include "metrics/openmetrics.h"

FUZZ_ONE_WAY("metrics")

static struct str read_file(void *context, const char *path, struct arena *a)
{
    (void)path, (void)a;
    return *(const struct str *)context;
}

static void each_process(void *context,
                         void (*each)(void *to, uint32_t pid, uint32_t user), void *to)
{
    (void)context;
    for (uint32_t pid = 3; pid > 0; pid--)
        each(to, pid, 0);
}

static void check_line(struct str line)
{
    CHECK(str_starts(line, STR("# ")) || str_starts(line, STR("system_")));
    for (size_t i = 0; i < line.len; i++)
        CHECK((unsigned char)line.ptr[i] < 0x80);
}

int fuzz_one(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    const struct metrics_source source = {&bytes, read_file, each_process};
    struct metrics m;
    struct output o = OUTPUT_BUFFER;
    double shares[CPU_MODES];
    CHECK(metrics_read(&m, &source, METRICS_SYSTEM | METRICS_PROCESSES | METRICS_SLAB, 1,
                       2));
    for (size_t i = 0; i < m.cpu.count; i++)
        cpu_shares(&m.cpu.all, &m.cpu.cpus[i], shares);
    for (size_t i = 1; i < m.process_count; i++)
        CHECK(m.processes[i - 1].pid <= m.processes[i].pid);
    openmetrics_write(&o, &m);
    CHECK(!o.failed);
    for (struct str text = output_contents(&o); text.len;)
        check_line(str_cut(&text, '\n'));
    output_deinit(&o);
    metrics_deinit(&m);
    return 0;
}
