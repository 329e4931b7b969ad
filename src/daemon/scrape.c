/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/scrape.h"
#include "os/machine.h"
#include "os/thread.h"
#include "os/web_client.h"
#include <stdlib.h>

#define SECOND INGEST_SECOND
#define SECONDS_MOST 50 /* of a profile: a client waits a minute for the next byte */

struct scraping {
    struct daemon_scrapes *all;
    const struct scrape_target *target;
    const struct scrape_job *job;
    struct os_thread thread;
    struct os_web_client *web; /* of the thread */
    char origin[300];
    bool was_down;
};

struct daemon_scrapes {
    const struct scrape_config *config;
    struct daemon_intake *intake;
    const struct engine_report *report;
    struct os_lock lock;
    struct os_condition changed;
    int stops; /* atomic */
    struct scraping *items;
};

/* What a profile measures, for events with ambiguous names. */
static const char *const measures[SCRAPE_PROFILES] = {
    [SCRAPE_PROFILE] = "process_cpu", [SCRAPE_ALLOCS] = "memory",
    [SCRAPE_HEAP] = "memory",         [SCRAPE_GOROUTINE] = "goroutine",
    [SCRAPE_MUTEX] = "mutex",         [SCRAPE_BLOCK] = "block"};

static bool stops(const struct daemon_scrapes *s)
{
    return __atomic_load_n(&s->stops, __ATOMIC_RELAXED) != 0;
}

/* --- One profile ------------------------------------------------------------------------ */

static bool take(void *context, struct str bytes)
{
    struct output *body = context;
    if (body->used + bytes.len > INGEST_BODY_MAX)
        return false;
    output_str(body, bytes);
    return !body->failed;
}

/* Those of the file, `service` and `host`. */
static bool set_labels(const struct scraping *s, enum scrape_profile profile,
                       struct ingest_labels *labels, struct error *err)
{
    *labels = s->all->config->labels[s->target->labels];
    return (ingest_label(labels, STR("service_name")).len ||
            ingest_put_label(labels, STR("service_name"), s->job->name, err)) &&
           (ingest_label(labels, STR("instance")).len ||
            ingest_put_label(labels, STR("instance"), s->target->address, err)) &&
           ingest_put_label(labels, STR("__name__"), str_of(measures[profile]), err);
}

static bool store(const struct scraping *s, enum scrape_profile profile, struct str body,
                  uint64_t from, struct error *err)
{
    struct daemon_intake *intake = s->all->intake;
    struct ingest in = {.now = os_clock_real()};
    struct ingest_about about = {.from = from, .until = in.now};
    bool ok = ingest_init(&in, err) && set_labels(s, profile, &about.labels, err) &&
              ingest_add_format(&in, "pprof", body, &about, err);
    uint64_t samples = ok ? in.builder.profile->sample_count : 0;
    bool is_stored = ok && daemon_intake_store(intake, &in, err);
    daemon_intake_count(intake, ENTRANCE_SCRAPE,
                        is_stored ? INTAKE_STORED
                        : ok      ? INTAKE_FAILED
                                  : INTAKE_REFUSED,
                        &in, samples);
    ingest_deinit(&in);
    return is_stored;
}

/* Profiles of a span have the argument `seconds`; those of a moment do not. */
static void write_path(const struct scraping *s, enum scrape_profile profile, char *path,
                       size_t size)
{
    uint32_t count = 0, seconds;
    for (unsigned i = 0; i < SCRAPE_PROFILES; i++)
        count += (s->job->profiles >> i & 1) && i != SCRAPE_HEAP && i != SCRAPE_GOROUTINE;
    seconds = s->job->interval / (count ? count : 1);
    seconds = seconds > SECONDS_MOST ? SECONDS_MOST : seconds > 1 ? seconds - 1 : 1;
    if (profile == SCRAPE_HEAP || profile == SCRAPE_GOROUTINE)
        format_text(path, size, "/debug/pprof/%s", scrape_profile_name(profile));
    else
        format_text(path, size, "/debug/pprof/%s?seconds=%u",
                    scrape_profile_name(profile), seconds);
}

