/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, opens and prepares the binaries of a trace. */
#ifndef STOKE_ENGINE_TRACE_BINARIES_H
#define STOKE_ENGINE_TRACE_BINARIES_H

#include "base/name_list.h"
#include "engine/symbols.h"
#include "trace/binary.h"

struct trace_files {
    struct arena arena;
    struct trace_binary *binaries;
    size_t count;
    /* the objects that own the parts of the binaries; NULL: from kallsyms */
    struct object **objects;
    struct os_mapping kallsyms;

    /* Files named in traces: opened at the first request. */
    const struct resolve_settings *settings;
    struct os_lock lock;
    struct trace_named *named;
    size_t named_count, named_cap;
};

/* Opens the binaries; those of user programs follow the others. False, with err set, if
 * one cannot be read; deinit in either case. `kallsyms` may be NULL. */
bool trace_files_open(struct trace_files *f, const struct name_list *binaries,
                      const struct name_list *users, const char *kallsyms,
                      const struct resolve_settings *settings, struct error *err);
void trace_files_close(struct trace_files *f);

/* Reports the binaries whose names are incomplete because of the limits. */
void trace_files_report(const struct trace_files *f, const struct engine_report *report);

/* Whether a binary, or its debug file, was truncated while it was read. Call it when the
 * traces are read. */
bool trace_files_truncated(const struct trace_files *f);

/* The binary with the path in a trace: one of the open binaries, else the file with that
 * name; NULL if there is none. Any thread may call it; `files` is a struct
 * trace_files. */
const struct trace_binary *trace_files_find(void *files, struct str path);

#endif
