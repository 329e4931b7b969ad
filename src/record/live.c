/* SPDX-License-Identifier: Apache-2.0 */
#include "record/live.h"
#include "os/machine.h"
#include "os/rights.h"

#define MS ((uint64_t)1000000)

/* Time between two drains of the rings. A record is read in the round after its own. */
#define DRAIN_MS 100

static int drain_ms(const struct record_live_settings *settings)
{
    return settings->drain_ms ? settings->drain_ms : DRAIN_MS;
}

/* --- Output of the stages ----------------------------------------------------------- */

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
    output_str(&l->bytes, r->bytes);
}

static void round_over(void *context)
{
    struct record_live *l = context;
    put_header(l, PERF_FINISHED_ROUND, 0);
    l->round_ended = true;
}

/* --- The head of the stream -------------------------------------------------------- */

#define UPDATE_NAME 2 /* the type of an EVENT_UPDATE with a name */

#define IDS_MOST ((size_t)(UINT16_MAX - 256) / 8)

static void put_event(struct record_live *l, const struct perf_file_event *e)
{
    static const char zeros[8] = {0};
    struct str name = str_of(e->name);
    size_t count = e->id_count < IDS_MOST ? e->id_count : IDS_MOST;
    put_header(l, PERF_HEADER_ATTR, sizeof e->attr + count * sizeof *e->ids);
    put(l, &e->attr, sizeof e->attr);
    put(l, e->ids, count * sizeof *e->ids);
    if (!count)
        return;
    put_header(l, PERF_EVENT_UPDATE, 16 + name.len + 8 - name.len % 8);
    put_u64(l, UPDATE_NAME);
    put_u64(l, e->ids[0]);
    put(l, name.ptr, name.len);
    put(l, zeros, 8 - name.len % 8);
}

/* Facts about the machine: the release of the kernel leads to its symbols. */
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

bool record_live_begin(struct record_live *l, struct error *err)
{
    struct record_sink output = {l, take, round_over};
    l->bytes.used = l->given = 0;
    l->ended = false;
    memset(l->drained, 0, sizeof l->drained);
    put(l, "PERFILE2", 8);
    put_u64(l, PERF_PIPE_HEADER);
    for (size_t i = 0; i < record_chain_event_count(&l->chain); i++)
        put_event(l, &l->chain.events[i]);
    if (!put_features(l))
        return error_memory(err);
    return record_chain_start(&l->chain, output, err) &&
           (!l->bytes.failed || error_memory(err));
}

bool record_live_open(struct record_live *l, const struct record_live_settings *settings,
                      struct error *err)
{
    *l = (struct record_live){
        .settings = settings,
        .wait = {.epoll = -1, .signals = -1},
        .chain_settings = {.sampler = settings->sampler,
                           .sources = settings->sources,
                           .pids = settings->pids,
                           .pid_count = settings->pid_count,
                           .only_sampled = settings->only_sampled,
                           .interval = (uint64_t)drain_ms(settings) * MS,
                           .resolve = &settings->resolve}};
    /* live views read all the time: samples of other threads would only be in the way */
    l->chain_settings.sampler.of_threads = true;
    bool ok = settings->hosted ? os_wait_init_plain(&l->wait, err)
                               : os_wait_init(&l->wait, err);
    if (!ok || !record_chain_open(&l->chain, &l->chain_settings, NULL, &l->wait, err) ||
        (settings->watched >= 0 && !os_wait_watch(&l->wait, settings->watched, err)) ||
        !record_live_begin(l, err))
        return false;
    if (!settings->hosted) {
        os_run_first();
        /* a daemon opens them again for another rate */
        bool loads = l->chain.sources[EVENT_SOURCE_long_waits] ||
                     settings->sources.interpreters_by_kernel;
        os_rights_restrict(OS_RIGHT_READ | (loads ? OS_RIGHT_LOAD : 0u) |
                           (settings->sampler.targets.everyone ? OS_RIGHT_COUNT : 0u));
    }
    l->began = os_clock_monotonic();
    l->deadline = l->began + (uint64_t)drain_ms(settings) * MS;
    perf_sampler_enable(&l->chain.sampler);
    return true;
}

void record_live_close(struct record_live *l)
{
    record_chain_close(&l->chain);
    output_deinit(&l->bytes);
    os_wait_deinit(&l->wait);
}

/* --- The source -------------------------------------------------------------------- */

int record_live_fd(const struct record_live *l)
{
    return os_wait_fd(&l->wait);
}

uint64_t record_live_deadline(const struct record_live *l)
{
    return l->deadline;
}

static bool turn(struct record_live *l, int milliseconds)
{
    int most = drain_ms(l->settings), next = most;
    l->drained[2] = l->drained[1];
    l->drained[1] = l->drained[0];
    l->round_ended = false;
    struct record_turn t = record_chain_turn(&l->chain, milliseconds);
    l->drained[0] = t.drained;
    bool ok = record_chain_collect(&l->chain);
    if (!l->round_ended)
        round_over(l); /* or the last records would wait for later ones */
    l->throttled = l->chain.counts.throttled;
    l->ended = !l->settings->idle(l->settings->idle_context, t.reasons, &next) || !ok;
    l->deadline = t.now + (uint64_t)(next >= 0 && next < most ? next : most) * MS;
    return !l->ended;
}

uint64_t record_live_lost(const struct record_live *l)
{
    return record_chain_lost(&l->chain);
}

bool record_live_step(struct record_live *l)
{
    return turn(l, 0);
}

static bool read_stream(void *context, char *into, size_t room, size_t *got,
                        struct error *err)
{
    struct record_live *l = context;
    if (l->given == l->bytes.used)
        l->given = l->bytes.used = 0;
    while (l->bytes.used == 0 && !l->ended)
        turn(l, os_wait_left(l->deadline));
    struct str rest = str_skip(output_contents(&l->bytes), l->given);
    rest = str_head(rest, room);
    memcpy(into, rest.ptr, rest.len);
    l->given += rest.len;
    *got = rest.len;
    if (rest.len == 0 && l->chain.failed) {
        *err = l->chain.why;
        return false;
    }
    return !l->bytes.failed || error_memory(err);
}

struct source record_live_source(struct record_live *l)
{
    return source_reading(read_stream, l, STR("live samples"));
}
