/* The source files that a profile's frames name, as far as they are on this machine: for
 * pages that show them. */
#ifndef STOKE_CLI_SOURCES_H
#define STOKE_CLI_SOURCES_H

#include "export/exporter.h"

struct sources {
    struct arena arena;
    struct source_text *items;
    size_t count, cap;
    size_t size;    /* bytes of all of them */
    size_t skipped; /* named, and not here, or not for showing */
};

/* Reads them. A profile may come from anybody, and name any file: only regular files are
 * read whose names end as source files' do, that are text, and together not more than a
 * page can bear. False, with err set, when memory is short; deinit in every case. */
bool sources_read(struct sources *s, const struct profile *p, struct error *err);
void sources_deinit(struct sources *s);

#endif
