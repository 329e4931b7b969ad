/* SPDX-License-Identifier: Apache-2.0 */
/* Totals that a file states. */
#ifndef STOKE_IMPORT_STATED_H
#define STOKE_IMPORT_STATED_H

#include "model/builder.h"

/* Warns, with the difference, where the sum of what was read is not the total that the
 * file states for it; both in the file's own unit. */
void stated_check(struct builder *b, struct str name, double sum, double stated);

/* The same, where the file's numbers are rounded: a difference of up to `slack` is none. */
void stated_check_about(struct builder *b, struct str name, double sum, double stated,
                        double slack);

#endif
