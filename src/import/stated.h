/* SPDX-License-Identifier: Apache-2.0 */
/* Totals that a file states. */
#ifndef STOKE_IMPORT_STATED_H
#define STOKE_IMPORT_STATED_H

#include "model/builder.h"

/* Warns, with the difference, if the sum of the values read is not the total that the
 * file states; both are in the file's unit. */
void stated_check(struct builder *b, struct str name, double sum, double stated);

/* The same, if the file's numbers are rounded: a difference of up to `slack` is
 * accepted. */
void stated_check_about(struct builder *b, struct str name, double sum, double stated,
                        double slack);

#endif
