/* SPDX-License-Identifier: Apache-2.0 */
/* All functions of the running kernel and its modules by address, in memory of the caller
 * which may be shared with another process. Reading /proc/kallsyms takes little memory. */
#ifndef STOKE_RESOLVE_KERNEL_FUNCTIONS_H
#define STOKE_RESOLVE_KERNEL_FUNCTIONS_H

#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

struct kernel_function {
    uint64_t address;
    uint32_t name, length; /* in names; length 0: no function begins here */
};

struct kernel_functions {
    struct kernel_function *items; /* ascending */
    size_t count, cap;
    char *names;
    size_t used, size;
};

/* Fills in items and names, up to their capacities. False if the kernel hides its
 * addresses. */
bool kernel_functions_read(struct kernel_functions *k);

/* The function at an address, or, of a return address, at the call before it. NULL if there
 * is none. *end is the end of the function. */
const struct kernel_function *kernel_functions_find(const struct kernel_functions *k,
                                                    uint64_t address, bool is_call,
                                                    uint64_t *end);

static inline struct str kernel_function_name(const struct kernel_functions *k,
                                              const struct kernel_function *f)
{
    return (struct str){k->names + f->name, f->length};
}

#endif
