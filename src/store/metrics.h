/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in a store: whole numbers at equal steps of time, in blocks.
 *
 * A block has 60 values of each metric: of a minute by seconds, or of an hour by minutes.
 * Its bytes are differences, compressed with zstd; stoke-store(5) specifies them. The
 * bytes of a store are hostile input. */
#ifndef STOKE_STORE_METRICS_H
#define STOKE_STORE_METRICS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/output.h"

#define STORE_BLOCK_VALUES 60
#define STORE_METRICS_MAX 1024 /* in a block */
#define STORE_NO_VALUE INT64_MIN

struct store_metric {
    struct str name, unit; /* "cpu.user", "ms/s" */
    int64_t values[STORE_BLOCK_VALUES];
};

struct store_metric_block {
    uint64_t start; /* seconds since 1970, a multiple of 60 steps */
    uint32_t step;  /* seconds: 1 or 60 */
    struct store_metric *items;
    size_t count, cap;
};

/* The metric of that name in the block, which is added without values if there is none.
 * `hint` is its likely index. The texts are copied. NULL when out of memory, or there
 * are too many. */
struct store_metric *store_metric_put(struct store_metric_block *b, struct arena *a,
                                      struct str name, struct str unit, size_t hint);

/* Adds the values of `from` that `to`, of the same time, does not have. False
 * when out of memory. */
bool store_metrics_merge(struct store_metric_block *to,
                         const struct store_metric_block *from, struct arena *a);

/* Both return false with err set when out of memory, or if the bytes are damaged. What
 * is decoded is in the arena; start and step are unchanged. */
bool store_metrics_encode(const struct store_metric_block *b, struct output *out,
                          struct error *err);
bool store_metrics_decode(struct str bytes, struct arena *a, struct store_metric_block *b,
                          struct error *err);

#endif
