/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/registers.h"

/* System V ABI, AMD64, figure 3.36: rax rdx rcx rbx rsi rdi rbp rsp r8..r15, and the
 * return address. perf: AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8..R15. */
static const uint8_t x86_64_perf[] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                      17, 18, 19, 20, 21, 22, 23, 8};

static const struct register_roles x86_64 = {
    .sp = 7,
    .fp = 6,
    .link = REGISTER_NONE,
    .return_to = 16,
    .count = 17,
    .perf_pc = 8,
    .address_max = (uint64_t)1 << 56, /* five-level page tables */
    .code_mask = UINT64_MAX,
    .perf = x86_64_perf,
};

/* DWARF for the Arm 64-bit Architecture, 4.1: x0..x30, sp. perf uses the same order,
 * then pc. Pointer authentication codes and tags are in the bits that user addresses do
 * not use: addresses have 48 bits unless a process requests more, and code never has
 * more. */
static const uint8_t arm64_perf[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                     11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                     22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static const struct register_roles arm64 = {
    .sp = 31,
    .fp = 29,
    .link = 30,
    .return_to = 30,
    .count = 32,
    .perf_pc = 32,
    .address_max = (uint64_t)1 << 48,
    .code_mask = ((uint64_t)1 << 48) - 1,
    .perf = arm64_perf,
};

const struct register_roles *register_roles_of(enum architecture machine)
{
    return machine == ARCH_X86_64 ? &x86_64 : machine == ARCH_ARM64 ? &arm64 : NULL;
}
