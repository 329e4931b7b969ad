/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a span as JSON: {"start":1790000000,"step":1,"count":600,"metrics":[
 * {"name":"cpu.user","unit":"ms/s","values":[12,null,7]}]}. Times are in seconds. */
#ifndef STOKE_DAEMON_METRICS_REPLY_H
#define STOKE_DAEMON_METRICS_REPLY_H

#include "base/output.h"
#include "daemon/metrics.h"

#define DAEMON_METRIC_NAMES_MAX 64
#define DAEMON_METRIC_VALUES_MAX 3600 /* of a metric; longer spans have larger steps */

/* Which metrics: those with one of these names, or below one of them ("disk" stands for
 * disk.sda.read too); none: all. */
struct daemon_metric_names {
    struct str items[DAEMON_METRIC_NAMES_MAX];
    size_t count;
};

/* Writes what the memory and the store have. `m` NULL: the store only. Returns false with
 * err set if the store cannot be read, or if out of memory. */
bool daemon_metrics_reply(struct daemon_metrics *m, const char *store,
                          const struct store_span *span,
                          const struct daemon_metric_names *names, struct output *out,
                          struct error *err);

/* Writes the recordings of triggers in the span: {"triggers":[{"from":1790000000,"to":1790000010,
 * "name":"cpu","value":97,"unit":"%"}]}. Times are whole steps, as above. */
bool daemon_triggers_reply(struct daemon_metrics *m, const char *store,
                           const struct store_span *span, struct output *out,
                           struct error *err);

#endif
