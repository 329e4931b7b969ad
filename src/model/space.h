/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces: which file lies where in a process, at one moment.
 *
 * A space is a value. Mapping a file into it makes a new one, which shares all but a few
 * nodes with the old one; so a fork is one number copied, and whoever holds the old
 * number still sees what was mapped then. Underneath is a balanced tree of disjoint maps
 * (AVL, built of join and split: Blelloch, Ferizovic, Sun, "Just Join for Parallel
 * Ordered Sets", 2016): every operation takes time and room of the order of the tree's
 * height, at most 45, whatever an input maps; the functions that recurse do so once a
 * level. */
#ifndef STOKE_MODEL_SPACE_H
#define STOKE_MODEL_SPACE_H

#include "base/shelf.h"

/* A part of a process's address space. */
struct address_map {
    uint64_t start, end; /* [start, end) */
    uint64_t offset;     /* in the file, of `start` */
    uint32_t object;     /* object_id: the file, as the resolver knows it (resolver.h) */
    uint32_t tag;        /* the caller's */
    bool no_code;        /* it cannot be executed */
};

/* A space as it was at one moment; 0 is the empty one. */
typedef uint32_t space_id;

struct space_node {
    struct address_map map;
    uint64_t hash; /* of all maps of the tree, without their tags, and of its shape */
    space_id left, right;
    uint32_t refs; /* holders; of a freed node: the next of those */
    uint32_t height;
};

struct spaces {
    struct arena arena; /* its `failed` sticks: spaces are then not to be trusted */
    struct shelf nodes; /* [0] is none */
    space_id freed;
};

#define SPACES_INIT ((struct spaces){0})

void spaces_deinit(struct spaces *s);

/* One more holder of the space. */
space_id space_share(struct spaces *s, space_id space);

/* One holder less. */
void space_drop(struct spaces *s, space_id space);

/* The space with one more map, which covers what was mapped there before. Takes the
 * caller's hold on `space`. Maps that are empty or end before they begin are passed over.
 */
space_id space_add(struct spaces *s, space_id space, const struct address_map *map);

static inline struct space_node *space_node(const struct spaces *s, space_id space)
{
    return shelf_at(&s->nodes, space, sizeof(struct space_node));
}

/* The map that holds the address or, where none does, the next one above; NULL for none.
 * Good as long as somebody holds the space. Reads only: any number of threads may, also
 * while one changes other spaces, as long as the space asked for is held and was made
 * known to them after it was made. */
const struct address_map *space_from(const struct spaces *s, space_id space,
                                     uint64_t address);

/* A number for what is mapped: spaces with the same number have the same maps, but for an
 * accident of 64 bits, whatever became of them since. 0 is the empty one's. */
static inline uint64_t space_hash(const struct spaces *s, space_id space)
{
    return space ? space_node(s, space)->hash : 0;
}

/* The map that holds the address, NULL for none. */
static inline const struct address_map *space_find(const struct spaces *s, space_id space,
                                                   uint64_t address)
{
    const struct address_map *map = space_from(s, space, address);
    return map && map->start <= address ? map : NULL;
}

#endif
