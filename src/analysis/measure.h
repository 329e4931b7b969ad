/* SPDX-License-Identifier: Apache-2.0 */
/* How weights are written for people: 12.04 s, 1,204, 3.20 MiB. */
#ifndef STOKE_ANALYSIS_MEASURE_H
#define STOKE_ANALYSIS_MEASURE_H

#include "model/profile.h"

/* One for a whole column. */
struct measure {
    double divisor;
    int decimals;
    const char *unit; /* "ms"; empty for what is merely counted */
};

/* The measure for weights up to `largest`; of what is counted, with decimals where there
 * are fractions. */
struct measure measure_for(enum unit unit, double largest, bool fractions);

/* Room for what measure_write makes. */
#define MEASURE_TEXT_MAX 56

/* Writes v without its unit, thousands apart; the length. */
size_t measure_write(const struct measure *m, double v, char *out);

#endif
