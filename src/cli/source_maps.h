/* SPDX-License-Identifier: Apache-2.0 */
/* The source maps that are named on the command line (import/source_map.h). */
#ifndef STOKE_CLI_SOURCE_MAPS_H
#define STOKE_CLI_SOURCE_MAPS_H

#include "cli/options/option.h"
#include "import/source_map.h"

/* Reads the files. False, with err set, where one cannot be read; free in every case. */
bool source_maps_load(struct source_maps *maps, const struct option_list *files,
                      struct error *err);
void source_maps_free(struct source_maps *maps);

/* Says which of them no function was of. */
void source_maps_note(const struct source_maps *maps, const struct option_list *files);

#endif
