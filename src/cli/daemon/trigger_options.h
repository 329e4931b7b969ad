/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds as values of options: functions of OPTION_PARSED, whose value is a struct
 * daemon_trigger_settings. */
#ifndef STOKE_CLI_DAEMON_TRIGGER_OPTIONS_H
#define STOKE_CLI_DAEMON_TRIGGER_OPTIONS_H

#include "base/error.h"
#include "daemon/triggers.h"

/* "90%" */
bool trigger_parse_cpu(const char *text, void *value, struct error *err);
bool trigger_parse_memory(const char *text, void *value, struct error *err);
bool trigger_parse_pressure_cpu(const char *text, void *value, struct error *err);
bool trigger_parse_pressure_memory(const char *text, void *value, struct error *err);
bool trigger_parse_pressure_io(const char *text, void *value, struct error *err);

/* "nginx=150%", "nginx=2G" */
bool trigger_parse_process(const char *text, void *value, struct error *err);

#endif
