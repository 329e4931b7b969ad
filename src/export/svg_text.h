/* SPDX-License-Identifier: Apache-2.0 */
/* Text of the SVG exporter: safe names, names shortened to a width, and numbers. */
#ifndef STOKE_EXPORT_SVG_TEXT_H
#define STOKE_EXPORT_SVG_TEXT_H

#include "base/output.h"
#include "export/svg.h"

/* Writes a name as text that every XML document can contain: valid UTF-8, control
 * bytes as their visible pictures, other invalid bytes as U+FFFD. */
void svg_clean(struct output *o, struct str name);

/* Writes cleaned text as XML, for an element or a quoted attribute. With `ascii`,
 * other characters are written as character references. */
void svg_escape(struct output *o, struct str clean, bool ascii);

/* Writes cleaned text as a JSON string that is also plain text in XML. */
void svg_quote(struct output *o, struct str clean, bool ascii);

/* Data for estimating the width of a text without a browser. */
struct svg_font {
    double size;
    double width; /* of every character, in sizes; 0: depends on the character */
};

/* The estimated width of a text. */
double svg_text_width(struct str clean, const struct svg_font *font);

/* A name, or the part of it that fits, with an ellipsis for the rest. */
struct svg_label {
    struct str text;
    bool cut_before, cut_behind;
};

/* The part of a cleaned name to show in `room` pixels; empty if nothing fits. */
struct svg_label svg_fit(struct str clean, double room, const struct svg_font *font,
                         enum svg_cut cut);

/* "1,234,567", "0.25": at most two decimals. */
void svg_figure(struct output *o, double v);

/* "12.34%" for a share of 1. */
void svg_percent(struct output *o, double share);

#endif
