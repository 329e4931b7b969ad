/* SPDX-License-Identifier: Apache-2.0 */
/* Glob patterns of users: '*' matches any bytes, '?' one byte. */
#ifndef STOKE_BASE_GLOB_H
#define STOKE_BASE_GLOB_H

#include "base/str.h"

/* Returns true if the pattern matches the whole name. A '_' in the pattern also matches
 * a space, because comms are displayed that way. Worst case: time proportional to the
 * product of the lengths. */
bool glob_match(struct str pattern, struct str name);

#endif
