/* SPDX-License-Identifier: Apache-2.0 */
/* The binaries that a trace is of: found, opened and made ready. */
#ifndef STOKE_ENGINE_TRACE_BINARIES_H
#define STOKE_ENGINE_TRACE_BINARIES_H

#include "base/name_list.h"
#include "engine/symbols.h"
#include "trace/binary.h"

struct trace_files {
    struct arena arena;
    struct trace_binary *binaries;
    size_t count;
    struct object **objects; /* whose the binaries' parts are; NULL: kallsyms' */
    struct os_mapping kallsyms;

    /* Files that traces name: opened when they are first asked for. */
    const struct resolve_settings *settings;
    struct os_lock lock;
    struct trace_named *named;
    size_t named_count, named_cap;
};

/* Opens the binaries, those of the users behind the others. False with err set where one
 * cannot be read; deinit in either case. `kallsyms` may be NULL. */
bool trace_files_open(struct trace_files *f, const struct name_list *binaries,
                      const struct name_list *users, const char *kallsyms,
                      const struct resolve_settings *settings, struct error *err);
void trace_files_close(struct trace_files *f);

/* The binary that a trace names by its path: of those that were opened, else the file of
 * that name; NULL where there is none. For any thread; `files` is a struct trace_files.
 */
const struct trace_binary *trace_files_find(void *files, struct str path);

#endif
