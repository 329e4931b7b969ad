/* SPDX-License-Identifier: Apache-2.0 */
/* Folded lines, in order, to text. */
#ifndef STOKE_EXPORT_FOLDED_TEXT_H
#define STOKE_EXPORT_FOLDED_TEXT_H

#include "analysis/paths.h"
#include "base/crew.h"
#include "base/output.h"

struct folded_line {
    struct str thread; /* its label, or nothing */
    uint32_t path;
    double weight, rest, base, base_rest; /* as of samples */
};

struct folded_text {
    const struct paths *paths;
    const struct folded_line *lines;
    size_t count;
    bool differential; /* the base stands in front of the weight */
};

/* Writes all lines, with the crew where there are many. False when memory is short. */
bool folded_text_write(const struct folded_text *text, const struct crew *crew,
                       struct output *out);

#endif
