/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the transforms, in one group that the commands share.
 *
 * Transforms are applied in the order of transforms.def, not in the order of the command
 * line. Patterns and numbers are checked when the command line is parsed. */
#ifndef STOKE_CLI_OPTIONS_TRANSFORMS_H
#define STOKE_CLI_OPTIONS_TRANSFORMS_H

#include "cli/options/load.h"
#include "transform/transform.h"

struct transforms_settings {
    struct transform_options options; /* the command sets `threads` */
    bool quiet;                       /* set by transforms_prepare */
};

/* For OPTION_PARSED: adds the text, which must outlive it, to a struct transform_words. */
bool transforms_add_word(const char *text, void *value, struct error *err);

/* For OPTION_PARSED: adds the numbers of a list, 7,12-15, to a struct number_set. */
bool transforms_parse_numbers(const char *text, void *value, struct error *err);

extern const struct option transforms_options[];

/* Call before the input is read. Sets what `load` must retain for the options: single
 * samples for their time or CPU, separate events, source files for --by file, modules for
 * --by module, --show-module and --collapse-module. */
void transforms_prepare(struct transforms_settings *t, struct load_settings *load);

/* Applies the options to p and takes ownership of it. Returns p itself or a new profile;
 * NULL, with err set and p destroyed, on failure or if no sample is left. Returns NULL for
 * NULL. */
struct profile *transforms_apply(const struct transforms_settings *t, struct profile *p,
                                 struct error *err);

/* The same, but a result without samples is not a failure. */
struct profile *transforms_apply_any(const struct transforms_settings *t,
                                     struct profile *p, struct error *err);

#endif
