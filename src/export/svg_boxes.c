/* SPDX-License-Identifier: Apache-2.0 */
/* The boxes of the SVG: one <g> each, with its <title>, <rect> and, if there is room
 * for it, <text>. Coordinates are in percent, so that the page can zoom by widening
 * the containing element. */
#include "export/svg_drawing.h"

#define TITLE_MOST 1000    /* bytes of a name in a title; the page has all of it */
#define TEXT_PAD 3.0       /* between a box and its label */
#define ATTRIBUTES_MOST 32 /* of one element */

/* --- Attributes of a name, from --nameattr --------------------------------------- */

/* The attributes that an element already has: a document with duplicates is not
 * well-formed. */
struct attribute_names {
    struct str items[ATTRIBUTES_MOST];
    size_t count;
};

static bool is_attribute_name(struct str name)
{
    if (name.len == 0 || byte_is_digit(name.ptr[0]) || name.ptr[0] == '-')
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!byte_is_word(name.ptr[i]) && name.ptr[i] != '-')
            return false;
    /* No scripts except the document's own. */
    return !(name.len > 2 && (name.ptr[0] | 32) == 'o' && (name.ptr[1] | 32) == 'n');
}

static void write_attribute(struct svg_drawing *d, struct attribute_names *used,
                            struct str name, struct str value)
{
    if (value.len == 0 || used->count == ATTRIBUTES_MOST)
        return;
    for (size_t i = 0; i < used->count; i++)
        if (str_equal(used->items[i], name))
            return;
    used->items[used->count++] = name;
    output_char(d->out, ' ');
    output_str(d->out, name);
    output_text(d->out, "=\"");
    svg_write_clean(d, value);
    output_char(d->out, '"');
}

/* Attributes as text, a="b" c='d'. Stops at the first text that is not an attribute. */
static void write_extra(struct svg_drawing *d, struct attribute_names *used,
                        struct str text)
{
    while (text.len) {
        text = str_trim_left(text);
        size_t equals = str_find(text, '=');
        struct str name = str_trim(str_head(text, equals));
        text = str_trim_left(str_skip(text, equals + 1));
        if (text.len == 0 || (text.ptr[0] != '"' && text.ptr[0] != '\''))
            return;
        char quote = text.ptr[0];
        text = str_skip(text, 1);
        struct str value = str_cut(&text, quote);
        if (is_attribute_name(name))
            write_attribute(d, used, name, value);
    }
}

/* A link target that is safe to click: not a script. */
static bool is_harmless(struct str href)
{
    size_t colon = str_find(href, ':'), slash = str_find(href, '/');
    return colon == href.len || slash < colon || str_starts(href, STR("http:")) ||
           str_starts(href, STR("https:")) || str_starts(href, STR("file:")) ||
           str_starts(href, STR("mailto:"));
}

static const struct svg_attributes *find_attributes(const struct svg_drawing *d,
                                                    const struct svg_name *name)
{
    if (!d->svg->attribute_count || !name)
        return NULL;
    string_id id =
        strings_find(&d->attributed, strings_get(&d->tree.paths.labels, name->label));
    if (!id)
        id = strings_find(&d->attributed, name->text);
    return id ? &d->svg->attributes[id - 1] : NULL;
}

/* Opens the element of a box; true if it is a link. */
static bool open_box(struct svg_drawing *d, const struct svg_attributes *a,
                     const char *class_name)
{
    bool link = a && a->href.len && is_harmless(a->href);
    struct attribute_names used = {.count = 0};
    output_text(d->out, link ? "<a" : "<g");
    if (class_name)
        write_attribute(d, &used, STR("class"), str_of(class_name));
    if (a) {
        write_attribute(d, &used, STR("data-title"), a->title.len ? STR("own") : STR(""));
        write_attribute(d, &used, STR("id"), a->id);
        write_attribute(d, &used, STR("class"), a->class_name);
        if (link) {
            write_attribute(d, &used, STR("href"), a->href);
            write_attribute(d, &used, STR("target"),
                            a->target.len ? a->target : STR("_top"));
            write_extra(d, &used, a->link_extra);
        }
        write_extra(d, &used, a->group_extra);
    }
    output_char(d->out, '>');
    return link;
}

/* --- Text of a box -------------------------------------------------------------- */

static double share_of(double part, double all)
{
    return all > 0 ? part / all : 0;
}

/* "1,234 samples, 5.67%", and in a differential profile "; +1.20%". */
static void write_figures(const struct svg_drawing *d, const struct svg_box *b)
{
    const struct svg_layout *l = &d->layout;
    svg_figure(d->out, b->total * d->factor);
    output_char(d->out, ' ');
    svg_escape(d->out, d->count_name, d->ascii);
    output_text(d->out, ", ");
    svg_percent(d->out, share_of(b->total, l->total));
    if (!d->tree.base)
        return;
    double change = share_of(svg_change(d, b), l->total > 0 ? l->total : l->base);
    output_text(d->out, change >= 0 ? "; +" : "; ");
    svg_percent(d->out, change);
}

