/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a store as stoke daemon does on a busy machine: services with labels, whose stacks
 * share callers; a few are sampled often, most rarely.
 *
 * history FILE [DAYS [CORES [SERVICES [STACKS]]]]
 *
 * The default is 30 days, 4 busy cores, 50 services and 80,000 stacks. The last window ends at
 * 2026-10-01 00:00 UTC. Put FILE on a tmpfs: each window is a transaction. */
#include "model/sample_labels.h"
#include "store/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define END ((uint64_t)1790812800)
#define WINDOW ((uint64_t)10) /* seconds */
#define RATE 19
#define DEPTH_MAX 64
#define FUNCTIONS 400 /* of a service */
#define METRICS 100

struct path {
    uint32_t service;
    uint32_t depth;
    uint32_t functions[DEPTH_MAX];
};

struct machine {
    uint64_t days, cores, services, stacks;
    struct path *paths;
    stack_id *ids; /* in the current window */
    uint64_t random;
};

static uint64_t next_random(struct machine *m)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return m->random >> 33;
}

static uint64_t below(struct machine *m, uint64_t limit)
{
    return next_random(m) % limit;
}

/* Zipf's law, by the inverse of its integral: the first items are the most frequent. */
static uint64_t zipf(struct machine *m, uint64_t count)
{
    double u = ((double)next_random(m) + 0.5) / (double)((uint64_t)1 << 31);
    uint64_t item = (uint64_t)pow((double)count + 1, u) - 1;
    return item < count ? item : count - 1;
}

/* --- Stacks ------------------------------------------------------------------------- */

/* Begins as an earlier stack of the service, and ends with functions of its own. */
static void make_path(struct machine *m, uint64_t at)
{
    struct path *p = &m->paths[at];
    p->service = (uint32_t)(at % m->services);
    if (at >= m->services) {
        uint64_t before = p->service + m->services * below(m, at / m->services);
        const struct path *from = &m->paths[before];
        p->depth = 1 + (uint32_t)below(m, from->depth);
        memcpy(p->functions, from->functions, sizeof p->functions);
    }
    for (uint64_t more = 3 + below(m, 10); more && p->depth < DEPTH_MAX; more--)
        p->functions[p->depth++] = (uint32_t)zipf(m, FUNCTIONS);
}

static frame_id frame_of(struct builder *b, uint32_t service, uint32_t function)
{
    char name[96], module[64], build_id[48];
    bool library = function % 3 == 0;
    uint32_t owner = library ? function % 20 : service;
    format_text(module, sizeof module,
                library ? "/usr/lib/lib%u.so.1" : "/usr/bin/server%u", owner);
    format_text(build_id, sizeof build_id, "%040x", owner * 2 + library);
    format_text(name, sizeof name, "%s%u::handle_request_%u(unsigned long, char const*)",
                library ? "lib" : "server", owner, function);
    struct frame f = {.name = builder_string(b, str_of(name)),
                      .module = builder_module(b, str_of(module), str_of(build_id))};
    return builder_frame(b, &f);
}

static stack_id stack_of(struct machine *m, struct builder *b, uint64_t path)
{
    const struct path *p = &m->paths[path];
    stack_id at = 0;
    if (m->ids[path])
        return m->ids[path];
    for (uint32_t i = 0; i < p->depth; i++)
        at = builder_push(b, at, frame_of(b, p->service, p->functions[i]));
    return m->ids[path] = at;
}

/* --- Windows ------------------------------------------------------------------------ */

static label_set_id labels_of(struct builder *b, uint64_t service)
{
    char name[32], unit[48];
    format_text(name, sizeof name, "server%u", (unsigned)service);
    format_text(unit, sizeof unit, "server%u.service", (unsigned)service);
    label_id labels[] = {builder_label_text(b, STR("host"), STR("machine")),
                         builder_label_text(b, STR("process"), str_of(name)),
                         builder_label_text(b, STR("service"), str_of(unit)),
                         builder_label_text(b, STR("user"), STR("www-data"))};
    return builder_label_set(b, labels, sizeof labels / sizeof *labels);
}

static void add_sample(struct machine *m, struct builder *b, uint64_t start,
                       event_id event, const label_set_id *labels)
{
    char name[32];
    uint64_t service = zipf(m, m->services);
    uint64_t path = service + m->services * zipf(m, m->stacks / m->services);
    format_text(name, sizeof name, "worker%u", (unsigned)below(m, 3));
    struct sample s = {.time = start + below(m, WINDOW) * STORE_SECOND,
                       .cpu = CPU_NONE,
                       .event = event,
                       .thread = builder_thread(b, 1, (int64_t)below(m, 3), str_of(name)),
                       .stack = stack_of(m, b, path),
                       .count = 1,
                       .weight = 1e9 / RATE};
    builder_add_labelled(b, &s, labels[service]);
}

