/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel's structures have their fields, from its own description of its types
 * (/sys/kernel/btf/vmlinux). libbpf can relocate a program by it, too, but copies and indexes
 * all of it for that: 6 MB, and most of the time that a recording takes to start. */
#ifndef STOKE_OS_KERNEL_FIELDS_H
#define STOKE_OS_KERNEL_FIELDS_H

#include "base/error.h"
#include <stddef.h>

struct os_kernel_field {
    const char *structure, *member; /* also a member of structures without a name in it */
    uint32_t offset;                /* found: in bytes */
};

/* Fills in the offsets. False if the kernel does not describe its types, or has no such
 * field. */
bool os_kernel_fields(struct os_kernel_field *fields, size_t count, struct error *err);

/* The same for a description in memory (Linux, Documentation/bpf/btf.rst). */
bool os_kernel_fields_of(struct str btf, struct os_kernel_field *fields, size_t count,
                         struct error *err);

#endif
