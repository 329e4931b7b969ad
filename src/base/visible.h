/* SPDX-License-Identifier: Apache-2.0 */
/* Text as a terminal may show it. Names come from anywhere, and a terminal obeys what it
 * is sent: control characters, and the marks that turn or hide text around them, are
 * shown as escapes (\n, \x1b, \u202e), bytes that are not UTF-8 as \xff. All else stays.
 *
 * Widths are columns: two for the characters of East Asia and for emoji, none for marks
 * that combine with the character before them. */
#ifndef STOKE_BASE_VISIBLE_H
#define STOKE_BASE_VISIBLE_H

#include "base/output.h"

/* Prints s, made visible. */
void visible_print(struct output *o, struct str s);

/* How many columns that takes. */
size_t visible_columns(struct str s);

/* Prints s in at most `columns` of them, with "…" in place of the middle where it does
 * not fit; gives the columns taken. */
size_t visible_print_cut(struct output *o, struct str s, size_t columns);

/* An output on the way to another that makes visible what is written to it; ends of lines
 * and tabs stay. Must not move until visible_filter_deinit. */
struct visible_filter {
    struct output output; /* what the writer writes to */
    struct output *to;
    struct output line; /* begun, and not ended yet */
};

void visible_filter_init(struct visible_filter *f, struct output *to);

/* Passes on what is left; `to` is still its owner's to finish. False when anything
 * failed.
 */
bool visible_filter_finish(struct visible_filter *f);

/* Frees the filter; not `to`. Also one that is all zero. */
void visible_filter_deinit(struct visible_filter *f);

#endif
