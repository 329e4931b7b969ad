/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/record.h"
#include "base/format.h"
#include "os/cgroup.h"
#include "record/session.h"
#include <stdlib.h>

struct recording {
    const struct engine_record_settings *settings;
    struct record_settings record;
    struct record_session session;
    struct record_threads threads;
    char cache[4096];
};

static bool prepare(struct recording *r, struct error *err)
{
    const struct sampling_settings *s = &r->settings->sampling;
    struct sampling_events_found found;
    uint32_t rate = s->rate ? (uint32_t)s->rate : SAMPLING_RATE_DEFAULT;
    r->record = (struct record_settings){
        .sampler = {.stacks = s->stacks.how,
                    .dump_size = sampling_dump_size(s, rate),
                    .ring_size = (size_t)s->ring_size,
                    .rate = s->period ? 0 : rate,
                    .period = (uint64_t)s->period},
        .pids = r->settings->targets.pids.items,
        .pid_count = r->settings->targets.pids.count,
        .duration = r->settings->duration,
        .files = {.path = r->settings->path},
        .resolve = {.find = {.only_mapped = true},
                    .cache_dir = symbols_cache_dir(r->cache, sizeof r->cache)}};
    return sampling_check(s, err) &&
           sampling_find(&r->settings->targets, false, &r->record.sampler.targets,
                         &r->threads, err) &&
           sampling_events(s, &r->record.sampler, &found, err);
}

/* Reads what was recorded, while the session still has it. */
static struct profile *read_back(const struct recording *r,
                                 const struct load_settings *load,
                                 const struct engine_report *report, struct error *err)
{
    char path[4200], *files[] = {path};
    format_text(path, sizeof path, "%s", record_session_path(&r->session));
    return engine_load(load, 1, files, report, err);
}

struct profile *engine_record(const struct engine_record_settings *settings,
                              const struct load_settings *load,
                              const struct engine_report *report, struct error *err)
{
    struct profile *p = NULL;
    struct error at_end;
    struct recording *r = calloc(1, sizeof *r);
    if (!r) {
        error_memory(err);
        return NULL;
    }
    r->settings = settings;
    if (prepare(r, err)) {
        if (record_session_open(&r->session, &r->record, err) &&
            record_session_run(&r->session, err) &&
            record_session_finish(&r->session, err))
            p = read_back(r, load, report, err);
        if (!record_session_close(&r->session, &at_end) && p) {
            *err = at_end;
            profile_destroy(p);
            p = NULL;
        }
    }
    os_cgroup_close(r->record.sampler.targets.cgroup);
    record_threads_free(&r->threads);
    free(r);
    return p;
}
