/* SPDX-License-Identifier: Apache-2.0 */
/* The perf.data format: record types and the bits that say what a record contains.
 *
 * Sources: include/uapi/linux/perf_event.h (kernel), tools/lib/perf/include/perf/event.h
 * and tools/perf/util/header.h (perf record) of Linux. */
#ifndef STOKE_PERF_FORMAT_H
#define STOKE_PERF_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Record types: the kernel's, then those that perf adds. */
enum perf_type {
    PERF_MMAP = 1,
    PERF_LOST,
    PERF_COMM,
    PERF_EXIT,
    PERF_THROTTLE,
    PERF_UNTHROTTLE,
    PERF_FORK,
    PERF_READ,
    PERF_SAMPLE,
    PERF_MMAP2,
    PERF_AUX,
    PERF_ITRACE_START,
    PERF_LOST_SAMPLES,
    PERF_SWITCH,
    PERF_SWITCH_CPU_WIDE,
    PERF_NAMESPACES,
    PERF_KSYMBOL,
    PERF_BPF_EVENT,
    PERF_CGROUP,
    PERF_TEXT_POKE,
    PERF_AUX_OUTPUT_HW_ID,
    PERF_CALLCHAIN_DEFERRED,
    PERF_KERNEL_END, /* none yet */
    PERF_HEADER_ATTR = 64,
    PERF_HEADER_EVENT_TYPE,
    PERF_HEADER_TRACING_DATA,
    PERF_HEADER_BUILD_ID,
    PERF_FINISHED_ROUND,
    PERF_ID_INDEX,
    PERF_AUXTRACE_INFO,
    PERF_AUXTRACE,
    PERF_AUXTRACE_ERROR,
    PERF_THREAD_MAP,
    PERF_CPU_MAP,
    PERF_STAT_CONFIG,
    PERF_STAT,
    PERF_STAT_ROUND,
    PERF_EVENT_UPDATE,
    PERF_TIME_CONV,
    PERF_HEADER_FEATURE,
    PERF_COMPRESSED,
    PERF_FINISHED_INIT,
    PERF_COMPRESSED2,
    PERF_BPF_METADATA,
    PERF_SCHEDSTAT_CPU,
    PERF_SCHEDSTAT_DOMAIN,
    PERF_USER_END,
};

/* misc of a record: the CPU mode, and other bits that depend on the type. */
enum perf_misc {
    PERF_CPU_MODE = 7, /* mask of these: */
    PERF_MODE_UNKNOWN = 0,
    PERF_MODE_KERNEL,
    PERF_MODE_USER,
    PERF_MODE_HYPERVISOR,
    PERF_MODE_GUEST_KERNEL,
    PERF_MODE_GUEST_USER,
    PERF_MISC_MMAP_DATA = 1 << 13, /* of MMAP and MMAP2: not executable */
    PERF_MISC_COMM_EXEC = 1 << 13,
    PERF_MISC_FORK_EXEC = 1 << 13,      /* the process existed before: its maps follow */
    PERF_MISC_LOST_BY_FILTER = 1 << 15, /* of LOST_SAMPLES: dropped by a filter */
    PERF_MISC_SWITCH_OUT = 1 << 13,
    PERF_MISC_SWITCH_OUT_PREEMPT = 1 << 14,
    PERF_MISC_MMAP_BUILD_ID = 1 << 14,
    PERF_MISC_BUILD_ID_SIZE = 1 << 15,
};

/* The fields of a sample: bits of sample_type, in the order of the fields, except
 * IDENTIFIER, which is the first field. */
#define PERF_SAMPLE_IP ((uint64_t)1 << 0)
#define PERF_SAMPLE_TID ((uint64_t)1 << 1)
#define PERF_SAMPLE_TIME ((uint64_t)1 << 2)
#define PERF_SAMPLE_ADDR ((uint64_t)1 << 3)
#define PERF_SAMPLE_READ ((uint64_t)1 << 4)
#define PERF_SAMPLE_CALLCHAIN ((uint64_t)1 << 5)
#define PERF_SAMPLE_ID ((uint64_t)1 << 6)
#define PERF_SAMPLE_CPU ((uint64_t)1 << 7)
#define PERF_SAMPLE_PERIOD ((uint64_t)1 << 8)
#define PERF_SAMPLE_STREAM_ID ((uint64_t)1 << 9)
#define PERF_SAMPLE_RAW ((uint64_t)1 << 10)
#define PERF_SAMPLE_BRANCH_STACK ((uint64_t)1 << 11)
#define PERF_SAMPLE_REGS_USER ((uint64_t)1 << 12)
#define PERF_SAMPLE_STACK_USER ((uint64_t)1 << 13)
#define PERF_SAMPLE_WEIGHT ((uint64_t)1 << 14)
#define PERF_SAMPLE_DATA_SRC ((uint64_t)1 << 15)
#define PERF_SAMPLE_IDENTIFIER ((uint64_t)1 << 16)
#define PERF_SAMPLE_TRANSACTION ((uint64_t)1 << 17)
#define PERF_SAMPLE_REGS_INTR ((uint64_t)1 << 18)
#define PERF_SAMPLE_PHYS_ADDR ((uint64_t)1 << 19)
#define PERF_SAMPLE_AUX ((uint64_t)1 << 20)
#define PERF_SAMPLE_CGROUP ((uint64_t)1 << 21)
#define PERF_SAMPLE_DATA_PAGE_SIZE ((uint64_t)1 << 22)
#define PERF_SAMPLE_CODE_PAGE_SIZE ((uint64_t)1 << 23)
#define PERF_SAMPLE_WEIGHT_STRUCT ((uint64_t)1 << 24)
#define PERF_SAMPLE_UNKNOWN ((uint64_t)1 << 25) /* this and beyond */

