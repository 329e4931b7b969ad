/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the packages, or the server, with the missing symbols. */
#ifndef STOKE_ENGINE_PACKAGE_HINT_H
#define STOKE_ENGINE_PACKAGE_HINT_H

#include "engine/report.h"
#include "engine/symbols.h"

/* Reports, in one line, the modules whose symbols were stripped, if they have a
 * noticeable share of the samples. */
void package_hint(const struct symbols *s, const struct profile *p,
                  const struct engine_report *report);

#endif
