/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "export/svg_drawing.h"

#define FONTS                                                                       \
    "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', " \
    "'DejaVu Sans Condensed', Arial, sans-serif"

/* The number of rows for which boxes of this share of a pixel have room. */
#define ROWS_LEAST 8

const struct svg_options svg_defaults = {
    .name_type = {"Function:", 9},
    .font_size = 12,
    .frame_height = 18,
    .min_width = 0.1,
    .factor = 1,
};

/* --- Minimum size ---------------------------------------------------------------- */

/* The sum of the drawn weights: the root's total, before the root exists. */
static double event_total(const struct svg_drawing *d, event_id event)
{
    const struct profile *p = d->profile;
    bool samples = d->options->tree.weight == CALLTREE_SAMPLES;
    double sum = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].event == event)
            sum += samples ? (double)p->samples[i].count : p->samples[i].weight;
    return sum;
}

/* The smallest share of the root's total that is drawn. */
static double least_share(const struct svg_drawing *d)
{
    const struct svg_options *o = d->svg;
    event_id event, base;
    calltree_events(d->profile, &d->options->tree, &event, &base);
    double sum = event_total(d, event);
    double share = o->min_share;
    if (share <= 0)
        share = o->min_width / (d->width - 2 * SVG_PAD);
    if (o->total > sum && sum > 0)
        share *= o->total / sum;
    return share * (1 - 1e-12); /* 7% of 100 is 7, independent of rounding */
}

static bool make_tree(struct svg_drawing *d, struct svg_layout_options *layout,
                      struct error *err)
{
    struct calltree_options options = d->options->tree;
    options.min_share = layout->min_share = least_share(d);
    /* The suffixes of kernel, JIT and so on distinguish equal names and select
     * colours; labels are shown without them. */
    options.label.kernel = options.label.jit = true;
    options.label.plain = false;
    return calltree_init(&d->tree, d->profile, &options, err);
}

/* An empty graph would look like a result. */
static bool check_weights(const struct svg_drawing *d, struct error *err)
{
    const struct calltree_node *all = d->tree.nodes;
    if (d->tree.count > 1 || all->total != 0 || all->base_total != 0)
        return true;
    error_set(err, "all weights are zero: there is nothing to draw");
    if (d->profile->event_count > 2 && !d->profile->facts.differential)
        return error_hint(err,
                          "choose another event with --event; 'stoke info' lists them");
    return error_hint(err, "check the command that wrote the input");
}

static bool make_layout(struct svg_drawing *d, struct svg_layout_options *layout,
                        struct error *err)
{
    const struct calltree_node *all = d->tree.nodes;
    double room = SVG_HEIGHT_MAX - SVG_HEADER - d->footer;
    double rows = room / d->svg->frame_height;
    layout->max_rows = rows > ROWS_LEAST ? (uint32_t)rows : ROWS_LEAST;
    layout->total = d->svg->total;
    layout->before = d->svg->show_before && d->tree.base;
    layout->base_factor = 1;
    if (d->svg->normalize && all->base_total > 0)
        layout->base_factor = all->total / all->base_total;
    if (!svg_layout_init(&d->layout, &d->tree, layout, err))
        return false;
    d->boxes_height = d->layout.rows * d->svg->frame_height;
    d->height = SVG_HEADER + d->boxes_height + d->footer;
    return true;
}

/* --- Names ----------------------------------------------------------------------- */

static color color_of_name(struct svg_drawing *d, const struct svg_box *b,
                           struct str label)
{
    const struct svg_options *o = d->svg;
    frame_id frame = d->tree.nodes[b->node].frame;
    color c;
    if (o->map && palette_map_find(o->map, label, &c))
        return c;
    c = palette_color(o->palette, label, d->profile->frames[frame].kind, o->choice,
                      o->seed + b->node);
    if (o->map && d->coloring == SVG_COLOR_PALETTE && label.len)
        palette_map_set(o->map, label, c);
    return c;
}

/* The clean name of a label, made once. */
static bool add_name(struct svg_drawing *d, const struct svg_box *b)
{
    string_id label = d->tree.nodes[b->node].label;
    if (d->name_of_label[label])
        return true;
    if (!ARRAY_RESERVE(&d->arena, d->names, d->name_cap, d->name_count + 1))
        return false;
    struct str raw = strings_get(&d->tree.paths.labels, label);
    d->text->used = 0;
    svg_clean(d->text, label_without_suffix(raw));
    struct svg_name *name = &d->names[d->name_count];
    *name = (struct svg_name){.label = label, .color = color_of_name(d, b, raw)};
    name->text = label ? arena_str(&d->arena, output_contents(d->text)) : STR("all");
    d->name_of_label[label] = (uint32_t)++d->name_count;
    return true;
}

