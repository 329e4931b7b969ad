/* SPDX-License-Identifier: Apache-2.0 */
#include "model/space.h"
#include "base/hash.h"

/* Each function here takes over the reference to a space that it is given, and returns a
 * new reference, unless stated otherwise. */

void spaces_deinit(struct spaces *s)
{
    arena_deinit(&s->arena);
    *s = SPACES_INIT;
}

space_id space_share(struct spaces *s, space_id space)
{
    if (space)
        space_node(s, space)->refs++;
    return space;
}

/* A node without references is in a free list. Its children are released when the node is
 * used again, so that releasing a large tree is cheap. */
void space_drop(struct spaces *s, space_id space)
{
    if (space == 0 || --space_node(s, space)->refs)
        return;
    space_node(s, space)->refs = s->freed;
    s->freed = space;
}

static space_id new_node(struct spaces *s)
{
    space_id made = s->freed;
    if (made) {
        s->freed = space_node(s, made)->refs;
        space_drop(s, space_node(s, made)->left);
        space_drop(s, space_node(s, made)->right);
        return made;
    }
    bool first = s->nodes.count == 0;
    made = (space_id)s->nodes.count + first;
    if ((first &&
         !segmented_array_add(&s->nodes, &s->arena, sizeof(struct space_node))) ||
        !segmented_array_add(&s->nodes, &s->arena, sizeof(struct space_node))) {
        s->arena.failed = true;
        return 0;
    }
    return made;
}

static uint32_t height(const struct spaces *s, space_id space)
{
    return space ? space_node(s, space)->height : 0;
}

static uint64_t hash_tree(uint64_t left, const struct address_map *map, uint64_t right)
{
    uint64_t hash = hash_mix(left ^ HASH_A, right ^ HASH_B);
    hash = hash_mix(hash ^ map->start, map->end ^ HASH_C);
    uint64_t object = map->object | (uint64_t)map->no_code << 32;
    return hash_mix(hash ^ map->offset, object ^ HASH_D) | 1;
}

static space_id make(struct spaces *s, space_id left, const struct address_map *map,
                     space_id right)
{
    struct address_map copy = *map; /* which may be in the array of nodes */
    space_id made = new_node(s);
    if (made == 0)
        return 0;
    uint32_t l = height(s, left), r = height(s, right);
    uint64_t hash = hash_tree(space_hash(s, left), &copy, space_hash(s, right));
    *space_node(s, made) =
        (struct space_node){copy, hash, left, right, 1, 1 + (l > r ? l : r)};
    return made;
}

/* Splits a node into its parts; the reference to it becomes references to its
 * children. */
struct parts {
    space_id left, right;
    struct address_map map;
};

static struct parts take_apart(struct spaces *s, space_id space)
{
    struct space_node *node = space_node(s, space);
    struct parts parts = {node->left, node->right, node->map};
    if (node->refs == 1) {
        node->left = node->right = 0;
    } else {
        space_share(s, parts.left);
        space_share(s, parts.right);
    }
    space_drop(s, space);
    return parts;
}

static space_id rotate_left(struct spaces *s, space_id space)
{
    if (space == 0)
        return 0;
    struct parts p = take_apart(s, space);
    if (p.right == 0)
        return make(s, p.left, &p.map, 0);
    struct parts r = take_apart(s, p.right);
    return make(s, make(s, p.left, &p.map, r.left), &r.map, r.right);
}

static space_id rotate_right(struct spaces *s, space_id space)
{
    if (space == 0)
        return 0;
    struct parts p = take_apart(s, space);
    if (p.left == 0)
        return make(s, 0, &p.map, p.right);
    struct parts l = take_apart(s, p.left);
    return make(s, l.left, &l.map, make(s, l.right, &p.map, p.right));
}

/* The nodes on a path from the root, split: they are joined again in reverse order. No
 * tree of 2^32 nodes is higher. */
#define HEIGHT_MAX 48

struct way {
    struct parts parts[HEIGHT_MAX];
    size_t count;
};

static struct parts *go_down(struct spaces *s, struct way *way, space_id space)
{
    way->parts[way->count] = take_apart(s, space);
    return &way->parts[way->count++];
}

/* The left tree is higher: descends its right side to the height of the other tree. */
static space_id join_right(struct spaces *s, space_id left, const struct address_map *map,
                           space_id right)
{
    struct way way = {.count = 0};
    struct parts *p = go_down(s, &way, left);
    while (height(s, p->right) > height(s, right) + 1)
        p = go_down(s, &way, p->right);
    space_id joined = make(s, p->right, map, right);
    if (height(s, joined) > height(s, p->left) + 1)
        joined = rotate_right(s, joined);
    while (way.count) {
        p = &way.parts[--way.count];
        bool high = height(s, joined) > height(s, p->left) + 1;
        joined = make(s, p->left, &p->map, joined);
        if (high)
            joined = rotate_left(s, joined);
    }
    return joined;
}

static space_id join_left(struct spaces *s, space_id left, const struct address_map *map,
                          space_id right)
{
    struct way way = {.count = 0};
    struct parts *p = go_down(s, &way, right);
    while (height(s, p->left) > height(s, left) + 1)
        p = go_down(s, &way, p->left);
    space_id joined = make(s, left, map, p->left);
    if (height(s, joined) > height(s, p->right) + 1)
        joined = rotate_left(s, joined);
    while (way.count) {
        p = &way.parts[--way.count];
        bool high = height(s, joined) > height(s, p->right) + 1;
        joined = make(s, joined, &p->map, p->right);
        if (high)
            joined = rotate_right(s, joined);
    }
    return joined;
}

/* Joins two trees and a map between them. */
static space_id join(struct spaces *s, space_id left, const struct address_map *map,
                     space_id right)
{
    if (height(s, left) > height(s, right) + 1)
        return join_right(s, left, map, right);
    if (height(s, right) > height(s, left) + 1)
        return join_left(s, left, map, right);
    return make(s, left, map, right);
}

/* Splits a tree at an address: below and above. A map that contains the address is
 * divided. */
static void split(struct spaces *s, space_id space, uint64_t at, space_id *below,
                  space_id *above)
{
    struct way way = {.count = 0};
    *below = *above = 0;
    while (space) {
        struct parts *p = go_down(s, &way, space);
        if (at > p->map.start && at < p->map.end) {
            struct address_map low = p->map, high = p->map;
            low.end = high.start = at;
            high.offset += at - low.start;
            *below = join(s, p->left, &low, 0);
            *above = join(s, 0, &high, p->right);
            way.count--;
            break;
        }
        space = at <= p->map.start ? p->left : p->right;
    }
    while (way.count) {
        struct parts *p = &way.parts[--way.count];
        if (at <= p->map.start)
            *above = join(s, *above, &p->map, p->right);
        else
            *below = join(s, p->left, &p->map, *below);
    }
}

space_id space_add(struct spaces *s, space_id space, const struct address_map *map)
{
    space_id below, covered, above, rest;
    if (map->start >= map->end || s->arena.failed)
        return space;
    split(s, space, map->start, &below, &rest);
    split(s, rest, map->end, &covered, &above);
    space_drop(s, covered);
    return join(s, below, map, above);
}

const struct address_map *space_from(const struct spaces *s, space_id space,
                                     uint64_t address)
{
    const struct address_map *next = NULL;
    while (space) {
        const struct space_node *node = space_node(s, space);
        if (address >= node->map.end) {
            space = node->right;
            continue;
        }
        next = &node->map;
        if (address >= node->map.start)
            break;
        space = node->left;
    }
    return next;
}
