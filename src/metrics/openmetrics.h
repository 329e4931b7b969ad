/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in the OpenMetrics text format, which Prometheus reads
 * (https://openmetrics.io, version 1.0.0). */
#ifndef STOKE_METRICS_OPENMETRICS_H
#define STOKE_METRICS_OPENMETRICS_H

#include "base/output.h"
#include "metrics/snapshot.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum openmetrics_kind { OPENMETRICS_GAUGE, OPENMETRICS_COUNTER };

/* Begins a metric family. A counter's name is without "_total". `unit` may be empty;
 * otherwise the name ends with it. */
void openmetrics_family(struct output *o, const char *name, enum openmetrics_kind kind,
                        const char *unit, const char *help);

/* Writes a label value, escaped; bytes that are not ASCII become "?". */
void openmetrics_label_value(struct output *o, struct str value);

/* Writes all metrics of the machine, without the end. */
void openmetrics_write(struct output *o, const struct metrics *m);

/* Writes the end of the document. */
void openmetrics_end(struct output *o);

#endif
