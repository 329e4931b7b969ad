/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of Python's marshal format, versions 0 to 5.
 *
 * The objects become an array of nodes, in the order of the file: a container is followed
 * by its items. A reference is a node, too, and is not expanded, so memory grows with the
 * bytes of the input only. Nothing recurses. */
#ifndef STOKE_CODEC_MARSHAL_H
#define STOKE_CODEC_MARSHAL_H

#include "base/arena.h"

#define MARSHAL_DEPTH_MAX 64 /* open containers */

enum marshal_kind {
    MARSHAL_NONE, /* None, True, a complex number: a value without use */
    MARSHAL_NUMBER,
    MARSHAL_TEXT,
    MARSHAL_LIST, /* a tuple, list or set */
    MARSHAL_DICT, /* its items are keys and values in turn */
    MARSHAL_CODE, /* a code object: a container whose text is the function's name */
    MARSHAL_REFERENCE,
};

struct marshal_node {
    uint32_t kind;  /* enum marshal_kind */
    uint32_t count; /* items of a container that were read; bytes of a text */
    union {
        double number;
        const char *text;
        uint32_t end;    /* of a container: the node after its last item */
        uint32_t target; /* of a reference; never itself a reference */
    };
};

struct marshal {
    struct marshal_node *nodes; /* [0] is the whole object */
    uint32_t count;
    bool damaged;    /* the input is truncated or damaged */
    uint64_t offset; /* where reading stopped */
};

/* Reads one object from the start of `bytes`, which must outlive it, at most `most`
 * nodes. What is readable is read; `damaged` is then set. The arena owns the nodes. */
void marshal_read(struct marshal *m, struct arena *a, struct str bytes, uint32_t most);

/* The node, or the target of a reference. */
static inline uint32_t marshal_at(const struct marshal *m, uint32_t i)
{
    return m->nodes[i].kind == MARSHAL_REFERENCE ? m->nodes[i].target : i;
}

/* The node after this one and its items. */
static inline uint32_t marshal_next(const struct marshal *m, uint32_t i)
{
    uint32_t kind = m->nodes[i].kind;
    bool container = kind == MARSHAL_LIST || kind == MARSHAL_DICT || kind == MARSHAL_CODE;
    return container ? m->nodes[i].end : i + 1;
}

/* The node, or its target, as text or number. False if it is something else. */
bool marshal_text(const struct marshal *m, uint32_t i, struct str *out);
bool marshal_number(const struct marshal *m, uint32_t i, double *out);

#endif
