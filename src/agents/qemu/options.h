/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's arguments: -plugin libstoke_qemu.so,out=FILE,selector=N,start=X,end=Y */
#ifndef STOKE_AGENTS_QEMU_OPTIONS_H
#define STOKE_AGENTS_QEMU_OPTIONS_H

#include "base/error.h"

struct trace_options {
    const char *out; /* a path, or "-"; lives in argv */
    uint32_t selector;
    uint64_t start, end; /* base/qemu_format.h says of what */
    bool has_end;        /* else never */
};

/* Reads "name=value" arguments. False for a name that is not one, a value that is none,
 * or a file or a start that is missing. */
bool trace_options_parse(struct trace_options *o, int argc, char **argv,
                         struct error *err);

#endif
