/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/processes.h"
#include "base/sort.h"
#include "codec/json.h"
#include "daemon/labels.h"
#include "lepd/machine.h"
#include "os/machine.h"
#include "os/proc.h"

#define AGE ((uint64_t)900000000) /* ns: a younger reading is used again */
#define TICK_MS 10
#define CGROUP_ROOM 4096

bool daemon_processes_init(struct daemon_processes *p)
{
    return os_lock_init(&p->lock);
}

void daemon_processes_deinit(struct daemon_processes *p)
{
    if (p->has_before)
        metrics_deinit(&p->before);
    if (p->has_now)
        metrics_deinit(&p->now);
    os_lock_deinit(&p->lock);
}

/* Rates need a reading before; one that is too old would make them means of the past. */
static bool read_now(struct daemon_processes *p)
{
    uint64_t time = os_clock_monotonic();
    if (p->has_now && time - p->now.time < AGE)
        return true;
    if (p->has_before)
        metrics_deinit(&p->before);
    p->before = p->now;
    p->has_before = p->has_now;
    p->has_now = true;
    return metrics_read(&p->now, &lepd_metrics_source, METRICS_PROCESSES, time,
                        os_clock_real());
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
    const struct process_counters *b =
        p->has_before ? metrics_find_process(&p->before, now->pid, now->start) : NULL;
    if (!b)
        return (struct rates){0};
    double seconds = metrics_seconds(&p->before, &p->now);
    uint64_t ticks = increase(b->user + b->system, now->user + now->system);
    return (struct rates){
        (uint64_t)((double)(ticks * TICK_MS) / seconds + 0.5),
        (uint64_t)((double)increase(b->read_bytes, now->read_bytes) / seconds + 0.5),
        (uint64_t)((double)increase(b->written_bytes, now->written_bytes) / seconds +
                   0.5)};
}

/* Proportional memory, which is slow to read: 0 if it cannot be read. */
static uint64_t pss_of(uint32_t pid)
{
    char path[64], text[2048];
    uint64_t kib = 0;
    format_text(path, sizeof path, "/proc/%u/smaps_rollup", pid);
    struct str rest = os_read_text(path, text, sizeof text);
    while (rest.len && !kib) {
        struct str line = str_cut(&rest, '\n');
        if (str_starts(line, STR("Pss:")))
            for (size_t i = 4; i < line.len; i++)
                if (line.ptr[i] >= '0' && line.ptr[i] <= '9')
                    kib = kib * 10 + (uint64_t)(line.ptr[i] - '0');
    }
    return kib * 1024;
}

static void put_text(struct json_writer *w, const char *key, struct str value)
{
    if (value.len)
        json_member_str(w, key, value);
}

static void put_process(struct json_writer *w, const struct process_counters *c,
                        const struct rates *r, bool with_pss)
{
    char path[64], text[CGROUP_ROOM], user[64] = "";
    format_text(path, sizeof path, "/proc/%u/cgroup", c->pid);
    struct daemon_cgroup group =
        daemon_cgroup_parse(os_read_text(path, text, sizeof text));
    os_user_name(c->user_id, user, sizeof user);
    uint64_t pss = with_pss ? pss_of(c->pid) : 0;
    json_begin(w, JSON_OBJECT);
    json_member_u64(w, "pid", c->pid);
    json_member_str(w, "name", str_of(c->name));
    put_text(w, "user", str_of(user));
    put_text(w, "service", group.service);
    put_text(w, "container", group.container);
    json_member_str(w, "state", (struct str){&c->state, 1});
    json_member_u64(w, "threads", c->threads);
    json_member_u64(w, "cpu", r->cpu);
    json_member_u64(w, "rss", c->resident_pages * os_page_size());
    if (pss)
        json_member_u64(w, "pss", pss);
    if (c->has_io) {
        json_member_u64(w, "read", r->read);
        json_member_u64(w, "written", r->written);
    }
    json_end(w, JSON_OBJECT);
}

#define PSS_COUNT 25 /* processes whose proportional memory is read */

static void write_processes(const struct daemon_processes *p, const struct sort_key *keys,
                            const struct rates *rates, struct output *out)
{
    const struct metrics *m = &p->now;
    struct json_writer w = {.out = out};
    json_begin(&w, JSON_OBJECT);
    json_member_u64(&w, "time", m->wall / 1000000000);
    json_member_u64(&w, "count", m->process_count);
    json_put_key(&w, "processes");
    json_begin(&w, JSON_ARRAY);
    for (size_t i = 0; i < m->process_count && i < DAEMON_PROCESSES_MAX; i++)
        put_process(&w, &m->processes[keys[i].id], &rates[keys[i].id], i < PSS_COUNT);
    json_end(&w, JSON_ARRAY);
    json_end(&w, JSON_OBJECT);
}

bool daemon_processes_write(struct daemon_processes *p, struct output *out)
{
    struct arena arena = {0};
    os_lock_acquire(&p->lock);
    bool ok = read_now(p);
    size_t n = p->now.process_count;
    struct sort_key *keys = ok ? arena_zalloc(&arena, 2 * n + 1, sizeof *keys) : NULL;
    struct rates *rates = keys ? arena_zalloc(&arena, n + 1, sizeof *rates) : NULL;
    for (size_t i = 0; rates && i < n; i++) {
        const struct process_counters *c = &p->now.processes[i];
        rates[i] = rates_of(p, c);
        uint64_t memory = c->resident_pages < 1u << 30 ? c->resident_pages : 1u << 30;
        keys[i] =
            (struct sort_key){UINT64_MAX - (rates[i].cpu << 31 | memory), (uint32_t)i};
    }
    if (rates) {
        sort_keys(keys, n, keys + n);
        write_processes(p, keys, rates, out);
    }
    os_lock_release(&p->lock);
    arena_deinit(&arena);
    return rates != NULL;
}
