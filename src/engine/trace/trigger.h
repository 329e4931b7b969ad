/* SPDX-License-Identifier: Apache-2.0 */
/* The trigger of a trace: --selector, --start and --end, or FireSim's own configuration.
 */
#ifndef STOKE_ENGINE_TRACE_TRIGGER_H
#define STOKE_ENGINE_TRACE_TRIGGER_H

#include "base/error.h"
#include "engine/report.h"
#include "trace/trigger.h"

struct trigger_settings {
    const char *config;      /* config_runtime.ini or .yaml, or NULL */
    const char *selector;    /* 0 to 3, or NULL */
    const char *start, *end; /* in the selector's own notation, or NULL */
};

/* The requested trigger; fields of the settings have priority over those of the file.
 * Reports the numbers that YAML, and so FireSim, interprets differently from their
 * text. */
bool trace_trigger_read(struct trace_trigger *t, const struct trigger_settings *s,
                        const struct engine_report *report, struct error *err);

/* Writes the trigger: "selector 3, start ffffffff00008013, end ffffffff00010013". */
void trace_trigger_say(const struct trace_trigger *t, char *text, size_t size);

#endif
