/* SPDX-License-Identifier: Apache-2.0 */
#include "export/palette.h"
#include "base/array.h"
#include "base/number.h"
#include "base/output.h"
#include "model/frame_label.h"
#include <math.h>

#define STOPS_MAX 5

/* A palette with rules: selects the plain palette of a frame. */
typedef const struct palette *palette_rule(struct str name, enum frame_kind kind);

struct palette {
    const char *background;
    color stops[STOPS_MAX]; /* of a gradient, evenly spaced; 0 after the last */
    palette_rule *rule;     /* instead of stops */
    bool safe;
};

/* Only light and medium colours, because the text on them is dark. */
static const struct palette hot = {
    .background = "yellow",
    .stops = {0xe8654a, 0xee8148, 0xf3a04c, 0xf6be5b, 0xf8d775},
};
static const struct palette mem = {
    .background = "green",
    .stops = {0x45b283, 0x6bc47f, 0x97d181, 0xbcdc8c},
};
static const struct palette io = {
    .background = "blue",
    .stops = {0x7d90ee, 0x8fa6f2, 0xa3b9f5, 0xb4c5ee},
};
static const struct palette red = {
    .background = "grey",
    .stops = {0xe8685c, 0xee8273, 0xf29a8b},
};
static const struct palette green = {
    .background = "grey",
    .stops = {0x5dbb63, 0x7fcb78, 0x9fd88f},
};
static const struct palette blue = {
    .background = "grey",
    .stops = {0x7197ee, 0x88a9f2, 0xa1bcf5},
};
static const struct palette aqua = {
    .background = "grey",
    .stops = {0x49b5b8, 0x69c6c5, 0x8cd5d1},
};
static const struct palette yellow = {
    .background = "grey",
    .stops = {0xd6bb3d, 0xe3ca55, 0xeed873},
};
static const struct palette purple = {
    .background = "grey",
    .stops = {0xb784e6, 0xc598ec, 0xd3aef1},
};
static const struct palette orange = {
    .background = "grey",
    .stops = {0xee9040, 0xf3a35a, 0xf6b575},
};
/* Blue to yellow: distinguishable with any kind of colour vision, also by lightness. */
static const struct palette safe = {
    .background = "grey",
    .stops = {0x6f9fdc, 0x9bbbe0, 0xcfd3c4, 0xefd77c, 0xf5c53f},
    .safe = true,
};

/* The palettes with rules, by kind of frame. */
static palette_rule rule_java, rule_js, rule_perl, rule_python, rule_rust, rule_wakeup,
    rule_chain;
static const struct palette java = {.background = "yellow", .rule = rule_java};
static const struct palette js = {.background = "yellow", .rule = rule_js};
static const struct palette perl = {.background = "yellow", .rule = rule_perl};
static const struct palette python = {.background = "yellow", .rule = rule_python};
static const struct palette rust = {.background = "yellow", .rule = rule_rust};
static const struct palette wakeup = {.background = "blue", .rule = rule_wakeup};
static const struct palette chain = {.background = "blue", .rule = rule_chain};

static bool has(struct str name, const char *part)
{
    return str_has(name, str_of(part));
}

static bool starts_with_any(struct str name, const char *const *heads)
{
    for (; *heads; heads++)
        if (str_starts(name, str_of(*heads)))
            return true;
    return false;
}

/* "f.cold", "f.isra.0": names by gcc and clang for parts and copies of a C function. */
static bool is_clone(struct str name)
{
    static const char *const marks[] = {".isra.", ".constprop.", ".part.",
                                        ".llvm.", ".lto_priv.",  NULL};
    for (size_t i = 0; marks[i]; i++)
        if (has(name, marks[i]))
            return true;
    return str_ends(name, STR(".cold"));
}

/* Whether a name without a mark is Java's: java/lang/String.equals, scala.Option.map,
 * Main. async-profiler marks interpreted code with _[0] and code compiled by C1 with
 * _[1]. */
static bool is_java(struct str name)
{
    struct str bare = str_starts(name, STR("L")) ? str_skip(name, 1) : name;
    char first = bare.len ? bare.ptr[0] : 0;
    if (str_ends(name, STR("_[0]")) || str_ends(name, STR("_[1]")))
        return true;
    if (first == '[' || is_clone(name))
        return false;
    return has(bare, "/") || has(bare, ".") || (first >= 'A' && first <= 'Z');
}

