/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_data.h"

/* A part of a branch's flags, struct perf_branch_entry of the kernel's perf_event.h: bit
 * fields have the opposite order on a big-endian machine. */
static unsigned bits_of(uint64_t flags, bool big_endian, unsigned at, unsigned count)
{
    unsigned shift = big_endian ? 64 - at - count : at;
    return (unsigned)(flags >> shift & ((1u << count) - 1));
}

static const char *type_of(uint64_t flags, bool big_endian)
{
    static const char *const types[] = {
        "",       "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",  "SYSCALL",
        "SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX"};
    static const char *const newer[] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST",
                                        "ARCH_1",     "ARCH_2",     "ARCH_3",
                                        "ARCH_4",     "ARCH_5"};
    unsigned type = bits_of(flags, big_endian, 20, 4);
    if (type < sizeof types / sizeof *types)
        return types[type];
    type = bits_of(flags, big_endian, 26, 4);
    return type < sizeof newer / sizeof *newer ? newer[type] : "";
}

struct perf_branch perf_branch_at(struct perf_words branches, size_t i)
{
    uint64_t flags = perf_word(branches, i * PERF_BRANCH_WORDS + 2);
    bool big = branches.big_endian;
    return (struct perf_branch){.from = perf_word(branches, i * PERF_BRANCH_WORDS),
                                .to = perf_word(branches, i * PERF_BRANCH_WORDS + 1),
                                .missed = bits_of(flags, big, 0, 1),
                                .predicted = bits_of(flags, big, 1, 1),
                                .in_transaction = bits_of(flags, big, 2, 1),
                                .aborted = bits_of(flags, big, 3, 1),
                                .cycles = bits_of(flags, big, 4, 16),
                                .type = type_of(flags, big)};
}
