/* SPDX-License-Identifier: Apache-2.0 */
#include "record/live.h"
#include "os/machine.h"
#include "os/rights.h"
#include "record/perf_features.h"
#include <stdlib.h>

/* Rings are emptied so often: what was told is read in the round after it. */
#define DRAIN_MS 100

/* --- What comes out of the stages -------------------------------------------------- */

static void put(struct record_live *l, const void *bytes, size_t size)
{
    output_bytes(&l->bytes, bytes, size);
}

static void put_u64(struct record_live *l, uint64_t value)
{
    put(l, &value, sizeof value);
}

static void put_header(struct record_live *l, uint32_t type, size_t size)
{
    uint16_t misc = 0, whole = (uint16_t)(PERF_RECORD_HEADER + size);
    put(l, &type, sizeof type);
    put(l, &misc, sizeof misc);
    put(l, &whole, sizeof whole);
}

static void take(void *context, const struct record *r)
{
    struct record_live *l = context;
    if (r->type == PERF_SAMPLE)
        l->samples++;
    else if (r->type == PERF_LOST)
        l->lost += record_u64(r->bytes, 16);
    else if (r->type == PERF_THROTTLE)
        l->throttled++;
    output_str(&l->bytes, r->bytes);
}

static void round_over(void *context)
{
    struct record_live *l = context;
    put_header(l, PERF_FINISHED_ROUND, 0);
    l->round_told = true;
}

/* --- The head of the stream -------------------------------------------------------- */

#define UPDATE_NAME 2 /* the type of EVENT_UPDATE that gives a name */

static bool put_event(struct record_live *l, size_t i)
{
    static const char zeros[8] = {0};
    struct perf_attr attr = l->sampler.attrs[i];
    struct str name = str_of(l->sampler.settings->events.items[i].name);
    size_t room = l->sampler.counter_count, most = (UINT16_MAX - 256) / 8;
    uint64_t *ids = malloc((room + 1) * sizeof *ids);
    if (!ids)
        return false;
    size_t count = perf_sampler_ids(&l->sampler, i, ids, room < most ? room : most);
    if (l->unwinds)
        record_unwinder_attr(&attr);
    put_header(l, PERF_HEADER_ATTR, sizeof attr + count * sizeof *ids);
    put(l, &attr, sizeof attr);
    put(l, ids, count * sizeof *ids);
    if (count) {
        put_header(l, PERF_EVENT_UPDATE, 16 + name.len + 8 - name.len % 8);
        put_u64(l, UPDATE_NAME);
        put_u64(l, ids[0]);
        put(l, name.ptr, name.len);
        put(l, zeros, 8 - name.len % 8);
    }
    free(ids);
    return true;
}

/* What the machine is: the kernel's symbols are found by its release. */
static bool put_features(struct record_live *l)
{
    struct perf_file_head head = {.events = NULL};
    struct perf_features f;
    bool ok = perf_features_init(&f, &head);
    for (size_t i = 0; ok && i < f.count; i++) {
        unsigned number = f.items[i].number;
        if (f.items[i].size > UINT16_MAX - 64 || number == PERF_FEATURE_EVENT_DESC ||
            number == PERF_FEATURE_BUILD_ID || number == PERF_FEATURE_CMDLINE)
            continue;
        put_header(l, PERF_HEADER_FEATURE, 8 + f.items[i].size);
        put_u64(l, number);
        put(l, f.bodies.bytes + f.items[i].offset, f.items[i].size);
    }
    perf_features_deinit(&f);
    return ok;
}

static bool open_stages(struct record_live *l, struct error *err)
{
    struct record_sink next = {l, take, round_over};
    const struct record_layout *layout = &l->sampler.layout;
    record_tasks_deinit(&l->tasks);
    record_unwinder_deinit(&l->unwinder);
    if (l->unwinds) {
        if (!record_unwinder_init(&l->unwinder, layout,
                                  l->sampler.attrs[0].user_registers,
                                  &l->settings->resolve, next, err))
            return false;
        next = record_unwinder_sink(&l->unwinder);
    }
    return record_tasks_init(&l->tasks, layout, next, err);
}

bool record_live_begin(struct record_live *l, struct error *err)
{
    l->bytes.used = l->given = 0;
    l->ended = false;
    memset(l->drained, 0, sizeof l->drained);
    if (!open_stages(l, err))
        return false;
    put(l, "PERFILE2", 8);
    put_u64(l, PERF_PIPE_HEADER);
    for (size_t i = 0; i < l->sampler.settings->events.count; i++)
        if (!put_event(l, i))
            return error_memory(err);
    if (!put_features(l))
        return error_memory(err);
    l->kernel_hidden = !record_tasks_add_kernel(&l->tasks);
    for (size_t i = 0; i < l->settings->pid_count; i++)
        record_tasks_add(&l->tasks, l->settings->pids[i]);
    return !l->bytes.failed || error_memory(err);
}

bool record_live_open(struct record_live *l, const struct record_live_settings *settings,
                      struct error *err)
{
    *l = (struct record_live){.settings = settings};
    l->unwinds = record_stacks_dumped(settings->sampler.stacks);
    if (!os_wait_init(&l->wait, err) ||
        !perf_sampler_open(&l->sampler, &settings->sampler, &l->wait, err) ||
        (settings->watched >= 0 && !os_wait_watch(&l->wait, settings->watched, err)) ||
        !record_live_begin(l, err))
        return false;
    os_run_first();
    os_rights_keep(OS_RIGHT_LOOK |
                   (settings->sampler.targets.everyone ? OS_RIGHT_COUNT : 0u));
    l->began = os_clock_monotonic();
    perf_sampler_enable(&l->sampler);
    return true;
}

void record_live_close(struct record_live *l)
{
    perf_sampler_close(&l->sampler);
    record_tasks_deinit(&l->tasks);
    record_unwinder_deinit(&l->unwinder);
    output_deinit(&l->bytes);
    os_wait_deinit(&l->wait);
}

/* --- The source -------------------------------------------------------------------- */

static void wait_and_drain(struct record_live *l)
{
    struct record_sink first = record_tasks_sink(&l->tasks);
    unsigned why =
        os_wait_for(&l->wait, l->next >= 0 && l->next < DRAIN_MS ? l->next : DRAIN_MS);
    l->drained[2] = l->drained[1];
    l->drained[1] = l->drained[0];
    l->drained[0] = os_clock_monotonic();
    l->round_told = false;
    perf_sampler_drain(&l->sampler, &first);
    if (!l->round_told)
        round_over(l); /* else what came last would wait for what comes next */
    if (l->settings->sampler.targets.everyone)
        perf_sampler_follow_cpus(&l->sampler);
    uint64_t lost = perf_sampler_lost(&l->sampler);
    l->lost = lost > l->lost ? lost : l->lost;
    l->ended = !l->settings->idle(l->settings->idle_context, why, &l->next);
}

static bool read_stream(void *context, char *into, size_t room, size_t *got,
                        struct error *err)
{
    struct record_live *l = context;
    if (l->given == l->bytes.used)
        l->given = l->bytes.used = 0;
    while (l->bytes.used == 0 && !l->ended)
        wait_and_drain(l);
    struct str rest = str_skip(output_kept(&l->bytes), l->given);
    rest = str_head(rest, room);
    memcpy(into, rest.ptr, rest.len);
    l->given += rest.len;
    *got = rest.len;
    return !l->bytes.failed || error_memory(err);
}

struct source record_live_source(struct record_live *l)
{
    return source_reading(read_stream, l, STR("what runs"));
}
