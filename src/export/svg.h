/* SPDX-License-Identifier: Apache-2.0 */
/* The flame graph as an SVG document: one file with its style and its script, that
 * references nothing outside of itself.
 *
 * What is drawn is a call tree (calltree.h), a box a node. Nothing goes lost silently:
 *   - frames narrower than min_width are summed up in a grey box above their caller, or,
 *     where that is too narrow itself, in the picture's last line;
 *   - where the tree is deeper than SVG_HEIGHT_MAX has room for, runs of frames with one
 *     callee each are shortened to a box that says how many, and what is deeper still is
 *     summed up in a box on top.
 * The document is well-formed whatever bytes stand in a name, and a picture as it stands,
 * 1200 wide, where scripts do not run; the script makes it as wide as the page. */
#ifndef STOKE_EXPORT_SVG_H
#define STOKE_EXPORT_SVG_H

#include "export/exporter.h"
#include "export/palette.h"

/* Browsers stop to draw at 32,767 pixels. */
#define SVG_HEIGHT_MAX 32000

enum svg_shape {
    SVG_FLAMES,  /* callers at the bottom */
    SVG_ICICLES, /* callers at the top */
};

/* Which end of a name is left out where its box is too narrow for all of it. */
enum svg_cut {
    SVG_CUT_QUALIFIERS, /* first what stands before "::" or '/', then the end */
    SVG_CUT_END,
    SVG_CUT_BEGINNING,
};

enum svg_coloring {
    SVG_COLOR_PALETTE,
    SVG_COLOR_SHARE,  /* the wider, the stronger */
    SVG_COLOR_CHANGE, /* differential */
};

/* What --nameattr says of a name: attributes of its box, and of a link around it. */
struct svg_attributes {
    struct str name;
    struct str title; /* empty fields are left alone */
    struct str href, target;
    struct str id, class_name;
    struct str group_extra, link_extra; /* more attributes, as text: a="b" c="d" */
};

struct svg_options {
    struct str subtitle, notes;
    struct str count_name; /* empty: the event's unit */
    struct str name_type;  /* stands before the name in the detail line */
    struct str encoding;   /* empty: UTF-8; else what the XML declaration says */
    struct str font;       /* a CSS font-family; empty: the default */
    double font_size;
    double font_width;   /* of a character, in font sizes; 0: by the character */
    double frame_height; /* of a row */
    double width;        /* 0: 1200, and all of the page where scripts run */
    double min_width;    /* of a frame that is drawn, in pixels */
    double min_share;    /* or, where this is not 0, of the total: 0.001 */
    double total;        /* what the full width stands for; 0: the sum */
    double factor;       /* figures are multiplied by it */
    enum svg_shape shape;
    enum svg_cut cut;
    bool by_time; /* a flame chart (the order is export_options.tree's) */
    bool colored_by_width;
    bool negate;    /* differential: change is "before" less "after", signs and colours */
    bool normalize; /* differential: "before" scaled to the total of "after" */
    bool show_before; /* differential: widths are those before; the page can change it */
    bool pretty;      /* indented XML */
    bool no_script;   /* a still picture */
    const struct palette *palette; /* NULL: hot */
    enum color_choice choice;
    uint32_t seed;
    struct str background; /* yellow, blue, green, grey, "#rrggbb"; empty: by palette */
    struct str ui_color, search_color, stroke_color; /* CSS colours; empty: the default */
    struct palette_map *map; /* colours kept from picture to picture, or NULL */
    const struct svg_attributes *attributes;
    size_t attribute_count;
};

extern const struct svg_options svg_defaults;

/* A picture that says what went wrong, for when there is nothing to draw. */
void svg_write_error(const struct svg_options *options, struct str message,
                     struct output *out);

#endif
