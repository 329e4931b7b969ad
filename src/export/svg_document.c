/* The SVG document around the boxes: header, style, footer, and what the script reads. */
#include "export/svg_drawing.h"

/* Made from svg.css, svg-dark.css and svg.js at build time. */
extern const char svg_css[], svg_dark_css[], svg_js[];

/* --- Pieces ------------------------------------------------------------------------ */

void svg_new_line(const struct svg_drawing *d, int depth)
{
    output_char(d->out, '\n');
    for (int i = 0; d->svg->pretty && i < depth; i++)
        output_text(d->out, "  ");
}

void svg_pretty_line(const struct svg_drawing *d, int depth)
{
    if (d->svg->pretty)
        svg_new_line(d, depth);
}

/* Text of the user's, which may hold any byte. */
static void write_given(const struct svg_drawing *d, struct str text)
{
    struct output clean = OUTPUT_KEEP;
    svg_clean(&clean, text);
    svg_escape(d->out, output_kept(&clean), d->ascii);
    output_deinit(&clean);
}

void svg_attribute(const struct svg_drawing *d, const char *name, struct str value)
{
    output_format(d->out, " %s=\"", name);
    write_given(d, value);
    output_char(d->out, '"');
}

static void write_length(const struct svg_drawing *d, const char *name, double v)
{
    output_format(d->out, " %s=\"", name);
    svg_length(d->out, v, 2);
    output_char(d->out, '"');
}

/* <text id="..." x="..." y="...">, closed by the caller. */
static void open_text(const struct svg_drawing *d, const char *id, double y, double size)
{
    svg_new_line(d, 2);
    output_format(d->out, "<text id=\"%s\" x=\"%d\"", id, (int)SVG_PAD);
    write_length(d, "y", y);
    write_length(d, "font-size", size);
}

/* --- Colours around the boxes -------------------------------------------------------- */

struct background {
    const char *name;
    const char *top, *bottom, *dark_top, *dark_bottom;
};

static const struct background backgrounds[] = {
    {"yellow", "#fffefb", "#f9f4e7", "#211f1b", "#171613"},
    {"blue", "#fcfdff", "#ecf1fa", "#1a1e26", "#14161b"},
    {"green", "#fbfefc", "#ebf5ee", "#1a211d", "#141815"},
    {"grey", "#fefefe", "#f2f2f1", "#1f1f20", "#161617"},
};

/* NULL where the user gave a colour, or "#..." cannot be read. */
static const struct background *find_background(const struct svg_options *o)
{
    struct str name = o->background;
    color flat;
    if (name.len == 0)
        name = palette_background(o->palette);
    for (size_t i = 0; i < sizeof backgrounds / sizeof *backgrounds; i++)
        if (str_equal(str_of(backgrounds[i].name), name))
            return &backgrounds[i];
    return color_parse(o->background, &flat) ? NULL : &backgrounds[3];
}

static void write_ground(const struct svg_drawing *d, const char *top, const char *bottom)
{
    output_format(d->out, "\n:root { background: %s; }\n", bottom);
    output_format(d->out, ".top { stop-color: %s; }\n.bottom { stop-color: %s; }", top,
                  bottom);
}

/* A CSS value of the user's: what could end it is left out. */
static void write_css_value(const struct svg_drawing *d, struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (byte_is_word(c) || (c && strchr(" #(),.%-'\"", c)))
            output_char(d->out, c);
    }
}

static void write_rule(const struct svg_drawing *d, const char *selector,
                       const char *property, struct str value)
{
    output_format(d->out, "\n%s { %s: ", selector, property);
    write_css_value(d, value);
    output_text(d->out, "; }");
}

/* The user's choices, behind the style of the file so that they win. */
static void write_choices(const struct svg_drawing *d)
{
    const struct svg_options *o = d->svg;
    write_rule(d, ":root", "font-family", d->fonts);
    write_rule(d, "#frames > .match > rect", "fill",
               o->search_color.len ? o->search_color : STR("#e600e6"));
    if (o->ui_color.len)
        write_rule(d, "#title, #subtitle, #details, #facts, .tools", "fill", o->ui_color);
    if (o->ui_color.len)
        write_rule(d, ".tools", "color", o->ui_color);
    if (o->stroke_color.len)
        write_rule(d, "#frames rect", "stroke", o->stroke_color);
}

