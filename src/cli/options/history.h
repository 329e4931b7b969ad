/* SPDX-License-Identifier: Apache-2.0 */
/* History as the input of a command: --at SPAN, --store FILE. */
#ifndef STOKE_CLI_OPTIONS_HISTORY_H
#define STOKE_CLI_OPTIONS_HISTORY_H

#include "engine/load.h"
#include "store/store.h"

/* Parses a span of local time: "14:30..14:35", "2026-11-23T14:30:05..now", "-5m..-1m",
 * "@1790000000..@1790000060". One time alone is the minute or day that it names; a
 * relative time alone ends now. A time of day without a date is the last such time before
 * `now` (ns since 1970). False with err set if it is invalid. */
bool history_parse(const char *text, uint64_t now, struct store_span *span,
                   struct error *err);

/* Reads a span of the store that the settings name. The caller owns the profile; NULL
 * with err set on failure, or if there is no sample. */
struct profile *history_load(const struct load_settings *settings, const char *at,
                             struct error *err);

/* Prints how much a store holds and what a row costs; `location` NULL: the default. */
bool history_print_usage(const char *location, struct error *err);

#endif
