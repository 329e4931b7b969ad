/* SPDX-License-Identifier: Apache-2.0 */
/* Matchers of labels as in Prometheus and Pyroscope: {service_name="web", process=~"a.*"}.
 * The label service_name is the service of a sample or, without one, its process. */
#ifndef STOKE_DAEMON_SELECTOR_H
#define STOKE_DAEMON_SELECTOR_H

#include "base/error.h"
#include "model/profile.h"

#define SELECTOR_MATCHERS_MAX 32

struct selector_matcher;

struct selector {
    struct arena *arena;
    struct selector_matcher *items;
    size_t count;
    struct str name; /* in front of the braces: a type of profiles; or empty */
};

/* Adds the matchers of the text, which may be empty. The text must outlive it. False
 * with err set if it is invalid, or if out of memory. */
bool selector_add(struct selector *s, struct str text, struct error *err);

/* By label set: the value of the label; empty if the set has none. The arena owns the
 * array; NULL when out of memory. */
struct str *selector_values(const struct profile *p, struct str key, struct arena *a);

/* Retains the samples that match. False when out of memory. */
bool selector_apply(const struct selector *s, struct profile *p);

#endif
