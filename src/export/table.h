/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: functions with their self and total weights, or the call tree with box lines,
 * as text for people, or as CSV or JSON for programs.
 *
 * The text begins with what a reader must know about the data, in lines that begin with
 * '#'; a section an event follows. Names come out visible (base/visible.h), so that the
 * text may go to a terminal. */
#ifndef STOKE_EXPORT_TABLE_H
#define STOKE_EXPORT_TABLE_H

#include "analysis/callgraph.h"
#include "export/exporter.h"

enum table_form { TABLE_TEXT, TABLE_CSV, TABLE_JSON };

/* What decides the order of functions, and which shares the percent limit looks at. A
 * differential table is in the order of the change, of self or (by default) of total. */
enum table_sort {
    TABLE_SORT_DEFAULT, /* self; differential: total */
    TABLE_SORT_SELF,
    TABLE_SORT_TOTAL,
    TABLE_SORT_NAME,
    TABLE_SORT_MODULE,
};

/* A row for every combination of keys, in perf report's layout. */
struct rows_options {
    struct breakdown_options by;
    struct callgraph_options graph; /* `min_weight` is set from the percentage */
    double graph_percent;           /* calls below it are left out */
    bool samples, period;           /* columns: how many, and the weight */
};

struct table_options {
    enum table_form form;
    bool tree; /* the call tree in place of the functions */
    enum table_sort sort;
    uint32_t limit;       /* functions an event; 0: all */
    uint32_t depth;       /* of the tree's lines; 0: all */
    double percent_limit; /* what is below it is left out and summed up */
    uint32_t width;       /* columns of the terminal; 0: as wide as need be */
    bool colour;
    const char *heading; /* of the names, where they are not functions: "module" */
    const struct rows_options *rows; /* NULL: a row a function, or the tree */
};

#endif
