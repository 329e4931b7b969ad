/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/drawing.h"
#include "base/array.h"
#include "base/lines.h"
#include "base/number.h"
#include "cli/message.h"
#include "cli/options/css_color.h"
#include "os/file.h"
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static const char *const orders[] = {"name", "size", NULL}; /* as enum calltree_order */
static const char *const cuts[] = {"qualifiers", "end", "beginning", NULL};

static bool parse_least(const char *text, void *value, struct error *err)
{
    struct drawing_width *least = value;
    struct str s = str_of(text);
    bool percent = str_ends(s, STR("%"));
    double number;
    if (percent)
        s.len--;
    if (!number_parse_double(s, &number) || number < 0 || (percent && number > 100)) {
        error_set(err, "invalid width '%s'", text);
        return error_hint(err, "pixels (0.1) or a share of the total (0.5%%)");
    }
    *least = percent ? (struct drawing_width){.share = number / 100}
                     : (struct drawing_width){.pixels = number};
    return true;
}

static bool parse_encoding(const char *text, void *value, struct error *err)
{
    struct str s = str_of(text);
    bool ok = s.len && !byte_is_digit(s.ptr[0]) && s.ptr[0] != '-';
    for (size_t i = 0; i < s.len; i++)
        ok = ok && (byte_is_word(s.ptr[i]) || s.ptr[i] == '-');
    *(const char **)value = text;
    /* The document is written in ASCII: these encodings are not supersets of it. */
    if (ok && strncasecmp(text, "utf-16", 6) != 0 &&
        strncasecmp(text, "utf-32", 6) != 0 && strncasecmp(text, "ucs", 3) != 0 &&
        strncasecmp(text, "ebcdic", 6) != 0)
        return true;
    error_set(err, "unsupported encoding '%s'", text);
    return error_hint(err, "UTF-8, or a superset of ASCII such as ISO-8859-1");
}

