/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in the order that a format wants them in. */
#ifndef STOKE_EXPORT_ORDER_H
#define STOKE_EXPORT_ORDER_H

#include "base/sort.h"
#include "model/profile.h"

/* The rows of the samples of that event (0: of all), so that before(context, b, a) holds
 * for no a in front of b; those that are alike as they came. The array is the arena's.
 * NULL when memory is short. */
uint32_t *order_samples(struct arena *a, const struct profile *p, event_id only,
                        bool (*before)(const void *context, uint32_t a, uint32_t b),
                        const void *context, size_t *count);

#endif
