/* SPDX-License-Identifier: Apache-2.0 */
/* What V8 tells of a profile, in each of the files that it is in: a tree of call frames,
 * and samples that name nodes of it; or, of the heap, the size at each node.
 *
 * The members of the JSON object are given to v8_member one by one, in any order and in
 * any number of parts: Chrome's traces have a profile in chunks. */
#ifndef STOKE_IMPORT_V8_PROFILE_H
#define STOKE_IMPORT_V8_PROFILE_H

#include "codec/json.h"
#include "import/importer.h"

struct v8_node {
    uint64_t id, parent_id; /* 0 where it has none */
    uint32_t parent;        /* node, where the tree was nested; else 0 */
    string_id name, file;
    int64_t line, column; /* from 0; -1 where there is none */
    double size;
    stack_id stack;
    uint8_t kind, state; /* the reader's own */
};

struct v8_link {
    uint64_t parent, child; /* ids */
};

struct v8_profile {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct v8_node *nodes; /* [0] is none */
    struct v8_link *links;
    uint64_t *samples; /* ids of nodes */
    double *times;     /* microseconds; differences to the one before with `deltas` */
    size_t node_count, node_cap, link_count, link_cap, sample_count, sample_cap;
    size_t time_count, time_cap;
    double start, end; /* microseconds; -1 where not known */
    bool deltas, sized;
};

void v8_init(struct v8_profile *v, struct builder *b,
             const struct import_options *options);
void v8_deinit(struct v8_profile *v);

/* Takes the value at hand, of that key: nodes, head, samples, timeDeltas, timestamps,
 * startTime, endTime. False, with nothing taken, where it is another one. */
bool v8_member(struct v8_profile *v, struct json *j, struct str key);

/* Adds what another one holds, of the same builder. */
void v8_append(struct v8_profile *v, const struct v8_profile *more);

/* Forgets all, and keeps the room. */
void v8_clear(struct v8_profile *v);

/* Adds the samples to the builder, of that thread, as times; or the sizes of the nodes.
 */
void v8_finish(struct v8_profile *v, thread_id thread);

#endif
