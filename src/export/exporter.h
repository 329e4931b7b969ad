/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters: a profile in, bytes of a format out. One file per format.
 *
 * To add a format:
 *   1. src/export/NAME.c with one `const struct exporter export_NAME`
 *   2. its line in exporters.def
 *   3. its line in src/export/meson.build
 *   4. tests/export/NAME/CASE.want, written from tests/export/CASE.in
 * `stoke convert`, --help, the manual and the tests find it in the list.
 *
 * An exporter is pure and writes through an output, whose failure sticks; it returns
 * false only for a failure of its own (memory, a profile the format cannot express).
 * Whatever stands in a name comes out as text of the format: nothing is ever written raw.
 */
#ifndef STOKE_EXPORT_EXPORTER_H
#define STOKE_EXPORT_EXPORTER_H

#include "analysis/calltree.h"
#include "base/crew.h"
#include "base/output.h"
#include "model/profile.h"

struct call_limits;   /* analysis/calls.h */
struct svg_options;   /* export/svg.h */
struct table_options; /* export/table.h */

/* A source file that a page shows. */
struct source_text {
    struct str name; /* as frames name it */
    struct str text; /* UTF-8 */
};

struct export_options {
    struct calltree_options tree;
    struct str title;                  /* may be empty: the exporter's default */
    const struct svg_options *svg;     /* NULL: defaults */
    const struct table_options *table; /* NULL: defaults */
    const struct call_limits *calls;   /* NULL: defaults */
    const struct source_text *sources; /* html: what it shows of them */
    size_t source_count;
    bool with_callgraph;     /* html: with what draws call graphs, +0.7 MB */
    const struct crew *crew; /* who helps to write; NULL: nobody */
};

struct exporter {
    const char *name;     /* lower case */
    const char *suffixes; /* "folded,collapsed"; longest match of a file's name wins */
    const char *summary;  /* for --help */
    bool wants_time;      /* is better off with every sample and its time (BUILD_KEEP) */
    bool whole;           /* holds all events, threads, source lines and addresses; others
                             show one event */
    bool titled;          /* is called like the input where no title is given */
    bool packed;  /* is packed with gzip, whatever the file's name; see cli/save.h */
    bool visible; /* is made for terminals: names in it are visible (base/visible.h);
                     of others they are on a terminal only, by the cli */
    bool (*write)(const struct profile *p, const struct export_options *options,
                  struct output *out, struct error *err);
};

extern const struct exporter *const exporters[]; /* and a NULL behind them */

const struct exporter *exporter_named(struct str name);

/* The exporter for a file of that name, by its longest matching suffix; NULL for none.
 * A suffix ".gz" counts as the exporter's own where it lists it ("pb.gz"). */
const struct exporter *exporter_for_file(struct str name);

#endif
