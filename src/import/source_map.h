/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript source maps (version 3): map a position in a built file to its position
 * and name in the sources.
 *
 *   {"version": 3, "file": "app.min.js", "sourceRoot": "", "sources": ["src/app.ts"],
 *    "names": ["render"], "mappings": "AAAAA,SAASA;..."}
 *
 * A map belongs to the file that it names, or the one that its own name contains
 * (app.min.js.map). */
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
    string_id file, named_after;     /* without directories */
    struct source_mapping *mappings; /* by line and column */
    size_t count, cap;
    uint64_t used; /* number of positions found in it */
};

struct source_maps {
    struct source_map *items;
    size_t count;
};

/* Reads a map from a source with that path. False, with err set, if it is not a map.
 * The caller calls deinit in every case. */
bool source_map_read(struct source_map *m, struct source *in, struct str path,
                     struct error *err);
void source_map_deinit(struct source_map *m);

/* A position in the sources. */
struct source_location {
    struct str name; /* empty if the map has none */
    struct str file;
    uint32_t line; /* from 1 */
};

/* The source position of a position in a built file, given by line and column from 0.
 * False if no map contains it. */
bool source_maps_find(struct source_maps *maps, struct str url, int64_t line,
                      int64_t column, struct source_location *found);

#endif
