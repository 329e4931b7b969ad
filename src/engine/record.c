/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/record.h"
#include "base/format.h"
#include "os/cgroup.h"
#include "record/session.h"
#include <stdlib.h>

struct recording {
    const struct engine_record_settings *settings;
    struct record_settings record;
    struct record_session *session;
    struct record_threads threads;
    char cache[4096];
};

static bool prepare(struct recording *r, struct error *err)
{
    const struct engine_record_settings *set = r->settings;
    struct sampling_events_found found;
    r->record = (struct record_settings){
        .sampler = sampling_sampler(&set->sampling),
        .sources = set->sources,
        .pids = set->targets.pids.items,
        .pid_count = set->targets.pids.count,
        .duration = set->duration,
        .files = {.path = set->path},
        .hosted = set->hosted,
        .request_java = set->sources.on[EVENT_SOURCE_interpreters],
        .resolve = {.find = {.only_mapped = true},
                    .cache_dir = symbols_cache_dir(r->cache, sizeof r->cache)}};
    return sampling_check(&set->sampling, err) &&
           sampling_find(&set->targets, false, &r->record.sampler.targets, &r->threads,
                         err) &&
           sampling_events(&set->sampling, &r->record.sampler, &found, err);
}

/* Reads the recording. Without a path, it exists until the session is closed. */
static struct profile *read_back(const struct recording *r,
                                 const struct load_settings *load,
                                 const struct engine_report *report, struct error *err)
{
    char path[4200], *files[] = {path};
    format_text(path, sizeof path, "%s", record_session_path(r->session));
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
    if (prepare(r, err) && (r->session = record_session_create(&r->record, err))) {
        if (record_session_open(r->session, err) && record_session_run(r->session, err) &&
            record_session_finish(r->session, err))
            p = read_back(r, load, report, err);
        if (!record_session_close(r->session, &at_end) && p) {
            *err = at_end;
            profile_destroy(p);
            p = NULL;
        }
    }
    record_session_destroy(r->session);
    os_cgroup_close(r->record.sampler.targets.cgroup);
    record_threads_free(&r->threads);
    free(r);
    return p;
}
