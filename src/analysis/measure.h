/* SPDX-License-Identifier: Apache-2.0 */
/* Weights as text for people: 12.04 s, 1,204, 3.20 MiB. */
#ifndef STOKE_ANALYSIS_MEASURE_H
#define STOKE_ANALYSIS_MEASURE_H

#include "model/profile.h"

/* The unit and the precision of a column. */
struct measure {
    double divisor;
    int decimals;
    const char *unit; /* "ms"; empty for counts */
};

/* The measure for weights up to `largest`. Counts get decimals if there are fractions. */
struct measure measure_for(enum unit unit, double largest, bool fractions);

/* Size of the text of measure_write. */
#define MEASURE_TEXT_MAX 56

/* Writes v without the unit, with thousands separators. Returns the length. */
size_t measure_write(const struct measure *m, double v, char *out);

#endif
