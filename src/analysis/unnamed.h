/* SPDX-License-Identifier: Apache-2.0 */
/* The modules in which most samples have no function name. */
#ifndef STOKE_ANALYSIS_UNNAMED_H
#define STOKE_ANALYSIS_UNNAMED_H

#include "model/profile.h"

#define UNNAMED_MODULES_MAX 3

struct unnamed_module {
    module_id module;
    double share; /* of the weight of all samples, 0 to 1 */
};

/* The modules of user code whose leaf frames have no name, heaviest first, with at least
 * `least` (a share) of the weight of the profile's first event; returns their number, 0
 * when out of memory. */
size_t unnamed_modules(const struct profile *p, double least,
                       struct unnamed_module out[UNNAMED_MODULES_MAX]);

#endif
