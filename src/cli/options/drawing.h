/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say how a flame graph looks, shared by the commands that draw one. */
#ifndef STOKE_CLI_OPTIONS_DRAWING_H
#define STOKE_CLI_OPTIONS_DRAWING_H

#include "cli/options/option.h"
#include "export/svg.h"

/* "0.1" pixels or "0.5%" of the total. */
struct drawing_width {
    double pixels, share;
};

struct drawing_settings {
    const char *title, *subtitle, *notes;
    const char *count_name, *name_type, *encoding;
    const char *font, *background, *ui_color, *search_color, *stroke_color;
    const char *attributes_file;
    const char *palette_file;
    double width, frame_height, font_size, font_width, total, factor;
    struct drawing_width least;
    int palette; /* -1: what STOKE_COLORS says, else hot */
    int order, cut;
    bool hash, random, deterministic, keep_palette, color_by_width;
    bool inverted, by_time, as_read, negate, normalize, before, pretty, no_script;
};

extern const struct option drawing_options[];

/* What the settings are before the options are parsed. */
#define DRAWING_DEFAULTS                                                            \
    {                                                                               \
        .palette = -1, .frame_height = 18, .font_size = 12, .factor = 1, .least = { \
            .pixels = 0.1                                                           \
        }                                                                           \
    }

/* What the settings come to, and what was read for them. */
struct drawing {
    const struct drawing_settings *settings;
    struct svg_options svg;
    struct palette_map map;
    struct arena arena; /* the attributes */
    struct svg_attributes *attributes;
    size_t attribute_count, attribute_cap;
    struct strings attributed;
};

/* Reads the files that the settings name, and fills in what of `options` they
 * decide; options->svg points into d. False with err set; drawing_deinit in any case. */
bool drawing_init(struct drawing *d, const struct drawing_settings *settings,
                  struct export_options *options, struct error *err);

/* Once the picture is written: writes the palette's file, where one is kept. */
bool drawing_finish(struct drawing *d, struct error *err);

void drawing_deinit(struct drawing *d);

#endif
