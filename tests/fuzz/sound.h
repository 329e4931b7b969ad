/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of every profile, also of one that was read from hostile input. Each
 * function aborts if they do not hold. */
#ifndef STOKE_TESTS_SOUND_H
#define STOKE_TESTS_SOUND_H

#include "model/profile.h"

/* Ids are in range, parents come before their children, weights are finite. */
void sound_profile(const struct profile *p);

/* The call tree of an event: totals are sums of selves, and no child weighs more than
 * its parent unless a weight is negative. */
void sound_tree(const struct profile *p, event_id event);

/* After writing folded lines and reading them, the sum of the weights is the same. */
void sound_folded(const struct profile *p);

/* JSON output is valid JSON; after writing a format that holds a whole profile and
 * reading it, the sum of the weights is the same. */
void sound_exports(const struct profile *p);
struct code; /* model/code.h */

/* The code of functions: ids are in range, rows are sorted by function; it is the same after
 * writing the profile with it and reading it. */
void sound_code(const struct profile *p, const struct code *c);

#endif
