/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript source maps (version 3): where in the sources a place of a built file comes
 * from, and what was called what there.
 *
 *   {"version": 3, "file": "app.min.js", "sourceRoot": "", "sources": ["src/app.ts"],
 *    "names": ["render"], "mappings": "AAAAA,SAASA;..."}
 *
 * A map belongs to the file that it names, or that it is named after (app.min.js.map). */
#ifndef STOKE_IMPORT_SOURCE_MAP_H
#define STOKE_IMPORT_SOURCE_MAP_H

#include "base/source.h"
#include "base/strings.h"

struct source_mapping {
    uint32_t line, column;  /* in the built file, from 0 */
    uint32_t source_line;   /* from 0 */
    string_id source, name; /* or 0 */
};

struct source_map {
    struct arena arena;
    struct strings strings;
    string_id file, named_after;     /* without folders */
    struct source_mapping *mappings; /* by line and column */
    size_t count, cap;
    uint64_t used; /* how many places were found in it */
};

struct source_maps {
    struct source_map *items;
    size_t count;
};

/* Reads a map from a source of that path. False, with err set, where it is none; deinit
 * in every case. */
bool source_map_read(struct source_map *m, struct source *in, struct str path,
                     struct error *err);
void source_map_deinit(struct source_map *m);

/* A place of the sources. */
struct source_place {
    struct str name; /* empty where the map has none */
    struct str file;
    uint32_t line; /* from 1 */
};

/* Where a place of a built file, by line and column from 0, comes from. False where no
 * map tells. */
bool source_maps_find(struct source_maps *maps, struct str url, int64_t line,
                      int64_t column, struct source_place *place);

#endif
