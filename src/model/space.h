/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces: which file is mapped where in a process, at one time.
 *
 * A space is an immutable value. Mapping a file makes a new space, which shares all but a
 * few nodes with the old one. So a fork copies one number, and the old number still
 * refers to the old maps. The implementation is a balanced tree of disjoint maps (AVL
 * with join and split: Blelloch, Ferizovic, Sun, "Just Join for Parallel Ordered Sets",
 * 2016). Each operation takes time and memory proportional to the height of the tree, at
 * most 45; recursive functions recurse once per level. */
#ifndef STOKE_MODEL_SPACE_H
#define STOKE_MODEL_SPACE_H

#include "base/segmented_array.h"

/* A part of a process's address space. */
struct address_map {
    uint64_t start, end; /* [start, end) */
    uint64_t offset;     /* of `start` in the file */
    uint32_t object;     /* object_id: the file, as the resolver knows it (resolver.h) */
    uint32_t tag;        /* for the caller */
    bool no_code;        /* not executable */
};

/* An immutable space; 0 is the empty one. */
typedef uint32_t space_id;

struct space_node {
    struct address_map map;
    uint64_t hash; /* of all maps of the tree without their tags, and of its shape */
    space_id left, right;
    uint32_t refs; /* references; of a free node: the next free node */
    uint32_t height;
};

struct spaces {
    struct arena arena;           /* its `failed` is sticky: spaces are invalid then */
    struct segmented_array nodes; /* [0] is none */
    space_id freed;
};

#define SPACES_INIT ((struct spaces){0})

void spaces_deinit(struct spaces *s);

/* Adds a reference. */
space_id space_share(struct spaces *s, space_id space);

/* Removes a reference. */
void space_drop(struct spaces *s, space_id space);

/* The space with one more map, which replaces what was mapped there. Takes over the
 * reference to `space`. Empty and invalid maps are ignored. */
space_id space_add(struct spaces *s, space_id space, const struct address_map *map);

static inline struct space_node *space_node(const struct spaces *s, space_id space)
{
    return segmented_array_at(&s->nodes, space, sizeof(struct space_node));
}

/* The map that contains the address, or else the next one above it; NULL if there is
 * none. Valid as long as the space has references. Read-only: several threads may call
 * it, even while one thread changes other spaces, if they received the space after it was
 * made. */
const struct address_map *space_from(const struct spaces *s, space_id space,
                                     uint64_t address);

/* A hash of the maps: spaces with the same hash have the same maps, except for collisions
 * of 64 bits. 0 is the empty space. */
static inline uint64_t space_hash(const struct spaces *s, space_id space)
{
    return space ? space_node(s, space)->hash : 0;
}

/* The map that contains the address, or NULL. */
static inline const struct address_map *space_find(const struct spaces *s, space_id space,
                                                   uint64_t address)
{
    const struct address_map *map = space_from(s, space, address);
    return map && map->start <= address ? map : NULL;
}

#endif