static bool parse_background(const char *text, void *value, struct error *err)
{
    static const char *const names[] = {"yellow", "blue", "green", "grey", "gray", NULL};
    color c;
    *(const char **)value = text;
    if (color_parse(str_of(text), &c))
        return true;
    for (size_t i = 0; names[i]; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    error_set(err, "invalid background '%s'", text);
    return error_hint(err, "yellow, blue, green, grey or #rrggbb");
}

static bool parse_color(const char *text, void *value, struct error *err)
{
    *(const char **)value = text;
    return css_color_check(text, err);
}

#define OFF(field) offsetof(struct drawing_settings, field)
#define RANGE(from, to) .least = (from), .most = (to)
#define COLOR(field) OPTION_PARSED, OFF(field), .parse = parse_color

const struct option drawing_options[] = {
    {"title", 0, "TEXT", "title of the image", OPTION_STRING, OFF(title)},
    {"subtitle", 0, "TEXT", "second line below the title", OPTION_STRING, OFF(subtitle)},
    {"notes", 0, "TEXT", "description stored in the file", OPTION_STRING, OFF(notes)},
    {"inverted,icicle", 'i', NULL, "draw callers at the top (icicle graph)", OPTION_FLAG,
     OFF(inverted)},
    {"flamechart,flame-chart", 0, NULL, "order samples by time, without merging",
     OPTION_FLAG, OFF(by_time)},
    {"sort", 0, "ORDER", "order of callees (default: name)", OPTION_CHOICE, OFF(order),
     orders},
    {"no-sort", 0, NULL, "keep callees in input order", OPTION_FLAG, OFF(as_read)},
    {"colors,color,palette", 0, "NAME",
     "palette (default: hot); safe suits colour-blind readers", OPTION_CHOICE,
     OFF(palette), palette_names},
    {"hash", 0, NULL, "give names with the same prefix similar colours", OPTION_FLAG,
     OFF(hash)},
    {"random", 0, NULL, "give each frame a random colour", OPTION_FLAG, OFF(random)},
    {"deterministic", 0, NULL, "derive the colour from the name (default)", OPTION_FLAG,
     OFF(deterministic)},
    {"colordiffusion,color-diffusion", 0, NULL, "give wider frames stronger colours",
     OPTION_FLAG, OFF(color_by_width)},
    {"cp", 0, NULL, "use the same colours in all images; store them in palette.map",
     OPTION_FLAG, OFF(keep_palette)},
    {"palette-map", 0, "FILE", "like --cp, but store the colours in FILE", OPTION_STRING,
     OFF(palette_file)},
    {"bgcolors", 0, "COLOUR", "background: yellow, blue, green, grey or #rrggbb",
     OPTION_PARSED, OFF(background), .parse = parse_background},
    {"width", 0, "PIXELS", "width of the image (default: 1200, or the page width)",
     OPTION_NUMBER, OFF(width), RANGE(40, SVG_HEIGHT_MAX)},
    {"height", 0, "PIXELS", "height of a frame (default: 18)", OPTION_NUMBER,
     OFF(frame_height), RANGE(2, 1000)},
    {"minwidth,min-width", 0, "WIDTH", "omit narrower frames: 0.1 (pixels) or 0.01%",
     OPTION_PARSED, OFF(least), .parse = parse_least},
    {"fonttype,font-type", 0, "FONTS", "CSS font family", OPTION_STRING, OFF(font)},
    {"fontsize,font-size", 0, "PIXELS", "font size of labels (default: 12)",
     OPTION_NUMBER, OFF(font_size), RANGE(1, 200)},
    {"fontwidth,font-width", 0, "WIDTH",
     "character width relative to the font size (default: per character)", OPTION_NUMBER,
     OFF(font_width), RANGE(0.1, 4)},
    {"truncate", 0, "WHAT", "part of a long name to omit; qualifiers are a:: and a/",
     OPTION_CHOICE, OFF(cut), cuts},
    {"truncate-text-right", 0, NULL, "same as --truncate end", OPTION_SET, OFF(cut),
     .value = SVG_CUT_END},
    {"truncate-text-left", 0, NULL, "same as --truncate beginning", OPTION_SET, OFF(cut),
     .value = SVG_CUT_BEGINNING},
    {"countname", 0, "TEXT", "name of the counted unit (default: the event's unit)",
     OPTION_STRING, OFF(count_name)},
    {"nametype", 0, "TEXT", "label before a name (default: Function:)", OPTION_STRING,
     OFF(name_type)},
    {"total", 0, "WEIGHT", "weight of the full width (default: the sum)", OPTION_NUMBER,
     OFF(total), RANGE(0, 1e18)},
    {"factor", 0, "N", "multiply displayed values by N", OPTION_NUMBER, OFF(factor),
     RANGE(1e-15, 1e15)},
    {"negate", 0, NULL, "differential: treat the first count as the later one",
     OPTION_FLAG, OFF(negate)},
    {"normalize,normalise", 0, NULL,
     "differential: scale 'before' to the total of 'after'", OPTION_FLAG, OFF(normalize)},
    {"before", 0, NULL, "differential: use the widths of 'before'", OPTION_FLAG,
     OFF(before)},
    {"nameattr", 0, "FILE", "links and attributes per name: name<TAB>href=...",
     OPTION_STRING, OFF(attributes_file)},
    {"uicolor", 0, "COLOUR", "colour of text outside the frames", COLOR(ui_color)},
    {"search-color", 0, "COLOUR", "colour of search matches (default: #e600e6)",
     COLOR(search_color)},
    {"stroke-color", 0, "COLOUR", "colour of frame outlines (default: none)",
     COLOR(stroke_color)},
    {"encoding", 0, "NAME", "XML encoding (default: UTF-8)", OPTION_PARSED, OFF(encoding),
     .parse = parse_encoding},
    {"pretty-xml", 0, NULL, "indent the XML", OPTION_FLAG, OFF(pretty)},
    {"no-javascript,no-script", 0, NULL, "static image without JavaScript", OPTION_FLAG,
     OFF(no_script)},
    {0}};

/* --- Input files ------------------------------------------------------------------ */

#define LINE_MOST ((uint64_t)1 << 20)

/* Calls `line` for each non-empty line, all of which must be read. */
static bool read_each_line(struct source *source,
                           bool (*line)(void *, struct str, struct error *),
                           void *context, struct error *err)
{
    struct lines lines = lines_of(source, err);
    struct str text;
    while (lines_next(&lines, &text))
        if (text.len && !line(context, text, err))
            return error_at_line(err, lines.number, 0, text);
    if (lines.failed)
        return false;
    if (source->long_lines) {
        error_set(err, "the line is longer than 1 MiB");
        return error_at_line(err, source->long_line, 0, STR(""));
    }
    return true;
}

/* Devices without an end, such as /dev/zero, are refused at their first bytes. */
static bool read_lines(const char *path, bool (*line)(void *, struct str, struct error *),
                       void *context, struct error *err)
{
    struct os_input file;
    if (!os_input_open(&file, path, err))
        return false;
    struct source source = os_input_source(&file);
    struct limits limits = limits_default;
    limits.line = LINE_MOST;
    source.limits = &limits;
    bool ok = source_peek(&source, 1, err);
    if (ok && memchr(source.begin, 0, (size_t)(source.end - source.begin)))
        ok = error_set(err, "not a text file");
    ok = ok && read_each_line(&source, line, context, err);
    if (!ok && !err->file[0])
        format_text(err->file, sizeof err->file, "%s", path);
    source_deinit(&source);
    os_input_close(&file);
    return ok;
}

static void set_attribute(struct svg_attributes *a, struct arena *arena, struct str key,
                          struct str value)
{
    const struct {
        struct str key;
        struct str *value;
    } known[] = {{STR("title"), &a->title},       {STR("href"), &a->href},
                 {STR("target"), &a->target},     {STR("id"), &a->id},
                 {STR("class"), &a->class_name},  {STR("g_extra"), &a->group_extra},
                 {STR("a_extra"), &a->link_extra}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_equal(known[i].key, key))
            *known[i].value = arena_str(arena, value);
}

/* "name<TAB>key=value<TAB>key=value..." */
static bool read_attributes(void *context, struct str line, struct error *err)
{
    struct drawing *d = context;
    struct str name = str_cut(&line, '\t');
    if (name.len == 0 || line.len == 0) {
        error_set(err, "no attributes for '%.*s'", STR_ARG(name));
        return error_hint(err, "line format: name<TAB>key=value<TAB>key=value...");
    }
    if (!ARRAY_RESERVE(&d->arena, d->attributes, d->attribute_cap,
                       d->attribute_count + 1))
        return error_memory(err);
    string_id known = strings_find(&d->attributed, name);
    struct svg_attributes *a = &d->attributes[known ? known - 1 : d->attribute_count];
    if (!known) {
        strings_add(&d->attributed, name);
        *a = (struct svg_attributes){.name = arena_str(&d->arena, name)};
        d->attribute_count++;
    }
    while (line.len) {
        struct str value = str_cut(&line, '\t'), key = str_cut(&value, '=');
        set_attribute(a, &d->arena, key, value);
    }
    return !d->arena.failed || error_memory(err);
}

static bool read_palette(void *context, struct str line, struct error *err)
{
    struct palette_map *map = context;
    return palette_map_read(map, line) ||
           error_set(err, "invalid colour: the line format is name->rgb(r,g,b)");
}

static const char *palette_path(const struct drawing_settings *s)
{
    if (s->palette_file)
        return s->palette_file;
    return s->keep_palette ? "palette.map" : NULL;
}

static bool read_files(struct drawing *d, struct error *err)
{
    const struct drawing_settings *s = d->settings;
    const char *palette = palette_path(s);
    if (!strings_init(&d->attributed, &d->arena))
        return error_memory(err);
    if (s->attributes_file && !read_lines(s->attributes_file, read_attributes, d, err))
        return false;
    if (!palette)
        return true;
    if (!palette_map_init(&d->map))
        return error_memory(err);
    d->svg.map = &d->map;
    if (access(palette, F_OK) != 0)
        return true; /* drawing_finish creates it */
    return read_lines(palette, read_palette, &d->map, err);
}

/* --- Exporter options ------------------------------------------------------------- */

static struct str str_or_empty(const char *text)
{
    return str_of(text ? text : "");
}

static enum color_choice color_choice(const struct drawing_settings *s)
{
    if (s->hash)
        return COLOR_BY_PREFIX;
    return s->random && !s->deterministic ? COLOR_RANDOM : COLOR_BY_NAME;
}

static struct svg_options svg_options_of(const struct drawing_settings *s)
{
    struct svg_options o = svg_defaults;
    o.subtitle = str_or_empty(s->subtitle);
    o.notes = str_or_empty(s->notes);
    o.count_name = str_or_empty(s->count_name);
    if (s->name_type)
        o.name_type = str_of(s->name_type);
    o.encoding = str_or_empty(s->encoding);
    o.font = str_or_empty(s->font);
    o.font_size = s->font_size;
    o.font_width = s->font_width;
    o.frame_height = s->frame_height;
    o.width = s->width;
    o.min_width = s->least.pixels;
    o.min_share = s->least.share;
    o.total = s->total;
    o.factor = s->factor;
    o.shape = s->inverted ? SVG_ICICLES : SVG_FLAMES;
    o.cut = (enum svg_cut)s->cut;
    o.by_time = s->by_time;
    o.colored_by_width = s->color_by_width;
    o.negate = s->negate;
    o.normalize = s->normalize;
    o.show_before = s->before;
    o.pretty = s->pretty;
    o.no_script = s->no_script;
    o.choice = color_choice(s);
    o.seed = o.choice == COLOR_RANDOM ? (uint32_t)time(NULL) * 2654435761u : 0;
    o.background = str_or_empty(s->background);
    if (str_equal(o.background, STR("gray")))
        o.background = STR("grey");
    o.ui_color = str_or_empty(s->ui_color);
    o.search_color = str_or_empty(s->search_color);
    o.stroke_color = str_or_empty(s->stroke_color);
    return o;
}

/* The palette of --colors, of STOKE_COLORS, or hot. */
static bool choose_palette(struct drawing *d, struct error *err)
{
    const char *preset = getenv("STOKE_COLORS");
    if (d->settings->palette >= 0)
        d->svg.palette = palette_numbered(d->settings->palette);
    else
        d->svg.palette = palette_named(str_of(preset && *preset ? preset : "hot"));
    if (d->svg.palette)
        return true;
    error_set(err, "unknown palette '%s' in STOKE_COLORS", preset);
    return error_hint(err, "'stoke flamegraph --help' lists them");
}

bool drawing_init(struct drawing *d, const struct drawing_settings *settings,
                  struct export_options *options, struct error *err)
{
    *d = (struct drawing){.settings = settings};
    d->svg = svg_options_of(settings);
    if (!choose_palette(d, err) || !read_files(d, err))
        return false;
    d->svg.attributes = d->attributes;
    d->svg.attribute_count = d->attribute_count;
    options->svg = &d->svg;
    options->title = str_or_empty(settings->title);
    options->tree.order = settings->by_time   ? CALLTREE_BY_TIME
                          : settings->as_read ? CALLTREE_AS_READ
                                              : (enum calltree_order)settings->order;
    return true;
}

bool drawing_finish(struct drawing *d, struct error *err)
{
    const char *path = palette_path(d->settings);
    struct os_output file;
    if (!path || !d->map.changed)
        return true;
    if (!os_output_open(&file, path, err))
        return false;
    os_output_set(&file, &(struct os_output_options){.is_durable = true});
    struct output out = os_output_stream(&file);
    bool ok = palette_map_write(&d->map, &out) || error_memory(err);
    if (ok)
        ok = os_output_close(&file, &out, err);
    else
        os_output_abandon(&file);
    output_deinit(&out);
    return ok;
}

void drawing_deinit(struct drawing *d)
{
    if (d->svg.map)
        palette_map_deinit(&d->map);
    arena_deinit(&d->arena);
}
