/* SPDX-License-Identifier: Apache-2.0 */
/* The flame graph as an SVG document: one file with its style and its script, without
 * references to anything outside of itself.
 *
 * It draws a call tree (calltree.h), one box per node. Everything that is omitted is
 * counted and shown:
 *   - frames narrower than min_width are summed up in a grey box above their caller or,
 * if that is too narrow itself, in the picture's last line;
 *   - if the tree is deeper than SVG_HEIGHT_MAX allows, runs of frames with a single
 * callee are shortened to a box with their number, and frames that are still too deep are
 * summed up in a box at the top. The document is well-formed whatever bytes a name
 * contains. Without scripts it is a picture 1200 pixels wide; the script makes it as wide
 * as the page. */
#ifndef STOKE_EXPORT_SVG_H
#define STOKE_EXPORT_SVG_H

#include "export/exporter.h"
#include "export/palette.h"

/* Browsers do not draw beyond 32,767 pixels. */
#define SVG_HEIGHT_MAX 32000

enum svg_shape {
    SVG_FLAMES,  /* callers at the bottom */
    SVG_ICICLES, /* callers at the top */
};

/* Which end of a name is cut if its box is too narrow. */
enum svg_cut {
    SVG_CUT_QUALIFIERS, /* first the text before "::" or '/', then the end */
    SVG_CUT_END,
    SVG_CUT_BEGINNING,
};

enum svg_coloring {
    SVG_COLOR_PALETTE,
    SVG_COLOR_SHARE,  /* the wider, the stronger */
    SVG_COLOR_CHANGE, /* differential */
};

/* The attributes that --nameattr sets for a name: of its box, and of a link around the
 * box. */
struct svg_attributes {
    struct str name;
    struct str title; /* empty fields are not changed */
    struct str href, target;
    struct str id, class_name;
    struct str group_extra, link_extra; /* more attributes, as text: a="b" c="d" */
};

struct svg_options {
    struct str subtitle, notes;
    struct str count_name; /* empty: the event's unit */
    struct str name_type;  /* precedes the name in the detail line */
    struct str encoding;   /* empty: UTF-8; otherwise the one in the XML declaration */
    struct str font;       /* a CSS font-family; empty: the default */
    double font_size;
    double font_width;   /* of a character, in font sizes; 0: by character */
    double frame_height; /* of a row */
    double width;        /* 0: 1200, and the width of the page if scripts run */
    double min_width;    /* of a drawn frame, in pixels */
    double min_share;    /* or, if not 0, of the total: 0.001 */
    double total;        /* the weight of the full width; 0: the sum */
    double factor;       /* numbers are multiplied by it */
    enum svg_shape shape;
    enum svg_cut cut;
    bool by_time; /* a flame chart (the order is export_options.tree's) */
    bool colored_by_width;
    bool negate;      /* differential: the change is "before" minus "after", for signs and
                         colours */
    bool normalize;   /* differential: "before" scaled to the total of "after" */
    bool show_before; /* differential: widths are those before; the page can change it */
    bool pretty;      /* indented XML */
    bool no_script;   /* a static picture */
    const struct palette *palette; /* NULL: hot */
    enum color_choice choice;
    uint32_t seed;
    struct str background; /* yellow, blue, green, grey, "#rrggbb"; empty: by palette */
    struct str ui_color, search_color, stroke_color; /* CSS colours; empty: the default */
    struct palette_map *map; /* colours shared by several pictures, or NULL */
    const struct svg_attributes *attributes;
    size_t attribute_count;
};

extern const struct svg_options svg_defaults;

/* A picture with an error message, if there is nothing to draw. */
void svg_write_error(const struct svg_options *options, struct str message,
                     struct output *out);

#endif
