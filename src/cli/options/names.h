/* SPDX-License-Identifier: Apache-2.0 */
/* The options for the names of functions and threads in stacks. They have the names of the
 * stackcollapse scripts' options; the commands that write stacks share them. */
#ifndef STOKE_CLI_OPTIONS_NAMES_H
#define STOKE_CLI_OPTIONS_NAMES_H

#include "cli/options/transforms.h"
#include "export/exporter.h"

struct names_settings {
    bool pid, tid, kernel, jit, all, addresses, lines;
    bool no_comm, thread_numbers, bare_names, counts, sizes;
    struct names_sched {
        bool wakers, chains, tid;
    } sched;
};

extern const struct option names_options[];

/* Call before the input is read. Sets what `load` must retain for the names, and the
 * thread style and labels in `options`. The thread style is `otherwise` if neither --pid
 * nor --tid is given. */
void names_prepare(const struct names_settings *s, enum thread_style otherwise,
                   struct load_settings *load, struct transforms_settings *t,
                   struct export_options *options);

#endif
