/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/counters.h"
#include "base/array.h"
#include "metrics/number.h"

#define CPUS_MAX 8192
#define ROWS_MAX 65536

static bool parse_head(struct str line, struct arena *a, struct cpu_counter_table *out)
{
    for (struct str word = str_word(&line); word.len; word = str_word(&line)) {
        uint64_t cpu;
        if (!str_starts(word, STR("CPU")) || out->cpu_count == CPUS_MAX ||
            !number_parse_u64(str_skip(word, 3), &cpu) || cpu >= CPUS_MAX)
            break;
        uint32_t *column = ARRAY_APPEND(a, out->cpus, out->cpu_count, out->cpu_cap);
        if (!column)
            return false;
        *column = (uint32_t)cpu;
    }
    return out->cpu_count > 0;
}

static bool parse_row(struct str line, struct arena *a, struct cpu_counter_table *out)
{
    struct str name = str_trim(str_head(line, str_find(line, ':')));
    struct str rest = str_skip(line, str_find(line, ':') + 1);
    if (name.len == 0 || rest.len == 0)
        return true;
    struct cpu_counter *row = ARRAY_APPEND(a, out->rows, out->count, out->cap);
    if (!row)
        return false;
    size_t cap = 0;
    *row = (struct cpu_counter){.name = name};
    for (struct str at = rest; row->count < out->cpu_count; rest = at) {
        uint64_t count;
        if (!metrics_next(&at, &count))
            break;
        uint64_t *slot = ARRAY_APPEND(a, row->counts, row->count, cap);
        if (!slot)
            return false;
        *slot = count;
    }
    row->description = str_trim(rest);
    return true;
}

bool cpu_counter_table_parse(struct str text, struct arena *a,
                             struct cpu_counter_table *out)
{
    *out = (struct cpu_counter_table){0};
    if (!parse_head(str_cut(&text, '\n'), a, out))
        return false;
    while (text.len && out->count < ROWS_MAX)
        if (!parse_row(str_cut(&text, '\n'), a, out))
            return false;
    return true;
}

const struct cpu_counter *cpu_counter_find(const struct cpu_counter_table *t,
                                           struct str name, size_t hint)
{
    for (size_t i = 0; i < t->count; i++) {
        size_t at = (i + hint) % t->count;
        if (str_equal(t->rows[at].name, name))
            return &t->rows[at];
    }
    return NULL;
}

uint64_t cpu_counter_sum(const struct cpu_counter_table *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->rows[i].count; k++)
            sum += t->rows[i].counts[k];
    return sum;
}
