/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `stoke script`. */
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
    struct script_clock clock;
    bool full_paths; /* of source files */
    bool graft;      /* the input is read as a whole */
    bool header, header_only;
    bool dump; /* all records with their bytes and fields */
    bool no_chain, shows_maps, shows_tasks, shows_lost;
    bool shows_switches, shows_namespaces, shows_cgroups;
};

/* Prints the samples of recordings as they are read: a consumer. */
struct script_recording;

/* NULL when out of memory. */
struct script_recording *script_recording_create(const struct script_settings *s,
                                                 struct script_choice *choice,
                                                 struct output *o);
void script_recording_destroy(struct script_recording *r);
const struct perf_consumer *script_recording_consumer(const struct script_recording *r);

/* Returns false, with err set, if the recording failed for lack of memory. *missing: fields
 * that were requested but not recorded. */
bool script_recording_check(const struct script_recording *r, uint32_t *missing,
                            struct error *err);

/* Prints the samples of a profile: for inputs that are not recordings. */
void script_write_profile(const struct script_settings *s, struct script_choice *choice,
                          const struct profile *p, struct output *o);

#endif
