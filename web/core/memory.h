/* SPDX-License-Identifier: Apache-2.0 */
/* The track of memory: live bytes over time, stacked by what allocated them. It is made of
 * the event of live bytes (EVENT_LIVE) of the opened profile, without its filters. */
#ifndef STOKE_WEB_MEMORY_H
#define STOKE_WEB_MEMORY_H

#include "web/core/core.h"

#define MEMORY_LAYERS 7                  /* the six largest, and the others */
#define MEMORY_DRAWN (MEMORY_LAYERS + 1) /* and the resident memory */

enum memory_by { MEMORY_FUNCTION, MEMORY_MODULE, MEMORY_THREAD, MEMORY_BY_COUNT };

/* The bytes from a time on, until the next moment. */
struct moment {
    double at;   /* ns from the start of the profile */
    float total; /* of the layers */
    float resident;
    float layers[MEMORY_LAYERS];
};

/* The allocations up to a time. */
struct tally {
    double at;  /* ns from the start of the profile */
    double sum; /* with those of this time */
    double samples;
};

struct memory {
    struct arena arena;
    bool made;
    const struct profile *p;
    event_id live, resident, allocated, leaked, allocations; /* 0: there is none */
    bool leaks_timed; /* the leaked bytes have the times of their allocation */
    enum memory_by by;
    struct moment *moments; /* by time; NULL if the profile has no track of memory */
    size_t count;
    uint32_t *largest;            /* by block of moments: the one with most bytes */
    uint64_t keys[MEMORY_LAYERS]; /* of the layers; memory.c knows what they are */
    size_t layer_count;
    bool has_others;       /* the last layer is used */
    size_t peak;           /* the moment with most bytes */
    struct tally *tallies; /* by time; NULL if the times of allocations are unknown */
    size_t tally_count;
};

/* `p` must remain until memory_deinit. False if out of memory. */
bool memory_init(struct memory *m, const struct profile *p, enum memory_by by,
                 struct error *err);
void memory_deinit(struct memory *m);

/* The moment with most bytes of those that begin in the range, and the one that it begins
 * in; NULL before the first one. */
const struct moment *memory_most(const struct memory *m, double from, double to);

/* By layer, then the resident memory: for each column, the bytes at its moment with most
 * bytes. Returns the most bytes of all columns. */
double memory_draw(const struct memory *m, double from, double to, uint32_t columns,
                   float *values);

/* The layers, the peak and the ways of stacking; null without a track. JSON. */
void reply_memory(struct json_writer *w, const struct memory *m);

/* What happened in a span: allocated, freed, and live before and after it. JSON. */
void reply_memory_span(struct json_writer *w, const struct memory *m, double from,
                       double to);

/* --- allocations.c: the track of their rate ---------------------------------------------- */

/* A part of the axis, and the number of columns in which it is drawn. */
struct axis_part {
    double from, to; /* ns */
    uint32_t columns;
};

/* Makes the tallies. False if out of memory. */
bool allocations_init(struct memory *m);

/* The allocations by column; of the window, `sums` has their number and that of the samples. */
void allocations_draw(const struct memory *m, const struct axis_part *w, float *values,
                      double *sums);

/* --- sites.c: what allocated ------------------------------------------------------------ */

/* An event, and one whose weights are listed beside its own (0: none). */
struct event_pair {
    event_id event, beside;
};

/* The functions with most of the event's weight, at most `most`, and the number of all. Bytes that
 * were sampled have an error: half of their 95 % confidence interval. JSON. */
bool reply_sites(struct json_writer *w, const struct shown *s, const struct functions *f,
                 const struct event_pair *events, uint32_t most, struct error *err);

struct growth_of {
    const struct shown *shown;
    const struct profile *samples; /* its samples, with their times */
    const struct profile *whole;   /* its times are the axis */
    event_id event;
    string_id site; /* the label of a function */
};

/* The sum of the event's weights of that function up to the end of each column of the axis, and
 * the time of the first; null if it has none with a time. JSON. */
bool reply_growth(struct json_writer *w, const struct growth_of *of, uint32_t columns,
                  struct error *err);

#endif
