/* SPDX-License-Identifier: Apache-2.0 */
#include "record/perf_features.h"
#include "base/format.h"
#include "os/machine.h"
#include "record/event.h"
#include "record/jit_maps.h"
#include "symbol/elf.h"

#define ALIGNED_TO 64 /* sizes of perf's texts */

static void put(struct output *o, const void *bytes, size_t size)
{
    output_bytes(o, bytes, size);
}

static void put_u32(struct output *o, uint32_t value)
{
    put(o, &value, sizeof value);
}

static void put_u64(struct output *o, uint64_t value)
{
    put(o, &value, sizeof value);
}

/* A text, padded with at least one zero. */
static size_t padded(size_t length)
{
    return (length / ALIGNED_TO + 1) * ALIGNED_TO;
}

static void put_padded(struct output *o, struct str text)
{
    static const char zeros[ALIGNED_TO] = {0};
    output_str(o, text);
    put(o, zeros, padded(text.len) - text.len);
}

static void put_text(struct output *o, struct str text)
{
    put_u32(o, (uint32_t)padded(text.len));
    put_padded(o, text);
}

/* Starts, then ends, the body of a feature. */
static struct output *begin(struct perf_features *f, unsigned number)
{
    f->items[f->count].number = number;
    f->items[f->count].offset = f->bodies.used;
    return &f->bodies;
}

static void end(struct perf_features *f)
{
    f->items[f->count].size = f->bodies.used - f->items[f->count].offset;
    f->count++;
}

static void add_text(struct perf_features *f, unsigned number, struct str text)
{
    if (text.len == 0)
        return;
    put_text(begin(f, number), text);
    end(f);
}

/* The formats of tracepoints' raw data. */
static void add_tracing(struct perf_features *f, const struct perf_file_head *head)
{
    const char *names[RECORD_EVENTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < head->event_count && count < RECORD_EVENTS_MAX; i++) {
        const char *name = head->events[i].tracepoint;
        if (name && name[0])
            names[count++] = name;
    }
    if (count == 0)
        return;
    record_tracepoint_formats(names, count, begin(f, PERF_FEATURE_TRACING_DATA));
    end(f);
}

/* The kernel's build ID, so that symbols of another kernel are not used. */
static void add_kernel_id(struct perf_features *f)
{
    char notes[4096];
    static const char filled[20] = {0};
    struct str text = os_read_text("/sys/kernel/notes", notes, sizeof notes);
    struct str id = str_head(elf_notes_build_id(text, false, 4), 20);
    struct str name = STR("[kernel.kallsyms]");
    if (id.len == 0)
        return;
    struct output *o = begin(f, PERF_FEATURE_BUILD_ID);
    uint16_t misc = PERF_MODE_KERNEL | PERF_MISC_BUILD_ID_SIZE;
    uint16_t size = (uint16_t)(PERF_RECORD_HEADER + 28 + padded(name.len));
    put_u32(o, 0); /* perf uses no type for these */
    put(o, &misc, sizeof misc);
    put(o, &size, sizeof size);
    put_u32(o, UINT32_MAX); /* of no process */
    output_str(o, id);
    put(o, filled, 20 - id.len);
    put_u32(o, (uint32_t)id.len);
    put_padded(o, name);
    end(f);
}

/* The value of a field of /proc/cpuinfo, of the first processor. */
static struct str cpu_info(struct str text, struct str word)
{
    while (text.len) {
        struct str value = str_cut(&text, '\n'), key = str_cut(&value, ':');
        if (str_equal(str_trim(key), word))
            return str_trim(value);
    }
    return STR("");
}

static void add_cpu(struct perf_features *f)
{
    char room[8192], id[256];
    struct str info = os_read_text("/proc/cpuinfo", room, sizeof room);
    struct str vendor = cpu_info(info, STR("vendor_id"));
    add_text(f, PERF_FEATURE_CPUDESC, cpu_info(info, STR("model name")));
    size_t used = format_text(id, sizeof id, "%.*s,%.*s,%.*s,%.*s", STR_ARG(vendor),
                              STR_ARG(cpu_info(info, STR("cpu family"))),
                              STR_ARG(cpu_info(info, STR("model"))),
                              STR_ARG(cpu_info(info, STR("stepping"))));
    if (vendor.len)
        add_text(f, PERF_FEATURE_CPUID, (struct str){id, used});
}

static void add_machine(struct perf_features *f)
{
    struct os_machine m;
    os_machine_read(&m);
    add_text(f, PERF_FEATURE_HOSTNAME, str_of(m.host));
    add_text(f, PERF_FEATURE_OSRELEASE, str_of(m.release));
    add_text(f, PERF_FEATURE_VERSION, STR("stoke " STOKE_VERSION));
    add_text(f, PERF_FEATURE_ARCH, str_of(m.arch));
    struct output *o = begin(f, PERF_FEATURE_NRCPUS);
    put_u32(o, (uint32_t)os_cpus_possible());
    put_u32(o, (uint32_t)os_cpus_online(NULL));
    end(f);
    add_cpu(f);
    put_u64(begin(f, PERF_FEATURE_TOTAL_MEM), m.memory / 1024);
    end(f);
}

static void add_command(struct perf_features *f, const struct perf_file_head *head)
{
    struct output *o = begin(f, PERF_FEATURE_CMDLINE);
    put_u32(o, (uint32_t)head->command_count);
    for (size_t i = 0; i < head->command_count; i++)
        put_text(o, str_of(head->command[i]));
    end(f);
}