#define PERF_BRANCH_CALL_STACK ((uint64_t)1 << 11)
#define PERF_BRANCH_HW_INDEX ((uint64_t)1 << 17)
#define PERF_BRANCH_COUNTERS ((uint64_t)1 << 19)

/* Bits of read_format. */
#define PERF_READ_ENABLED ((uint64_t)1 << 0)
#define PERF_READ_RUNNING ((uint64_t)1 << 1)
#define PERF_READ_ID ((uint64_t)1 << 2)
#define PERF_READ_GROUP ((uint64_t)1 << 3)
#define PERF_READ_LOST ((uint64_t)1 << 4)

/* Markers in a call chain: the mode of the addresses after them. */
#define PERF_CONTEXT_HV ((uint64_t)-32)
#define PERF_CONTEXT_KERNEL ((uint64_t)-128)
#define PERF_CONTEXT_USER ((uint64_t)-512)
#define PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define PERF_CONTEXT_GUEST ((uint64_t)-2048)
#define PERF_CONTEXT_GUEST_KERNEL ((uint64_t)-2176)
#define PERF_CONTEXT_GUEST_USER ((uint64_t)-2560)
#define PERF_CONTEXT_MAX ((uint64_t)-4095)

/* perf_event_attr.type. */
enum perf_event_type {
    PERF_TYPE_HARDWARE,
    PERF_TYPE_SOFTWARE,
    PERF_TYPE_TRACEPOINT,
    PERF_TYPE_HW_CACHE,
    PERF_TYPE_RAW,
    PERF_TYPE_BREAKPOINT,
    PERF_TYPE_KNOWN, /* from here on: dynamic PMUs */
};

/* perf_event_attr.config of PERF_TYPE_SOFTWARE. */
enum perf_software {
    PERF_SOFTWARE_CPU_CLOCK,
    PERF_SOFTWARE_TASK_CLOCK,
    PERF_SOFTWARE_PAGE_FAULTS,
    PERF_SOFTWARE_CONTEXT_SWITCHES,
    PERF_SOFTWARE_CPU_MIGRATIONS,
    PERF_SOFTWARE_MINOR_FAULTS,
    PERF_SOFTWARE_MAJOR_FAULTS,
    PERF_SOFTWARE_ALIGNMENT_FAULTS,
    PERF_SOFTWARE_EMULATION_FAULTS,
    PERF_SOFTWARE_DUMMY,
    PERF_SOFTWARE_BPF_OUTPUT,
    PERF_SOFTWARE_CGROUP_SWITCHES,
};

/* perf_event_attr.config of PERF_TYPE_HARDWARE. */
enum perf_hardware {
    PERF_HARDWARE_CYCLES,
    PERF_HARDWARE_INSTRUCTIONS,
    PERF_HARDWARE_CACHE_REFERENCES,
    PERF_HARDWARE_CACHE_MISSES,
    PERF_HARDWARE_BRANCHES,
    PERF_HARDWARE_BRANCH_MISSES,
    PERF_HARDWARE_BUS_CYCLES,
    PERF_HARDWARE_STALLED_FRONTEND,
    PERF_HARDWARE_STALLED_BACKEND,
    PERF_HARDWARE_REF_CYCLES,
};

