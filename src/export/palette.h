/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of frames.
 *
 * A palette is a gradient, or a rule that selects a gradient by the form of the name
 * (java, js, ...). By default the position in the gradient depends only on the name,
 * so that a function has the same colour in every picture. */
#ifndef STOKE_EXPORT_PALETTE_H
#define STOKE_EXPORT_PALETTE_H

#include "base/output.h"
#include "base/strings.h"
#include "model/profile.h"

typedef uint32_t color; /* 0xrrggbb */

enum color_choice {
    COLOR_BY_NAME,   /* equal names have the same colour */
    COLOR_BY_PREFIX, /* names with a common prefix have similar colours */
    COLOR_RANDOM,    /* by the position in the picture and a seed */
};

struct palette;

/* The names of all palettes, NULL-terminated. */
extern const char *const palette_names[];
const struct palette *palette_numbered(int number);

/* NULL if there is none with that name. */
const struct palette *palette_named(struct str name);

/* The meaning of a palette's colour. */
struct palette_key {
    color color;
    const char *meaning;
};

#define PALETTE_KEYS_MAX 8

/* Writes the meanings of the palette's colours and returns their number: 0 for most
 * palettes. */
size_t palette_legend(const struct palette *p, struct palette_key keys[PALETTE_KEYS_MAX]);

/* The name of a palette's default background: "yellow", "blue", ... */
struct str palette_background(const struct palette *p);

/* True if the rest of a graph in this palette should not use both red and green. */
bool palette_is_safe(const struct palette *p);

/* The colour of a frame. `name` has its suffix (_[k]); `seed` is for COLOR_RANDOM. */
color palette_color(const struct palette *p, struct str name, enum frame_kind kind,
                    enum color_choice choice, uint32_t seed);

/* The colour of a share of the total, 0 to 1: pale for small shares, strong for large. */
color color_by_share(double share);

/* The colour of a change relative to the total: -1 if all of it disappeared, 0 if it is
 * equal, 1 if all of it is new. `safe`: orange and blue instead of red and blue. */
color color_by_change(double change, bool safe);

/* Whether dark text is more readable on it than light text. */
bool color_is_light(color c);

/* "#rgb", "#rrggbb", "rgb(r,g,b)". False if the text is none of these. */
bool color_parse(struct str text, color *out);

/* Maps names to colours: the content of palette.map, for --cp. */
struct palette_map {
    struct arena arena;
    struct strings names;
    color *colors; /* by name; [0] is that of the empty name */
    size_t cap;
    bool has_root; /* the empty name has a colour: flamegraph.pl's root frame */
    bool changed;  /* palette_map_set added or changed a colour */
};

/* False if out of memory. */
bool palette_map_init(struct palette_map *m);
void palette_map_deinit(struct palette_map *m);

/* False if the name has no colour. */
bool palette_map_find(const struct palette_map *m, struct str name, color *out);

/* Adds a name or changes its colour; a failure is stored in m->arena. A name with a
 * line end is skipped, because the file cannot hold it. */
void palette_map_set(struct palette_map *m, struct str name, color c);

/* Reads a line "name->rgb(r,g,b)"; the name may be empty. False if it is not such a
 * line. */
bool palette_map_read(struct palette_map *m, struct str line);

/* Writes all as such lines, sorted by name. */
bool palette_map_write(struct palette_map *m, struct output *out);

#endif
