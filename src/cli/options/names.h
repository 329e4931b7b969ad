/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say what functions and threads are called in stacks, as the
 * stackcollapse scripts name them; shared by the commands that write stacks. */
#ifndef STOKE_CLI_OPTIONS_NAMES_H
#define STOKE_CLI_OPTIONS_NAMES_H

#include "cli/options/view.h"
#include "export/exporter.h"

struct names_settings {
    bool pid, tid, kernel, jit, all, addresses, lines;
};

extern const struct option names_options[];

/* Before the input is read: has kept what the names need of it, and fills in what of
 * `options` they decide. Threads are told apart as asked, or else as `otherwise` says. */
void names_prepare(const struct names_settings *s, enum thread_style otherwise,
                   struct load_settings *load, struct view_settings *view,
                   struct export_options *options);

#endif
