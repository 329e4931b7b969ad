/* SPDX-License-Identifier: Apache-2.0 */
/* The state of writing a flame graph as an SVG document, shared by the files of the
 * exporter. */
#ifndef STOKE_EXPORT_SVG_DRAWING_H
#define STOKE_EXPORT_SVG_DRAWING_H

#include "export/svg_layout.h"
#include "export/svg_text.h"

#define SVG_PAD 10.0    /* at both sides of the boxes */
#define SVG_HEADER 62.0 /* above them */
#define SVG_FOOTER 34.0 /* below them */
#define SVG_LEGEND 16.0 /* part of the footer, for legends */
#define SVG_WIDTH 1200.0

/* The labels of boxes, made once per name. */
struct svg_name {
    string_id label; /* in the tree: with its suffix; 0: the root's */
    struct str text; /* cleaned, without the suffix */
    color color;     /* if it depends on the name */
};

struct svg_drawing {
    struct arena arena;
    const struct profile *profile;
    const struct export_options *options;
    const struct svg_options *svg;
    struct calltree tree;
    struct svg_layout layout;
    struct svg_name *names;
    size_t name_count, name_cap;
    uint32_t *name_of_label;   /* by label: index of its name + 1, or 0 */
    struct strings attributed; /* the names of svg->attributes, in their order */
    struct svg_font font;
    enum svg_coloring coloring;
    double whole; /* differential: the larger of the totals before and after, not 0 */
    struct str count_name;
    double factor;
    struct str fonts; /* the font-family */
    double width;     /* of the document; the boxes have 2 * SVG_PAD less */
    double height, boxes_height, footer;
    bool ascii; /* other characters as character references */
    struct output *out;
    struct output *text; /* scratch; its failure is checked at the end */
};

/* How much larger it is after than before; with --negate, before than after. */
static inline double svg_change(const struct svg_drawing *d, const struct svg_box *b)
{
    return d->svg->negate ? b->base - b->total : b->total - b->base;
}

/* The name of a frame's box. */
static inline const struct svg_name *svg_name_of(const struct svg_drawing *d,
                                                 const struct svg_box *b)
{
    return &d->names[d->name_of_label[d->tree.nodes[b->node].label] - 1];
}

/* The top of a row, relative to the top of the boxes. */
static inline double svg_row_y(const struct svg_drawing *d, uint32_t row)
{
    uint32_t from_top = d->svg->shape == SVG_ICICLES ? row : d->layout.rows - 1 - row;
    return from_top * d->svg->frame_height;
}

#define SVG_EDGE_LEAST 3.0 /* pixels of a box with lines at its ends */

/* svg_boxes.c: the boxes, one element each, and the lines between them. False if
 * out of memory. */
void svg_write_boxes(struct svg_drawing *d);
bool svg_write_edges(struct svg_drawing *d);

/* svg_data.c: the same for the script. */
void svg_write_data(const struct svg_drawing *d);

/* svg_document.c: the rest of the document; and a document with only a message. */
bool svg_write_document(struct svg_drawing *d);
void svg_write_notice(struct svg_drawing *d, struct str message);

/* A new line, indented if the XML is pretty-printed; and one only if it is. */
void svg_new_line(const struct svg_drawing *d, int depth);
void svg_pretty_line(const struct svg_drawing *d, int depth);

/* Text with any bytes, as XML. */
void svg_write_clean(const struct svg_drawing *d, struct str text);

#endif
