/* SPDX-License-Identifier: Apache-2.0 */
#include "web/core/tracks.h"

/* A tree whose labels name the reasons of waits. */
struct reasons {
    const struct shown *s;
    const struct trie_node *nodes;
    const string_id *label_of_key;
    size_t count;
    uint8_t *of_node; /* enum activity; 0: none */
};

static string_id label_of(const struct reasons *r, uint32_t node)
{
    uint32_t key = r->nodes[node].key;
    return r->label_of_key ? r->label_of_key[key] : key;
}

/* What the wait for input or output is, by the callers of the node or, if the tree begins
 * with the leaves, not known better than the disk. */
static uint8_t of_callers(const struct reasons *r, uint32_t node)
{
    for (int i = 0; node && i < REASON_FRAMES; i++, node = r->nodes[node].parent) {
        struct str name = strings_get(&r->s->paths.labels, label_of(r, node));
        enum activity known = activity_of_name(name);
        if (known)
            return (uint8_t)known;
    }
    return ACTIVITY_DISK;
}

static uint8_t own_reason(const struct reasons *r, uint32_t node)
{
    string_id label = label_of(r, node);
    if (!(r->s->marks_of_label[label] & DRAWN_OFF))
        return 0;
    struct str name = strings_get(&r->s->paths.labels, label);
    return str_equal(name, STR("[io]")) ? of_callers(r, r->nodes[node].parent)
                                        : (uint8_t)activity_of_marker(name);
}

/* Each node between a reason and the root, or below the reason, has the reason too: of
 * several, that of the first child. Waits may also be known without a frame that names
 * their reason, so that each node has one in the end. */
static void spread(const struct reasons *r)
{
    for (uint32_t node = 1; node < r->count; node++)
        r->of_node[node] = own_reason(r, node);
    for (uint32_t node = (uint32_t)r->count; node-- > 1;)
        if (r->of_node[node])
            r->of_node[r->nodes[node].parent] = r->of_node[node];
    if (!r->of_node[0])
        r->of_node[0] = ACTIVITY_SLEEP;
    for (uint32_t node = 1; node < r->count; node++)
        if (!r->of_node[node])
            r->of_node[node] = r->of_node[r->nodes[node].parent];
}

bool reasons_make(struct chart *c, const struct shown *s)
{
    const struct tree *t = c->tree;
    const void *paths = s->paths.nodes; /* of the same type, see share_paths */
    struct reasons r = {.s = s,
                        .nodes = t ? t->nodes : paths,
                        .label_of_key = t ? t->label_of_key : s->paths.label_of_frame,
                        .count = t ? t->count : s->paths.count};
    r.of_node = c->reasons = arena_zalloc(&c->arena, r.count + 1, 1);
    if (r.of_node)
        spread(&r);
    return r.of_node != NULL;
}
