/* SPDX-License-Identifier: Apache-2.0 */
/* Names of events for recordings without them, made from type and config as perf does
 * (tools/perf/util/evsel.c). */
#include "base/format.h"
#include "perf/parts.h"

static const char *const hardware[] = {"cycles",
                                       "instructions",
                                       "cache-references",
                                       "cache-misses",
                                       "branches",
                                       "branch-misses",
                                       "bus-cycles",
                                       "stalled-cycles-frontend",
                                       "stalled-cycles-backend",
                                       "ref-cycles"};

static const char *const software[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                     "iTLB",      "branch",    "node"};
static const char *const operations[] = {"load", "store", "prefetch"};
static const char *const accesses[] = {"loads", "stores", "prefetches"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static size_t base_name(const struct perf_event *e, char *text, size_t room)
{
    uint64_t cache = e->config & 0xff, op = e->config >> 8 & 0xff;
    uint64_t result = e->config >> 16 & 0xff;
    uint64_t number =
        e->config & UINT32_MAX; /* the bits above are the PMU's type, on hybrid CPUs */
    if (e->type == PERF_TYPE_HARDWARE && number < COUNT(hardware))
        return format_text(text, room, "%s", hardware[number]);
    if (e->type == PERF_TYPE_SOFTWARE && e->config < COUNT(software))
        return format_text(text, room, "%s", software[e->config]);
    if (e->type == PERF_TYPE_HW_CACHE && cache < COUNT(caches) && op < 3 && result < 2)
        return result ? format_text(text, room, "%s-%s-misses", caches[cache],
                                    operations[op])
                      : format_text(text, room, "%s-%s", caches[cache], accesses[op]);
    if (e->type == PERF_TYPE_TRACEPOINT)
        return format_text(text, room, "tracepoint %llu", (unsigned long long)e->config);
    if (e->type == PERF_TYPE_RAW)
        return format_text(text, room, "raw 0x%llx", (unsigned long long)e->config);
    if (e->type == PERF_TYPE_BREAKPOINT)
        return format_text(text, room, "mem breakpoint");
    return format_text(text, room, "event %u:0x%llx", e->type,
                       (unsigned long long)e->config);
}

/* ":u", ":pp": the modes in which the event counts, if not all, and its precision. */
static size_t modifiers(const struct perf_event *e, char *text)
{
    uint64_t f = e->flags;
    size_t n = 1;
    unsigned precise = f >> PERF_FLAG_PRECISE_SHIFT & 3;
    bool modes =
        f & (PERF_FLAG_EXCLUDE_USER | PERF_FLAG_EXCLUDE_KERNEL | PERF_FLAG_EXCLUDE_HV);
    bool no_guest = modes || precise;
    text[0] = ':';
    if (modes && !(f & PERF_FLAG_EXCLUDE_KERNEL))
        text[n++] = 'k';
    if (modes && !(f & PERF_FLAG_EXCLUDE_USER))
        text[n++] = 'u';
    if (modes && !(f & PERF_FLAG_EXCLUDE_HV))
        text[n++] = 'h';
    for (unsigned i = 0; i < precise; i++)
        text[n++] = 'p';
    bool sides =
        (f & PERF_FLAG_EXCLUDE_HOST) || ((f & PERF_FLAG_EXCLUDE_GUEST) != 0) == no_guest;
    if (sides && !(f & PERF_FLAG_EXCLUDE_HOST))
        text[n++] = 'H';
    if (sides && !(f & PERF_FLAG_EXCLUDE_GUEST))
        text[n++] = 'G';
    return n > 1 ? n : 0;
}

struct str perf_event_name(struct arena *a, const struct perf_event *e)
{
    char text[100];
    size_t used = base_name(e, text, sizeof text - 16);
    if (e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_SOFTWARE ||
        e->type == PERF_TYPE_HW_CACHE || e->type == PERF_TYPE_RAW)
        used += modifiers(e, text + used);
    return arena_str(a, (struct str){text, used});
}
