/* SPDX-License-Identifier: Apache-2.0 */
/* The trigger of a trace: --selector, --start and --end, or FireSim's own configuration.
 */
#ifndef STOKE_CLI_TRACE_TRIGGER_H
#define STOKE_CLI_TRACE_TRIGGER_H

#include "base/error.h"
#include "trace/trigger.h"

struct trigger_settings {
    const char *config;      /* config_runtime.ini or .yaml, or NULL */
    const char *selector;    /* 0 to 3, or NULL */
    const char *start, *end; /* in the selector's own notation, or NULL */
};

/* What the settings ask for; those of the command line count for more than those of the
 * file. What FireSim makes of a number that YAML reads otherwise than it looks is told,
 * but with `quiet`. */
bool trace_trigger_read(struct trace_trigger *t, const struct trigger_settings *s,
                        bool quiet, struct error *err);

/* Says the trigger: "selector 3, start ffffffff00008013, end ffffffff00010013". */
void trace_trigger_say(const struct trace_trigger *t, char *text, size_t size);

#endif
