/* SPDX-License-Identifier: Apache-2.0 */
/* Call trees that tools export as tables: VTune, Visual Studio, Instruments. A header
 * line names the columns. A row is a function; its depth is a column or the
 * indentation of its name; its values are self values or totals.
 *
 * To add such a format, describe its columns (table_classify) and call table_read. */
#ifndef STOKE_IMPORT_TREE_TABLE_H
#define STOKE_IMPORT_TREE_TABLE_H

#include "import/importer.h"

enum table_role {
    COLUMN_OTHER,
    COLUMN_NAME,
    COLUMN_LEVEL, /* without it, the depth is the indentation of the name */
    COLUMN_MODULE,
    COLUMN_FILE,
    COLUMN_SELF,  /* a self value: each such column is an event */
    COLUMN_TOTAL, /* a total; used if there is no COLUMN_SELF */
};

struct table_column {
    enum table_role role;
    unsigned rank;    /* of values: the event with the lowest rank comes first */
    struct str event; /* its name */
    enum unit unit;   /* of a plain number, */
    double scale;     /* and its factor */
    bool rounded;     /* to an integer */
};

struct table_format {
    /* Classifies the column with this header; header has no surrounding white space. */
    struct table_column (*classify)(struct str header);
    bool module_in_name; /* frame names are "module`name" */
    bool rust_names;     /* names need rust_name.h */
    bool counted_root;   /* level 0 is the process: its row is not a function */
};

/* The separator with which the line is a header of the format, with a column of names
 * and one of values. 0 if there is none. */
char table_separator(const struct table_format *format, struct str line);

/* Whether one of the first lines of head is a header of the format. */
bool table_probe(const struct table_format *format, struct str head);

bool table_read(const struct table_format *format, struct source *in,
                const struct import_options *options, struct builder *b,
                struct error *err);

#endif
