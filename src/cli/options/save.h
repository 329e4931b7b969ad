/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the output format. */
#ifndef STOKE_CLI_OPTIONS_SAVE_H
#define STOKE_CLI_OPTIONS_SAVE_H

#include "engine/save.h"

/* Parses an output format into a const struct exporter *. */
bool save_parse_exporter(const char *text, void *value, struct error *err);

/* Returns `to` if it is not NULL, otherwise the exporter for the suffix of `output`.
 * Standard output (NULL or "-") and devices have no suffix: they get `otherwise`. NULL with
 * err set if there is no exporter. */
const struct exporter *save_choose_exporter(const struct exporter *to, const char *output,
                                            const struct exporter *otherwise,
                                            struct error *err);

#endif
