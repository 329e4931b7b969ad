/* SPDX-License-Identifier: Apache-2.0 */
/* The flame view of stoke top: the call tree as boxes of whole columns, a row for each
 * call, the outermost at the top. */
#ifndef STOKE_CLI_TOP_FLAME_H
#define STOKE_CLI_TOP_FLAME_H

#include "analysis/calltree.h"

/* A position in the tree: the labels below the root, each followed by a zero. Each
 * refresh makes a new tree; the path remains valid. */
struct flame_path {
    char labels[8192];
    size_t size;
};

struct flame_box {
    uint32_t node;
    unsigned row, column, width;
};

struct top_flame {
    struct calltree tree;
    bool has_tree;
    struct flame_box *boxes; /* in the order of the tree: callers first */
    size_t count, cap;
    uint32_t zoomed, chosen; /* nodes */
};

enum flame_move { FLAME_UP, FLAME_DOWN, FLAME_LEFT, FLAME_RIGHT };

/* Makes the tree of a profile (NULL: none). False, with err set, when out of memory;
 * deinit in every case. */
bool top_flame_init(struct top_flame *f, const struct profile *p, struct error *err);
void top_flame_deinit(struct top_flame *f);

/* Lays out the callees of `zoom` in the given number of columns and finds `chosen`
 * again. */
void top_flame_lay_out(struct top_flame *f, const struct flame_path *zoom,
                       const struct flame_path *chosen, unsigned columns);

/* The path of the box next to the chosen box; unchanged if there is none. */
void top_flame_move(const struct top_flame *f, enum flame_move move,
                    struct flame_path *chosen);

/* The path of the caller. */
void flame_path_up(struct flame_path *path);

#endif
