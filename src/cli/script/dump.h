/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a recording as they are: their bytes and fields, in the layout of
 * perf script -D. */
#ifndef STOKE_CLI_SCRIPT_DUMP_H
#define STOKE_CLI_SCRIPT_DUMP_H

#include "import/perf_data/recording.h"

/* Writes the bytes of the record, its position, its type and its fields. */
void script_dump_record(struct output *o, const struct perf_data *d,
                        const struct perf_record *r);

#endif
