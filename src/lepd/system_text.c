/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/texts.h"

static void put_kib(struct output *o, uint64_t v)
{
    output_format(o, "%12llu", (unsigned long long)v);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* As free of procps 4 computes the columns. */
bool lepd_write_free(const struct lepd_machine *m, struct output *o)
{
    const struct metric_fields *f = &m->now->memory;
    uint64_t total = metric_field(f, STR("MemTotal")),
             unused = metric_field(f, STR("MemFree"));
    uint64_t cached = metric_field(f, STR("Buffers")) + metric_field(f, STR("Cached")) +
                      metric_field(f, STR("SReclaimable"));
    uint64_t available = metric_field(f, STR("MemAvailable"));
    uint64_t swap = metric_field(f, STR("SwapTotal")),
             swap_free = metric_field(f, STR("SwapFree"));
    if (!available) /* kernels before 3.14 */
        available = unused + cached;
    output_text(o, "               total        used        free      shared"
                   "  buff/cache   available\nMem:    ");
    put_kib(o, total);
    put_kib(o, minus(total, available));
    put_kib(o, unused);
    put_kib(o, metric_field(f, STR("Shmem")));
    put_kib(o, cached);
    put_kib(o, available);
    output_text(o, "\nSwap:   ");
    put_kib(o, swap);
    put_kib(o, minus(swap, swap_free));
    put_kib(o, swap_free);
    output_char(o, '\n');
    return total > 0;
}

bool lepd_write_dmesg(const struct lepd_machine *m, struct output *o)
{
    struct output text = OUTPUT_BUFFER;
    bool ok = m->kernel_log(m->context, &text);
    struct str rest = output_contents(&text);
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        size_t close = str_find(line, '>');
        if (str_starts(line, STR("<")) && close < line.len)
            line = str_skip(line, close + 1);
        output_str(o, line);
        output_char(o, '\n');
    }
    output_deinit(&text);
    return ok;
}
