/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the share of a function differs between two profiles by more than chance.
 *
 * If the n samples were independent, a share p had the variance p(1-p)/n. They are not:
 * a program has phases, and neighbouring samples see the same one. So the variance is
 * measured, if samples have times: the time is cut into blocks, and V is that of a ratio
 * of sums over blocks (Cochran, Sampling Techniques, chapter 6). Blocks are doubled while
 * that makes V grow by more than 10%. Without times a factor is assumed.
 *
 * A difference is tested with Welch's t. Of many functions the Benjamini-Hochberg
 * procedure limits the share of false findings. */
#ifndef STOKE_ANALYSIS_NOISE_H
#define STOKE_ANALYSIS_NOISE_H

#include "analysis/paths.h"

#define NOISE_ASSUMED 4     /* the factor of profiles without times */
#define NOISE_FALSE 0.05    /* the accepted share of false findings */
#define NOISE_LEAST 20      /* with fewer samples, a function is not tested */
#define NOISE_BLOCKS_MIN 10 /* with fewer blocks, the factor is assumed */

/* The noise of one profile. Columns are by label. */
struct noise {
    struct arena arena;
    double total;   /* weight of the event */
    double samples; /* effective number: (sum of weights)^2 / sum of their squares */
    bool timed;     /* the factors are measured */
    uint64_t block; /* ns: the finest block */
    size_t labels;
    float *factor;   /* variance as a multiple of that of independent samples, from 1 */
    uint8_t *blocks; /* number of blocks that the factor was measured with; 0: assumed */
};

/* Measures the functions of an event of the profile. `labels` are those of the
 * comparison (enum label_style plain); other labels of the profile are ignored. With
 * `count`, samples are counted instead of their weights. The event may be 0: then there
 * are no samples. False when out of memory. */
bool noise_init(struct noise *n, const struct profile *p, event_id event, bool count,
                const struct strings *labels, struct error *err);
void noise_deinit(struct noise *n);

/* The difference of two shares, or of two weights. */
struct difference {
    double before, after; /* from 0 to 1 */
    double low, high;     /* the 95% confidence interval of after - before */
    double p;             /* probability of a difference at least as large by chance */
    bool few;             /* fewer than NOISE_LEAST samples: not tested */
};

/* Of parts of both totals, with the factors of the label: of the function itself, or of a
 * part of it. */
struct difference noise_compare(const struct noise *before, const struct noise *after,
                                string_id label, double part_before, double part_after);

/* The difference of two weights instead, in parts of the larger total. The totals are sums of
 * samples, too: a longer recording has more of everything. */
struct difference noise_compare_weights(const struct noise *before,
                                        const struct noise *after, string_id label,
                                        double part_before, double part_after);

/* The largest p that is a finding among `count` values of p, or would be one (Benjamini and
 * Hochberg 1995). */
double noise_limit(const double *p, size_t count);

/* The variance of a share of independent samples, which are never all or none (Agresti, Caffo). */
double noise_binomial(double share, double samples);

/* Of Student's t: the two-sided probability, and the quantile for 95%. */
double noise_t_probability(double t, double freedom);
double noise_t_quantile(double freedom);

#endif
