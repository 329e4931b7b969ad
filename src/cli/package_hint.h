/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions have no names: which packages, or which server, would bring them. */
#ifndef STOKE_CLI_PACKAGE_HINT_H
#define STOKE_CLI_PACKAGE_HINT_H

#include "cli/options/symbols.h"

/* Writes one line to standard error about the modules whose symbols were stripped, where
 * they have a noticeable share of the samples; else nothing. */
void package_hint(const struct symbols *s, const struct profile *p);

#endif
