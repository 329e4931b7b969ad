/* SPDX-License-Identifier: Apache-2.0 */
/* The format to write: from its option, or from the output's name. */
#ifndef STOKE_CLI_OPTIONS_SAVE_H
#define STOKE_CLI_OPTIONS_SAVE_H

#include "engine/save.h"

/* For options whose value is a format to write: a const struct exporter *. */
bool save_parse_exporter(const char *text, void *value, struct error *err);

/* The exporter that is named (`to`), or else that the output's name asks for; `otherwise`
 * for standard output (no name, or "-") and for devices, whose names tell nothing. NULL,
 * with err set, where there is none. */
const struct exporter *save_choose_exporter(const struct exporter *to, const char *output,
                                            const struct exporter *otherwise,
                                            struct error *err);

#endif
