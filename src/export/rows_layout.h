/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by rows_text.c and rows_hierarchy.c: the layout of rows as text. */
#ifndef STOKE_EXPORT_ROWS_LAYOUT_H
#define STOKE_EXPORT_ROWS_LAYOUT_H

#include "export/rows.h"

struct rows_layout {
    struct rows *rows;
    struct output *out;
    struct output cell; /* the text of one cell */
    size_t widths[ROWS_COLUMNS_MAX];
};

/* The printable text of a cell, valid until the next call. */
struct str rows_cell_text(struct rows_layout *l, const struct breakdown_row *row,
                          enum breakdown_key key);

const char *rows_heading(unsigned column);

/* The width of a figure of one event. */
size_t rows_figure_width(const struct rows_layout *l, unsigned number);

/* Writes a figure in at least that width: a percentage, or a number. */
void rows_write_figure(struct rows_layout *l, double figure, unsigned column,
                       size_t event, size_t width);

/* Writes a text without the separator between columns, which becomes dots. */
void rows_write_plain(struct rows_layout *l, struct str text, struct str separator);

/* The rows as a tree: a level for each key. */
bool rows_write_hierarchy(struct rows_layout *l, struct error *err);

#endif