static void add_events(struct perf_features *f, const struct perf_file_head *head)
{
    struct output *o = begin(f, PERF_FEATURE_EVENT_DESC);
    put_u32(o, (uint32_t)head->event_count);
    put_u32(o, PERF_ATTR_SIZE);
    for (size_t i = 0; i < head->event_count; i++) {
        const struct perf_file_event *e = &head->events[i];
        put(o, &e->attr, sizeof e->attr);
        put_u32(o, (uint32_t)e->id_count);
        put_text(o, str_of(e->name));
        put(o, e->ids, e->id_count * sizeof *e->ids);
    }
    end(f);
}

/* Groups of events. */
static void add_groups(struct perf_features *f, const struct perf_file_head *head)
{
    uint32_t groups = 0;
    for (size_t i = 0; i < head->event_count; i++)
        groups += head->events[i].members > 0;
    if (groups == 0)
        return;
    struct output *o = begin(f, PERF_FEATURE_GROUP_DESC);
    put_u32(o, groups);
    for (size_t i = 0; i < head->event_count; i++) {
        const struct perf_file_event *e = &head->events[i];
        if (e->members == 0)
            continue;
        put_text(o, str_of(e->group && e->group[0] ? e->group : "{anon_group}"));
        put_u32(o, (uint32_t)i);
        put_u32(o, (uint32_t)e->members + 1);
    }
    end(f);
}

/* The clock of the times, and the wall clock at one of them. */
static void add_clock(struct perf_features *f)
{
    put_u64(begin(f, PERF_FEATURE_CLOCKID), os_clock_resolution());
    end(f);
}

static void add_clock_data(struct perf_features *f)
{
    struct output *o = begin(f, PERF_FEATURE_CLOCK_DATA);
    put_u32(o, 1); /* version */
    put_u32(o, (uint32_t)os_clock_number());
    put_u64(o, os_clock_real());
    put_u64(o, os_clock_monotonic());
    end(f);
}

/* The size of a decompressed record: perf reserves this size for each. */
#define UNPACKED_MOST ((uint32_t)64 << 10)

static void put_packing(struct output *o, const struct perf_file_head *head)
{
    put_u32(o, 1); /* version */
    put_u32(o, 1); /* zstd */
    put_u32(o, (uint32_t)head->pack_level);
    put_u32(o, 5); /* the ratio, an estimate: the real one is not known yet */
    put_u32(o, UNPACKED_MOST);
}

static void add_packing(struct perf_features *f, const struct perf_file_head *head)
{
    put_packing(begin(f, PERF_FEATURE_COMPRESSED), head);
    end(f);
}

#define PACKING_RECORD 40 /* bytes: header, feature, five numbers, padding */

void perf_features_put_packing_record(struct output *o, const struct perf_file_head *head)
{
    put_u32(o, PERF_HEADER_FEATURE);
    put_u32(o, (uint32_t)PACKING_RECORD << 16); /* misc, size */
    put_u64(o, PERF_FEATURE_COMPRESSED);
    put_packing(o, head);
    put_u32(o, 0);
}

bool perf_features_init(struct perf_features *f, const struct perf_file_head *head)
{
    *f = (struct perf_features){.bodies = OUTPUT_BUFFER};
    add_tracing(f, head);
    add_kernel_id(f);
    add_machine(f);
    add_command(f, head);
    add_events(f, head);
    add_groups(f, head);
    add_clock(f);
    if (head->packed)
        add_packing(f, head);
    add_clock_data(f);
    return !f->bodies.failed;
}

void perf_features_deinit(struct perf_features *f)
{
    output_deinit(&f->bodies);
}

void perf_features_add_times(struct perf_features *f, uint64_t first, uint64_t last)
{
    struct output *o = begin(f, PERF_FEATURE_SAMPLE_TIME);
    put_u64(o, first);
    put_u64(o, last);
    end(f);
    /* sorted by number: insert it before higher ones */
    for (size_t i = f->count - 1; i && f->items[i - 1].number > f->items[i].number; i--) {
        struct perf_features copy = *f;
        f->items[i] = copy.items[i - 1];
        f->items[i - 1] = copy.items[i];
    }
}

void perf_features_add_jit_maps(struct perf_features *f, struct record_jit_maps *maps)
{
    size_t before = f->bodies.used;
    record_jit_maps_write(maps, begin(f, PERF_FEATURE_JIT_MAPS));
    if (f->bodies.used > before)
        end(f);
}

void perf_features_add_interpreters(struct perf_features *f,
                                    const struct perf_file_head *head)
{
    size_t before = f->bodies.used;
    head->put_interpreters(head->chain, begin(f, PERF_FEATURE_INTERPRETERS));
    if (f->bodies.used > before)
        end(f);
}

void perf_features_add_cpu_time(struct perf_features *f,
                                const struct perf_file_head *head)
{
    struct output *o = begin(f, PERF_FEATURE_CPU_TIME);
    put_u64(o, head->sampled_time);
    put_u64(o, head->used_time);
    end(f);
}

void perf_features_bits(const struct perf_features *f, uint64_t bits[4])
{
    memset(bits, 0, 4 * sizeof *bits);
    for (size_t i = 0; i < f->count; i++)
        bits[f->items[i].number / 64] |= (uint64_t)1 << f->items[i].number % 64;
}

void perf_features_table(const struct perf_features *f, uint64_t at, struct output *out)
{
    for (size_t i = 0; i < f->count; i++) {
        put_u64(out, at + f->items[i].offset);
        put_u64(out, f->items[i].size);
    }
}