/* The most frequent label of a run's frames, and its number: by majority vote, which
 * is correct if one label has the majority. */
static string_id most_frequent(const struct svg_drawing *d, const struct svg_box *b,
                               uint32_t *times)
{
    const struct calltree_node *nodes = d->tree.nodes + b->node;
    string_id leader = 0;
    uint32_t votes = 0;
    for (uint32_t i = 0; i < b->hidden; i++) {
        if (votes == 0)
            leader = nodes[i].label;
        if (nodes[i].label == leader)
            votes++;
        else
            votes--;
    }
    *times = 0;
    for (uint32_t i = 0; i < b->hidden; i++)
        *times += nodes[i].label == leader;
    return leader;
}

static void write_name_cut(struct svg_drawing *d, struct str text)
{
    size_t end = text.len;
    if (end > TITLE_MOST)
        for (end = TITLE_MOST; end && (text.ptr[end] & '\xc0') == '\x80';)
            end--;
    svg_escape(d->out, str_head(text, end), d->ascii);
    if (end < text.len)
        output_text(d->out, d->ascii ? "&#8230;" : "…");
}

/* "... 12 frames": the label of a summary. Valid until the scratch text is used again. */
static struct str frames_text(struct svg_drawing *d, const struct svg_box *b)
{
    d->text->used = 0;
    output_text(d->text, "… ");
    svg_figure(d->text, b->hidden);
    output_text(d->text, b->hidden == 1 ? " frame" : " frames");
    return output_contents(d->text);
}

/* The full name of a summary, which begins with its label. */
static void write_summary(struct svg_drawing *d, const struct svg_box *b)
{
    svg_escape(d->out, frames_text(d, b), d->ascii);
    if (b->kind == SVG_BOX_NARROW)
        output_text(d->out, " too narrow");
    else if (b->kind == SVG_BOX_DEEP)
        output_text(d->out, " too deep");
}

static void write_run_details(struct svg_drawing *d, const struct svg_box *b)
{
    uint32_t times;
    string_id label = most_frequent(d, b, &times);
    d->text->used = 0;
    svg_clean(d->text, label_without_suffix(strings_get(&d->tree.paths.labels, label)));
    output_text(d->out, ", each called by the preceding one");
    if (times > b->hidden / 2) {
        output_text(d->out, "; ");
        svg_figure(d->out, times);
        output_text(d->out, " of them are ");
        write_name_cut(d, output_contents(d->text));
    }
}

static void write_title(struct svg_drawing *d, const struct svg_box *b,
                        const struct svg_name *name, const struct svg_attributes *a)
{
    output_text(d->out, "<title>");
    if (a && a->title.len) {
        svg_write_clean(d, a->title);
    } else {
        if (name)
            write_name_cut(d, name->text);
        else
            write_summary(d, b);
        if (b->kind == SVG_BOX_RUN)
            write_run_details(d, b);
        output_text(d->out, " (");
        write_figures(d, b);
        output_char(d->out, ')');
    }
    output_text(d->out, "</title>");
}

/* --- Appearance ----------------------------------------------------------------- */

/* A map written by flamegraph.pl also has a colour for the root, under an empty name. */
static color root_color(const struct svg_drawing *d)
{
    color c = 0xe3dfd7;
    if (d->svg->map && d->coloring == SVG_COLOR_PALETTE)
        palette_map_find(d->svg->map, STR(""), &c);
    return c;
}

static color box_color(const struct svg_drawing *d, const struct svg_box *b,
                       const struct svg_name *name)
{
    const struct svg_options *o = d->svg;
    if (!name)
        return 0xdcdbd8;
    if (str_equal(name->text, STR("--")))
        return 0xa0a0a0;
    if (str_equal(name->text, STR("-")))
        return 0xc8c8c8;
    if (d->coloring == SVG_COLOR_CHANGE)
        return color_by_change(svg_change(d, b) / d->whole, palette_is_safe(o->palette));
    if (b->row == 0)
        return root_color(d);
    if (d->coloring == SVG_COLOR_SHARE)
        return color_by_share(share_of(b->total, d->layout.total));
    if (o->choice == COLOR_RANDOM && !o->map)
        return palette_color(o->palette, strings_get(&d->tree.paths.labels, name->label),
                             d->profile->frames[d->tree.nodes[b->node].frame].kind,
                             COLOR_RANDOM, o->seed + b->node);
    return name->color;
}

