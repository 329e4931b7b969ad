/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a recorder's report. */
#ifndef STOKE_CLI_RECORD_SUMMARY_H
#define STOKE_CLI_RECORD_SUMMARY_H

#include "record/report.h"

/* "61.2 kB", "4.1 MB" */
const char *record_size_text(uint64_t bytes, char room[32]);

/* Shows the line of a running recording. */
void record_show_progress(const struct record_report *r);

/* Prints the results, the files, and the limits of the result. `rate`: in samples per second, if
 * it is to be reported; or 0. `drawn`: no file is named. */
void record_print_summary(const struct record_report *r, uint32_t rate, bool drawn);

#endif