static struct profile *make_window(struct machine *m, uint64_t start, struct error *err)
{
    struct builder b;
    struct profile *p = NULL;
    label_set_id *labels = calloc(m->services, sizeof *labels);
    memset(m->ids, 0, m->stacks * sizeof *m->ids);
    if (!labels || !builder_init(&b, BUILD_KEEP)) {
        free(labels);
        error_memory(err);
        return NULL;
    }
    event_id event = builder_event(&b, STR("cpu-clock"), UNIT_NANOSECONDS);
    for (uint64_t i = 0; i < m->services; i++)
        labels[i] = labels_of(&b, i);
    for (uint64_t i = 0; i < m->cores * RATE * WINDOW; i++)
        add_sample(m, &b, start, event, labels);
    p = builder_finish(&b, err);
    builder_deinit(&b);
    free(labels);
    return p;
}

static bool make_metrics(struct machine *m, struct store_metric_block *block,
                         struct arena *a, uint64_t second, uint32_t step)
{
    char name[32];
    *block = (struct store_metric_block){.start = second / step / STORE_BLOCK_VALUES *
                                                  step * STORE_BLOCK_VALUES,
                                         .step = step};
    for (size_t i = 0; i < METRICS; i++) {
        format_text(name, sizeof name, "metric.%zu", i);
        struct store_metric *metric =
            store_metric_put(block, a, str_of(name), STR("ms/s"), i);
        for (size_t k = 0; metric && k < STORE_BLOCK_VALUES; k++)
            metric->values[k] = (int64_t)(1000 * i + below(m, 50));
    }
    return !a->failed;
}

static bool write_window(struct machine *m, struct store *s, uint64_t second,
                         struct error *err)
{
    struct arena a = ARENA_INIT;
    struct store_metric_block blocks[2];
    struct store_limits none = {0};
    uint64_t start = second * STORE_SECOND;
    struct store_window w = {
        .start = start, .end = start + WINDOW * STORE_SECOND, .rate = RATE};
    struct profile *p = make_window(m, start, err);
    bool ok = p != NULL;
    w.profile = p;
    w.metrics = blocks;
    if (ok && second % 60 == 0)
        ok = make_metrics(m, &blocks[w.metric_count++], &a, second, 1);
    if (ok && second % 3600 == 0)
        ok = make_metrics(m, &blocks[w.metric_count++], &a, second, 60);
    ok = ok && s->kind->add(s, &w, err) && s->kind->retain(s, &none, w.end, err);
    profile_destroy(p);
    arena_deinit(&a);
    return ok;
}

static bool write_history(struct machine *m, struct store *s, struct error *err)
{
    for (uint64_t second = END - m->days * 86400; second < END; second += WINDOW) {
        if (!write_window(m, s, second, err))
            return false;
        if (second % 86400 == 0)
            fprintf(stderr, "%llu days to write\n",
                    (unsigned long long)((END - second) / 86400));
    }
    return true;
}

static uint64_t number(int count, char **words, int at, uint64_t fallback)
{
    uint64_t value = count > at ? strtoull(words[at], NULL, 10) : 0;
    return value ? value : fallback;
}

int main(int count, char **words)
{
    struct error err = {.message = ""};
    struct machine m = {.days = number(count, words, 2, 30),
                        .cores = number(count, words, 3, 4),
                        .services = number(count, words, 4, 50),
                        .stacks = number(count, words, 5, 80000),
                        .random = 1};
    if (count < 2 || m.stacks < m.services) {
        fprintf(stderr, "usage: history FILE [DAYS [CORES [SERVICES [STACKS]]]]\n");
        return 2;
    }
    m.paths = calloc(m.stacks, sizeof *m.paths);
    m.ids = calloc(m.stacks, sizeof *m.ids);
    struct store *s = store_open(words[1], STORE_WRITE, &err);
    for (uint64_t i = 0; m.paths && i < m.stacks; i++)
        make_path(&m, i);
    bool ok = s && m.paths && m.ids && write_history(&m, s, &err);
    store_close(s);
    free(m.paths);
    free(m.ids);
    if (!ok)
        fprintf(stderr, "history: %s\n", err.message);
    return !ok;
}