static void write_style(const struct svg_drawing *d)
{
    const struct background *b = find_background(d->svg);
    color flat = 0xffffff;
    char text[8];
    color_parse(d->svg->background, &flat);
    format_text(text, sizeof text, "#%06x", flat);
    svg_new_line(d, 1);
    output_text(d->out, "<style>\n");
    output_text(d->out, svg_css);
    write_ground(d, b ? b->top : text, b ? b->bottom : text);
    if (b) {
        output_text(d->out, "\n@media (prefers-color-scheme: dark) {\n");
        output_text(d->out, svg_dark_css);
        write_ground(d, b->dark_top, b->dark_bottom);
        output_text(d->out, "\n}");
    }
    write_choices(d);
    svg_new_line(d, 1);
    output_text(d->out, "</style>");
    svg_new_line(d, 1);
    output_format(d->out,
                  "<defs><linearGradient id=\"ground\" x2=\"0\" y2=\"1\">"
                  "<stop class=\"top\" stop-color=\"%s\"/>"
                  "<stop class=\"bottom\" offset=\"1\" stop-color=\"%s\"/>"
                  "</linearGradient></defs>",
                  b ? b->top : text, b ? b->bottom : text);
    svg_new_line(d, 1);
    output_text(d->out, "<rect id=\"background\" width=\"100%\" height=\"100%\" "
                        "fill=\"url(#ground)\"><title/></rect>");
}

/* --- Header and footer ---------------------------------------------------------------- */

static struct str title_of(const struct svg_drawing *d)
{
    if (d->options->title.len)
        return d->options->title;
    if (d->svg->by_time)
        return STR("Flame Chart");
    if (d->tree.base)
        return STR("Differential Flame Graph");
    return d->svg->shape == SVG_ICICLES ? STR("Icicle Graph") : STR("Flame Graph");
}

static void write_header(const struct svg_drawing *d)
{
    svg_new_line(d, 1);
    output_text(d->out, "<g id=\"header\">");
    svg_new_line(d, 2);
    output_format(d->out, "<rect id=\"bar\" x=\"-1\" y=\"-1\" width=\"110%%\" height=\"%d\" "
                          "fill=\"none\"><title/></rect>",
                  (int)SVG_HEADER - 3);
    open_text(d, "title", 26, d->font.size + 5);
    output_char(d->out, '>');
    write_given(d, title_of(d));
    output_text(d->out, "</text>");
    open_text(d, "subtitle", 47, d->font.size);
    output_char(d->out, '>');
    write_given(d, d->svg->subtitle);
    output_text(d->out, "</text>");
    open_text(d, "details", 47, d->font.size);
    output_text(d->out, "/>");
    svg_new_line(d, 1);
    output_text(d->out, "</g>");
}

static void write_fact(const struct svg_drawing *d, uint64_t count, const char *one,
                       const char *many)
{
    if (!count)
        return;
    output_text(d->out, " &#183; ");
    svg_figure(d->out, (double)count);
    output_text(d->out, count == 1 ? one : many);
}

/* What a reader of the picture must know: how much there is, and what is not in it. */
static void write_facts(const struct svg_drawing *d)
{
    const struct facts *f = &d->profile->facts;
    const struct svg_layout *l = &d->layout;
    struct str event = profile_string(d->profile, d->profile->events[d->tree.event].name);
    uint64_t warnings = 0;
    for (unsigned i = 0; i < f->warning_count; i++)
        warnings += f->warnings[i].count;
    if (d->tree.base) {
        svg_figure(d->out, d->tree.nodes[0].base_total * d->svg->factor);
        output_text(d->out, " before, ");
    }
    svg_figure(d->out, d->tree.nodes[0].total * d->svg->factor);
    output_text(d->out, d->tree.base ? " after, " : " ");
    write_given(d, d->count_name);
    if (event.len && !d->tree.base && !str_equal(event, d->count_name)) {
        output_text(d->out, " of ");
        write_given(d, event);
    }
    write_fact(d, f->lost, " sample lost", " samples lost");
    write_fact(d, f->truncated, " stack cut short", " stacks cut short");
    write_fact(d, warnings, " warning while reading", " warnings while reading");
    write_fact(d, l->narrow_frames, " frame too narrow to draw",
               " frames too narrow to draw");
    if (l->narrow_frames && l->total > 0) {
        output_text(d->out, " (");
        svg_percent(d->out, l->narrow_total / l->total);
        output_char(d->out, ')');
    }
}