static const struct palette *rule_java(struct str name, enum frame_kind kind)
{
    static const char *const packages[] = {"java/", "javax/", "jdk/", "net/",  "org/",
                                           "com/",  "io/",    "sun/", "java.", "javax.",
                                           "jdk.",  "org.",   "com.", "sun.",  NULL};
    if (kind == FRAME_KERNEL)
        return &orange;
    if (kind == FRAME_INLINED)
        return &aqua;
    struct str bare = str_starts(name, STR("L")) ? str_skip(name, 1) : name;
    if (kind == FRAME_JIT || starts_with_any(name, packages) ||
        starts_with_any(bare, packages) || has(name, ":::"))
        return &green;
    if (has(name, "::") || str_starts(name, STR("-[")) || str_starts(name, STR("+[")))
        return &yellow;
    return is_java(name) ? &green : &red;
}

/* Source files have a path; functions that the engine compiles itself have none. */
static const struct palette *rule_js(struct str name, enum frame_kind kind)
{
    static const char *const sources[] = {".js",  ".mjs", ".cjs", ".ts",
                                          ".mts", ".tsx", NULL};
    if (kind == FRAME_KERNEL)
        return &orange;
    if (has(name, "node_modules/"))
        return &purple;
    if (kind == FRAME_JIT)
        return has(name, "/") ? &green : &aqua;
    if (has(name, "::"))
        return &yellow;
    if (name.len && str_trim(name).len == 0)
        return &green; /* compiled code without a name */
    for (size_t i = 0; sources[i]; i++)
        if (has(str_skip(name, str_find(name, '/')), sources[i]))
            return &green;
    return has(name, ":") ? &aqua : &red;
}

static const struct palette *rule_perl(struct str name, enum frame_kind kind)
{
    if (kind == FRAME_KERNEL)
        return &orange;
    if (has(name, "::"))
        return &yellow;
    return has(name, "Perl") || has(name, ".pl") ? &green : &red;
}

static const struct palette *rule_python(struct str name, enum frame_kind kind)
{
    if (kind == FRAME_KERNEL)
        return &orange;
    if (has(name, "site-packages") || has(name, "dist-packages"))
        return &aqua;
    if (has(name, "/lib/python") || has(name, "/lib64/python") || has(name, "<frozen"))
        return &yellow;
    return has(name, ".py") ? &green : &red;
}

static const struct palette *rule_rust(struct str name, enum frame_kind kind)
{
    static const char *const standard[] = {"core::", "std::", "alloc::", NULL};
    while (name.len && (name.ptr[0] == '<' || name.ptr[0] == '&'))
        name = str_skip(name, 1);
    if (kind == FRAME_KERNEL)
        return &red;
    if (starts_with_any(name, standard))
        return &orange;
    return has(name, "::") ? &aqua : &yellow;
}

static const struct palette *rule_wakeup(struct str name, enum frame_kind kind)
{
    (void)name;
    (void)kind;
    return &aqua;
}

static const struct palette *rule_chain(struct str name, enum frame_kind kind)
{
    (void)name;
    return kind == FRAME_WAKER ? &aqua : &blue;
}

/* In the order of --help. */
#define PALETTES(X) \
    X(hot)          \
    X(mem)          \
    X(io)           \
    X(wakeup)       \
    X(chain)        \
    X(java)         \
    X(js)           \
    X(perl)         \
    X(python)       \
    X(rust)         \
    X(red)          \
    X(green)        \
    X(blue)         \
    X(aqua)         \
    X(yellow)       \
    X(purple)       \
    X(orange)       \
    X(safe)
#define PALETTE_ENTRY(palette) &(palette),
#define PALETTE_NAME(palette) #palette,

static const struct palette *const palettes[] = {PALETTES(PALETTE_ENTRY)};

const char *const palette_names[] = {PALETTES(PALETTE_NAME) NULL};

const struct palette *palette_numbered(int number)
{
    return palettes[number];
}

const struct palette *palette_named(struct str name)
{
    for (size_t i = 0; palette_names[i]; i++)
        if (str_equal(str_of(palette_names[i]), name))
            return palettes[i];
    return NULL;
}

struct str palette_background(const struct palette *p)
{
    return str_of(p->background);
}

bool palette_is_safe(const struct palette *p)
{
    return p->safe;
}

/* --- Gradients ---------------------------------------------------------------- */

