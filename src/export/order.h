/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts samples for formats that need an order. */
#ifndef STOKE_EXPORT_ORDER_H
#define STOKE_EXPORT_ORDER_H

#include "base/sort.h"
#include "model/profile.h"

/* The rows of the samples of that event (0: of all), sorted by `before`; stable. The
 * array is allocated from the arena. NULL if out of memory. */
uint32_t *order_samples(struct arena *a, const struct profile *p, event_id only,
                        bool (*before)(const void *context, uint32_t a, uint32_t b),
                        const void *context, size_t *count);

#endif
