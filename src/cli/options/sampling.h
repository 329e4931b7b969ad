/* SPDX-License-Identifier: Apache-2.0 */
/* The options that stoke record and stoke top share: the targets, and how they are
 * sampled. */
#ifndef STOKE_CLI_OPTIONS_SAMPLING_H
#define STOKE_CLI_OPTIONS_SAMPLING_H

#include "cli/options/option.h"
#include "engine/sampling.h"

extern const struct option sampling_target_options[]; /* of struct sampling_targets */
extern const struct option sampling_options[];        /* of struct sampling_settings */

/* By enum record_stacks; ends in NULL. */
extern const char *const sampling_stack_names[];

/* Prints the events that can be named; an exit status. */
int sampling_list_events(void);

#endif
