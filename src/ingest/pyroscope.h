/* SPDX-License-Identifier: Apache-2.0 */
/* Pyroscope's entrance for agents, POST /ingest: one profile, in one of several formats. */
#ifndef STOKE_INGEST_PYROSCOPE_H
#define STOKE_INGEST_PYROSCOPE_H

#include "ingest/ingest.h"

#define INGEST_RATE_MAX 1000000

/* The arguments of the address, as they were sent; empty: not given. */
struct ingest_pyroscope_query {
    struct str name; /* app.cpu{key=value,...} */
    struct str from, until, format, rate, units, content_type;
};

/* Adds the profile of a request. False with err set if it is refused. */
bool ingest_pyroscope(struct ingest *in, const struct ingest_pyroscope_query *q,
                      struct str body, struct error *err);

/* --- Parts of it ------------------------------------------------------------------------ */

/* Reads the name of an application with its labels. The end of the name says what the
 * profile measures: app.cpu, app.alloc_space. *measure is that end, or empty, and the rest is
 * the label `service_name`, unless there is one already. */
bool ingest_pyroscope_name(struct str text, struct ingest_labels *labels,
                           struct str *measure, struct error *err);

/* How a body of text or of a tree has its stacks. */
enum ingest_text {
    INGEST_GROUPS, /* lines: a;b;c 12 */
    INGEST_LINES,  /* lines: a;b;c, each is one sample */
    INGEST_TRIE,   /* the prefixes of such stacks */
    INGEST_TREE,   /* functions and what they call */
};

/* Adds the stacks to the builder, of BUILD_COUNT. A value is a number of samples, each of which
 * weighs `period`; 0: a value is the weight of one sample. */
bool ingest_pyroscope_text(enum ingest_text kind, struct str body, struct builder *b,
                           event_id event, double period, struct error *err);

#endif
