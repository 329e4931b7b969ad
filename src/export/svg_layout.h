/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the boxes of a flame graph: rows and coordinates of a call tree. */
#ifndef STOKE_EXPORT_SVG_LAYOUT_H
#define STOKE_EXPORT_SVG_LAYOUT_H

#include "analysis/calltree.h"

enum svg_box_kind {
    SVG_BOX_FRAME,
    SVG_BOX_NARROW, /* callees of one frame that are too narrow to draw */
    SVG_BOX_RUN,    /* frames of a run of calls without branches */
    SVG_BOX_DEEP,   /* the callees of a frame, too deep to draw */
};

struct svg_box {
    uint32_t node;   /* the frame; of a summary, its first frame (NARROW: the caller) */
    uint32_t row;    /* 0: the root's */
    uint32_t kind;   /* enum svg_box_kind */
    uint32_t hidden; /* number of frames in a summary */
    double x;        /* in units of the weight that widths show, like the other fields */
    double total, base;
    double lead, base_lead; /* from its start to its first callee: its self weight */
    double gap; /* in time: from the end of the preceding box, or the start of its caller,
                   to its start; lead is then 0 */
};

/* Boxes are in preorder: a caller before its callees, which are ordered from left to
 * right. */
struct svg_layout {
    struct arena arena;
    struct svg_box *boxes;
    size_t count, cap;
    uint32_t rows;
    double total, base;     /* the weight of the full width, after and before */
    bool before;            /* widths are `base` */
    uint64_t narrow_frames; /* too narrow, and not part of a summary */
    double narrow_total;
};

struct svg_layout_options {
    double total;       /* or 0: the root's */
    double base_factor; /* factor for the weights before */
    double min_share;   /* of a drawn box, relative to the root's total */
    uint32_t max_rows;  /* at least 8 */
    bool before;
};

/* False if out of memory. */
bool svg_layout_init(struct svg_layout *l, const struct calltree *t,
                     const struct svg_layout_options *options, struct error *err);
void svg_layout_deinit(struct svg_layout *l);

/* The weight of the box, after or before; negative weights have no width. */
static inline double svg_box_weight(const struct svg_box *b, bool before)
{
    double weight = before ? b->base : b->total;
    return weight > 0 ? weight : 0;
}

/* The width before its first callee: its self weight, on the left, as in flamegraph.pl
 * and inferno. */
static inline double svg_box_lead(const struct svg_box *b, bool before)
{
    double lead = before ? b->base_lead : b->lead, weight = svg_box_weight(b, before);
    return lead <= 0 ? 0 : lead < weight ? lead : weight;
}

static inline double svg_box_width(const struct svg_layout *l, const struct svg_box *b)
{
    return svg_box_weight(b, l->before);
}

/* The weight of the full width, in the view that is drawn. */
static inline double svg_layout_width(const struct svg_layout *l)
{
    return l->before ? l->base : l->total;
}

#endif
