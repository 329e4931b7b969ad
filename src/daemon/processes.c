/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/processes.h"
#include "base/sort.h"
#include "codec/json.h"
#include "lepd/machine.h"
#include "os/machine.h"

#define AGE ((uint64_t)900000000) /* ns: a younger reading is used again */
#define TICK_MS 10
#define DETAILS_AGE ((uint64_t)10000000000) /* ns: older details are read again */
#define PSS_AGAIN 3  /* at most in one reading, so that no reading is slow */
#define PSS_COUNT 25 /* processes whose proportional memory is read */

bool daemon_processes_init(struct daemon_processes *p)
{
    p->reply = OUTPUT_BUFFER;
    return os_lock_init(&p->lock);
}

static void forget(struct process_reading *r)
{
    metrics_deinit(&r->metrics);
    *r = (struct process_reading){.is_read = false};
}

void daemon_processes_deinit(struct daemon_processes *p)
{
    forget(&p->before);
    forget(&p->now);
    output_deinit(&p->reply);
    os_lock_deinit(&p->lock);
}

/* Rates need a reading before; one that is too old would make them means of the past. */
static bool read_now(struct daemon_processes *p)
{
    struct metrics *m = &p->now.metrics;
    forget(&p->before);
    p->before = p->now;
    p->now = (struct process_reading){.is_read = true};
    if (!metrics_read(m, &lepd_metrics_source, METRICS_PROCESSES, os_clock_monotonic(),
                      os_clock_real()))
        return false;
    p->now.details =
        arena_zalloc(&m->arena, m->process_count + 1, sizeof *p->now.details);
    return p->now.details != NULL;
}

/* The process in the reading before; NULL if it is new. */
static const struct process_counters *find_before(const struct daemon_processes *p,
                                                  const struct process_counters *now)
{
    return p->before.is_read
               ? metrics_find_process(&p->before.metrics, now->pid, now->start)
               : NULL;
}

struct rates {
    uint64_t cpu, read, written;
};

static uint64_t increase(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static struct rates rates_of(const struct daemon_processes *p,
                             const struct process_counters *now)
{
    const struct process_counters *b = find_before(p, now);
    if (!b)
        return (struct rates){0};
    double seconds = metrics_seconds(&p->before.metrics, &p->now.metrics);
    uint64_t ticks = increase(b->user + b->system, now->user + now->system);
    return (struct rates){
        (uint64_t)((double)(ticks * TICK_MS) / seconds + 0.5),
        (uint64_t)((double)increase(b->read_bytes, now->read_bytes) / seconds + 0.5),
        (uint64_t)((double)increase(b->written_bytes, now->written_bytes) / seconds +
                   0.5)};
}

/* --- Details ------------------------------------------------------------------------ */

/* Details are those of the reading before, unless they are missing or too old. `again`:
 * of how many processes proportional memory may be read once more. */
static const struct process_details *details_of(struct daemon_processes *p, size_t id,
                                                bool with_pss, unsigned *again)
{
    struct metrics *m = &p->now.metrics;
    struct process_details *d = &p->now.details[id];
    const struct process_counters *b = find_before(p, &m->processes[id]);
    if (b && p->before.details)
        *d = process_details_copy(&p->before.details[b - p->before.metrics.processes],
                                  &m->arena);
    bool is_old = d->time && m->time - d->time >= DETAILS_AGE;
    bool is_missing = !d->time || (with_pss && !d->has_pss);
    if (is_missing || (is_old && (*again || !with_pss))) {
        *again -= with_pss && !is_missing;
        process_details_read(d, &m->processes[id], m->time, with_pss, &m->arena);
    }
    return d;
}

/* --- The reply ---------------------------------------------------------------------- */

static void put_text(struct json_writer *w, const char *key, struct str value)
{
    if (value.len)
        json_member_str(w, key, value);
}

static void put_process(struct json_writer *w, const struct process_counters *c,
                        const struct process_details *d, const struct rates *r,
                        bool with_pss)
{
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "pid", c->pid);
    json_member_str(w, "name", str_of(c->name));
    put_text(w, "user", d->user);
    put_text(w, "service", d->service);
    put_text(w, "container", d->container);
    json_member_str(w, "state", (struct str){&c->state, 1});
    json_member_u64(w, "threads", c->threads);
    json_member_u64(w, "cpu", r->cpu);
    json_member_u64(w, "rss", c->resident_pages * os_page_size());
    if (with_pss && d->pss)
        json_member_u64(w, "pss", d->pss);
    if (c->has_io) {
        json_member_u64(w, "read", r->read);
        json_member_u64(w, "written", r->written);
    }
    json_end(w, JSON_OBJECT);
}

static void write_reply(struct daemon_processes *p, const struct sort_key *keys,
                        const struct rates *rates)
{
    const struct metrics *m = &p->now.metrics;
    struct json_writer w = {.out = &p->reply};
    unsigned again = PSS_AGAIN;
    p->reply.used = 0;
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "time", m->wall / 1000000000);
    json_member_u64(&w, "count", m->process_count);
    json_put_key(&w, "processes");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < m->process_count && i < DAEMON_PROCESSES_MAX; i++) {
        size_t id = keys[i].id;
        bool with_pss = i < PSS_COUNT;
        put_process(&w, &m->processes[id], details_of(p, id, with_pss, &again),
                    &rates[id], with_pss);
    }
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
}

/* Those with the most CPU time first, then those with the most memory. */
static bool make_reply(struct daemon_processes *p)
{
    struct arena arena = {0};
    bool ok = read_now(p);
    size_t n = p->now.metrics.process_count;
    struct sort_key *keys = ok ? arena_zalloc(&arena, 2 * n + 1, sizeof *keys) : NULL;
    struct rates *rates = keys ? arena_zalloc(&arena, n + 1, sizeof *rates) : NULL;
    for (size_t i = 0; rates && i < n; i++) {
        const struct process_counters *c = &p->now.metrics.processes[i];
        rates[i] = rates_of(p, c);
        uint64_t memory = c->resident_pages < 1u << 30 ? c->resident_pages : 1u << 30;
        keys[i] =
            (struct sort_key){UINT64_MAX - (rates[i].cpu << 31 | memory), (uint32_t)i};
    }
    if (rates) {
        sort_keys(keys, n, keys + n);
        write_reply(p, keys, rates);
    }
    ok = rates && !p->now.metrics.arena.failed && !p->reply.failed;
    arena_deinit(&arena);
    return ok;
}

bool daemon_processes_write(struct daemon_processes *p, struct output *out,
                            uint64_t *until)
{
    os_lock_acquire(&p->lock);
    bool ok = p->until > os_clock_monotonic() || make_reply(p);
    if (ok) {
        p->until = p->now.metrics.time + AGE;
        output_str(out, output_contents(&p->reply));
    } else {
        p->until = 0;
        output_deinit(&p->reply);
        p->reply = OUTPUT_BUFFER;
        forget(&p->now);
    }
    *until = p->until;
    os_lock_release(&p->lock);
    return ok;
}
