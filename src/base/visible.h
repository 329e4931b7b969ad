/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text safe for a terminal. Names can contain any bytes, and a terminal
 * interprets what it receives. Control characters and marks that reorder or hide text
 * are printed as escapes (\n, \x1b, \u202e), bytes that are not UTF-8 as \xff. Other
 * text is unchanged.
 *
 * Widths are in columns: two for East Asian characters and emoji, zero for combining
 * marks. */
#ifndef STOKE_BASE_VISIBLE_H
#define STOKE_BASE_VISIBLE_H

#include "base/output.h"

/* Prints s, made visible. */
void visible_print(struct output *o, struct str s);

/* Number of columns that the visible form of s takes. */
size_t visible_columns(struct str s);

/* Prints s in at most `columns` columns; if it does not fit, "…" replaces its middle.
 * Returns the columns used. */
size_t visible_print_cut(struct output *o, struct str s, size_t columns);

/* The longest start of s whose visible form has at most `columns` columns. */
struct str visible_head(struct str s, size_t columns);

/* An output that makes text visible and passes it on to another output; line ends and
 * tabs are unchanged. It must not move until visible_filter_deinit. */
struct visible_filter {
    struct output output; /* the writer writes here */
    struct output *to;
    struct output line; /* the current line, not complete yet */
};

void visible_filter_init(struct visible_filter *f, struct output *to);

/* Passes on the rest; the owner of `to` must still finish `to`. False if anything
 * failed. */
bool visible_filter_finish(struct visible_filter *f);

/* Frees the filter, not `to`. A zeroed filter is allowed. */
void visible_filter_deinit(struct visible_filter *f);

#endif
