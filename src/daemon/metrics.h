/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of this machine each second: the last minutes in memory, and what of them
 * is not stored yet.
 *
 * The loop of the daemon reads and stores; threads of the server read the blocks. */
#ifndef STOKE_DAEMON_METRICS_H
#define STOKE_DAEMON_METRICS_H

#include "metrics/snapshot.h"
#include "os/host.h"
#include "os/thread_pool.h"
#include "store/store.h"

#define DAEMON_METRIC_MINUTES 12 /* in memory; more than windows wait for the store */
#define DAEMON_METRIC_HOURS 2    /* the same by minutes */
#define DAEMON_METRIC_BLOCKS (DAEMON_METRIC_MINUTES + DAEMON_METRIC_HOURS)

struct daemon_metric_block {
    struct store_metric_block block; /* count 0: unused */
    struct arena arena;
    bool changed; /* since it was stored */
};

struct daemon_metrics {
    struct os_lock lock;
    struct daemon_metric_block blocks[DAEMON_METRIC_BLOCKS]; /* minutes first */
    struct metrics before;                                   /* the last reading */
    struct os_open_files files;
    bool has_before;
    uint64_t began; /* second of the first values; 0: none yet */
    struct store_metric_block unstored[DAEMON_METRIC_BLOCKS];
};

bool daemon_metrics_init(struct daemon_metrics *m); /* false when out of memory */
void daemon_metrics_deinit(struct daemon_metrics *m);

/* Reads the metrics if the second `now` (ns, time of day) has none yet. `time`: ns of the
 * monotonic clock. When out of memory, the second has no values. Returns whether m->before is a
 * new reading. */
bool daemon_metrics_turn(struct daemon_metrics *m, uint64_t time, uint64_t now);

/* Sets the value of a metric in the seconds from `from` to the last reading's. */
void daemon_metrics_mark(struct daemon_metrics *m, uint64_t from, const char *name,
                         const char *unit, int64_t value);

/* The blocks that changed since they were stored, valid until the next turn. */
const struct store_metric_block *daemon_metrics_unstored(struct daemon_metrics *m,
                                                         size_t *count);
/* They are stored now. */
void daemon_metrics_stored(struct daemon_metrics *m);

/* True if all values of the span are in memory. */
bool daemon_metrics_has(struct daemon_metrics *m, const struct store_span *span);

/* Calls `each` with the blocks of a span, in any order, under the lock. */
void daemon_metrics_each(struct daemon_metrics *m, const struct store_span *span,
                         uint32_t step,
                         bool (*each)(void *context, const struct store_metric_block *b),
                         void *context);

#endif
