/* SPDX-License-Identifier: Apache-2.0 */
/* The live bytes over time, from the snapshots of massif. */
#ifndef STOKE_IMPORT_MASSIF_LIVE_H
#define STOKE_IMPORT_MASSIF_LIVE_H

#include "model/builder.h"

/* A snapshot. */
struct massif_moment {
    uint64_t number;
    uint64_t time;                /* in the file's unit */
    uint64_t heap, extra, stacks; /* bytes */
    bool is_known;                /* all of its header was read */
    bool has_tree;
    size_t first, stop; /* samples of its tree */
};

/* Adds the event "live": at each moment, the changes since the one before. A moment without
 * a tree has only its totals: if the heap has grown since the last tree, the growth has
 * no stack; if it is smaller, each stack of that tree has its part of it. `unit` is the
 * length of the file's unit in ns. */
void massif_add_live(struct builder *b, const struct massif_moment *moments, size_t count,
                     uint64_t unit);

/* A frame that is not a function. */
frame_id massif_marker(struct builder *b, struct str name);

#endif
