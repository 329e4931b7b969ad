/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts as tools print them for users: "846.00 ms", "1,234", "45.92 Gc", "16.3s". */
#ifndef STOKE_IMPORT_QUANTITY_H
#define STOKE_IMPORT_QUANTITY_H

#include "model/profile.h"

struct quantity {
    double value; /* in ns, bytes or cycles, according to `unit`; otherwise the plain
                     number */
    double step;  /* the value of the last printed digit; 0 if exact */
    bool has_unit;
    enum unit unit;
};

/* The largest accepted value: sums of such values stay finite and precise enough. */
#define QUANTITY_MAX 1e18

/* Removes a number with its unit from the start of *text. Spaces before both are
 * skipped, and commas that group digits by thousands. "-" is 0. False if there is no
 * number, or it is negative or larger than QUANTITY_MAX. */
bool quantity_take(struct str *text, struct quantity *q);

/* The unit in a header's brackets: "Self (ms)" has 1e6, UNIT_NANOSECONDS. False if
 * there is none. */
bool quantity_header_unit(struct str header, double *scale, enum unit *unit);

#endif