/* Bits of perf_event_attr's flags, on a little-endian machine. */
#define PERF_FLAG_DISABLED ((uint64_t)1 << 0)
#define PERF_FLAG_INHERIT ((uint64_t)1 << 1)
#define PERF_FLAG_PINNED ((uint64_t)1 << 2)
#define PERF_FLAG_EXCLUSIVE ((uint64_t)1 << 3)
#define PERF_FLAG_EXCLUDE_USER ((uint64_t)1 << 4)
#define PERF_FLAG_EXCLUDE_KERNEL ((uint64_t)1 << 5)
#define PERF_FLAG_EXCLUDE_HV ((uint64_t)1 << 6)
#define PERF_FLAG_EXCLUDE_IDLE ((uint64_t)1 << 7)
#define PERF_FLAG_MMAP ((uint64_t)1 << 8)
#define PERF_FLAG_COMM ((uint64_t)1 << 9)
#define PERF_FLAG_FREQUENCY ((uint64_t)1 << 10)
#define PERF_FLAG_ENABLE_ON_EXEC ((uint64_t)1 << 12)
#define PERF_FLAG_TASK ((uint64_t)1 << 13)
#define PERF_FLAG_WATERMARK ((uint64_t)1 << 14)
#define PERF_FLAG_PRECISE_SHIFT 15
#define PERF_FLAG_SAMPLE_ID_ALL ((uint64_t)1 << 18)
#define PERF_FLAG_EXCLUDE_HOST ((uint64_t)1 << 19)
#define PERF_FLAG_EXCLUDE_GUEST ((uint64_t)1 << 20)
#define PERF_FLAG_EXCLUDE_CHAIN_KERNEL ((uint64_t)1 << 21)
#define PERF_FLAG_EXCLUDE_CHAIN_USER ((uint64_t)1 << 22)
#define PERF_FLAG_MMAP2 ((uint64_t)1 << 23)
#define PERF_FLAG_COMM_EXEC ((uint64_t)1 << 24)
#define PERF_FLAG_CLOCK ((uint64_t)1 << 25)
#define PERF_FLAG_CONTEXT_SWITCH ((uint64_t)1 << 26)
#define PERF_FLAG_KSYMBOL ((uint64_t)1 << 29)
#define PERF_FLAG_BPF_EVENT ((uint64_t)1 << 30)
#define PERF_FLAG_CGROUP ((uint64_t)1 << 32)
#define PERF_FLAG_BUILD_ID ((uint64_t)1 << 34)

/* A recording's clock, as in clock_gettime: the one that jitdumps use. */
#define PERF_CLOCK_MONOTONIC 1

/* Features: sections at the end of a file, by their bit in its header. */
enum perf_feature {
    PERF_FEATURE_TRACING_DATA = 1,
    PERF_FEATURE_BUILD_ID,
    PERF_FEATURE_HOSTNAME,
    PERF_FEATURE_OSRELEASE,
    PERF_FEATURE_VERSION,
    PERF_FEATURE_ARCH,
    PERF_FEATURE_NRCPUS,
    PERF_FEATURE_CPUDESC,
    PERF_FEATURE_CPUID,
    PERF_FEATURE_TOTAL_MEM,
    PERF_FEATURE_CMDLINE,
    PERF_FEATURE_EVENT_DESC,
    PERF_FEATURE_CPU_TOPOLOGY,
    PERF_FEATURE_NUMA_TOPOLOGY,
    PERF_FEATURE_BRANCH_STACK,
    PERF_FEATURE_PMU_MAPPINGS,
    PERF_FEATURE_GROUP_DESC,
    PERF_FEATURE_AUXTRACE,
    PERF_FEATURE_STAT,
    PERF_FEATURE_CACHE,
    PERF_FEATURE_SAMPLE_TIME,
    PERF_FEATURE_MEM_TOPOLOGY,
    PERF_FEATURE_CLOCKID,
    PERF_FEATURE_DIR_FORMAT,
    PERF_FEATURE_BPF_PROG_INFO,
    PERF_FEATURE_BPF_BTF,
    PERF_FEATURE_COMPRESSED,
    PERF_FEATURE_CPU_PMU_CAPS,
    PERF_FEATURE_CLOCK_DATA,
    PERF_FEATURE_HYBRID_TOPOLOGY,
    PERF_FEATURE_PMU_CAPS,
    PERF_FEATURES_OF_PERF,

    /* Only stoke uses this section, and perf ignores it: the perf maps of JITs. It is a
     * sequence of u64 process, u64 size, and `size` bytes of the perf map. */
    PERF_FEATURE_JIT_MAPS = 240,
    /* The interpreters of the processes: text, a line for each (record/interpreters.h). */
    PERF_FEATURE_INTERPRETERS = 241,
    /* If less CPU time was sampled than used: u64 sampled, u64 used, ns. */
    PERF_FEATURE_CPU_TIME = 242,
    PERF_FEATURES = 256,
};

#define PERF_FILE_HEADER 104
#define PERF_PIPE_HEADER 16  /* without features: the pipe form */
#define PERF_RECORD_HEADER 8 /* type (32 bits), misc, size (16 each) */
#define PERF_RECORD_MAX ((size_t)UINT16_MAX)
#define PERF_FILE_ATTR_IDS \
    16 /* an attribute in a file is followed by the section of its ids */

#endif
