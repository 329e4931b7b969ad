/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for misspelled names: the candidate most similar to a word. */
#ifndef STOKE_BASE_NEAREST_H
#define STOKE_BASE_NEAREST_H

#include "base/error.h"

/* Start with {.word = ...} and offer every candidate. */
struct nearest {
    struct str word;
    struct str name; /* empty while no candidate is similar enough */
    unsigned distance;
};

/* Takes the candidate if it is more similar than the current one. A candidate is
 * similar if the word is its prefix, if it is a prefix of the word, or if their edit
 * distance is at most a third of the word's length. Ignores case. */
void nearest_offer(struct nearest *n, struct str name);

/* Sets the hint of an error to "did you mean NAME? " and `rest`, with `dashes` before
 * the name; only `rest` if there is no suggestion. Always returns false. */
bool nearest_hint(const struct nearest *n, const char *dashes, const char *rest,
                  struct error *err);

#endif
