/* SPDX-License-Identifier: Apache-2.0 */
/* The option --suppressions: files of suppressed leaks (transform/suppressions.h). */
#ifndef STOKE_CLI_OPTIONS_SUPPRESSIONS_H
#define STOKE_CLI_OPTIONS_SUPPRESSIONS_H

#include "transform/suppressions.h"

/* For OPTION_PARSED: adds those of a file to a struct suppressions *, which remains valid
 * until the program ends. */
bool suppressions_parse(const char *file, void *value, struct error *err);

/* Prints what they suppressed, as LeakSanitizer does, unless s->is_quiet, and counts
 * from 0 again. NULL is allowed. */
void suppressions_report(struct suppressions *s);

#endif