static void write_rect(struct svg_drawing *d, const struct svg_box *b,
                       const struct svg_name *name, double all)
{
    static const char hex[] = "0123456789abcdef";
    struct output *o = d->out;
    color c = box_color(d, b, name);
    char fill[6];
    for (int i = 0; i < 6; i++)
        fill[i] = hex[c >> (20 - 4 * i) & 0xf];
    output_text(o, "<rect x=\"");
    output_short(o, share_of(b->x, all) * 100, 6);
    output_text(o, "%\" y=\"");
    output_short(o, svg_row_y(d, b->row), 2);
    output_text(o, "\" width=\"");
    output_short(o, share_of(svg_box_width(&d->layout, b), all) * 100, 6);
    output_text(o, "%\" height=\"");
    output_short(o, d->svg->frame_height - 1, 2);
    output_text(o, "\" fill=\"#");
    output_bytes(o, fill, sizeof fill);
    output_text(o, "\"/>");
}

static struct svg_label label_of(struct svg_drawing *d, const struct svg_box *b,
                                 const struct svg_name *name, double room)
{
    if (room < d->font.size / 2) /* two of the narrowest letters */
        return (struct svg_label){STR(""), false, false};
    if (name)
        return svg_fit(name->text, room, &d->font, d->svg->cut);
    return svg_fit(frames_text(d, b), room, &d->font, SVG_CUT_END);
}

static void write_label(struct svg_drawing *d, const struct svg_box *b,
                        const struct svg_name *name, double all)
{
    double share = share_of(svg_box_width(&d->layout, b), all);
    double room = share * (d->width - 2 * SVG_PAD) - 2 * TEXT_PAD;
    double middle = svg_row_y(d, b->row) + (d->svg->frame_height - 1) / 2;
    struct svg_label label = label_of(d, b, name, room);
    const char *dots = d->ascii ? "&#8230;" : "…";
    if (label.text.len == 0)
        return;
    svg_pretty_line(d, 4);
    output_text(d->out, "<text x=\"");
    output_short(d->out, share_of(b->x, all) * 100, 6);
    output_text(d->out, "%\" dx=\"3\" y=\"");
    output_short(d->out, middle + d->font.size * 0.36, 2);
    output_text(d->out, "\">");
    output_text(d->out, label.cut_before ? dots : "");
    svg_escape(d->out, label.text, d->ascii);
    output_text(d->out, label.cut_behind ? dots : "");
    output_text(d->out, "</text>");
}

static const char *class_of(const struct svg_drawing *d, const struct svg_box *b)
{
    if (b->kind != SVG_BOX_FRAME)
        return "summary";
    return b->row == 0 && d->coloring != SVG_COLOR_CHANGE ? "root" : NULL;
}

void svg_write_boxes(struct svg_drawing *d)
{
    double all = svg_layout_width(&d->layout);
    for (size_t i = 0; i < d->layout.count; i++) {
        const struct svg_box *b = &d->layout.boxes[i];
        const struct svg_name *name = b->kind == SVG_BOX_FRAME ? svg_name_of(d, b) : NULL;
        const struct svg_attributes *a = find_attributes(d, name);
        svg_new_line(d, 3);
        bool link = open_box(d, a, class_of(d, b));
        svg_pretty_line(d, 4);
        write_title(d, b, name, a);
        svg_pretty_line(d, 4);
        write_rect(d, b, name, all);
        write_label(d, b, name, all);
        svg_pretty_line(d, 3);
        output_text(d->out, link ? "</a>" : "</g>");
    }
}

static void write_edge(const struct svg_drawing *d, double x, uint32_t row)
{
    output_char(d->out, 'M');
    output_short(d->out, x, 2);
    output_char(d->out, ' ');
    output_short(d->out, svg_row_y(d, row), 2);
    output_char(d->out, 'v');
    output_short(d->out, d->svg->frame_height - 1, 2);
}

/* The lines between boxes, as a single path. Narrow boxes have none, because the lines
 * would hide them. */
bool svg_write_edges(struct svg_drawing *d)
{
    const struct svg_layout *l = &d->layout;
    double scale = share_of(d->width - 2 * SVG_PAD, svg_layout_width(l));
    double *ends = arena_zalloc(&d->arena, l->rows, sizeof *ends);
    if (!ends)
        return false;
    svg_new_line(d, 2);
    output_text(d->out, "<path id=\"edges\" fill=\"none\" stroke=\"#fdfbf6\" "
                        "stroke-width=\".8\" d=\"");
    for (size_t i = 0; i < l->count; i++) {
        const struct svg_box *b = &l->boxes[i];
        double begin = b->x * scale, width = svg_box_width(l, b) * scale;
        if (width < SVG_EDGE_LEAST)
            continue;
        if (begin - ends[b->row] > 0.05)
            write_edge(d, begin, b->row);
        ends[b->row] = begin + width;
        write_edge(d, ends[b->row], b->row);
    }
    output_text(d->out, "\"/>");
    return true;
}
