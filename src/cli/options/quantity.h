/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers with units: "64M", "10m". */
#ifndef STOKE_CLI_OPTIONS_QUANTITY_H
#define STOKE_CLI_OPTIONS_QUANTITY_H

#include "base/error.h"

/* A number above 0 and its unit: a letter of `units`, each with its factor; or none, with the
 * factor 1. False if it is another text, or above `most`. */
bool quantity_parse(const char *text, const char *units, const uint64_t *factors,
                    uint64_t most, uint64_t *value);

/* Parses a size in bytes, "512K", "64M", "2G", into a uint64_t. */
bool quantity_parse_size(const char *text, void *value, struct error *err);

#endif