static bool make_names(struct svg_drawing *d)
{
    size_t labels = d->tree.paths.labels.count;
    d->name_of_label = arena_zalloc(&d->arena, labels, sizeof *d->name_of_label);
    bool ok = d->name_of_label != NULL;
    for (size_t i = 0; ok && i < d->layout.count; i++)
        if (d->layout.boxes[i].kind == SVG_BOX_FRAME)
            ok = add_name(d, &d->layout.boxes[i]);
    return ok && !d->arena.failed;
}

/* Indexes the names with attributes: name i + 1 is attributes[i]'s. */
static bool index_attributes(struct svg_drawing *d)
{
    if (!strings_init(&d->attributed, &d->arena))
        return false;
    for (size_t i = 0; i < d->svg->attribute_count; i++)
        if (strings_add(&d->attributed, d->svg->attributes[i].name) != i + 1)
            return !d->arena
                        .failed; /* false if a name is repeated; the cli removes those */
    return !d->arena.failed;
}

/* --- The exporter ------------------------------------------------------------------ */

static bool is_utf8(struct str encoding)
{
    return encoding.len == 0 || str_equal(encoding, STR("UTF-8")) ||
           str_equal(encoding, STR("utf-8")) || str_equal(encoding, STR("utf8"));
}

static struct svg_options with_palette(const struct svg_options *options)
{
    struct svg_options o = options ? *options : svg_defaults;
    if (!o.palette)
        o.palette = palette_named(STR("hot"));
    return o;
}

static void set_up(struct svg_drawing *d)
{
    const struct svg_options *o = d->svg;
    d->width = o->width > 0 ? o->width : SVG_WIDTH;
    if (d->width < 4 * SVG_PAD)
        d->width = 4 * SVG_PAD;
    d->font = (struct svg_font){o->font_size, o->font_width};
    d->fonts = o->font.len ? o->font : STR(FONTS);
    d->ascii = !is_utf8(o->encoding);
    d->count_name = o->count_name;
    d->factor = o->factor;
}

/* Nanoseconds have too many digits: show milliseconds. */
static void name_unit(struct svg_drawing *d)
{
    enum unit unit = d->profile->events[d->tree.event].unit;
    if (d->count_name.len)
        return;
    if (unit == UNIT_NANOSECONDS && d->factor == 1) {
        d->factor = 1e-6;
        unit = UNIT_MILLISECONDS;
    }
    d->count_name = str_of(unit_name(unit));
}

static void choose_coloring(struct svg_drawing *d)
{
    struct palette_key keys[PALETTE_KEYS_MAX];
    d->coloring = d->tree.base               ? SVG_COLOR_CHANGE
                  : d->svg->colored_by_width ? SVG_COLOR_SHARE
                                             : SVG_COLOR_PALETTE;
    bool meanings =
        d->coloring == SVG_COLOR_PALETTE && palette_legend(d->svg->palette, keys) > 0;
    d->footer = SVG_FOOTER + (meanings ? SVG_LEGEND : 0);
}

static bool svg_prepare(struct svg_drawing *d, struct error *err)
{
    struct svg_layout_options layout = {0};
    set_up(d);
    if (!make_tree(d, &layout, err) || !check_weights(d, err))
        return false;
    choose_coloring(d);
    if (!make_layout(d, &layout, err))
        return false;
    d->whole = d->layout.total > d->layout.base ? d->layout.total : d->layout.base;
    if (!(d->whole > 0))
        d->whole = 1;
    name_unit(d);
    return (make_names(d) && index_attributes(d)) || error_memory(err);
}

static bool svg_write(const struct profile *p, const struct export_options *options,
                      struct output *out, struct error *err)
{
    struct svg_options svg = with_palette(options->svg);
    struct output text = OUTPUT_BUFFER;
    struct svg_drawing d = {
        .profile = p, .options = options, .svg = &svg, .out = out, .text = &text};
    bool ok = svg_prepare(&d, err);
    if (ok)
        ok = (svg_write_document(&d) && !text.failed) || error_memory(err);
    output_deinit(&text);
    svg_layout_deinit(&d.layout);
    calltree_deinit(&d.tree);
    arena_deinit(&d.arena);
    return ok;
}

void svg_write_error(const struct svg_options *options, struct str message,
                     struct output *out)
{
    struct svg_options svg = with_palette(options);
    static const struct export_options no_options;
    struct output text = OUTPUT_BUFFER;
    struct svg_drawing d = {
        .options = &no_options, .svg = &svg, .out = out, .text = &text};
    svg.no_script = true;
    set_up(&d);
    d.height = SVG_HEADER + SVG_FOOTER;
    svg_write_notice(&d, message);
    output_deinit(&text);
}

const struct exporter export_svg = {
    .name = "svg",
    .suffixes = "svg",
    .summary = "interactive flame graph",
    .write = svg_write,
};
