/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/sort.h"
#include "lepd/texts.h"

#define TICKS 100.0 /* per second, of all Linux machines */
#define COMMAND_MAX 4096

/* Writes the command line of a process, or its name in brackets. */
static void put_command(const struct lepd_machine *m, struct output *o,
                        const struct process_counters *p)
{
    struct output text = OUTPUT_BUFFER;
    char path[64];
    format_text(path, sizeof path, "/proc/%u/cmdline", p->pid);
    bool ok = m->file(m->context, path, &text);
    struct str line = str_head(output_contents(&text), COMMAND_MAX);
    while (line.len && line.ptr[line.len - 1] == '\0')
        line.len--;
    if (!ok || line.len == 0)
        output_format(o, "[%s]", p->name);
    for (size_t i = 0; i < line.len; i++)
        output_char(o, (unsigned char)line.ptr[i] < ' ' ? ' ' : line.ptr[i]);
    output_deinit(&text);
}

/* CPU time as a share of the time since the start, in thousandths: what ps shows. */
static uint64_t cpu_share(const struct lepd_machine *m, const struct process_counters *p)
{
    uint64_t up = (uint64_t)(m->now->uptime * TICKS);
    uint64_t lived = up > p->start ? (up - p->start) / 100 : 0; /* s */
    double ticks = (double)(p->user + p->system);
    return lived ? (uint64_t)(ticks * 1000 / TICKS / (double)lived) : 0;
}

/* Indexes of the processes in descending order of `key`; NULL when out of memory. */
static struct sort_key *sort_processes(const struct lepd_machine *m, struct arena *a,
                                       uint64_t (*key)(const struct lepd_machine *m,
                                                       const struct process_counters *p))
{
    size_t n = m->now->process_count;
    struct sort_key *keys = arena_zalloc(a, 2 * n + 1, sizeof *keys);
    for (size_t i = 0; keys && i < n; i++)
        keys[i] =
            (struct sort_key){UINT64_MAX - key(m, &m->now->processes[i]), (uint32_t)i};
    if (keys)
        sort_keys(keys, n, keys + n);
    return keys;
}

/* [DAYS-]HH:MM:SS */
static void put_cpu_time(struct output *o, uint64_t ticks)
{
    unsigned long long s = ticks / 100;
    if (s >= 86400)
        output_format(o, "%llu-", s / 86400);
    output_format(o, "%02llu:%02llu:%02llu", s / 3600 % 24, s / 60 % 60, s % 60);
}

static void put_user(const struct lepd_machine *m, struct output *o,
                     const struct process_counters *p)
{
    char user[64];
    m->user_name(m->context, p->user_id, user, sizeof user);
    if (strlen(user) > 8)
        format_text(user + 7, 2, "+");
    output_format(o, "%-8s", user);
}

static void put_top_row(const struct lepd_machine *m, struct output *o,
                        const struct process_counters *p)
{
    uint64_t total = metric_field(&m->now->memory, STR("MemTotal"));
    uint64_t resident = p->resident_pages * m->page_size / 1024;
    uint64_t share = cpu_share(m, p), memory = total ? resident * 1000 / total : 0;
    output_format(o, "%5u ", p->pid);
    put_user(m, o, p);
    output_format(o, " %3d %3d %6llu %5llu %c", 39 - p->priority, p->nice,
                  (unsigned long long)(p->virtual_bytes / 1024),
                  (unsigned long long)resident, p->state);
    if (share > 999)
        output_format(o, " %4llu", (unsigned long long)(share / 10));
    else
        output_format(o, " %4.1f", (double)share / 10);
    output_format(o, " %4.1f ", (double)memory / 10);
    put_cpu_time(o, p->user + p->system);
    output_char(o, ' ');
    put_command(m, o, p);
    output_char(o, '\n');
}

bool lepd_write_top(const struct lepd_machine *m, struct output *o)
{
    struct arena scratch = ARENA_INIT;
    struct sort_key *order = sort_processes(m, &scratch, cpu_share);
    output_text(o, "  PID USER     PRI  NI    VSZ   RSS S %CPU %MEM     TIME CMD\n");
    for (size_t i = 0; order && i < m->now->process_count; i++)
        put_top_row(m, o, &m->now->processes[order[i].id]);
    arena_deinit(&scratch);
    return order && m->now->has_processes;
}

/* --- iotop ------------------------------------------------------------------------ */

static const struct process_counters *earlier(const struct lepd_machine *m,
                                              const struct process_counters *p)
{
    static const struct process_counters none;
    const struct process_counters *before =
        m->before ? metrics_find_process(m->before, p->pid, p->start) : NULL;
    return before ? before : &none;
}

