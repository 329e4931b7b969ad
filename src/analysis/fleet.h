/* SPDX-License-Identifier: Apache-2.0 */
/* Functions over many machines, services or hours.
 *
 * A label, or the time, divides the samples of an event into groups. Each function has a weight in
 * each group; a stack counts once for a function, however often the function recurs in it. A
 * function is a name: the same in all modules, because each service has its own copy.
 *
 * Two sides can be compared, such as two releases. The groups are then the units that repeat the
 * measurement, such as hosts: samples of one host are not independent of each other, so the
 * variance of a share is that between groups (Cochran, Sampling Techniques, chapter 6), and at
 * least that of independent samples. */
#ifndef STOKE_ANALYSIS_FLEET_H
#define STOKE_ANALYSIS_FLEET_H

#include "analysis/noise.h"

#define FLEET_GROUPS_MAX 1000000
#define FLEET_GROUPS_LEAST 3 /* of a side: with fewer, nothing is judged */

struct fleet_question {
    event_id event;
    struct str key; /* of the label that makes groups; empty: `step` makes them */
    uint64_t step;  /* ns: groups of that length; the profile is of BUILD_KEEP */

    /* Samples with a label of that key whose value matches the pattern are of that side; others
     * are left out. Empty: all samples are of side 0. */
    struct str side_keys[2], side_values[2];
};

struct fleet_group {
    label_id label; /* 0: samples without the label */
    uint64_t time;  /* at which it begins, of groups by time */
    unsigned side;
    double weight;
    uint64_t samples;
};

/* By side. */
struct fleet_sums {
    double self, total;
    double squares,
        products; /* over groups: of total, and of total and the group's weight */
};

struct fleet_function {
    string_id name; /* 0: functions without a name */
    struct fleet_sums sides[2];
    uint32_t groups;    /* that have it */
    uint32_t most;      /* the group in which it has the largest weight */
    double most_weight; /* of it there */
};

struct fleet {
    struct arena arena;
    const struct profile *p;
    struct fleet_group *groups; /* in order of time, or of weight, the heaviest first */
    size_t group_count;
    struct fleet_function *functions;
    size_t function_count;
    uint32_t *function_of_name;   /* an index + 1; 0: no frame has the name */
    double weight[2], squares[2]; /* of all groups of a side */
    uint64_t samples[2];
    size_t side_groups[2];

    /* Private: by row of the profile, the group + 1; the rows in order of groups. */
    uint32_t *group_of_row;
    uint32_t *rows;
    size_t row_count;
};

/* Measures all functions. The profile must outlive the result. False with err set if there are too
 * many groups, or when out of memory. Call fleet_deinit in any case. */
bool fleet_init(struct fleet *f, const struct profile *p, const struct fleet_question *q,
                struct error *err);
void fleet_deinit(struct fleet *f);

/* The weight of functions, by group: of samples that end in one of them, and that have one of them
 * anywhere. `chosen` is by index of functions. False when out of memory. */
bool fleet_by_group(struct fleet *f, const bool *chosen, double **self, double **total);

/* How far the self weights of a group are from those of all: half the sum of the differences of
 * shares, from 0 to 1; and the function that has the largest part of it. */
struct fleet_distance {
    double distance;
    uint32_t function;
    double share, usual; /* of that function: in the group, and in all groups */
};

/* By group. NULL when out of memory. */
struct fleet_distance *fleet_distances(struct fleet *f);

/* The difference of the share of a function between the sides. `few` if a side has fewer than
 * FLEET_GROUPS_LEAST groups, or the function too few samples. */
struct difference fleet_compare(const struct fleet *f, const struct fleet_function *of);

#endif