static bool scrape(const struct scraping *s, enum scrape_profile profile,
                   struct error *err)
{
    char path[64];
    struct output body = OUTPUT_BUFFER;
    struct os_web_answer answer;
    struct ingest none = {.profiles = 0};
    uint64_t from = os_clock_real();
    write_path(s, profile, path, sizeof path);
    struct os_web_call call = {.path = path, .take = take, .context = &body};
    bool ok = os_web_get(s->web, &call, &answer, err);
    if (ok && answer.status != 200)
        ok = error_set(err, "%s%s: the status %u", s->origin, path, answer.status);
    if (!ok)
        daemon_intake_count(s->all->intake, ENTRANCE_SCRAPE, INTAKE_FAILED, &none, 0);
    ok = ok && store(s, profile, output_contents(&body), from, err);
    output_deinit(&body);
    return ok;
}

/* --- A target --------------------------------------------------------------------------- */

static void wait_until(struct daemon_scrapes *s, uint64_t time)
{
    os_lock_acquire(&s->lock);
    while (!stops(s) && os_clock_monotonic() < time)
        os_condition_wait(&s->changed, &s->lock, time);
    os_lock_release(&s->lock);
}

/* Reports when a target fails at first, and when it answers again. */
static void note_state(struct scraping *s, bool ok, const struct error *err)
{
    if (ok == !s->was_down || stops(s->all))
        return;
    s->was_down = !ok;
    os_lock_acquire(&s->all->lock);
    if (ok)
        engine_note(s->all->report, "%s answers again", s->origin);
    else
        engine_note(s->all->report, "cannot scrape %s: %s", s->origin, err->message);
    os_lock_release(&s->all->lock);
}

static void scrape_all(struct scraping *s)
{
    struct error err = {.message = ""};
    bool ok = true;
    for (unsigned i = 0; i < SCRAPE_PROFILES && ok && !stops(s->all); i++)
        if (s->job->profiles >> i & 1)
            ok = scrape(s, (enum scrape_profile)i, &err);
    note_state(s, ok, &err);
}

static void run(void *context)
{
    struct scraping *s = context;
    uint64_t interval = s->job->interval * SECOND;
    size_t index = (size_t)(s->target - s->all->config->targets);
    uint64_t next = os_clock_monotonic() + interval * index / SCRAPE_TARGETS_MAX;
    while (!stops(s->all)) {
        wait_until(s->all, next);
        if (!stops(s->all))
            scrape_all(s);
        next += interval;
        if (next < os_clock_monotonic())
            next = os_clock_monotonic();
    }
}

/* The client is opened here because that is not safe in threads: it loads the library. */
static bool start(struct daemon_scrapes *s, size_t index, struct error *err)
{
    struct scraping *item = &s->items[index];
    struct os_web_settings settings = {.address = item->origin,
                                       .fields = {"Accept-Encoding: gzip"},
                                       .is_local = true,
                                       .stops = &s->stops};
    item->all = s;
    item->target = &s->config->targets[index];
    item->job = &s->config->jobs[item->target->job];
    format_text(item->origin, sizeof item->origin, "%s://%.*s",
                item->job->is_https ? "https" : "http", STR_ARG(item->target->address));
    item->web = os_web_open(&settings, err);
    return item->web && os_thread_start(&item->thread, run, item, err);
}

struct daemon_scrapes *daemon_scrapes_start(const struct scrape_config *config,
                                            struct daemon_intake *intake,
                                            const struct engine_report *report,
                                            struct error *err)
{
    struct daemon_scrapes *s = calloc(1, sizeof *s);
    if (s)
        s->items = calloc(config->target_count, sizeof *s->items);
    if (!s || !s->items || !os_lock_init(&s->lock) || !os_condition_init(&s->changed)) {
        error_memory(err);
        daemon_scrapes_stop(s);
        return NULL;
    }
    s->config = config;
    s->intake = intake;
    s->report = report;
    for (size_t i = 0; i < config->target_count; i++)
        if (!start(s, i, err)) {
            daemon_scrapes_stop(s);
            return NULL;
        }
    return s;
}

void daemon_scrapes_stop(struct daemon_scrapes *s)
{
    if (!s)
        return;
    if (s->config) {
        os_lock_acquire(&s->lock);
        __atomic_store_n(&s->stops, 1, __ATOMIC_RELAXED);
        os_condition_wake(&s->changed);
        os_lock_release(&s->lock);
        for (size_t i = 0; i < s->config->target_count; i++)
            os_thread_join(&s->items[i].thread);
        for (size_t i = 0; i < s->config->target_count; i++)
            os_web_close(s->items[i].web);
    }
    os_condition_deinit(&s->changed);
    os_lock_deinit(&s->lock);
    free(s->items);
    free(s);
}
