/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `stoke script` share. */
#ifndef STOKE_CLI_SCRIPT_SCRIPT_H
#define STOKE_CLI_SCRIPT_SCRIPT_H

#include "cli/options/load.h"
#include "cli/script/choice.h"
#include "cli/script/text.h"

struct script_settings {
    struct load_settings load;
    struct script_fields fields;
    struct name_list inputs;
    const char *output;
    struct script_wishes wishes;
    int64_t max_stack;
    bool no_chain, shows_maps, shows_tasks, shows_lost;
};

/* Prints the samples of recordings as they are read: a taker. */
struct script_recording;

/* NULL when memory is short. */
struct script_recording *script_recording_create(const struct script_settings *s,
                                                 struct script_choice *choice,
                                                 struct output *o);
void script_recording_destroy(struct script_recording *r);
const struct perf_taker *script_recording_taker(const struct script_recording *r);

/* What could not be done: false, with err set, where memory was short. Fields that were
 * asked for and not recorded: *missing. */
bool script_recording_check(const struct script_recording *r, uint32_t *missing,
                            struct error *err);

/* Prints the samples of a profile, which is what other inputs become. */
void script_write_profile(const struct script_settings *s, struct script_choice *choice,
                          const struct profile *p, struct output *o);

#endif
