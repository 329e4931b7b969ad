/* SPDX-License-Identifier: Apache-2.0 */
/* Names with '*' for any run of bytes and '?' for one byte, as users choose by. */
#ifndef STOKE_BASE_GLOB_H
#define STOKE_BASE_GLOB_H

#include "base/str.h"

/* Whether all of the name matches. A '_' of the pattern stands for a space too: that is
 * how comms are shown. Takes time in proportion to the product of the lengths at worst.
 */
bool glob_match(struct str pattern, struct str name);

#endif
