/* SPDX-License-Identifier: Apache-2.0 */
/* Text of the SVG exporter: names made safe, cut to fit, and figures. */
#ifndef STOKE_EXPORT_SVG_TEXT_H
#define STOKE_EXPORT_SVG_TEXT_H

#include "base/output.h"
#include "export/svg.h"

/* Writes a name as text that every XML document may hold: valid UTF-8, control bytes as
 * their visible pictures, what cannot be text as U+FFFD. */
void svg_clean(struct output *o, struct str name);

/* Writes cleaned text as XML, good in an element and in a quoted attribute. With `ascii`
 * everything else is written as a character reference. */
void svg_escape(struct output *o, struct str clean, bool ascii);

/* Writes cleaned text as a JSON string that is plain text in XML too. */
void svg_quote(struct output *o, struct str clean, bool ascii);

/* What is needed to guess the width of a text where no browser measures it. */
struct svg_font {
    double size;
    double width; /* of every character, in sizes; 0: each has its own */
};

/* How wide a text is, as far as that can be known where no browser measures it. */
double svg_text_width(struct str clean, const struct svg_font *font);

/* A name, or what of it fits, with an ellipsis where something is left out. */
struct svg_label {
    struct str text;
    bool cut_before, cut_behind;
};

/* The part of a cleaned name to show in `room` pixels; empty text where nothing fits. */
struct svg_label svg_fit(struct str clean, double room, const struct svg_font *font,
                         enum svg_cut cut);

/* "1,234,567", "0.25": at most two decimals. */
void svg_figure(struct output *o, double v);

/* "12.34%" of a share of 1. */
void svg_percent(struct output *o, double share);

/* A length in an attribute: at most `decimals` of them, no zeros at the end. */
void svg_length(struct output *o, double v, int decimals);

#endif