/* Which colour is which change. */
static void write_legend(const struct svg_drawing *d)
{
    svg_new_line(d, 2);
    output_text(d->out, "<svg id=\"legend\" x=\"100%\" width=\"1\" height=\"20\" "
                        "overflow=\"visible\">");
    for (int i = 0; i <= 12; i++) {
        double change = (i - 6) / 6.0;
        color c = color_by_change(d->svg->negate ? -change : change,
                                  palette_is_safe(d->svg->palette));
        output_format(d->out,
                      "<rect x=\"%d\" y=\"3\" width=\"9\" height=\"9\" fill=\"#%06x\"/>",
                      i * 9 - 170, c);
    }
    output_format(d->out,
                  "<text class=\"legend\" x=\"-176\" y=\"12\" font-size=\"%d\" "
                  "text-anchor=\"end\">shrank</text>"
                  "<text class=\"legend\" x=\"-47\" y=\"12\" font-size=\"%d\">grew</text>"
                  "</svg>",
                  (int)d->font.size - 1, (int)d->font.size - 1);
}

static void write_footer(const struct svg_drawing *d)
{
    svg_new_line(d, 1);
    output_text(d->out, "<svg id=\"footer\"");
    write_length(d, "y", d->height - SVG_FOOTER);
    write_length(d, "height", SVG_FOOTER);
    output_text(d->out, " width=\"100%\">");
    open_text(d, "facts", 18, d->font.size - 1);
    output_char(d->out, '>');
    write_facts(d);
    output_text(d->out, "</text>");
    if (d->coloring == SVG_COLOR_CHANGE)
        write_legend(d);
    svg_new_line(d, 1);
    output_text(d->out, "</svg>");
}

/* --- What the script reads --------------------------------------------------------------- */

static void write_key(const struct svg_drawing *d, const char *name)
{
    output_format(d->out, ",\n\"%s\":", name);
}

static void write_number(const struct svg_drawing *d, const char *name, double v)
{
    write_key(d, name);
    output_double(d->out, v);
}

static void write_string(const struct svg_drawing *d, const char *name, struct str v)
{
    struct output clean = OUTPUT_KEEP;
    write_key(d, name);
    svg_clean(&clean, v);
    svg_quote(d->out, output_kept(&clean), d->ascii);
    output_deinit(&clean);
}

static void write_flag(const struct svg_drawing *d, const char *name, bool on)
{
    write_key(d, name);
    output_text(d->out, on ? "true" : "false");
}

static double value_name(const struct svg_drawing *d, const struct svg_box *b)
{
    return b->kind == SVG_BOX_FRAME ? (double)(svg_name_of(d, b) - d->names) : -1;
}

static double value_row(const struct svg_drawing *d, const struct svg_box *b)
{
    (void)d;
    return b->row;
}

static double value_after(const struct svg_drawing *d, const struct svg_box *b)
{
    (void)d;
    return b->total;
}

static double value_before(const struct svg_drawing *d, const struct svg_box *b)
{
    (void)d;
    return b->base;
}

static void write_column(const struct svg_drawing *d, const char *name,
                         double (*value)(const struct svg_drawing *,
                                         const struct svg_box *))
{
    write_key(d, name);
    for (size_t i = 0; i < d->layout.count; i++) {
        output_char(d->out, i ? ',' : '[');
        output_double(d->out, value(d, &d->layout.boxes[i]));
    }
    output_char(d->out, ']');
}

