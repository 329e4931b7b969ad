/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol settings: the options, and the resolver that they configure. */
#ifndef STOKE_ENGINE_SYMBOLS_H
#define STOKE_ENGINE_SYMBOLS_H

#include "base/name_list.h"
#include "engine/report.h"
#include "model/builder.h"
#include "resolve/local_resolver.h"

struct symbol_settings {
    const char *symfs, *kallsyms, *vmlinux;
    struct name_list debug_dirs;
    bool no_inline, no_debuginfod;
    const struct limits *limits; /* of compressed sections; NULL: limits_default */
    int demangle;                /* index in demangle_choices */
};

/* For --demangle: simple (the default), no, full. */
extern const char *const demangle_choices[];

/* The demangling style of that setting. */
enum demangle symbols_demangle(const struct symbol_settings *settings);

/* An open resolver. */
struct symbols {
    struct resolve_settings settings;
    const char **debug_dirs;
    char cache_dir[4096];
    struct local_resolver *machine;
    struct resolver seam;
};

/* False, with err set, if an option names a missing or unusable file, or memory is
 * short; call deinit in either case. */
bool symbols_init(struct symbols *s, const struct symbol_settings *settings, bool lines,
                  int64_t threads, struct error *err);
void symbols_deinit(struct symbols *s);

/* The directory of cached unwind tables, in `room`; NULL if there is none. */
const char *symbols_cache_dir(char *room, size_t size);

/* Adds a warning to the profile for each file whose symbols may be from a different
 * version. */
void symbols_warn(const struct symbols *s, struct builder *b);

/* Reports missing symbols that matter. */
void symbols_report(const struct symbols *s, const struct engine_report *to);

#endif
