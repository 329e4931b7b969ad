/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/sampling.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/message.h"
#include "os/cgroup.h"
#include "record/refusal.h"
#include <stdio.h>

/* --- Values ------------------------------------------------------------------------- */

#define RATE_MOST 1000000

static bool parse_rate(const char *text, void *value, struct error *err)
{
    uint64_t v;
    if (strcmp(text, "auto") == 0) {
        *(int64_t *)value = SAMPLING_RATE_AUTO;
        return true;
    }
    if (strcmp(text, "max") == 0) {
        v = record_rate_most();
        v = v < RATE_MOST ? v : RATE_MOST;
    } else if (!number_parse_u64(str_of(text), &v) || v == 0 || v > RATE_MOST) {
        error_set(err, "invalid rate '%s'", text);
        return error_hint(err, "from 1 to %d, max or auto", RATE_MOST);
    }
    *(int64_t *)value = (int64_t)v;
    return true;
}

#define RING_LEAST ((uint64_t)8 << 10)
#define RING_MOST ((uint64_t)1 << 30)

/* In perf's "N,M", M is for instruction traces. */
static bool parse_ring(const char *text, void *value, struct error *err)
{
    struct str rest = str_of(text), number = str_cut(&rest, ',');
    uint64_t v = 0, unit = 4096, size = RING_LEAST;
    if (str_ends(number, STR("K")) || str_ends(number, STR("M"))) {
        unit = str_ends(number, STR("K")) ? 1 << 10 : 1 << 20;
        number.len--;
    }
    if (!number_parse_u64(number, &v) || v == 0 || v > RING_MOST / unit) {
        error_set(err, "invalid size '%s'", text);
        return error_hint(err, "512K, 4M, or a number of pages");
    }
    while (size < v * unit)
        size *= 2;
    *(uint64_t *)value = size;
    return true;
}

static bool add_number(struct sampling_numbers *list, uint32_t number, struct error *err)
{
    if (list->count == SAMPLING_NUMBERS_MAX)
        return error_set(err, "more than %d processes or threads", SAMPLING_NUMBERS_MAX);
    list->items[list->count++] = number;
    return true;
}

static bool add_processes_named(struct sampling_numbers *list, struct str name,
                                struct error *err)
{
    struct record_threads found = {0};
    bool ok = record_processes_named(&found, name, err);
    for (size_t i = 0; ok && i < found.count; i++)
        ok = add_number(list, found.items[i], err);
    record_threads_free(&found);
    return ok;
}

static bool invalid_numbers(const char *text, const char *what, struct error *err)
{
    error_set(err, "invalid list of %s '%s'", what, text);
    return error_hint(err, "as ps shows them: 412,17");
}

static bool parse_threads(const char *text, void *value, struct error *err)
{
    struct sampling_numbers *list = value;
    for (struct str rest = str_of(text); rest.len;) {
        uint64_t v;
        if (!number_parse_u64(str_cut(&rest, ','), &v) || v == 0 || v >= UINT32_MAX)
            return invalid_numbers(text, "threads", err);
        if (!add_number(list, (uint32_t)v, err))
            return false;
    }
    return list->count || error_set(err, "empty list of threads");
}

static bool is_name(struct str word)
{
    size_t digits = 0;
    while (digits < word.len && byte_is_digit(word.ptr[digits]))
        digits++;
    return digits < word.len && word.ptr[0] != '-';
}

/* Numbers and names. */
static bool parse_processes(const char *text, void *value, struct error *err)
{
    struct sampling_numbers *list = value;
    for (struct str rest = str_of(text); rest.len;) {
        uint64_t v;
        struct str word = str_cut(&rest, ',');
        if (is_name(word)) {
            if (!add_processes_named(list, word, err))
                return false;
            continue;
        }
        if (!number_parse_u64(word, &v) || v == 0 || v >= UINT32_MAX)
            return invalid_numbers(text, "processes", err);
        if (!add_number(list, (uint32_t)v, err))
            return false;
    }
    return list->count || error_set(err, "empty list of processes");
}

static bool find_cgroup(enum os_cgroup_kind kind, const char *name,
                        struct sampling_targets *t, struct error *err)
{
    t->cgroup = t->found_cgroup;
    return os_cgroup_find(kind, name, NULL, t->found_cgroup, sizeof t->found_cgroup, err);
}

static bool parse_service(const char *text, void *value, struct error *err)
{
    return find_cgroup(OS_CGROUP_SERVICE, text, value, err);
}

static bool parse_container(const char *text, void *value, struct error *err)
{
    return find_cgroup(OS_CGROUP_CONTAINER, text, value, err);
}

static bool parse_cpus(const char *text, void *value, struct error *err)
{
    struct sampling_cpus *list = value;
    return record_cpus_add(str_of(text), list->items, &list->count, err);
}

const char *const sampling_stack_names[] = {"none", "fp", "dwarf", "lbr", "auto", NULL};

static bool parse_dump_size(struct str text, uint32_t *size, struct error *err)
{
    uint64_t v;
    if (text.len == 0)
        return true;
    if (number_parse_u64(text, &v) && v >= 8 && v <= SAMPLING_DUMP_MOST) {
        *size = (uint32_t)(v + 7) & ~7u;
        return true;
    }
    error_set(err, "invalid stack dump size '%.*s'", STR_ARG(text));
    return error_hint(err, "dwarf,8192; at most %d", SAMPLING_DUMP_MOST);
}

