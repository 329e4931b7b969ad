/* SPDX-License-Identifier: Apache-2.0 */
/* Options of perf's commands that stoke's commands do not list: those that change nothing here
 * are accepted, the others are refused with what to use instead. Options with a result of
 * their own are in the tables of the commands. Source: the --help of perf 6.1 and 6.12. */
#ifndef STOKE_CLI_OPTIONS_PERF_H
#define STOKE_CLI_OPTIONS_PERF_H

#include "cli/options/option.h"

extern const struct option perf_record_options[];
extern const struct option perf_report_options[];
extern const struct option perf_script_options[];
extern const struct option perf_annotate_options[];
extern const struct option perf_diff_options[];

#endif
