/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a V8 profile, in any of the file formats that contain one: a tree of
 * call frames, and samples that refer to its nodes; for the heap, the size at each
 * node.
 *
 * The caller passes the members of the JSON object to v8_member one by one, in any
 * order and in any number of parts: Chrome's traces have a profile in chunks. */
#ifndef STOKE_IMPORT_V8_PROFILE_H
#define STOKE_IMPORT_V8_PROFILE_H

#include "codec/json.h"
#include "import/importer.h"

struct v8_node {
    uint64_t id, parent_id; /* 0 if it has none */
    uint32_t parent;        /* node index, if the tree was nested; otherwise 0 */
    string_id name, file;
    int64_t line, column; /* from 0; -1 if there is none */
    double size, hits;
    stack_id stack;
    uint8_t kind, state; /* internal */
};

struct v8_link {
    uint64_t parent, child; /* IDs */
};

struct v8_profile {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct v8_node *nodes; /* [0] is unused */
    struct v8_link *links;
    uint64_t *samples; /* IDs of nodes */
    double *times;     /* microseconds; with `deltas`, relative to the preceding one */
    size_t node_count, node_cap, link_count, link_cap, sample_count, sample_cap;
    size_t time_count, time_cap;
    double start, end; /* microseconds; -1 if unknown */
    double until;      /* of the last sample; 0: it ends where it starts */
    bool deltas, sized;
    bool seconds; /* the unit of `start` and `end`, in old files */
};

void v8_init(struct v8_profile *v, struct builder *b,
             const struct import_options *options);
void v8_deinit(struct v8_profile *v);

/* Reads the current value, whose key is: nodes, head, samples, timeDeltas, timestamps,
 * startTime, endTime. False, with nothing read, if it is another key. */
bool v8_member(struct v8_profile *v, struct json *j, struct str key);

/* Adds the contents of another profile, of the same builder. */
void v8_append(struct v8_profile *v, const struct v8_profile *more);

/* Removes all contents, but keeps the memory. */
void v8_clear(struct v8_profile *v);

/* Adds the samples to the builder, of that thread, as times; or the sizes of the
 * nodes. */
void v8_finish(struct v8_profile *v, thread_id thread);

#endif
