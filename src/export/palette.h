/* SPDX-License-Identifier: Apache-2.0 */
/* Colours: what a frame is painted with.
 *
 * A palette is a run of colours to choose from, or a rule that picks one such run by what
 * a name looks like (java, js, ...). Where in its run a frame lands is told by its name
 * alone, so that a function has one colour in every picture, unless asked otherwise. */
#ifndef STOKE_EXPORT_PALETTE_H
#define STOKE_EXPORT_PALETTE_H

#include "base/output.h"
#include "base/strings.h"
#include "model/profile.h"

typedef uint32_t color; /* 0xrrggbb */

enum color_choice {
    COLOR_BY_NAME,   /* the same name, the same colour */
    COLOR_BY_PREFIX, /* names that begin alike have colours that are alike */
    COLOR_RANDOM,    /* by the place in the picture and a seed */
};

struct palette;

/* All palettes by name, NULL-terminated, and the one at a place in that list. */
extern const char *const palette_names[];
const struct palette *palette_numbered(int number);

/* NULL where there is none of that name. */
const struct palette *palette_named(struct str name);

/* What a colour of a palette means, where it means something. */
struct palette_key {
    color color;
    const char *meaning;
};

#define PALETTE_KEYS_MAX 8

/* Fills in what the palette's colours mean, and returns how many do: 0 of most palettes. */
size_t palette_legend(const struct palette *p, struct palette_key keys[PALETTE_KEYS_MAX]);

/* The name of the background that goes with a palette: "yellow", "blue", ... */
struct str palette_background(const struct palette *p);

/* Whether a picture in this palette should also avoid red against green elsewhere. */
bool palette_is_safe(const struct palette *p);

/* The colour of a frame. `name` is with its suffix (_[k]); `seed` is for COLOR_RANDOM. */
color palette_color(const struct palette *p, struct str name, enum frame_kind kind,
                    enum color_choice choice, uint32_t seed);

/* By a share of the whole, 0 to 1: pale where little, strong where much. */
color color_by_share(double share);

/* By a change as a share of the whole: -1 all of it vanished, 0 the same, 1 all is new.
 * With `safe`, orange and blue instead of red and blue. */
color color_by_change(double change, bool safe);

/* Whether dark text reads better on it than light text. */
bool color_is_light(color c);

/* "#rgb", "#rrggbb", "rgb(r,g,b)". False where the text is none of these. */
bool color_parse(struct str text, color *out);

/* Names with a colour each: what --cp reads from and writes to palette.map. */
struct palette_map {
    struct arena arena;
    struct strings names;
    color *colors; /* by name; [0] is that of the empty name */
    size_t cap;
    bool has_root; /* the empty name has a colour: flamegraph.pl's root frame */
    bool changed;  /* palette_map_set added or changed a colour */
};

/* False when memory is short. */
bool palette_map_init(struct palette_map *m);
void palette_map_deinit(struct palette_map *m);

/* False where the name has none yet. */
bool palette_map_find(const struct palette_map *m, struct str name, color *out);

/* Adds a name or changes its colour; failure sticks in m->arena. A name with a line end is
 * left out: the file cannot hold it. */
void palette_map_set(struct palette_map *m, struct str name, color c);

/* Reads a line "name->rgb(r,g,b)"; the name may be empty. False where it is not one. */
bool palette_map_read(struct palette_map *m, struct str line);

/* Writes all of them as such lines, sorted by name. */
bool palette_map_write(struct palette_map *m, struct output *out);

#endif
