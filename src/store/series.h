/* SPDX-License-Identifier: Apache-2.0 */
/* Series: samples with the same event, thread name and labels. Their identity is a
 * sequence of bytes, the same for equal series of any profile; stoke-store(5) specifies
 * it. */
#ifndef STOKE_STORE_SERIES_H
#define STOKE_STORE_SERIES_H

#include "model/builder.h"

#define STORE_SERIES_BYTES_MAX ((size_t)1 << 20)

struct store_series {
    event_id event;
    thread_id thread;
    label_set_id labels;
    struct str bytes;
    uint64_t id; /* for the caller; 0 at first */
};

/* The series of the samples of a profile. All zero except the first two fields. */
struct store_series_table {
    const struct profile *profile;
    struct arena *arena;
    struct store_series *items; /* [0] is unused */
    size_t count, cap;
    struct index index;
};

/* The series of a sample; several items may have the same bytes. NULL when out of memory.
 * Valid until the next call. */
struct store_series *store_series_find(struct store_series_table *t,
                                       const struct sample *s, label_set_id labels);

/* Adds what the bytes of a series say to a builder. False with err set if they are
 * damaged, or if out of memory. */
bool store_series_read(struct str bytes, struct builder *b, event_id *event,
                       thread_id *thread, label_set_id *labels, struct error *err);

#endif
