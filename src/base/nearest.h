/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may have meant: the one of several names that is most like a word. */
#ifndef STOKE_BASE_NEAREST_H
#define STOKE_BASE_NEAREST_H

#include "base/error.h"

/* Begin with {.word = ...}, offer every name there is. */
struct nearest {
    struct str word;
    struct str name; /* empty as long as nothing is near enough to be offered to a user */
    unsigned distance;
};

/* Takes the name where it is nearer than what is held. A name is near that the word
 * begins, or that begins the word, or that a third of the word's letters, put in, left
 * out, changed or swapped with their neighbours, make of it; case does not count. */
void nearest_offer(struct nearest *n, struct str name);

/* Adds the next step to an error: "did you mean NAME? " with `dashes` before the name,
 * where one is near, and `rest`. Always returns false. */
bool nearest_hint(const struct nearest *n, const char *dashes, const char *rest,
                  struct error *err);

#endif
