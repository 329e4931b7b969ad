/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a recording as text, in the lines of perf script --header (without -I). */
#include "base/visible.h"
#include "perf/parts.h"

#define EVENTS_MOST 4096 /* events, arguments and units that are printed */

/* The names that perf gives to the features, from 1. */
static const char *const names[PERF_FEATURES_OF_PERF] = {NULL,
                                                         "TRACING_DATA",
                                                         "BUILD_ID",
                                                         "HOSTNAME",
                                                         "OSRELEASE",
                                                         "VERSION",
                                                         "ARCH",
                                                         "NRCPUS",
                                                         "CPUDESC",
                                                         "CPUID",
                                                         "TOTAL_MEM",
                                                         "CMDLINE",
                                                         "EVENT_DESC",
                                                         "CPU_TOPOLOGY",
                                                         "NUMA_TOPOLOGY",
                                                         "BRANCH_STACK",
                                                         "PMU_MAPPINGS",
                                                         "GROUP_DESC",
                                                         "AUXTRACE",
                                                         "STAT",
                                                         "CACHE",
                                                         "SAMPLE_TIME",
                                                         "MEM_TOPOLOGY",
                                                         "CLOCKID",
                                                         "DIR_FORMAT",
                                                         "BPF_PROG_INFO",
                                                         "BPF_BTF",
                                                         "COMPRESSED",
                                                         "CPU_PMU_CAPS",
                                                         "CLOCK_DATA",
                                                         "HYBRID_TOPOLOGY",
                                                         "PMU_CAPS"};

/* --- Attributes of events ----------------------------------------------------------- */

static const char *const sample_fields[] = {"IP",
                                            "TID",
                                            "TIME",
                                            "ADDR",
                                            "READ",
                                            "CALLCHAIN",
                                            "ID",
                                            "CPU",
                                            "PERIOD",
                                            "STREAM_ID",
                                            "RAW",
                                            "BRANCH_STACK",
                                            "REGS_USER",
                                            "STACK_USER",
                                            "WEIGHT",
                                            "DATA_SRC",
                                            "IDENTIFIER",
                                            "TRANSACTION",
                                            "REGS_INTR",
                                            "PHYS_ADDR",
                                            "AUX",
                                            "CGROUP",
                                            "DATA_PAGE_SIZE",
                                            "CODE_PAGE_SIZE",
                                            "WEIGHT_STRUCT",
                                            NULL};

static const char *const read_fields[] = {
    "TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID", "GROUP", "LOST", NULL};

static const char *const branch_fields[] = {
    "USER",       "KERNEL",     "HV",       "ANY",       "ANY_CALL",
    "ANY_RETURN", "IND_CALL",   "ABORT_TX", "IN_TX",     "NO_TX",
    "COND",       "CALL_STACK", "IND_JUMP", "CALL",      "NO_FLAGS",
    "NO_CYCLES",  "TYPE_SAVE",  "HW_INDEX", "PRIV_SAVE", NULL};

/* In the order of their bits; those with two bits have NULL behind them. */
static const char *const flags[] = {"disabled",
                                    "inherit",
                                    "pinned",
                                    "exclusive",
                                    "exclude_user",
                                    "exclude_kernel",
                                    "exclude_hv",
                                    "exclude_idle",
                                    "mmap",
                                    "comm",
                                    "freq",
                                    "inherit_stat",
                                    "enable_on_exec",
                                    "task",
                                    "watermark",
                                    "precise_ip",
                                    NULL,
                                    "mmap_data",
                                    "sample_id_all",
                                    "exclude_host",
                                    "exclude_guest",
                                    "exclude_callchain_kernel",
                                    "exclude_callchain_user",
                                    "mmap2",
                                    "comm_exec",
                                    "use_clockid",
                                    "context_switch",
                                    "write_backward",
                                    "namespaces",
                                    "ksymbol",
                                    "bpf_event",
                                    "aux_output",
                                    "cgroup",
                                    "text_poke",
                                    "build_id",
                                    "inherit_thread",
                                    "remove_on_exec",
                                    "sigtrap"};

static void write_bits(struct output *o, const char *name, uint64_t bits,
                       const char *const *texts)
{
    const char *between = "";
    if (!bits)
        return;
    output_format(o, ", %s = ", name);
    for (unsigned i = 0; texts[i]; i++) {
        if (!(bits >> i & 1))
            continue;
        output_format(o, "%s%s", between, texts[i]);
        between = "|";
    }
}

static void write_number(struct output *o, const char *name, uint64_t number, bool hex)
{
    if (number)
        output_format(o, hex ? ", %s = 0x%llx" : ", %s = %llu", name,
                      (unsigned long long)number);
}

