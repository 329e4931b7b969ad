/* SPDX-License-Identifier: Apache-2.0 */
/* Austin's samples: austin.c reads them as text, mojo.c in the binary form. */
#ifndef STOKE_IMPORT_AUSTIN_H
#define STOKE_IMPORT_AUSTIN_H

#include "import/importer.h"

#define AUSTIN_METRICS 3

enum austin_event {
    AUSTIN_WALL,
    AUSTIN_CPU,
    AUSTIN_ALLOCATED,
    AUSTIN_FREED,
    AUSTIN_EVENTS
};

struct austin {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    event_id events[AUSTIN_EVENTS]; /* created on first use */
    bool memory, cpu;               /* the mode: meaning of a single number */
};

/* A sample. */
struct austin_sample {
    int64_t pid;
    struct str thread; /* "0x7f5a", "12", "0:12": interpreter and thread */
    struct str frames; /* as text; unused in binary files */
    double metrics[AUSTIN_METRICS];
    size_t metric_count;
    bool full; /* metrics are time, idle, memory; else time, allocated, freed */
};

/* The frame of a name "shop.py:add" and the line that runs, or 0. */
frame_id austin_frame(struct austin *a, struct str name, uint64_t line);

/* Takes "mode", and ignores other facts. */
void austin_fact(struct austin *a, struct str key, struct str value);

/* Adds the samples of all its events. */
void austin_add(struct austin *a, const struct austin_sample *sample, stack_id stack);

/* Whether a file that begins like this is in the binary form, and reads that. */
bool mojo_is(struct str head);
bool mojo_read(struct austin *a, struct source *in, struct error *err);

#endif