/* The boxes once more, as numbers: what the page computes with. */
static void write_data(const struct svg_drawing *d)
{
    const struct svg_options *o = d->svg;
    /* Where the originals have their first row, so that links to pictures of theirs still
     * find their frames. */
    double link_top = 3 * o->font_size + (o->subtitle.len ? 2 * o->font_size : 0) +
                      (o->shape == SVG_ICICLES ? 0 : 1);
    svg_new_line(d, 1);
    output_text(d->out, "<script id=\"data\" type=\"application/json\">{\n\"version\":1");
    write_number(d, "total", d->layout.total);
    if (d->tree.base)
        write_number(d, "totalBefore", d->layout.base);
    write_number(d, "factor", o->factor);
    write_number(d, "rows", d->layout.rows);
    write_number(d, "rowHeight", o->frame_height);
    write_number(d, "linkTop", link_top);
    write_number(d, "cut", o->cut);
    write_flag(d, "icicles", o->shape == SVG_ICICLES);
    write_flag(d, "fluid", o->width <= 0);
    write_flag(d, "showBefore", d->layout.before);
    write_string(d, "countName", d->count_name);
    write_string(d, "nameType", o->name_type);
    write_key(d, "names");
    for (size_t i = 0; i < d->name_count; i++) {
        output_char(d->out, i ? ',' : '[');
        svg_quote(d->out, d->names[i].text, d->ascii);
    }
    output_text(d->out, d->name_count ? "]" : "[]");
    write_column(d, "name", value_name);
    write_column(d, "row", value_row);
    write_column(d, "after", value_after);
    if (d->tree.base)
        write_column(d, "before", value_before);
    output_text(d->out, "}\n</script>");
}

/* --- The document ------------------------------------------------------------------------- */

static void open_document(const struct svg_drawing *d)
{
    struct str encoding = d->svg->encoding.len ? d->svg->encoding : STR("UTF-8");
    output_text(d->out, "<?xml version=\"1.0\" encoding=\"");
    write_css_value(d, encoding);
    output_text(d->out, "\" standalone=\"yes\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"");
    write_length(d, "width", d->width);
    write_length(d, "height", d->height);
    output_text(d->out, " viewBox=\"0 0 ");
    svg_length(d->out, d->width, 2);
    output_char(d->out, ' ');
    svg_length(d->out, d->height, 2);
    output_char(d->out, '"');
    write_length(d, "font-size", d->font.size);
    svg_attribute(d, "font-family", d->fonts);
    output_char(d->out, '>');
    svg_new_line(d, 1);
    output_text(d->out, "<title>");
    write_given(d, title_of(d));
    output_text(d->out, "</title>");
    if (d->svg->notes.len) {
        svg_new_line(d, 1);
        output_text(d->out, "<desc>");
        write_given(d, d->svg->notes);
        output_text(d->out, "</desc>");
    }
}

static void write_frames(struct svg_drawing *d)
{
    double width = d->width - 2 * SVG_PAD;
    svg_new_line(d, 1);
    output_text(d->out, "<svg id=\"view\"");
    write_length(d, "x", SVG_PAD);
    write_length(d, "y", SVG_HEADER);
    write_length(d, "width", width);
    write_length(d, "height", d->boxes_height);
    output_text(d->out, ">");
    svg_new_line(d, 2);
    output_text(d->out, "<svg id=\"frames\"");
    write_length(d, "width", width);
    write_length(d, "height", d->boxes_height);
    output_char(d->out, '>');
    svg_write_boxes(d);
    svg_new_line(d, 2);
    output_text(d->out, "</svg>");
    svg_new_line(d, 1);
    output_text(d->out, "</svg>");
}

void svg_write_document(struct svg_drawing *d)
{
    open_document(d);
    write_style(d);
    write_frames(d);
    write_footer(d);
    write_header(d);
    if (!d->svg->no_script) {
        write_data(d);
        svg_new_line(d, 1);
        output_text(d->out, "<script><![CDATA[\n");
        output_text(d->out, svg_js);
        output_text(d->out, "]]></script>");
    }
    output_text(d->out, "\n</svg>\n");
}