/* The colour `part` / 256 of the way from a to b, for each channel. */
static color color_mix(color a, color b, unsigned part)
{
    color mixed = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        unsigned from = a >> shift & 0xff, to = b >> shift & 0xff;
        mixed |= ((from * (256 - part) + to * part + 128) >> 8) << shift;
    }
    return mixed;
}

/* `position`: 0 to 65535 along the stops. */
static color color_along(const color *stops, unsigned position)
{
    unsigned count = 0;
    while (count < STOPS_MAX && stops[count])
        count++;
    unsigned at = position * (count - 1); /* 16 bits of fraction */
    unsigned low = at >> 16;
    return color_mix(stops[low], stops[low + 1 < count ? low + 1 : low], at >> 8 & 0xff);
}

size_t palette_legend(const struct palette *p, struct palette_key keys[PALETTE_KEYS_MAX])
{
    static const struct {
        const struct palette *of, *color;
        const char *meaning;
    } all[] = {
        {&java, &green, "Java"},        {&java, &aqua, "inlined"},
        {&java, &yellow, "C++"},        {&java, &red, "native"},
        {&java, &orange, "kernel"},     {&js, &green, "JavaScript"},
        {&js, &purple, "node_modules"}, {&js, &aqua, "built-in"},
        {&js, &yellow, "C++"},          {&js, &red, "native"},
        {&js, &orange, "kernel"},       {&perl, &green, "Perl"},
        {&perl, &yellow, "C++"},        {&perl, &red, "native"},
        {&perl, &orange, "kernel"},     {&python, &green, "Python"},
        {&python, &aqua, "packages"},   {&python, &yellow, "standard library"},
        {&python, &red, "native"},      {&python, &orange, "kernel"},
        {&rust, &aqua, "Rust"},         {&rust, &orange, "standard library"},
        {&rust, &yellow, "native"},     {&rust, &red, "kernel"},
        {&chain, &blue, "off-CPU"},     {&chain, &aqua, "waker"},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && count < PALETTE_KEYS_MAX; i++)
        if (all[i].of == p)
            keys[count++] = (struct palette_key){
                color_along(all[i].color->stops, UINT16_MAX / 2), all[i].meaning};
    return count;
}

/* Not hash.h: these numbers are visible as colours, so they must never change. */
static uint32_t name_hash(struct str name, uint32_t seed)
{
    uint32_t h = 0x811c9dc5u ^ seed;
    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)name.ptr[i]) * 0x01000193u;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* Each byte of the prefix has less weight than the preceding one, so names with a
 * common prefix get similar values. */
static unsigned prefix_position(struct str name)
{
    unsigned sum = 0, all = 0, weight = 4096;
    struct str head = str_head(name, 16);
    for (size_t i = 0; i < head.len; i++) {
        unsigned value = name_hash(str_head(str_skip(head, i), 1), (uint32_t)i) & 0xff;
        sum += value * weight;
        all += weight;
        weight = weight * 3 / 4;
    }
    return all ? sum / all * 257 : 0;
}

color palette_color(const struct palette *p, struct str name, enum frame_kind kind,
                    enum color_choice choice, uint32_t seed)
{
    enum frame_kind suffix = label_suffix_kind(name);
    name = label_without_suffix(name);
    if (p->rule)
        p = p->rule(name, suffix != FRAME_USER ? suffix : kind);
    if (choice == COLOR_BY_PREFIX)
        return color_along(p->stops, prefix_position(name));
    return color_along(p->stops,
                       name_hash(name, choice == COLOR_RANDOM ? seed : 0) & 0xffff);
}

color color_by_share(double share)
{
    static const color stops[STOPS_MAX] = {0xf7eccb, 0xf6cf72, 0xf2a24c, 0xe66a45};
    double rest = share > 0 ? share < 1 ? 1 - share : 0 : 1;
    return color_along(stops, (unsigned)((1 - rest * rest * rest * rest) * 65535));
}

color color_by_change(double change, bool safe_colors)
{
    static const color grew[STOPS_MAX] = {0xebe8e3, 0xf5b5a6, 0xe5584a};
    static const color grew_safe[STOPS_MAX] = {0xebe8e3, 0xf5cf8f, 0xec9420};
    static const color shrank[STOPS_MAX] = {0xebe8e3, 0xaec7f3, 0x5f92ea};
    /* 1% of the total must be visible, 0.1% hardly. */
    double size = change < 0 ? -change : change, rest = size < 1 ? 1 - sqrt(size) : 0;
    return color_along(change < 0    ? shrank
                       : safe_colors ? grew_safe
                                     : grew,
                       (unsigned)((1 - rest * rest) * 65535));
}

