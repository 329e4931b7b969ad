/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say which part of a profile is shown, and how: those of the
 * transforms, in one group that every command which shows profiles shares.
 *
 * Names taken: --event (--event-filter, --only-event) --drop-event --comm (--only-comm)
 * --drop-comm --only-pid --drop-pid --only-tid --drop-tid --cpu (--only-cpu) --drop-cpu
 * --start --end --focus --ignore --hide --show --show-from --base --by
 * --collapse-recursion --collapse-cycles --package-split --strip-arguments
 * --strip-templates --strip-offsets --strip-hex --reverse --scale --scale-to.
 *
 * They are applied in the order of transforms.def, whatever their order on the command
 * line. Patterns and numbers are checked while the command line is read. */
#ifndef STOKE_CLI_OPTIONS_VIEW_H
#define STOKE_CLI_OPTIONS_VIEW_H

#include "cli/options/load.h"
#include "transform/transform.h"

struct view_settings {
    struct transform_options transform; /* `threads` is the command's to set */
};

extern const struct option view_options[];

/* Before the input is read: has kept what the options need of it, the samples one by one
 * for their time or CPU, the events that are to be chosen from, source files for --by
 * file, modules for --by module and --collapse-module. */
void view_prepare(const struct view_settings *view, struct load_settings *load);

/* Applies the options to p, which it takes over: gives back p itself or a new profile.
 * NULL, with err set and p destroyed, on failure, which it is when a filter leaves
 * nothing. NULL gives NULL. */
struct profile *view_apply(const struct view_settings *view, struct profile *p,
                           struct error *err);

/* The same, but an empty result is a result. */
struct profile *view_apply_any(const struct view_settings *view, struct profile *p,
                               struct error *err);

#endif
