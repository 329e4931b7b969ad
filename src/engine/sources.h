/* SPDX-License-Identifier: Apache-2.0 */
/* The source files that a profile's frames name, as far as they are on this machine: for
 * pages that show them.
 *
 * A profile may come from anybody and name any file, and a page is given away. So a file
 * is read only where the line table of a binary that was mapped names it, which is read
 * on this machine, or where it lies below a folder that the user names. */
#ifndef STOKE_ENGINE_SOURCES_H
#define STOKE_ENGINE_SOURCES_H

#include "base/name_list.h"
#include "engine/report.h"
#include "export/exporter.h"

struct sources {
    struct arena arena;
    struct source_text *items;
    size_t count, cap;
    size_t size;    /* bytes of all of them */
    size_t skipped; /* named, and not here, or not for showing */
};

/* Reads them: regular files whose names end as source files' do, that are text, and
 * together not more than a page can bear. `folders`: of --source-dir; a file is looked for
 * in them by its whole path, then by ever shorter ends of it. False, with err set, when
 * memory is short or a folder is not there; deinit in every case. */
bool sources_read(struct sources *s, const struct profile *p,
                  const struct name_list *folders, struct error *err);

/* Reports which were read. */
void sources_list(const struct sources *s, const struct engine_report *report);
void sources_deinit(struct sources *s);

#endif
