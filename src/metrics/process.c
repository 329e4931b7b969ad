/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/process.h"
#include "base/number.h"
#include "metrics/fields.h"
#include "metrics/number.h"

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h of the kernel */

/* Fields after the name, in the order of proc(5): field 3 of it is 0. */
enum {
    FIELD_PARENT = 1,
    FIELD_FLAGS = 6,
    FIELD_MINOR_FAULTS = 7,
    FIELD_MAJOR_FAULTS = 9,
    FIELD_USER = 11,
    FIELD_SYSTEM = 12,
    FIELD_PRIORITY = 15,
    FIELD_NICE = 16,
    FIELD_THREADS = 17,
    FIELD_START = 19,
    FIELD_VIRTUAL = 20,
    FIELD_RESIDENT = 21,
    FIELD_POLICY = 38,
    FIELD_BLOCK_DELAY = 39,
    FIELDS = 40,
    FIELDS_REQUIRED = FIELD_RESIDENT + 1,
};

/* A number with an optional sign, in two's complement; 0 for other text. */
static uint64_t parse_signed(struct str word)
{
    uint64_t v = 0;
    bool negative = str_starts(word, STR("-"));
    number_parse_u64(str_skip(word, negative), &v);
    return negative ? 0 - v : v;
}

bool process_stat_parse(struct str text, struct process_counters *out)
{
    uint64_t fields[FIELDS] = {0}, pid;
    size_t count = 0, open = str_find(text, '('), close = str_rfind(text, ')');
    *out = (struct process_counters){0};
    if (close == text.len || open >= close ||
        !number_parse_u64(str_trim(str_head(text, open)), &pid))
        return false;
    struct str name =
        str_head(str_skip(str_head(text, close), open + 1), PROCESS_NAME_MAX - 1);
    struct str rest = str_skip(text, close + 1), state = str_word(&rest);
    for (count = 1; count < FIELDS; count++) {
        struct str word = str_word(&rest);
        if (word.len == 0)
            break;
        fields[count] = parse_signed(word);
    }
    if (count < FIELDS_REQUIRED || state.len != 1)
        return false;
    memcpy(out->name, name.ptr, name.len);
    out->pid = (uint32_t)pid;
    out->state = state.ptr[0];
    out->parent = (uint32_t)fields[FIELD_PARENT];
    out->flags = fields[FIELD_FLAGS];
    out->minor_faults = fields[FIELD_MINOR_FAULTS];
    out->major_faults = fields[FIELD_MAJOR_FAULTS];
    out->user = fields[FIELD_USER];
    out->system = fields[FIELD_SYSTEM];
    out->priority = (int32_t)fields[FIELD_PRIORITY];
    out->nice = (int32_t)fields[FIELD_NICE];
    out->threads = fields[FIELD_THREADS];
    out->start = fields[FIELD_START];
    out->virtual_bytes = fields[FIELD_VIRTUAL];
    out->resident_pages = fields[FIELD_RESIDENT];
    out->policy = (uint32_t)fields[FIELD_POLICY];
    out->block_delay = fields[FIELD_BLOCK_DELAY];
    return true;
}

void process_io_parse(struct str text, struct process_counters *out)
{
    out->has_io = text.len > 0;
    out->read_bytes = metric_field_in(text, STR("read_bytes"));
    out->written_bytes = metric_field_in(text, STR("write_bytes"));
    out->cancelled = metric_field_in(text, STR("cancelled_write_bytes"));
}

bool process_is_kernel(const struct process_counters *p)
{
    return (p->flags & PF_KTHREAD) != 0;
}
