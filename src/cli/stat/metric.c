/* SPDX-License-Identifier: Apache-2.0 */
/* Derived figures, with the names that perf stat uses. */
#include "cli/stat/parts.h"
#include "perf/format.h"

#define NS_PER_SECOND 1e9
#define CACHE_MISS ((uint64_t)1 << 16) /* of config: the result of a cache event */

/* A count as a ratio of another count. */
static const struct ratio {
    uint64_t config, of; /* PERF_HARDWARE_* */
    int decimals;
    bool percent;
    const char *unit;
} ratios[] = {
    {PERF_HARDWARE_INSTRUCTIONS, PERF_HARDWARE_CYCLES, 2, false, "insn per cycle"},
    {PERF_HARDWARE_BRANCH_MISSES, PERF_HARDWARE_BRANCHES, 2, true, "of all branches"},
    {PERF_HARDWARE_CACHE_MISSES, PERF_HARDWARE_CACHE_REFERENCES, 2, true,
     "of all cache refs"},
    {PERF_HARDWARE_STALLED_FRONTEND, PERF_HARDWARE_CYCLES, 2, true,
     "frontend cycles idle"},
    {PERF_HARDWARE_STALLED_BACKEND, PERF_HARDWARE_CYCLES, 2, true, "backend cycles idle"},
};

/* By the kernel's numbers of caches. */
static const char *const cache_units[] = {
    "of all L1-dcache accesses",  "of all L1-icache accesses",
    "of all LL-cache accesses",   "of all dTLB cache accesses",
    "of all iTLB cache accesses", "of all branch unit accesses",
    "of all node accesses",
};

bool stat_is_clock(const struct record_event *e)
{
    return e->type == PERF_TYPE_SOFTWARE && (e->config == PERF_SOFTWARE_CPU_CLOCK ||
                                             e->config == PERF_SOFTWARE_TASK_CLOCK);
}

double stat_shown(const struct record_event *e, double value)
{
    return stat_is_clock(e) ? value / 1e6 : value;
}

const char *stat_unit(const struct record_event *e)
{
    return stat_is_clock(e) ? "msec" : e->unit;
}

int stat_decimals(const struct record_event *e)
{
    bool fractions = e->scale > 0 && e->scale != (double)(uint64_t)e->scale;
    return stat_is_clock(e) || fractions ? 2 : 0;
}

static const struct stat_cell *cell_of(const struct stat_table *t, size_t row,
                                       size_t event)
{
    return &t->cells[row * t->events->count + event];
}

const char *stat_absent(const struct stat_table *t, size_t row, size_t event)
{
    if (t->missing[event])
        return "<not supported>";
    return cell_of(t, row, event)->counted ? NULL : "<not counted>";
}

/* The count of another event in the same modes (user, kernel); 0 if there is none. */
static double count_of(const struct stat_table *t, size_t row, uint32_t type,
                       uint64_t config, uint64_t exclude)
{
    for (size_t i = 0; i < t->events->count; i++) {
        const struct record_event *e = &t->events->items[i];
        if (e->type == type && e->config == config && e->exclude == exclude)
            return cell_of(t, row, i)->value;
    }
    return 0;
}

/* CPU time of the row in ns; 0 if it was not counted. */
static double clock_of(const struct stat_table *t, size_t row)
{
    for (size_t i = 0; i < t->events->count; i++)
        if (stat_is_clock(&t->events->items[i]))
            return cell_of(t, row, i)->value;
    return 0;
}

static bool set(struct stat_metric *m, double value, int decimals, bool percent,
                const char *unit)
{
    *m = (struct stat_metric){
        .value = percent ? 100 * value : value, .decimals = decimals, .percent = percent};
    format_text(m->unit, sizeof m->unit, "%s", unit);
    return true;
}

/* "12.3 K/sec" */
static bool set_rate(struct stat_metric *m, double per_second)
{
    static const char *const units[] = {"/sec", "K/sec", "M/sec", "G/sec"};
    size_t i = 0;
    for (; per_second >= 1000 && i + 1 < sizeof units / sizeof *units; i++)
        per_second /= 1000;
    return set(m, per_second, 3, false, units[i]);
}

static bool set_ratio(const struct stat_table *t, size_t row,
                      const struct record_event *e, double value, struct stat_metric *m)
{
    uint64_t cache = e->config & 0xff;
    if (e->type == PERF_TYPE_HW_CACHE && e->config & CACHE_MISS &&
        cache < sizeof cache_units / sizeof *cache_units) {
        double of = count_of(t, row, e->type, e->config & ~CACHE_MISS, e->exclude);
        return of > 0 && set(m, value / of, 2, true, cache_units[cache]);
    }
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        const struct ratio *r = &ratios[i];
        if (e->type != PERF_TYPE_HARDWARE || e->config != r->config)
            continue;
        double of = count_of(t, row, e->type, r->of, e->exclude);
        return of > 0 && set(m, value / of, r->decimals, r->percent, r->unit);
    }
    return false;
}

bool stat_metric(const struct stat_table *t, size_t row, size_t event,
                 struct stat_metric *m)
{
    const struct record_event *e = &t->events->items[event];
    double value = cell_of(t, row, event)->value, clock = clock_of(t, row);
    if (stat_absent(t, row, event))
        return false;
    if (stat_is_clock(e))
        return t->elapsed > 0 && set(m, value / t->elapsed, 3, false, "CPUs utilized");
    if (set_ratio(t, row, e, value, m))
        return true;
    if (clock <= 0 || e->unit[0])
        return false;
    if (e->type == PERF_TYPE_HARDWARE && e->config == PERF_HARDWARE_CYCLES)
        return set(m, value / clock, 3, false, "GHz");
    return set_rate(m, NS_PER_SECOND * value / clock);
}
