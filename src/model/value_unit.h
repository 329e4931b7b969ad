/* SPDX-License-Identifier: Apache-2.0 */
/* The units of values, by the names that profile formats have for them. */
#ifndef STOKE_MODEL_VALUE_UNIT_H
#define STOKE_MODEL_VALUE_UNIT_H

#include "model/profile.h"

struct value_unit {
    const char *name;
    enum unit unit;
    double factor; /* a value times this is a value of `unit` */
};

/* The unit with that name: "milliseconds", "ms", "bytes", "By" (UCUM). Other names are counts. */
const struct value_unit *value_unit_of(struct str name);

#endif
