/* SPDX-License-Identifier: Apache-2.0 */
/* Call trees that tools export as tables: VTune, Visual Studio, Instruments. A header
 * line names the columns; a row is a function, its depth a column or the indentation of
 * its name, its values its own or totals.
 *
 * To add such a format, say what its columns are (table_classify) and call table_read. */
#ifndef STOKE_IMPORT_TABLE_H
#define STOKE_IMPORT_TABLE_H

#include "import/importer.h"

enum table_role {
    COLUMN_OTHER,
    COLUMN_NAME,
    COLUMN_LEVEL, /* without one, the name's indentation tells the depth */
    COLUMN_MODULE,
    COLUMN_FILE,
    COLUMN_SELF,  /* a value of the function alone: each such column is an event */
    COLUMN_TOTAL, /* with its callees; used where there is no COLUMN_SELF */
};

struct table_column {
    enum table_role role;
    unsigned rank;    /* of values: the event of the lowest rank comes first */
    struct str event; /* its name */
    enum unit unit;   /* of a bare number, */
    double scale;     /* and what it is multiplied with */
    bool rounded;     /* to a whole number */
};

struct table_format {
    /* What the column under this header is; header has no white space around it. */
    struct table_column (*classify)(struct str header);
    bool module_in_name; /* frames are called "module`name" */
    bool rust_names;     /* names need rust_name.h */
    bool counted_root;   /* level 0 is the process: its row is no function */
};

/* A separator with which the line is a header of the format: it has a name's column and a
 * value's. 0 where there is none. */
char table_separator(const struct table_format *format, struct str line);

/* Whether one of the first lines of head is a header of the format. */
bool table_probe(const struct table_format *format, struct str head);

bool table_read(const struct table_format *format, struct source *in,
                const struct import_options *options, struct builder *b,
                struct error *err);

#endif
