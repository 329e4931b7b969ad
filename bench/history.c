/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a store as stoke daemon does on a busy machine: services with labels, whose stacks
 * share callers; a few are sampled often, most rarely. Some services work by day, others by
 * night. Metrics have the names and the units of the daemon.
 *
 * history FILE [DAYS [CORES [SERVICES [STACKS [KEEP_DAYS [KEEP_MB]]]]]]
 *
 * The default is 30 days, 4 cores, 50 services, 80,000 stacks, and no limits of retention. The
 * last window ends at 2026-10-01 00:00 UTC; a FILE that exists is continued. The longest calls of
 * the store are printed. Put FILE on a tmpfs: each window is a transaction.
 *
 * The store's own code writes everything. To be quick, all names and stacks are made once, and
 * the profile of a window has those that it needs; a block of metrics is written once, when it
 * is complete; and retention, which makes the sums, is called once in a minute. */
#include "model/sample_labels.h"
#include "store/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define END ((uint64_t)1790812800)
#define WINDOW ((uint64_t)10) /* seconds */
#define MINUTE ((uint64_t)60)
#define HOUR ((uint64_t)3600)
#define DAY ((uint64_t)86400)
#define RATE 19
#define DEPTH_MAX 64
#define FUNCTIONS 400 /* of a service */
#define THREADS 3

struct path {
    uint32_t service;
    uint32_t depth;
    uint32_t functions[DEPTH_MAX];
};

/* The items of a window, by the ids of the profile of all. An entry is valid if its window is
 * the current one. */
struct renumbered {
    uint32_t window, id;
};

struct window {
    struct profile profile; /* tables of the profile of all, and these: */
    struct frame *frames;
    struct stack *stacks;
    struct sample *samples;
    label_set_id *labels;
    uint32_t number;
};

