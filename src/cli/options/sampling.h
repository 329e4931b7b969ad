/* SPDX-License-Identifier: Apache-2.0 */
/* The options that stoke record and stoke top share: targets and sampling settings. */
#ifndef STOKE_CLI_OPTIONS_SAMPLING_H
#define STOKE_CLI_OPTIONS_SAMPLING_H

#include "cli/options/option.h"
#include "engine/sampling.h"

extern const struct option sampling_target_options[]; /* of struct sampling_targets */
extern const struct option sampling_thread_options[]; /* the same: perf's --per-thread */
extern const struct option sampling_options[];        /* of struct sampling_settings */

/* Names in the order of enum record_stacks, and a NULL. */
extern const char *const sampling_stack_names[];

/* Parses --event into struct record_events. "list" and "help" request the list of events, which the
 * command prints later. */
bool sampling_parse_events(const char *text, void *value, struct error *err);

/* Parses --filter, of the last tracepoint of struct record_events. */
bool sampling_parse_filter(const char *text, void *value, struct error *err);

/* Prints the events that --event accepts. Returns an exit status. */
int sampling_list_events(void);

#endif
