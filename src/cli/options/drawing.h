/* SPDX-License-Identifier: Apache-2.0 */
/* The options for the appearance of a flame graph, shared by the commands that draw one. */
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
    int palette; /* -1: the palette in STOKE_COLORS, or hot */
    int order, cut;
    bool hash, random, deterministic, keep_palette, color_by_width;
    bool inverted, by_time, as_read, negate, normalize, before, pretty, no_script;
};

extern const struct option drawing_options[];

/* The settings before the options are parsed. */
#define DRAWING_DEFAULTS                                                            \
    {                                                                               \
        .palette = -1, .frame_height = 18, .font_size = 12, .factor = 1, .least = { \
            .pixels = 0.1                                                           \
        }                                                                           \
    }

/* The exporter options that the settings select, and the content of the files that the
 * settings name. */
struct drawing {
    const struct drawing_settings *settings;
    struct svg_options svg;
    struct palette_map map;
    struct arena arena; /* the attributes */
    struct svg_attributes *attributes;
    size_t attribute_count, attribute_cap;
    struct strings attributed; /* names that have attributes */
};

/* Reads the files that the settings name and sets svg, title and tree.order in `options`;
 * options->svg points into d. False with err set on failure. Call drawing_deinit in both
 * cases. */
bool drawing_init(struct drawing *d, const struct drawing_settings *settings,
                  struct export_options *options, struct error *err);

/* Call after the image is written: saves the palette map, if the settings name one. */
bool drawing_finish(struct drawing *d, struct error *err);

void drawing_deinit(struct drawing *d);

#endif
