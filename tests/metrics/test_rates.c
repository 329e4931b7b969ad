/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers between two readings: rates per second, values now, disks without partitions. */
#include "base/format.h"
#include "metrics/rates.h"
#include "unit.h"

struct file {
    const char *path, *texts[2];
};

static const struct file files[] = {
    {"/proc/stat",
     {"cpu 100 0 20 900 0 0 0 0 0 0\ncpu0 100 0 20 900 0 0 0 0 0 0\nctxt 50\n",
      "cpu 250 0 20 950 0 0 0 0 0 0\ncpu0 250 0 20 950 0 0 0 0 0 0\nctxt 450\n"}},
    {"/proc/meminfo",
     {"MemTotal: 100 kB\n",
      "MemTotal: 100 kB\nMemFree: 20 kB\nBuffers: 1 kB\nCached: 9 kB\n"}},
    {"/proc/diskstats",
     {"8 0 sda 1 0 10 0 0 0 0 0 0 0 0\n8 1 sda1 1 0 10 0 0 0 0 0 0 0 0\n"
      "7 0 loop0 1 0 10 0 0 0 0 0 0 0 0\n",
      "8 0 sda 9 0 210 0 0 0 0 0 0 0 0\n8 1 sda1 9 0 210 0 0 0 0 0 0 0 0\n"
      "7 0 loop0 9 0 210 0 0 0 0 0 0 0 0\n"}},
    {"/proc/net/dev",
     {"lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\ne: 9 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n",
      "lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\ne: 5 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"}},
};

static struct str read_file(void *context, const char *path, struct arena *a)
{
    const size_t *which = context;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0)
            return arena_str(a, str_of(files[i].texts[*which]));
    return STR("");
}

static char text[8192];

static void put(void *context, const char *name, const char *unit, int64_t value)
{
    size_t used = strlen(text);
    (void)context;
    format_text(text + used, sizeof text - used, "%s=%lld %s\n", name, (long long)value,
                unit);
}

static void rates_per_second(void **state)
{
    size_t which = 0;
    const struct metrics_source source = {&which, read_file, NULL};
    const struct metrics_numbers to = {put, NULL};
    static const char *const lines[] = {"\ncpu.user=750 ms/s\n",
                                        "\ncpu.idle=250 ms/s\n",
                                        "\ncore.0.user=750 ms/s\n",
                                        "\nkernel.context_switches=200 1/s\n",
                                        "\nmemory.total=102400 bytes\n",
                                        "\nmemory.used=71680 bytes\n",
                                        "\ndisk.sda.read=51200 bytes/s\n",
                                        "\ndisk.sda.reads=4 1/s\n",
                                        "\ndisk.read=51200 bytes/s\n",
                                        "\nnet.lo.in=2 bytes/s\n",
                                        "\nnet.e.in=0 bytes/s\n",
                                        "\nnet.in=0 bytes/s\n",
                                        "\nnet.out=2 bytes/s\n"};
    struct metrics before, now;
    (void)state;
    assert_true(metrics_read(&before, &source, METRICS_BASIC, 1000000000, 1));
    which = 1;
    assert_true(metrics_read(&now, &source, METRICS_BASIC, 3000000000, 2));
    metrics_rates(&before, &now, &to);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("no line '%s' in\n%s", lines[i], text);
    assert_null(strstr(text, "sda1"));
    assert_null(strstr(text, "loop0"));
    assert_null(strstr(text, "pressure"));
    metrics_deinit(&before);
    metrics_deinit(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rates_per_second)};
    return cmocka_run_group_tests_name("metrics/rates", tests, NULL, NULL);
}
