/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: functions with their self and total weights, or the call tree with box
 * lines, as text for users, or as CSV or JSON for programs.
 *
 * The text begins with facts about the data, in lines that begin with '#'; then there
 * is a section for each event. Control characters in names are made visible
 * (base/visible.h), so that the text is safe for a terminal. */
#ifndef STOKE_EXPORT_TABLE_H
#define STOKE_EXPORT_TABLE_H

#include "analysis/chain_tree.h"
#include "export/exporter.h"

enum table_form { TABLE_TEXT, TABLE_CSV, TABLE_JSON };

/* The order of functions, and which share the percent limit applies to. A differential
 * table is ordered by the change of self or (default) of total. */
enum table_sort {
    TABLE_SORT_DEFAULT, /* self; differential: total */
    TABLE_SORT_SELF,
    TABLE_SORT_TOTAL,
    TABLE_SORT_NAME,
    TABLE_SORT_MODULE,
};

/* The forms of call graphs, by perf's names. */
enum graph_style {
    GRAPH_TREE,    /* graph: shares of the event */
    GRAPH_FRACTAL, /* shares of the calling or called function */
    GRAPH_FLAT,    /* a column for each path of calls */
    GRAPH_FOLDED,  /* a line for each path of calls */
};

/* Which events have one table, with a column for each. */
enum rows_group { ROWS_GROUP_NONE, ROWS_GROUP_RECORDED, ROWS_GROUP_ALL };

/* Columns of rows: figures, and the keys, as ROWS_KEYS + enum breakdown_key. */
enum rows_column {
    ROWS_CHILDREN, /* the share of the total weight */
    ROWS_SELF,     /* of the self weight, beside ROWS_CHILDREN */
    ROWS_OVERHEAD, /* the same by its usual name */
    ROWS_SAMPLES,
    ROWS_PERIOD,
    ROWS_KEYS,
};

#define ROWS_COLUMNS_MAX (ROWS_KEYS + (unsigned)KEY_COUNT)

struct rows_columns {
    uint8_t items[ROWS_COLUMNS_MAX]; /* each at most once */
    unsigned count;
};

/* One row per combination of keys, in perf report's layout. */
struct rows_options {
    struct breakdown_options by;
    struct chain_tree_options graph; /* `min_weight` is set from the percentage */
    double graph_percent;            /* smaller calls are omitted */
    enum graph_style style;
    bool weights;                /* folded: weights instead of shares */
    uint32_t branches;           /* of a function in the call graph, or paths; 0: all */
    struct rows_columns columns; /* of the text; it has all keys of `by` */
    /* Rows are sorted by these columns, figures descending, keys ascending; none: by weight. */
    struct rows_columns order;
    bool hierarchy;  /* text: a tree with a level for each key */
    uint32_t joined; /* with it, by key: a bit if it is in the level of the key before */
    enum rows_group group;
    uint32_t group_sort;   /* the event that sorts rows, from 0 */
    bool relative;         /* shares of what the filters include */
    const char *separator; /* between columns, which are not aligned; or NULL */
    bool named; /* rows begin with their function: call graphs do not repeat it */
    uint16_t widths[ROWS_COLUMNS_MAX]; /* of columns; 0: as wide as their texts */
};

struct table_options {
    enum table_form form;
    bool tree;  /* the call tree instead of the functions */
    bool locks; /* waits for locks instead of the functions (analysis/locks.h) */
    enum table_sort sort;
    uint32_t limit;       /* functions per event; 0: all */
    uint32_t depth;       /* of the tree's lines; 0: all */
    double percent_limit; /* smaller shares are omitted and summed up */
    uint32_t width;       /* columns of the terminal; 0: unlimited */
    bool colour;
    const char *heading; /* of the names, if they are not functions: "module" */
    const struct rows_options *rows; /* NULL: a row per function, or the tree */
};

#endif