static void write_flags(struct output *o, uint64_t bits)
{
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool two = i + 1 < sizeof flags / sizeof *flags && !flags[i + 1];
        if (flags[i])
            write_number(o, flags[i], bits >> i & (two ? 3 : 1), false);
    }
}

/* A perf_event_attr; missing fields are 0. */
static void write_attr(struct output *o, struct bytes b)
{
    uint32_t type = bytes_u32(&b), size = bytes_u32(&b);
    uint64_t config = bytes_u64(&b), period = bytes_u64(&b);
    output_format(o, ", type = %u, size = %u", (unsigned)type, (unsigned)size);
    write_number(o, "config", config, true);
    write_number(o, "{ sample_period, sample_freq }", period, false);
    write_bits(o, "sample_type", bytes_u64(&b), sample_fields);
    write_bits(o, "read_format", bytes_u64(&b), read_fields);
    write_flags(o, perf_take_flags(&b));
    write_number(o, "{ wakeup_events, wakeup_watermark }", bytes_u32(&b), false);
    write_number(o, "bp_type", bytes_u32(&b), false);
    write_number(o, "{ bp_addr, config1 }", bytes_u64(&b), true);
    write_number(o, "{ bp_len, config2 }", bytes_u64(&b), true);
    write_bits(o, "branch_sample_type", bytes_u64(&b), branch_fields);
    write_number(o, "sample_regs_user", bytes_u64(&b), true);
    write_number(o, "sample_stack_user", bytes_u32(&b), false);
    write_number(o, "clockid", bytes_u32(&b), false);
    write_number(o, "sample_regs_intr", bytes_u64(&b), true);
    write_number(o, "aux_watermark", bytes_u32(&b), false);
    write_number(o, "sample_max_stack", bytes_u16(&b), false);
}

static void write_events(struct output *o, struct bytes b)
{
    uint32_t count = bytes_u32(&b), size = bytes_u32(&b);
    for (uint32_t i = 0; i < count && i < EVENTS_MOST && bytes_left(&b); i++) {
        struct str attr = bytes_take(&b, size);
        uint32_t ids = bytes_u32(&b);
        struct str name = perf_take_string(&b);
        struct bytes numbers = bytes_of(bytes_take(&b, (uint64_t)ids * 8), b.big_endian);
        if (b.failed)
            return;
        output_text(o, "# event : name = ");
        visible_print(o, name);
        output_text(o, ", ");
        for (uint32_t n = 0; n < ids; n++)
            output_format(o, "%s%llu", n ? ", " : ", id = { ",
                          (unsigned long long)bytes_u64(&numbers));
        output_text(o, ids ? " }" : "");
        write_attr(o, bytes_of(attr, b.big_endian));
        output_char(o, '\n');
    }
}

/* --- Other features ----------------------------------------------------------------- */

static void write_command(struct output *o, struct bytes b)
{
    output_text(o, "# cmdline : ");
    for (uint32_t left = bytes_u32(&b); left && bytes_left(&b); left--) {
        struct str word = perf_take_string(&b);
        while (word.len) {
            size_t at = str_find(word, '\'');
            visible_print(o, str_head(word, at));
            output_text(o, at < word.len ? "\\'" : "");
            word = str_skip(word, at + 1);
        }
        output_char(o, ' ');
    }
    output_char(o, '\n');
}

static void write_units(struct output *o, struct bytes b)
{
    output_text(o, "# pmu mappings: ");
    uint32_t count = bytes_u32(&b);
    for (uint32_t i = 0; i < count && i < EVENTS_MOST && bytes_left(&b); i++) {
        uint32_t type = bytes_u32(&b);
        struct str name = perf_take_string(&b);
        output_text(o, i ? ", " : "");
        visible_print(o, name);
        output_format(o, " = %u", (unsigned)type);
    }
    output_char(o, '\n');
}

static void write_times(struct output *o, struct bytes b)
{
    uint64_t first = bytes_u64(&b), last = bytes_u64(&b);
    output_format(o, "# time of first sample : %llu.%06llu\n",
                  (unsigned long long)(first / 1000000000),
                  (unsigned long long)(first % 1000000000 / 1000));
    output_format(o, "# time of last sample : %llu.%06llu\n",
                  (unsigned long long)(last / 1000000000),
                  (unsigned long long)(last % 1000000000 / 1000));
    uint64_t length = last > first ? last - first : 0;
    output_format(o, "# sample duration : %10.3f ms\n", (double)length / 1e6);
}

