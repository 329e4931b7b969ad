/* SPDX-License-Identifier: Apache-2.0 */
/* Where the boxes of a flame graph are: from a call tree to rows and extents. */
#ifndef STOKE_EXPORT_SVG_LAYOUT_H
#define STOKE_EXPORT_SVG_LAYOUT_H

#include "analysis/calltree.h"

enum svg_box_kind {
    SVG_BOX_FRAME,
    SVG_BOX_NARROW, /* callees of one frame that are too narrow to draw */
    SVG_BOX_RUN,    /* frames of a row of calls without branches */
    SVG_BOX_DEEP,   /* all that a frame calls, too deep to draw */
};

struct svg_box {
    uint32_t node;   /* a frame's; of a summary the first frame's it stands for (NARROW:
                        the caller's) */
    uint32_t row;    /* 0: the root's */
    uint32_t kind;   /* enum svg_box_kind */
    uint32_t hidden; /* how many frames a summary stands for */
    double x;        /* in the weight that widths show, as the rest */
    double total, base;
    double lead, base_lead; /* from where it begins to its first callee: its own weight */
    double gap;             /* in time: from where the box beside it ends, or its caller
                               begins, to where it begins; then lead is 0 */
};

/* Boxes stand in preorder: a caller before its callees, these from left to right. */
struct svg_layout {
    struct arena arena;
    struct svg_box *boxes;
    size_t count, cap;
    uint32_t rows;
    double total, base;     /* what the full width stands for, after and before */
    bool before;            /* widths are `base` */
    uint64_t narrow_frames; /* too narrow, and with no box that says so */
    double narrow_total;
};

struct svg_layout_options {
    double total;       /* or 0: the root's */
    double base_factor; /* the weights before are multiplied by it */
    double min_share;   /* of a box that is drawn, of the root's total */
    uint32_t max_rows;  /* at least 8 */
    bool before;
};

/* False when memory is short. */
bool svg_layout_init(struct svg_layout *l, const struct calltree *t,
                     const struct svg_layout_options *options, struct error *err);
void svg_layout_deinit(struct svg_layout *l);

/* What the box stands for, after or before; negative weights have no width. */
static inline double svg_box_weight(const struct svg_box *b, bool before)
{
    double weight = before ? b->base : b->total;
    return weight > 0 ? weight : 0;
}

/* What is in front of its first callee: its own weight, on the left, where flamegraph.pl
 * and inferno draw it. */
static inline double svg_box_lead(const struct svg_box *b, bool before)
{
    double lead = before ? b->base_lead : b->lead, weight = svg_box_weight(b, before);
    return lead <= 0 ? 0 : lead < weight ? lead : weight;
}

static inline double svg_box_width(const struct svg_layout *l, const struct svg_box *b)
{
    return svg_box_weight(b, l->before);
}

/* What the full width stands for, in the view that is drawn. */
static inline double svg_layout_width(const struct svg_layout *l)
{
    return l->before ? l->base : l->total;
}

#endif