static bool parse_stacks(const char *text, void *value, struct error *err)
{
    struct sampling_stacks *stacks = value;
    struct str size = str_of(text), method = str_cut(&size, ',');
    stacks->dump_size = 0;
    for (int i = 0; sampling_stack_names[i]; i++) {
        if (!str_equal(str_of(sampling_stack_names[i]), method))
            continue;
        stacks->kind = (enum record_stacks)i;
        if (size.len == 0 || record_stacks_dumped(stacks->kind))
            return parse_dump_size(size, &stacks->dump_size, err);
    }
    error_set(err, "invalid unwinding method '%s'", text);
    return error_hint(err, "auto; fp: frame pointers; dwarf[,BYTES]: call frame "
                           "information; lbr: last branch record; none");
}

bool sampling_parse_events(const char *text, void *value, struct error *err)
{
    struct record_events *events = value;
    if (strcmp(text, "list") != 0 && strcmp(text, "help") != 0)
        return record_events_parse(text, events, err);
    events->listed = true;
    return true;
}

bool sampling_parse_filter(const char *text, void *value, struct error *err)
{
    struct record_events *events = value;
    struct record_event *e = events->count ? &events->items[events->count - 1] : NULL;
    if (e && e->tracepoint[0]) {
        e->filter = text;
        return true;
    }
    error_set(err, "no tracepoint before the filter '%s'", text);
    return error_hint(err, "-e sched:sched_switch --filter 'prev_prio < 100'");
}

/* --- Tables ------------------------------------------------------------------------ */

#define OFF(field) offsetof(struct sampling_settings, field)

const struct option sampling_options[] = {
    {"freq", 'F', "HZ",
     "samples per second; max: the limit of the kernel; auto: 99 to 997 that cost little",
     OPTION_PARSED, OFF(rate), .parse = parse_rate},
    {"no-jitter", 0, NULL, "a fixed rate; by default, that of clocks varies by up to 2%",
     OPTION_FLAG, OFF(regular)},
    {"count", 'c', "N", "one sample per N events, instead of --freq", OPTION_INT,
     OFF(period), .least = 1, .most = 1e15},
    {"event", 'e', "LIST", "events to sample (default: cycles, or cpu-clock)",
     OPTION_PARSED, OFF(events), .parse = sampling_parse_events},
    {"filter", 0, "TEXT", "kernel filter for the preceding tracepoint: 'prev_prio < 100'",
     OPTION_PARSED, OFF(events), .parse = sampling_parse_filter},
    {"list-events", 0, NULL, "list the events for -e, including unavailable ones",
     OPTION_FLAG, OFF(events.listed)},
    {"call-graph", 'g', "HOW",
     "how to unwind stacks: auto (default), fp, dwarf[,BYTES], lbr, none", OPTION_PARSED,
     OFF(stacks), sampling_stack_names, .parse = parse_stacks, .fallback = "fp",
     .before_command = true},
    {"all-user", 0, NULL, "only user code, like :u after each event", OPTION_FLAG,
     OFF(all_user)},
    {"all-kernel", 0, NULL, "only kernel code, like :k after each event", OPTION_FLAG,
     OFF(all_kernel)},
    {"ring,mmap-pages", 'm', "SIZE",
     "ring buffer size per CPU (default: depends on the sampling rate)", OPTION_PARSED,
     OFF(ring_size), .parse = parse_ring},
    {0}};

#undef OFF
#define OFF(field) offsetof(struct sampling_targets, field)

const struct option sampling_target_options[] = {
    {"all-cpus", 'a', NULL, "all processes of this machine", OPTION_FLAG, OFF(everyone)},
    {"pid", 'p', "LIST", "these processes, by number or name, and all that they started",
     OPTION_PARSED, OFF(pids), .parse = parse_processes},
    {"tid", 't', "LIST", "these threads", OPTION_PARSED, OFF(tids),
     .parse = parse_threads},
    {"cpu", 'C', "LIST", "all processes on these CPUs: 0-3,7", OPTION_PARSED, OFF(cpus),
     .parse = parse_cpus},
    {"uid", 'u', "USER", "all processes of this user (name or number)", OPTION_STRING,
     OFF(user)},
    {"cgroup", 'G', "PATH", "all processes of this cgroup: system.slice/cron.service",
     OPTION_STRING, OFF(cgroup)},
    {"service", 0, "UNIT", "all processes of this unit of systemd: cron", OPTION_PARSED,
     0, .parse = parse_service},
    {"container", 0, "ID",
     "all processes of this container: its id (12 digits at least), or its name in LXC",
     OPTION_PARSED, 0, .parse = parse_container},
    {"no-inherit", 'i', NULL, "exclude child processes, and new threads", OPTION_FLAG,
     OFF(alone)},
    {0}};

const struct option sampling_thread_options[] = {
    {"per-thread", 0, NULL, NULL, OPTION_FLAG, OFF(alone)}, {0}};

int sampling_list_events(void)
{
    struct output out = OUTPUT_BUFFER;
    record_events_list(&out);
    struct str text = output_contents(&out);
    bool ok = !out.failed && message_lines(text);
    output_deinit(&out);
    return ok ? STATUS_OK : STATUS_FAILED;
}