static uint64_t increase(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static uint64_t io_of(const struct lepd_machine *m, const struct process_counters *p)
{
    const struct process_counters *before = earlier(m, p);
    return increase(before->read_bytes, p->read_bytes) +
           increase(before->written_bytes, p->written_bytes);
}

static void put_rate(struct output *o, double bytes)
{
    static const char units[] = "BKMG";
    size_t unit = 0;
    for (; bytes >= 1000 && units[unit + 1]; unit++)
        bytes /= 1024;
    output_format(o, " %7.2f %c/s", bytes, units[unit]);
}

static void put_totals(const struct lepd_machine *m, struct output *o)
{
    uint64_t read = 0, written = 0;
    for (size_t i = 0; i < m->now->process_count; i++) {
        const struct process_counters *p = &m->now->processes[i], *b = earlier(m, p);
        read += increase(b->read_bytes, p->read_bytes);
        written += increase(b->written_bytes, p->written_bytes);
    }
    output_text(o, "Total DISK READ :");
    put_rate(o, (double)read / lepd_interval(m));
    output_text(o, " | Total DISK WRITE :");
    put_rate(o, (double)written / lepd_interval(m));
    output_char(o, '\n');
}

static void put_iotop_row(const struct lepd_machine *m, struct output *o,
                          const struct process_counters *p)
{
    const struct process_counters *b = earlier(m, p);
    double seconds = lepd_interval(m);
    double waited = (double)increase(b->block_delay, p->block_delay) / seconds;
    output_format(o, "%7u be/%d ", p->pid, (p->nice + 20) / 5);
    put_user(m, o, p);
    put_rate(o, (double)increase(b->read_bytes, p->read_bytes) / seconds);
    put_rate(o, (double)increase(b->written_bytes, p->written_bytes) / seconds);
    output_format(o, "  0.00 %% %5.2f %% %s\n", waited < 99.99 ? waited : 99.99, p->name);
}

bool lepd_write_iotop(const struct lepd_machine *m, struct output *o)
{
    struct arena scratch = ARENA_INIT;
    struct sort_key *order = sort_processes(m, &scratch, io_of);
    put_totals(m, o);
    output_text(o, "    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO"
                   "    COMMAND\n");
    for (size_t i = 0; order && i < m->now->process_count; i++)
        put_iotop_row(m, o, &m->now->processes[order[i].id]);
    arena_deinit(&scratch);
    return order && m->now->has_processes;
}

/* --- procrank --------------------------------------------------------------------- */

struct rank {
    uint64_t pss, uss; /* KiB */
};

static struct rank read_rank(const struct lepd_machine *m,
                             const struct process_counters *p)
{
    struct output text = OUTPUT_BUFFER;
    struct rank rank = {0};
    char path[64];
    format_text(path, sizeof path, "/proc/%u/smaps_rollup", p->pid);
    if (m->file(m->context, path, &text)) {
        struct str s = output_contents(&text);
        rank.pss = metric_field_in(s, STR("Pss"));
        rank.uss = metric_field_in(s, STR("Private_Clean")) +
                   metric_field_in(s, STR("Private_Dirty"));
    }
    output_deinit(&text);
    return rank;
}

static void put_rank(const struct lepd_machine *m, struct output *o,
                     const struct process_counters *p, const struct rank *rank)
{
    output_format(o, "%5u  %8lluK %7lluK %7lluK %7lluK  ", p->pid,
                  (unsigned long long)(p->virtual_bytes / 1024),
                  (unsigned long long)(p->resident_pages * m->page_size / 1024),
                  (unsigned long long)rank->pss, (unsigned long long)rank->uss);
    put_command(m, o, p);
    output_char(o, '\n');
}

static void put_rank_sums(const struct lepd_machine *m, struct output *o, uint64_t pss,
                          uint64_t uss)
{
    static const char *const fields[][2] = {{"MemTotal", "total"},  {"MemFree", "free"},
                                            {"Buffers", "buffers"}, {"Cached", "cached"},
                                            {"Shmem", "shmem"},     {"Slab", "slab"}};
    output_text(o, "                           ------   ------  ------\n");
    output_format(o, "                          %7lluK %7lluK  TOTAL\n\nRAM:",
                  (unsigned long long)pss, (unsigned long long)uss);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        output_format(
            o, "%s %lluK %s", i ? "," : "",
            (unsigned long long)metric_field(&m->now->memory, str_of(fields[i][0])),
            fields[i][1]);
    output_char(o, '\n');
}

/* The processes in descending order of PSS; those without memory are left out. */
bool lepd_write_procrank(const struct lepd_machine *m, struct output *o)
{
    struct arena scratch = ARENA_INIT;
    size_t n = m->now->process_count;
    struct rank *ranks = arena_zalloc(&scratch, n + 1, sizeof *ranks);
    struct sort_key *keys = arena_zalloc(&scratch, 2 * n + 1, sizeof *keys);
    uint64_t pss = 0, uss = 0;
    for (size_t i = 0; ranks && keys && i < n; i++) {
        ranks[i] = read_rank(m, &m->now->processes[i]);
        keys[i] = (struct sort_key){UINT64_MAX - ranks[i].pss, (uint32_t)i};
        pss += ranks[i].pss;
        uss += ranks[i].uss;
    }
    output_text(o, "  PID       Vss      Rss      Pss      Uss  cmdline\n");
    if (ranks && keys)
        sort_keys(keys, n, keys + n);
    for (size_t i = 0; ranks && keys && i < n; i++)
        if (m->now->processes[keys[i].id].virtual_bytes)
            put_rank(m, o, &m->now->processes[keys[i].id], &ranks[keys[i].id]);
    put_rank_sums(m, o, pss, uss);
    arena_deinit(&scratch);
    return ranks && keys && m->now->has_processes;
}
