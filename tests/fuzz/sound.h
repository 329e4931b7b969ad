/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every profile, however hostile the input was that it was read from. Each
 * function ends the process where it does not. */
#ifndef STOKE_TESTS_SOUND_H
#define STOKE_TESTS_SOUND_H

#include "model/profile.h"

/* Ids are in range, parents come before their children, weights are finite. */
void sound_profile(const struct profile *p);

/* The call tree of an event: totals are sums of selves, and no child outweighs its parent
 * where no weight is negative. */
void sound_tree(const struct profile *p, event_id event);

/* Written as folded lines and read again, the weights sum up to the same. */
void sound_folded(const struct profile *p);

/* Written as JSON it is JSON; written by a format that holds a whole profile and read
 * again, the weights sum up to the same. */
void sound_exports(const struct profile *p);

#endif
