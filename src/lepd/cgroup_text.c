/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/format.h"
#include "base/sort.h"
#include "lepd/texts.h"

#define GROUPS_MAX 4096

struct group {
    uint64_t tasks, ticks, read, written, resident;
};

struct groups {
    struct arena arena;
    struct strings names; /* paths; ID 0 is not used */
    struct group *items;  /* by ID */
    size_t count, cap;
};

/* The control group of a process: that of cgroup v2, or of systemd's own hierarchy. */
static struct str group_path(struct str text)
{
    struct str path = STR("/");
    while (text.len) {
        struct str rest = str_cut(&text, '\n');
        struct str number = str_cut(&rest, ':'), kind = str_cut(&rest, ':');
        bool unified = str_equal(number, STR("0")) && kind.len == 0;
        if ((unified && rest.len > 1) || str_equal(kind, STR("name=systemd")))
            path = rest;
    }
    return path;
}

static struct group *find_group(struct groups *g, struct str path)
{
    string_id id = strings_find(&g->names, path);
    if (!id && g->names.count < GROUPS_MAX)
        id = strings_add(&g->names, path);
    while (id && g->count <= id) {
        struct group *item = ARRAY_APPEND(&g->arena, g->items, g->count, g->cap);
        if (!item)
            return NULL;
        *item = (struct group){0};
    }
    return id ? &g->items[id] : NULL;
}

static uint64_t increase(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static void add_process(const struct lepd_machine *m, struct groups *g, struct str path,
                        const struct process_counters *p)
{
    static const struct process_counters none;
    const struct process_counters *b =
        m->before ? metrics_find_process(m->before, p->pid, p->start) : NULL;
    struct group *group = find_group(g, path);
    if (!group)
        return;
    if (!b)
        b = &none;
    group->tasks++;
    group->ticks += increase(b->user + b->system, p->user + p->system);
    group->read += increase(b->read_bytes, p->read_bytes);
    group->written += increase(b->written_bytes, p->written_bytes);
    group->resident += p->resident_pages * m->page_size;
}

/* Adds the process to its group and to all that contain it. */
static void add_to_all(const struct lepd_machine *m, struct groups *g,
                       const struct process_counters *p)
{
    struct output text = OUTPUT_BUFFER;
    char file[64];
    format_text(file, sizeof file, "/proc/%u/cgroup", p->pid);
    bool ok = m->file(m->context, file, &text);
    struct str path = group_path(output_contents(&text));
    while (ok && path.len > 1) {
        add_process(m, g, path, p);
        path = str_head(path, str_rfind(path, '/'));
    }
    add_process(m, g, STR("/"), p);
    output_deinit(&text);
}

static void put_bytes(struct output *o, double bytes)
{
    static const char units[] = "BKMGT";
    char room[32];
    size_t unit = 0;
    for (; bytes >= 1024 && units[unit + 1]; unit++)
        bytes /= 1024;
    format_text(room, sizeof room, "%.1f%c", bytes, units[unit]);
    output_format(o, " %8s", room);
}

static void put_group(const struct lepd_machine *m, struct output *o, struct str name,
                      const struct group *g)
{
    double seconds = lepd_interval(m);
    output_format(o, "%-40.*s %7llu %6.1f", STR_ARG(name), (unsigned long long)g->tasks,
                  (double)g->ticks / seconds);
    put_bytes(o, (double)g->resident);
    put_bytes(o, (double)g->read / seconds);
    put_bytes(o, (double)g->written / seconds);
    output_char(o, '\n');
}

/* In descending order of CPU time. */
static void put_groups(const struct lepd_machine *m, struct output *o, struct groups *g)
{
    struct sort_key *keys = arena_zalloc(&g->arena, 2 * g->count + 1, sizeof *keys);
    output_format(o, "%-40s %7s %6s %8s %8s %8s\n", "Control Group", "Tasks", "%CPU",
                  "Memory", "Input/s", "Output/s");
    for (size_t i = 1; keys && i < g->count; i++)
        keys[i - 1] = (struct sort_key){UINT64_MAX - g->items[i].ticks, (uint32_t)i};
    if (keys && g->count > 1)
        sort_keys(keys, g->count - 1, keys + g->count);
    for (size_t i = 1; keys && i < g->count; i++)
        put_group(m, o, strings_get(&g->names, keys[i - 1].id),
                  &g->items[keys[i - 1].id]);
}

bool lepd_write_cgtop(const struct lepd_machine *m, struct output *o)
{
    struct groups g = {.arena = ARENA_INIT};
    bool ok = strings_init(&g.names, &g.arena);
    for (size_t i = 0; ok && i < m->now->process_count; i++)
        add_to_all(m, &g, &m->now->processes[i]);
    if (ok)
        put_groups(m, o, &g);
    ok &= !g.arena.failed && m->now->has_processes;
    arena_deinit(&g.arena);
    return ok;
}
