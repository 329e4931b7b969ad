/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/texts.h"

/* The columns of mpstat, from the left. */
static const enum cpu_mode mpstat_modes[] = {
    CPU_USER,    CPU_NICE,  CPU_SYSTEM, CPU_IOWAIT,     CPU_IRQ,
    CPU_SOFTIRQ, CPU_STEAL, CPU_GUEST,  CPU_GUEST_NICE, CPU_IDLE};

#define MPSTAT_MODES (sizeof mpstat_modes / sizeof *mpstat_modes)

bool lepd_write_cpu_info(const struct lepd_machine *m, struct output *o)
{
    struct output text = OUTPUT_BUFFER;
    struct str rest, name = STR("");
    size_t count = 0;
    bool ok = m->file(m->context, "/proc/cpuinfo", &text);
    rest = output_contents(&text);
    while (rest.len) {
        struct str value = str_cut(&rest, '\n');
        struct str key = str_trim(str_cut(&value, ':'));
        count += str_equal(key, STR("processor"));
        /* ARM has "Processor" or "Hardware" */
        if (name.len == 0 &&
            (str_equal(key, STR("model name")) || str_equal(key, STR("Processor")) ||
             str_equal(key, STR("Hardware")) || str_equal(key, STR("uarch"))))
            name = str_trim(value);
    }
    output_format(o, "cpunr: %zu\ncpu_name: %.*s\n", count ? count : m->now->cpu.count,
                  STR_ARG(name));
    output_deinit(&text);
    return ok;
}

/* The first column of a row: the time, or "Average:". */
static void put_first(const struct lepd_machine *m, struct output *o, bool average,
                      bool begin)
{
    uint64_t wall = begin && m->before ? m->before->wall : m->now->wall;
    struct lepd_clock c = m->clock(m->context, wall);
    if (average)
        output_text(o, "Average:   ");
    else
        output_format(o, "%02u:%02u:%02u   ", c.hour, c.minute, c.second);
}

static void put_shares(struct output *o, const struct cpu_time *before,
                       const struct cpu_time *now)
{
    static const struct cpu_time boot;
    double shares[CPU_MODES];
    cpu_shares(before ? before : &boot, now, shares);
    for (size_t i = 0; i < MPSTAT_MODES; i++)
        output_format(o, "%8.2f", shares[mpstat_modes[i]] * 100);
    output_char(o, '\n');
}

static void put_mpstat_block(const struct lepd_machine *m, struct output *o, bool average)
{
    const struct cpu_counters *now = &m->now->cpu;
    const struct cpu_counters *before = m->before ? &m->before->cpu : NULL;
    output_char(o, '\n');
    put_first(m, o, average, true);
    output_text(o, "  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal"
                   "  %guest  %gnice   %idle\n");
    put_first(m, o, average, false);
    output_text(o, "  all");
    put_shares(o, before ? &before->all : NULL, &now->all);
    for (size_t i = 0; i < now->count; i++) {
        put_first(m, o, average, false);
        output_format(o, "%5u", now->cpus[i].cpu);
        put_shares(o, before ? cpu_counters_find(before, now->cpus[i].cpu) : NULL,
                   &now->cpus[i]);
    }
}

bool lepd_write_mpstat(const struct lepd_machine *m, struct output *o)
{
    lepd_write_sysstat_line(m, o);
    put_mpstat_block(m, o, false);
    put_mpstat_block(m, o, true);
    return m->now->cpu.count > 0;
}

/* The increase of a counter in a column, per second. */
static double rate_of(const struct lepd_machine *m, const struct cpu_counter *before,
                      const struct cpu_counter *now, size_t column)
{
    uint64_t first = cpu_counter_at(before, column), last = cpu_counter_at(now, column);
    return last > first ? (double)(last - first) / lepd_interval(m) : 0;
}

static void put_counters(const struct lepd_machine *m, struct output *o, bool average,
                         const struct cpu_counter_table *before,
                         const struct cpu_counter_table *now)
{
    output_char(o, '\n');
    put_first(m, o, average, true);
    output_text(o, "  CPU");
    for (size_t i = 0; i < now->count; i++)
        output_format(o, " %8.*s/s", STR_ARG(now->rows[i].name));
    for (size_t k = 0; k < now->cpu_count; k++) {
        output_char(o, '\n');
        put_first(m, o, average, false);
        output_format(o, "%5u", now->cpus[k]);
        for (size_t i = 0; i < now->count; i++) {
            const struct cpu_counter *row =
                before ? cpu_counter_find(before, now->rows[i].name, i) : NULL;
            output_format(o, " %10.2f", rate_of(m, row, &now->rows[i], k));
        }
    }
    output_char(o, '\n');
}

static void put_interrupt_blocks(const struct lepd_machine *m, struct output *o,
                                 bool average)
{
    uint64_t before = m->before ? m->before->cpu.interrupts : 0;
    uint64_t now = m->now->cpu.interrupts;
    output_char(o, '\n');
    put_first(m, o, average, true);
    output_text(o, "  CPU    intr/s\n");
    put_first(m, o, average, false);
    output_format(o, "  all%10.2f\n",
                  now > before ? (double)(now - before) / lepd_interval(m) : 0);
    put_counters(m, o, average, m->before ? &m->before->interrupts : NULL,
                 &m->now->interrupts);
    put_counters(m, o, average, m->before ? &m->before->softirqs : NULL,
                 &m->now->softirqs);
}

bool lepd_write_mpstat_interrupts(const struct lepd_machine *m, struct output *o)
{
    lepd_write_sysstat_line(m, o);
    put_interrupt_blocks(m, o, false);
    put_interrupt_blocks(m, o, true);
    return m->now->softirqs.count > 0;
}

static uint64_t per_second(const struct lepd_machine *m, uint64_t before, uint64_t now)
{
    return now > before ? (uint64_t)((double)(now - before) / lepd_interval(m) + 0.5) : 0;
}

bool lepd_write_irq_info(const struct lepd_machine *m, struct output *o)
{
    const struct metrics *before = m->before;
    output_format(o, "irq:%llu/s softirq:%llu/s\n",
                  (unsigned long long)per_second(m, before ? before->cpu.interrupts : 0,
                                                 m->now->cpu.interrupts),
                  (unsigned long long)per_second(m, before ? before->cpu.softirqs : 0,
                                                 m->now->cpu.softirqs));
    return m->now->cpu.count > 0;
}
