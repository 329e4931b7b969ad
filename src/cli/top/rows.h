/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the table of stoke top: its titles and its rows. */
#ifndef STOKE_CLI_TOP_ROWS_H
#define STOKE_CLI_TOP_ROWS_H

#include "cli/top/view.h"

/* Write a line of the given number of columns, without its end. */
void top_titles_write(const struct top_view *v, size_t columns, struct output *out);
void top_row_write(const struct top_view *v, const struct live_row *row, size_t columns,
                   struct output *out);

void top_blanks(struct output *out, size_t count);

double top_percent(double part, double whole); /* 0 of 0 */

#endif
