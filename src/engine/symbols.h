/* SPDX-License-Identifier: Apache-2.0 */
/* How the addresses of a recording get their names: the options, and the resolver that
 * they make. */
#ifndef STOKE_ENGINE_SYMBOLS_H
#define STOKE_ENGINE_SYMBOLS_H

#include "base/name_list.h"
#include "engine/report.h"
#include "model/builder.h"
#include "resolve/machine.h"

struct symbol_settings {
    const char *symfs, *kallsyms, *vmlinux;
    struct name_list debug_dirs;
    bool no_inline, no_debuginfod;
    int demangle; /* a place in demangle_choices */
};

/* For --demangle: simple (the default), no, full. */
extern const char *const demangle_choices[];

/* What that choice is. */
enum demangle symbols_demangle(const struct symbol_settings *settings);

/* A resolver under way. */
struct symbols {
    struct resolve_settings settings;
    const char **debug_dirs;
    char cache_dir[4096];
    struct machine_resolver *machine;
    struct resolver seam;
};

/* False, with err set, where an option names what is not there or of no use, and when
 * memory is short; deinit it in either case. */
bool symbols_init(struct symbols *s, const struct symbol_settings *settings, bool lines,
                  int64_t threads, struct error *err);
void symbols_deinit(struct symbols *s);

/* Where unwind tables are kept, in `room`; NULL where there is no place for them. */
const char *symbols_cache_dir(char *room, size_t size);

/* Adds a warning to the profile for each file whose names may be those of another. */
void symbols_warn(const struct symbols *s, struct builder *b);

/* Reports what was not found, where it mattered. */
void symbols_report(const struct symbols *s, const struct engine_report *to);

#endif