static void write_string(struct output *o, const char *what, struct bytes b)
{
    output_format(o, "# %s : ", what);
    visible_print(o, perf_take_string(&b));
    output_char(o, '\n');
}

/* Events as "{cycles,instructions}". */
static void write_groups(const struct perf_data *d, struct output *o)
{
    struct perf_group group = {.number = 0};
    while (perf_next_group(d, &group)) {
        output_text(o, "# group: ");
        visible_print(o, group.name);
        output_char(o, '{');
        for (size_t m = 0; m < group.count; m++) {
            output_text(o, m ? "," : "");
            visible_print(o, d->events[group.first + m].name);
        }
        output_text(o, "}\n");
    }
}

static void write_compression(struct output *o, struct bytes b)
{
    bytes_skip(&b, 4);
    uint32_t type = bytes_u32(&b), level = bytes_u32(&b), ratio = bytes_u32(&b);
    output_format(o, "# compressed : %s, level = %u, ratio = %u\n",
                  type == 1 ? "Zstd" : "Unknown", (unsigned)level, (unsigned)ratio);
}

/* Features that are one string. */
static const char *const string_titles[PERF_FEATURES_OF_PERF] = {
    [PERF_FEATURE_HOSTNAME] = "hostname",    [PERF_FEATURE_OSRELEASE] = "os release",
    [PERF_FEATURE_VERSION] = "perf version", [PERF_FEATURE_ARCH] = "arch",
    [PERF_FEATURE_CPUDESC] = "cpudesc",      [PERF_FEATURE_CPUID] = "cpuid"};

static void write_feature(const struct perf_data *d, struct output *o, unsigned number)
{
    struct str contents = d->contents[number]; /* a damaged file may lack them */
    struct bytes b = bytes_of(contents.len ? contents : STR(""), d->big_endian);
    if (string_titles[number])
        write_string(o, string_titles[number], b);
    switch (number) {
    case PERF_FEATURE_NRCPUS:
        output_format(o, "# nrcpus online : %u\n# nrcpus avail : %u\n",
                      (unsigned)d->facts.cpus_online, (unsigned)d->facts.cpus_available);
        break;
    case PERF_FEATURE_TOTAL_MEM:
        output_format(o, "# total memory : %llu kB\n", (unsigned long long)bytes_u64(&b));
        break;
    case PERF_FEATURE_CMDLINE:
        write_command(o, b);
        break;
    case PERF_FEATURE_EVENT_DESC:
        write_events(o, b);
        break;
    case PERF_FEATURE_PMU_MAPPINGS:
        write_units(o, b);
        break;
    case PERF_FEATURE_GROUP_DESC:
        write_groups(d, o);
        break;
    case PERF_FEATURE_SAMPLE_TIME:
        write_times(o, b);
        break;
    case PERF_FEATURE_COMPRESSED:
        write_compression(o, b);
        break;
    case PERF_FEATURE_CPU_TOPOLOGY:
    case PERF_FEATURE_NUMA_TOPOLOGY:
    case PERF_FEATURE_CACHE:
    case PERF_FEATURE_MEM_TOPOLOGY:
        output_format(o, "# %s info available, use -I to display\n", names[number]);
        break;
    case PERF_FEATURE_BRANCH_STACK:
        output_text(o, "# contains samples with branch stack\n");
        break;
    case PERF_FEATURE_AUXTRACE:
        output_text(o, "# contains AUX area data (e.g. instruction trace)\n");
        break;
    case PERF_FEATURE_STAT:
        output_text(o, "# contains stat data\n");
        break;
    default:
        break;
    }
}

static bool has_feature(const struct perf_data *d, unsigned number)
{
    return (d->features[0] >> number & 1) || d->contents[number].len;
}

void perf_header_write(const struct perf_data *d, struct output *o)
{
    output_text(o, "# ========\n");
    if (d->data_at)
        output_format(o,
                      "# header version : 1\n# data offset    : %llu\n"
                      "# data size      : %llu\n# feat offset    : %llu\n",
                      (unsigned long long)d->data_at, (unsigned long long)d->data_size,
                      (unsigned long long)d->data_at + d->data_size);
    for (unsigned i = 1; i < PERF_FEATURES_OF_PERF; i++)
        if (has_feature(d, i))
            write_feature(d, o, i);
    output_text(o, "# missing features: ");
    for (unsigned i = 1; i < PERF_FEATURES_OF_PERF; i++)
        if (!has_feature(d, i))
            output_format(o, "%s ", names[i]);
    output_text(o, "\n# ========\n#\n");
}
