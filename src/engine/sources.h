/* SPDX-License-Identifier: Apache-2.0 */
/* The source files that a profile's frames name and that exist on this machine, for
 * pages that show them.
 *
 * A profile may come from anyone and name any file, and a page may be published. So a
 * file is read only if it is named by the line table of a mapped binary, which is read
 * on this machine, or if it is below a directory that the user gives. */
#ifndef STOKE_ENGINE_SOURCES_H
#define STOKE_ENGINE_SOURCES_H

#include "base/name_list.h"
#include "engine/load.h"
#include "export/exporter.h"

struct sources {
    struct arena arena;
    struct strings names; /* of the items, with the same numbers + 1 */
    struct source_text *items;
    size_t count, cap;
    size_t size;       /* total bytes */
    size_t code_count; /* files that have the code of functions */
    size_t skipped;    /* number of files that are named, but missing or not text */
    size_t too_large;  /* number of files that exceed the limits */
};

/* False when out of memory; call deinit in every case. */
bool sources_init(struct sources *s);

/* Adds the texts that a .stoke has: load_settings.code_consumer. They replace files of this
 * machine. */
struct code_consumer sources_consumer(struct sources *s);

/* Reads the rest: regular files that are text and whose names have the suffix of a source
 * file, up to a total size that is reasonable for a page. `folders`: of --source-dir; a
 * file is searched for in them by its whole path, then by shorter and shorter ends of
 * the path. False, with err set, if out of memory or a directory does not exist. */
bool sources_read(struct sources *s, const struct profile *p,
                  const struct name_list *folders, struct error *err);

/* The same for files that line tables of this machine's binaries name, up to a total size of
 * `most`. `folders` may be NULL. */
bool sources_read_named(struct sources *s, const struct strings *names,
                        const struct name_list *folders, uint64_t most,
                        struct error *err);

/* Reports which files were read. */
void sources_list(const struct sources *s, const struct engine_report *report);
void sources_deinit(struct sources *s);

#endif
