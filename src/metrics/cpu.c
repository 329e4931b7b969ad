/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/cpu.h"
#include "base/array.h"
#include "metrics/number.h"

#define CPUS_MAX 8192

static const char *const mode_names[CPU_MODES] = {
    "user", "nice",    "system", "idle",  "iowait",
    "irq",  "softirq", "steal",  "guest", "guest_nice"};

const char *cpu_mode_name(enum cpu_mode mode)
{
    return mode_names[mode];
}

/* Reads a line "cpu3 1 2 3"; false only when out of memory. */
static bool parse_cpu(struct str name, struct str rest, struct arena *a,
                      struct cpu_counters *out, bool *has_all)
{
    uint64_t number;
    struct str digits = str_skip(name, 3);
    if (digits.len == 0) {
        *has_all = metrics_next_all(&rest, out->all.ticks, CPU_MODES) >= 4;
        return true;
    }
    if (!number_parse_u64(digits, &number) || number >= CPUS_MAX ||
        out->count == CPUS_MAX)
        return true;
    struct cpu_time *cpu = ARRAY_APPEND(a, out->cpus, out->count, out->cap);
    if (!cpu)
        return false;
    cpu->cpu = (uint32_t)number;
    metrics_next_all(&rest, cpu->ticks, CPU_MODES);
    return true;
}

bool cpu_counters_parse(struct str text, struct arena *a, struct cpu_counters *out)
{
    bool has_all = false;
    *out = (struct cpu_counters){0};
    const struct {
        struct str name;
        uint64_t *value;
    } lines[] = {
        {STR("ctxt"), &out->context_switches}, {STR("intr"), &out->interrupts},
        {STR("softirq"), &out->softirqs},      {STR("processes"), &out->forks},
        {STR("btime"), &out->boot_time},       {STR("procs_running"), &out->running},
        {STR("procs_blocked"), &out->blocked},
    };
    while (text.len) {
        struct str rest = str_cut(&text, '\n'), name = str_word(&rest);
        if (str_starts(name, STR("cpu")) && !parse_cpu(name, rest, a, out, &has_all))
            return false;
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            if (str_equal(name, lines[i].name))
                metrics_next(&rest, lines[i].value);
    }
    return has_all;
}

const struct cpu_time *cpu_counters_find(const struct cpu_counters *c, uint32_t cpu)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->cpus[i].cpu == cpu)
            return &c->cpus[i];
    return NULL;
}

void cpu_shares(const struct cpu_time *before, const struct cpu_time *now,
                double shares[CPU_MODES])
{
    double total = 0;
    for (size_t i = 0; i < CPU_MODES; i++)
        shares[i] = (double)metrics_increase(before->ticks[i], now->ticks[i]);
    for (size_t guest = CPU_GUEST; guest < CPU_MODES; guest++) {
        double *host = &shares[guest == CPU_GUEST ? CPU_USER : CPU_NICE];
        *host = *host > shares[guest] ? *host - shares[guest] : 0;
    }
    for (size_t i = 0; i < CPU_MODES; i++)
        total += shares[i];
    for (size_t i = 0; i < CPU_MODES; i++)
        shares[i] = total > 0 ? shares[i] / total : 0;
}
