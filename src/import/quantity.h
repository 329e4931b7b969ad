/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts as tools print them for people: "846.00 ms", "1,234", "45.92 Gc", "16.3s". */
#ifndef STOKE_IMPORT_QUANTITY_H
#define STOKE_IMPORT_QUANTITY_H

#include "model/profile.h"

struct quantity {
    double value; /* in ns, bytes or cycles, as the unit says; else the bare number */
    double step;  /* what the last printed digit is worth; 0 where nothing is rounded */
    bool has_unit;
    enum unit unit;
};

/* The largest value taken: sums of it stay exact enough, and finite. */
#define QUANTITY_MAX 1e18

/* Takes a number with its unit from the beginning of *text; spaces before both are
 * passed over, and commas between digits where they group by thousands. "-" is 0. False
 * where there is no number, or it is negative or larger than QUANTITY_MAX. */
bool quantity_take(struct str *text, struct quantity *q);

/* The unit that a header tells in brackets: "Self (ms)" has 1e6, UNIT_NANOSECONDS. False
 * where there is none. */
bool quantity_header_unit(struct str header, double *scale, enum unit *unit);

#endif
