/* SPDX-License-Identifier: Apache-2.0 */
/* A call graph in Graphviz's language, drawn as gprof2dot draws it. */
#ifndef STOKE_EXPORT_DOT_H
#define STOKE_EXPORT_DOT_H

#include "analysis/call_costs.h"
#include "base/output.h"

/* Colours, fonts and line widths, by gprof2dot's names. */
enum dot_theme { DOT_COLOR, DOT_PINK, DOT_GRAY, DOT_BW, DOT_PRINT };

/* The measurements in a box, bits. */
enum dot_label {
    DOT_TOTAL = 1,
    DOT_TOTAL_SHARE = 2,
    DOT_SELF = 4,
    DOT_SELF_SHARE = 8,
};

/* How an absolute weight is written: "%.7g", with text before and after. */
struct dot_number {
    struct str before, after;
    int precision;
    char kind; /* f, g, or d: an integer, as C rounds it */
};

struct dot_options {
    enum dot_theme theme;
    unsigned labels;   /* enum dot_label */
    bool strip;        /* names without arguments and template arguments */
    bool wrap;         /* long names in several lines */
    bool samples;      /* the number of samples that end in the function */
    bool parent_share; /* of a call: also the part of the caller's total */
    bool by_change;    /* in a comparison: colours are the change, not the weight */
    double skew;       /* of the colours: 1 is linear, less shows small weights better */
    double tolerance;  /* a smaller change of a share is none */
    struct dot_number number;
};

extern const struct dot_options dot_defaults;

/* Writes the functions and calls that are shown; the heaviest first. */
bool dot_write_graph(const struct call_costs *c, const struct dot_options *o,
                     struct str title, struct output *out, struct error *err);

/* The parts of a theme (dot_theme.c). */
struct dot_style {
    double low[3], high[3]; /* hue, saturation, lightness */
    double gamma;
    double font_least, font_most, pen_least, pen_most;
    bool filled;
};

extern const struct dot_style dot_styles[];

struct dot_rgb {
    unsigned char red, green, blue;
};

/* The colour of a weight from 0 to 1. */
struct dot_rgb dot_color_of(const struct dot_style *s, double weight, double skew);

/* The colour of a change of a share, -1 to 1: blue if it shrank, red if it grew. */
struct dot_rgb dot_change_color(double change);

/* The relative luminance of WCAG 2, from 0 (black) to 1. */
double dot_luminance(struct dot_rgb c);

/* Lighter boxes have dark text. */
#define DOT_LIGHT_BOX 0.24

/* The colour for text on white: darker if it could not be read. */
struct dot_rgb dot_on_white(struct dot_rgb c);

#endif
