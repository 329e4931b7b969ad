/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters write a profile as bytes of a format. One file per format.
 *
 * To add a format:
 *   1. src/export/NAME.c with one `const struct exporter export_NAME`
 *   2. its line in exporters.def
 *   3. its line in src/export/meson.build
 *   4. tests/export/NAME/CASE.want, written from tests/export/CASE.in
 * `stoke convert`, --help, the manual and the tests read the list.
 *
 * An exporter is pure and writes to an output, which remembers failures. It returns
 * false only for its own failures (memory, a profile that the format cannot express).
 * It encodes every name for the format and never writes one raw. */
#ifndef STOKE_EXPORT_EXPORTER_H
#define STOKE_EXPORT_EXPORTER_H

#include "analysis/calltree.h"
#include "base/output.h"
#include "base/thread_pool.h"
#include "model/profile.h"

struct code;          /* model/code.h */
struct costs_limits;  /* analysis/call_costs.h */
struct svg_options;   /* export/svg.h */
struct table_options; /* export/table.h */

/* The text of a source file, shown in a page. */
struct source_text {
    struct str name; /* as in the frames */
    struct str text; /* UTF-8 */
};

struct export_options {
    struct calltree_options tree;
    struct str title;                  /* empty: the exporter's default */
    const struct svg_options *svg;     /* NULL: defaults */
    const struct table_options *table; /* NULL: defaults */
    const struct costs_limits *calls;  /* NULL: defaults */
    const struct source_text *sources; /* html: the sources that it shows */
    size_t source_count;
    struct str assembly; /* html: instructions of functions, as `stoke annotate --json`
                            writes them; empty: none */
    const struct profile
        *before; /* html: the profile that it is compared with; NULL: none */
    struct str before_title;
    const struct code *code; /* stoke: the code of functions (model/code.h); NULL: none */
    bool with_callgraph;     /* html: with the layout program for call graphs, +0.7 MB */
    bool live; /* html: the page of stoke daemon, which reads from its server */
    bool home; /* html: the page of stoke view, which reads from its server */
    const struct thread_pool *pool; /* to write in parallel; NULL: no threads */
};

struct exporter {
    const char *name; /* lower case */
    const char
        *suffixes; /* "folded,collapsed"; the longest match of a file name is used */
    const char *summary; /* for --help */
    bool needs_time;     /* needs every sample and its time (BUILD_KEEP) */
    bool whole;    /* writes all events, threads, source lines and addresses; others write
                     one event */
    bool cuts;     /* shows which stacks are truncated, by TRUNCATED_MARK */
    bool integers; /* rounds the weights of each stack; nanoseconds of milliseconds */
    bool pairs;    /* shows two profiles: export_options.before */
    bool titled;   /* the default title is the input's name */
    bool packed;   /* compressed with gzip, whatever the file's name; see cli/save.h */
    bool visible;  /* for terminals: control characters in names are made visible
                     (base/visible.h); of other formats only by the cli, on a terminal */
    bool (*write)(const struct profile *p, const struct export_options *options,
                  struct output *out, struct error *err);
};

extern const struct exporter *const exporters[]; /* terminated by NULL */

const struct exporter *exporter_named(struct str name);

/* The exporter for a file with that name, by its longest matching suffix; NULL if
 * there is none. ".gz" is part of the suffix if the exporter lists it ("pb.gz"). */
const struct exporter *exporter_for_file(struct str name);

#endif