bool color_is_light(color c)
{
    /* The perceived brightness, in thousandths per channel. */
    unsigned sum = (c >> 16) * 299 + (c >> 8 & 0xff) * 587 + (c & 0xff) * 114;
    return sum > 140 * 1000;
}

/* --- Text ------------------------------------------------------------------------ */

static bool parse_hex_color(struct str digits, color *out)
{
    uint64_t v;
    for (size_t i = 0; i < digits.len; i++) /* "0x1" would be parsed as hexadecimal */
        if (!byte_is_hex(digits.ptr[i]))
            return false;
    if ((digits.len != 3 && digits.len != 6) || !number_parse_hex(digits, &v))
        return false;
    if (digits.len == 3)
        v = ((v & 0xf00) << 8 | (v & 0xf0) << 4 | (v & 0xf)) * 0x11;
    *out = (color)v;
    return true;
}

bool color_parse(struct str text, color *out)
{
    text = str_trim(text);
    if (str_starts(text, STR("#")))
        return parse_hex_color(str_skip(text, 1), out);
    if (!str_starts(text, STR("rgb(")) || !str_ends(text, STR(")")))
        return false;
    struct str rest = str_head(str_skip(text, 4), text.len - 5);
    color c = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t light;
        if (!number_parse_u64(str_trim(str_cut(&rest, ',')), &light) || light > 255)
            return false;
        c = c << 8 | (color)light;
    }
    if (rest.len)
        return false;
    *out = c;
    return true;
}

/* --- The map --------------------------------------------------------------------- */

bool palette_map_init(struct palette_map *m)
{
    *m = (struct palette_map){0};
    return strings_init(&m->names, &m->arena);
}

void palette_map_deinit(struct palette_map *m)
{
    arena_deinit(&m->arena);
    *m = (struct palette_map){0};
}

bool palette_map_find(const struct palette_map *m, struct str name, color *out)
{
    string_id id = strings_find(&m->names, name);
    bool found = name.len ? id != 0 : m->has_root;
    if (found)
        *out = m->colors[id];
    return found;
}

/* Whether a line of the file can hold the name. */
static bool fits_line(struct str name)
{
    return str_find(name, '\n') == name.len && str_find(name, '\r') == name.len;
}

/* ID 0 is the empty name: flamegraph.pl uses it for the root. */
static bool set_color(struct palette_map *m, struct str name, color c)
{
    string_id id = strings_add(&m->names, name);
    if (name.len && !id)
        return false;
    if (!ARRAY_RESERVE(&m->arena, m->colors, m->cap, id + 1))
        return false;
    m->has_root |= id == 0;
    m->colors[id] = c;
    return true;
}

void palette_map_set(struct palette_map *m, struct str name, color c)
{
    color known;
    if (!fits_line(name) || (palette_map_find(m, name, &known) && known == c))
        return;
    m->changed |= set_color(m, name, c);
}

bool palette_map_read(struct palette_map *m, struct str line)
{
    /* A name may contain "->", a colour cannot. */
    size_t at = line.len;
    while (at >= 2 && memcmp(line.ptr + at - 2, "->", 2) != 0)
        at--;
    color c;
    if (at < 2 || !color_parse(str_skip(line, at), &c))
        return false;
    set_color(m, str_head(line, at - 2), c);
    return true;
}

static void write_entry(const struct palette_map *m, string_id id, struct output *out)
{
    color c = m->colors[id];
    output_str(out, strings_get(&m->names, id));
    output_format(out, "->rgb(%u,%u,%u)\n", c >> 16, c >> 8 & 0xff, c & 0xff);
}

bool palette_map_write(struct palette_map *m, struct output *out)
{
    size_t count = m->names.count - 1; /* without the empty one */
    uint32_t *order = arena_alloc(&m->arena, (count + 1) * sizeof *order);
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i + 1;
    if (!order || !strings_sort(&m->names, order, count, &m->arena))
        return false;
    if (m->has_root)
        write_entry(m, 0, out);
    for (size_t i = 0; i < count; i++)
        write_entry(m, order[i], out);
    return !m->arena.failed;
}