struct machine {
    uint64_t days, cores, services, stacks;
    struct path *paths;
    struct profile *all;
    stack_id *ids; /* by path */
    thread_id threads[THREADS];
    event_id event;
    label_set_id *labels; /* by service */
    struct renumbered *known_frames, *known_stacks;
    struct window window;
    uint64_t random;
    struct store_limits limits;
    double longest_add, longest_retention; /* s */
    struct arena arena;                    /* of the hour's metrics */
    struct store_metric_block hour;
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

/* How much of its most work a service does: little at 3:00, most at 15:00; each tenth one the
 * other way round. */
static double activity(uint64_t service, uint64_t second)
{
    double hour = (double)(second % DAY) / (double)HOUR;
    double wave = 0.5 - 0.5 * cos(2 * 3.14159265358979 * (hour - 3) / 24);
    return 0.25 + 0.75 * (service % 10 == 9 ? 1 - wave : wave);
}

/* --- Names and stacks --------------------------------------------------------------- */

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

static void make_stacks(struct machine *m, struct builder *b, frame_id *frames)
{
    for (uint32_t service = 0; service < m->services; service++)
        for (uint32_t i = 0; i < FUNCTIONS; i++)
            frames[service * FUNCTIONS + i] = frame_of(b, service, i);
    for (uint64_t i = 0; i < m->stacks; i++) {
        const struct path *p = &m->paths[i];
        for (uint32_t k = 0; k < p->depth; k++)
            m->ids[i] = builder_push(b, m->ids[i],
                                     frames[p->service * FUNCTIONS + p->functions[k]]);
    }
}

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

static bool make_all(struct machine *m, struct builder *b, struct error *err)
{
    char name[32];
    frame_id *frames = calloc(m->services * FUNCTIONS, sizeof *frames);
    m->labels = calloc(m->services, sizeof *m->labels);
    m->ids = calloc(m->stacks, sizeof *m->ids);
    if (!frames || !m->labels || !m->ids)
        return error_memory(err);
    make_stacks(m, b, frames);
    free(frames);
    for (uint64_t i = 0; i < m->services; i++)
        m->labels[i] = labels_of(b, i);
    for (unsigned i = 0; i < THREADS; i++) {
        format_text(name, sizeof name, "worker%u", i);
        m->threads[i] = builder_thread(b, 1, i, str_of(name));
    }
    m->event = builder_event(b, STR("cpu-clock"), UNIT_NANOSECONDS);
    m->all = builder_finish(b, err);
    return m->all != NULL;
}

static bool make_tables(struct machine *m, struct error *err)
{
    struct window *w = &m->window;
    size_t samples = m->cores * RATE * WINDOW;
    w->profile = *m->all;
    w->frames = w->profile.frames = calloc(m->all->frame_count, sizeof *w->frames);
    w->stacks = w->profile.stacks = calloc(m->all->stack_count, sizeof *w->stacks);
    w->samples = w->profile.samples = calloc(samples, sizeof *w->samples);
    w->labels = w->profile.sample_labels = calloc(samples, sizeof *w->labels);
    m->known_frames = calloc(m->all->frame_count, sizeof *m->known_frames);
    m->known_stacks = calloc(m->all->stack_count, sizeof *m->known_stacks);
    return (w->frames && w->stacks && w->samples && w->labels && m->known_frames &&
            m->known_stacks) ||
           error_memory(err);
}

/* --- Windows ------------------------------------------------------------------------ */

static frame_id frame_in(struct machine *m, frame_id frame)
{
    struct renumbered *known = &m->known_frames[frame];
    struct window *w = &m->window;
    if (known->window != w->number) {
        *known = (struct renumbered){w->number, (uint32_t)w->profile.frame_count};
        w->frames[w->profile.frame_count++] = m->all->frames[frame];
    }
    return known->id;
}

/* The stack and its callers get numbers in this window, as they would get in a builder. */
static stack_id stack_in(struct machine *m, stack_id stack)
{
    stack_id path[DEPTH_MAX];
    size_t count = 0;
    struct window *w = &m->window;
    for (; stack && m->known_stacks[stack].window != w->number;
         stack = m->all->stacks[stack].parent)
        path[count++] = stack;
    stack_id at = stack ? m->known_stacks[stack].id : 0;
    while (count--) {
        struct stack s = {at, frame_in(m, m->all->stacks[path[count]].frame)};
        at = (stack_id)w->profile.stack_count++;
        w->stacks[at] = s;
        m->known_stacks[path[count]] = (struct renumbered){w->number, at};
    }
    return at;
}

static uint64_t choose_service(struct machine *m, uint64_t second)
{
    uint64_t service;
    do
        service = zipf(m, m->services);
    while (activity(service, second) * 1000 < (double)below(m, 1000));
    return service;
}

static void add_sample(struct machine *m, uint64_t second)
{
    struct window *w = &m->window;
    uint64_t service = choose_service(m, second);
    uint64_t path = service + m->services * zipf(m, m->stacks / m->services);
    size_t at = w->profile.sample_count++;
    w->labels[at] = m->labels[service];
    w->samples[at] = (struct sample){.time = (second + below(m, WINDOW)) * STORE_SECOND,
                                     .cpu = CPU_NONE,
                                     .event = m->event,
                                     .thread = m->threads[below(m, THREADS)],
                                     .stack = stack_in(m, m->ids[path]),
                                     .count = 1,
                                     .weight = 1e9 / RATE};
}

/* CPUs are idle as services are. */
static void make_window(struct machine *m, uint64_t second)
{
    struct window *w = &m->window;
    uint64_t most = m->cores * RATE * WINDOW;
    w->number++;
    w->profile.frame_count = w->profile.stack_count = 1;
    w->profile.sample_count = 0;
    for (uint64_t i = 0; i < most; i++)
        if ((double)below(m, 1000) < activity(0, second) * 1000)
            add_sample(m, second);
}

/* --- Metrics ------------------------------------------------------------------------ */

/* Numbers of a busy machine: what is constant, what follows its work, and what is random. */
static const struct metric {
    const char *name, *unit;
    double base, work;
    uint64_t noise, grain;
} system_metrics[] = {
    {"cpu.user", "ms/s", 100, 3000, 200, 1},
    {"cpu.nice", "ms/s", 0, 0, 2, 1},
    {"cpu.system", "ms/s", 50, 500, 80, 1},
    {"cpu.idle", "ms/s", 3800, -3500, 250, 1},
    {"cpu.iowait", "ms/s", 2, 30, 20, 1},
    {"cpu.irq", "ms/s", 0, 0, 1, 1},
    {"cpu.softirq", "ms/s", 2, 40, 10, 1},
    {"cpu.steal", "ms/s", 0, 0, 3, 1},
    {"cpu.count", "", 4, 0, 1, 1},
    {"threads.running", "", 1, 6, 4, 1},
    {"threads.blocked", "", 0, 0, 2, 1},
    {"load.threads", "", 900, 100, 20, 1},
    {"load.1", "1/100", 50, 400, 20, 1},
    {"kernel.context_switches", "1/s", 2000, 30000, 3000, 1},
    {"kernel.interrupts", "1/s", 1500, 15000, 2000, 1},
    {"kernel.softirqs", "1/s", 1000, 12000, 1500, 1},
    {"kernel.forks", "1/s", 1, 20, 10, 1},
    {"memory.total", "bytes", 16e9, 0, 1, 1},
    {"memory.used", "bytes", 6e9, 2e9, 5000, 4096},
    {"memory.free", "bytes", 1e9, -5e8, 5000, 4096},
    {"memory.available", "bytes", 9e9, -2e9, 5000, 4096},
    {"memory.buffers", "bytes", 3e8, 0, 20, 4096},
    {"memory.cached", "bytes", 8e9, -1e9, 500, 4096},
    {"memory.slab", "bytes", 6e8, 0, 100, 4096},
    {"memory.reclaimable", "bytes", 4e8, 0, 100, 4096},
    {"memory.anonymous", "bytes", 5e9, 2e9, 3000, 4096},
    {"memory.dirty", "bytes", 1e6, 5e6, 800, 4096},
    {"swap.total", "bytes", 2e9, 0, 1, 1},
    {"swap.free", "bytes", 2e9, 0, 1, 1},
    {"pressure.cpu.some", "us/s", 500, 200000, 20000, 1},
    {"pressure.memory.some", "us/s", 0, 0, 2, 1},
    {"pressure.memory.full", "us/s", 0, 0, 2, 1},
    {"pressure.io.some", "us/s", 100, 10000, 5000, 1},
    {"pressure.io.full", "us/s", 50, 5000, 3000, 1},
    {"disk.read", "bytes/s", 0, 2e6, 500, 4096},
    {"disk.write", "bytes/s", 2e5, 6e6, 900, 4096},
    {"disk.nvme0n1.read", "bytes/s", 0, 2e6, 500, 4096},
    {"disk.nvme0n1.write", "bytes/s", 2e5, 6e6, 900, 4096},
    {"disk.nvme0n1.reads", "1/s", 0, 100, 60, 1},
    {"disk.nvme0n1.writes", "1/s", 20, 300, 90, 1},
    {"disk.nvme0n1.read_time", "ms/s", 0, 20, 20, 1},
    {"disk.nvme0n1.write_time", "ms/s", 4, 60, 40, 1},
    {"disk.nvme0n1.busy", "ms/s", 5, 100, 40, 1},
    {"net.in", "bytes/s", 1e4, 9e6, 900000, 1},
    {"net.out", "bytes/s", 1e4, 3e7, 3000000, 1},
    {"net.eth0.in", "bytes/s", 1e4, 9e6, 900000, 1},
    {"net.eth0.out", "bytes/s", 1e4, 3e7, 3000000, 1},
};

#define METRICS (sizeof system_metrics / sizeof *system_metrics)
#define MODES 8 /* the first metrics are also those of each core */

static void name_metric(const struct machine *m, size_t i, char name[48],
                        struct metric *facts)
{
    if (i < METRICS) {
        *facts = system_metrics[i];
        format_text(name, 48, "%s", facts->name);
        return;
    }
    *facts = system_metrics[(i - METRICS) % MODES];
    facts->base /= (double)m->cores;
    facts->work /= (double)m->cores;
    format_text(name, 48, "core.%u%s", (unsigned)((i - METRICS) / MODES),
                facts->name + strlen("cpu"));
}

static int64_t mean_of(const struct store_metric *metric)
{
    double sum = 0;
    for (size_t k = 0; k < STORE_BLOCK_VALUES; k++)
        sum += (double)metric->values[k];
    return (int64_t)(sum / STORE_BLOCK_VALUES + 0.5);
}

/* The seconds of a minute; the hour gets their means. */
static bool make_minute(struct machine *m, struct store_metric_block *block,
                        struct arena *a, uint64_t start)
{
    char name[48];
    struct metric facts;
    double work = activity(0, start);
    *block = (struct store_metric_block){.start = start, .step = 1};
    for (size_t i = 0; i < METRICS + MODES * m->cores; i++) {
        name_metric(m, i, name, &facts);
        struct store_metric *metric =
            store_metric_put(block, a, str_of(name), str_of(facts.unit), i);
        struct store_metric *mean =
            store_metric_put(&m->hour, &m->arena, str_of(name), str_of(facts.unit), i);
        if (!metric || !mean)
            return false;
        for (size_t k = 0; k < STORE_BLOCK_VALUES; k++)
            metric->values[k] = (int64_t)(facts.base + facts.work * work) +
                                (int64_t)(below(m, facts.noise) * facts.grain);
        mean->values[start % HOUR / MINUTE] = mean_of(metric);
    }
    return !a->failed && !m->arena.failed;
}

/* --- The history -------------------------------------------------------------------- */

/* Blocks are written with the window in which they become complete. */
static bool add_metrics(struct machine *m, struct store_window *w,
                        struct store_metric_block *blocks, struct arena *a,
                        struct error *err)
{
    uint64_t end = w->end / STORE_SECOND;
    w->metrics = blocks;
    if (end % MINUTE != 0)
        return true;
    if ((end - MINUTE) % HOUR == 0) {
        arena_deinit(&m->arena);
        m->hour = (struct store_metric_block){.start = end - MINUTE, .step = MINUTE};
    }
    if (!make_minute(m, &blocks[w->metric_count++], a, end - MINUTE))
        return error_memory(err);
    if (end % HOUR == 0)
        blocks[w->metric_count++] = m->hour;
    return true;
}

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void note_longest(double *longest, double began)
{
    double took = clock_now() - began;
    *longest = took > *longest ? took : *longest;
}

static bool add_window(struct machine *m, struct store *s, const struct store_window *w,
                       struct error *err)
{
    double began = clock_now();
    bool ok = s->kind->add(s, w, err);
    note_longest(&m->longest_add, began);
    return ok;
}

static bool retain(struct machine *m, struct store *s, uint64_t now, struct error *err)
{
    double began = clock_now();
    bool ok = s->kind->retain(s, &m->limits, now, err);
    note_longest(&m->longest_retention, began);
    return ok;
}

static bool write_window(struct machine *m, struct store *s, uint64_t second,
                         struct error *err)
{
    struct arena a = ARENA_INIT;
    struct store_metric_block blocks[2];
    uint64_t start = second * STORE_SECOND;
    struct store_window w = {.profile = &m->window.profile,
                             .start = start,
                             .end = start + WINDOW * STORE_SECOND,
                             .rate = RATE};
    make_window(m, second);
    bool ok = add_metrics(m, &w, blocks, &a, err) && add_window(m, s, &w, err) &&
              ((second + WINDOW) % MINUTE || retain(m, s, w.end, err));
    arena_deinit(&a);
    return ok;
}

static bool write_history(struct machine *m, struct store *s, struct error *err)
{
    struct store_usage u;
    if (!s->kind->usage(s, &u, err))
        return false;
    uint64_t start = u.last ? u.last / STORE_SECOND : END - m->days * DAY;
    uint64_t end = start + m->days * DAY;
    for (uint64_t second = start; second < end; second += WINDOW) {
        if (!write_window(m, s, second, err))
            return false;
        if (second % DAY == 0)
            fprintf(stderr, "%llu days to write\n",
                    (unsigned long long)((end - second) / DAY));
    }
    fprintf(stderr, "the longest calls: %.1f ms to add a window, %.1f ms of retention\n",
            m->longest_add * 1e3, m->longest_retention * 1e3);
    return true;
}

static uint64_t number(int count, char **words, int at, uint64_t fallback)
{
    uint64_t value = count > at ? strtoull(words[at], NULL, 10) : 0;
    return value ? value : fallback;
}

static bool make_machine(struct machine *m, struct error *err)
{
    struct builder b;
    m->paths = calloc(m->stacks, sizeof *m->paths);
    if (!m->paths || !builder_init(&b, BUILD_KEEP))
        return error_memory(err);
    for (uint64_t i = 0; i < m->stacks; i++)
        make_path(m, i);
    bool ok = make_all(m, &b, err) && make_tables(m, err);
    builder_deinit(&b);
    return ok;
}

static void free_machine(struct machine *m)
{
    free(m->window.frames);
    free(m->window.stacks);
    free(m->window.samples);
    free(m->window.labels);
    free(m->known_frames);
    free(m->known_stacks);
    free(m->paths);
    free(m->ids);
    free(m->labels);
    arena_deinit(&m->arena);
    profile_destroy(m->all);
}

int main(int count, char **words)
{
    struct error err = {.message = ""};
    struct machine m = {.days = number(count, words, 2, 30),
                        .cores = number(count, words, 3, 4),
                        .services = number(count, words, 4, 50),
                        .stacks = number(count, words, 5, 80000),
                        .limits = {number(count, words, 6, 0) * DAY * STORE_SECOND,
                                   number(count, words, 7, 0) * 1000000},
                        .random = 1};
    if (count < 2 || m.stacks < m.services) {
        fprintf(stderr, "usage: history FILE [DAYS [CORES [SERVICES [STACKS [KEEP_DAYS "
                        "[KEEP_MB]]]]]]\n");
        return 2;
    }
    struct store *s = store_open(words[1], STORE_WRITE, &err);
    bool ok = s && make_machine(&m, &err) && write_history(&m, s, &err);
    store_close(s);
    free_machine(&m);
    if (!ok)
        fprintf(stderr, "history: %s\n", err.message);
    return !ok;
}
