/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's arguments: -plugin libstoke_qemu.so,out=FILE,selector=N,start=X,end=Y */
#ifndef STOKE_AGENTS_QEMU_OPTIONS_H
#define STOKE_AGENTS_QEMU_OPTIONS_H

#include "base/error.h"

struct trace_options {
    const char *out; /* a path, or "-"; lives in argv */
    uint32_t selector;
    uint64_t start, end; /* see base/qemu_format.h */
    bool has_end;        /* otherwise never */
};

/* Parses "name=value" arguments. False for an unknown name, an invalid value, or if
 * the file or the start is missing. */
bool trace_options_parse(struct trace_options *o, int argc, char **argv,
                         struct error *err);

#endif
