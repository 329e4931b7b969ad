/* SPDX-License-Identifier: Apache-2.0 */
/* The source maps that the user gives (import/source_map.h). */
#ifndef STOKE_ENGINE_SOURCE_MAPS_H
#define STOKE_ENGINE_SOURCE_MAPS_H

#include "base/name_list.h"
#include "engine/report.h"
#include "import/source_map.h"

/* Reads the files. False, with err set, if one cannot be read; call free in every
 * case. */
bool source_maps_load(struct source_maps *maps, const struct name_list *files,
                      struct error *err);
void source_maps_free(struct source_maps *maps);

/* Reports the maps that did not apply to any function. */
void source_maps_note(const struct source_maps *maps, const struct name_list *files,
                      const struct engine_report *report);

#endif
