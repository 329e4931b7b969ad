/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a recording in its pipe form: a header without sizes, and what a file contains before
 * and after its records, as records (Linux, tools/perf/Documentation/perf.data-file-format.txt,
 * "pipe mode"). */
#ifndef STOKE_RECORD_PERF_STREAM_H
#define STOKE_RECORD_PERF_STREAM_H

#include "base/error.h"
#include "record/perf_features.h"

/* False if the ids of an event's counters do not fit into a record. */
bool perf_stream_put_head(struct output *o, const struct perf_file_head *head,
                          const struct perf_features *features, struct error *err);

#endif
