/* SPDX-License-Identifier: Apache-2.0 */
/* The SVG document around the boxes: header, style, footer, and the data of the
 * script. */
#include "analysis/losses.h"
#include "export/svg_drawing.h"

/* Made from the files in page/ at build time. */
extern const char svg_page_light[], svg_page_dark[], svg_page_script[],
    svg_page_script_hash[];

/* --- Pieces ---------------------------------------------------------------------- */

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

void svg_write_clean(const struct svg_drawing *d, struct str text)
{
    d->text->used = 0;
    svg_clean(d->text, text);
    svg_escape(d->out, output_contents(d->text), d->ascii);
}

static void write_length(const struct svg_drawing *d, const char *name, double v)
{
    output_format(d->out, " %s=\"", name);
    output_short(d->out, v, 2);
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

/* --- Colours around the boxes ---------------------------------------------------- */

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

/* NULL if the user gave a colour, or "#..." is invalid. */
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
    output_format(d->out, "\nsvg:root { background: %s; }\n", bottom);
    output_format(d->out, ".top { stop-color: %s; }\n.bottom { stop-color: %s; }", top,
                  bottom);
}

/* A CSS value of the user's, without the characters that could end it. */
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

/* The user's settings, after the file's style, so that they override it. */
static void write_choices(const struct svg_drawing *d)
{
    const struct svg_options *o = d->svg;
    struct str search = o->search_color.len ? o->search_color : STR("#e600e6");
    color c;
    write_rule(d, "svg:root", "font-family", d->fonts);
    write_rule(d, "#frames > .match > rect", "fill", search);
    write_rule(d, "#frames > .match > text", "fill",
               color_parse(search, &c) && !color_is_light(c) ? STR("#fff")
                                                             : STR("#14120f"));
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
    output_text(d->out, svg_page_light);
    write_ground(d, b ? b->top : text, b ? b->bottom : text);
    if (b) {
        output_text(d->out, "\n@media (prefers-color-scheme: dark) {\n");
        output_text(d->out, svg_page_dark);
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

/* --- Header and footer ----------------------------------------------------------- */

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
    output_format(d->out,
                  "<rect id=\"bar\" x=\"-1\" y=\"-1\" width=\"110%%\" height=\"%d\" "
                  "fill=\"none\"><title/></rect>",
                  (int)SVG_HEADER - 3);
    open_text(d, "title", 26, d->font.size + 5);
    output_char(d->out, '>');
    svg_write_clean(d, title_of(d));
    output_text(d->out, "</text>");
    open_text(d, "subtitle", 47, d->font.size);
    output_char(d->out, '>');
    svg_write_clean(d, d->svg->subtitle);
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

/* The number of samples in the picture. */
static uint64_t sample_count(const struct svg_drawing *d)
{
    uint64_t count = 0;
    for (size_t i = 0; i < d->profile->sample_count; i++)
        if (d->profile->samples[i].event == d->tree.event)
            count += d->profile->samples[i].count;
    return count;
}

/* "12.50 ms of sched:sched_switch in 25 samples" */
static void write_amount(const struct svg_drawing *d)
{
    const struct event *e = &d->profile->events[d->tree.event];
    struct str event = profile_string(d->profile, e->name);
    svg_figure(d->out, d->tree.nodes[0].total * d->factor);
    output_char(d->out, ' ');
    svg_write_clean(d, d->count_name);
    if (event.len && !d->tree.base && !str_equal(event, d->count_name)) {
        output_text(d->out, " of ");
        svg_write_clean(d, event);
    }
    if (e->unit != UNIT_COUNT) {
        output_text(d->out, " in ");
        svg_figure(d->out, (double)sample_count(d));
        output_text(d->out, " samples");
    }
}

static void write_losses(const struct svg_drawing *d)
{
    char line[LOSS_LINE_MAX];
    for (unsigned i = 0; i < LOSS_LINES; i++) {
        size_t length = losses_line(&d->profile->facts, i, line);
        if (length == 0)
            continue;
        output_text(d->out, " &#183; ");
        output_bytes(d->out, line, length);
    }
}

/* Facts that a reader of the picture must know: the amount of data, and what is
 * missing. */
static void write_facts(const struct svg_drawing *d)
{
    const struct facts *f = &d->profile->facts;
    const struct svg_layout *l = &d->layout;
    uint64_t warnings = 0;
    for (unsigned i = 0; i < f->warning_count; i++)
        warnings += f->warnings[i].inferred ? 0 : f->warnings[i].count;
    if (d->tree.base) {
        svg_figure(d->out, d->tree.nodes[0].base_total * d->factor);
        output_char(d->out, ' ');
        svg_write_clean(d, d->count_name);
        output_text(d->out, d->svg->negate ? " after, " : " before, ");
    }
    write_amount(d);
    if (d->tree.base)
        output_text(d->out, d->svg->negate ? " before" : " after");
    output_text(d->out, f->filtered ? " &#183; filtered" : "");
    write_losses(d);
    write_fact(d, warnings, " warning while reading", " warnings while reading");
    write_fact(d, l->narrow_frames, " frame too narrow to draw",
               " frames too narrow to draw");
    if (l->narrow_frames && l->total > 0) {
        output_text(d->out, " (");
        svg_percent(d->out, l->narrow_total / l->total);
        output_char(d->out, ')');
    }
}

/* The legend of the changes. */
static void write_legend(const struct svg_drawing *d)
{
    svg_new_line(d, 2);
    output_text(d->out, "<svg id=\"legend\" x=\"100%\" width=\"1\" height=\"20\" "
                        "overflow=\"visible\">");
    for (int i = 0; i <= 12; i++) {
        double step = (i - 6) / 6.0, share = step < 0 ? -step * step : step * step;
        color c = color_by_change(share, palette_is_safe(d->svg->palette));
        output_format(d->out,
                      "<rect x=\"%d\" y=\"10\" width=\"9\" height=\"9\" fill=\"#%06x\"/>",
                      i * 9 - 170, c);
    }
    output_format(d->out,
                  "<text class=\"legend\" x=\"-176\" y=\"18\" font-size=\"%d\" "
                  "text-anchor=\"end\">shrank</text>"
                  "<text class=\"legend\" x=\"-47\" y=\"18\" font-size=\"%d\">grew</text>"
                  "</svg>",
                  (int)d->font.size - 1, (int)d->font.size - 1);
}

/* The legend of the palette, in a separate line, because pictures may be narrow. */
static void write_meanings(const struct svg_drawing *d)
{
    struct palette_key keys[PALETTE_KEYS_MAX];
    size_t count = palette_legend(d->svg->palette, keys);
    double size = d->font.size - 1, x = SVG_PAD, y = 18 + SVG_LEGEND;
    svg_new_line(d, 2);
    output_text(d->out, "<g id=\"meanings\">");
    for (size_t i = 0; i < count; i++) {
        struct str meaning = str_of(keys[i].meaning);
        output_text(d->out, "<rect");
        write_length(d, "x", x);
        write_length(d, "y", y - 9);
        output_format(d->out, " width=\"10\" height=\"10\" fill=\"#%06x\"/>",
                      keys[i].color);
        output_text(d->out, "<text class=\"legend\"");
        write_length(d, "x", x + 14);
        write_length(d, "y", y);
        write_length(d, "font-size", size);
        output_char(d->out, '>');
        svg_write_clean(d, meaning);
        output_text(d->out, "</text>");
        x += 14 + svg_text_width(meaning, &d->font) + 12;
    }
    output_text(d->out, "</g>");
}

static void write_footer(const struct svg_drawing *d)
{
    svg_new_line(d, 1);
    output_text(d->out, "<svg id=\"footer\"");
    write_length(d, "y", d->height - d->footer);
    write_length(d, "height", d->footer);
    output_text(d->out, " width=\"100%\">");
    open_text(d, "facts", 18, d->font.size - 1);
    output_char(d->out, '>');
    write_facts(d);
    output_text(d->out, "</text>");
    if (d->coloring == SVG_COLOR_CHANGE)
        write_legend(d);
    if (d->footer > SVG_FOOTER)
        write_meanings(d);
    svg_new_line(d, 1);
    output_text(d->out, "</svg>");
}

/* --- The document ------------------------------------------------------------------ */

/* Nothing is loaded, and only the document's own script runs. SVG has no element for
 * this; browsers accept an HTML head inside it. */
static void write_policy(const struct svg_drawing *d)
{
    svg_new_line(d, 1);
    output_text(d->out,
                "<foreignObject width=\"0\" height=\"0\">"
                "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta "
                "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; script-src ");
    if (d->svg->no_script)
        output_text(d->out, "'none'");
    else
        output_format(d->out, "'sha256-%s'", svg_page_script_hash);
    output_text(d->out, "\"/></head></html></foreignObject>");
}

static void open_document(const struct svg_drawing *d)
{
    struct str encoding = d->svg->encoding.len ? d->svg->encoding : STR("UTF-8");
    output_text(d->out, "<?xml version=\"1.0\" encoding=\"");
    write_css_value(d, encoding);
    output_text(d->out,
                "\" standalone=\"yes\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"");
    write_length(d, "width", d->width);
    write_length(d, "height", d->height);
    output_text(d->out, " viewBox=\"0 0 ");
    output_short(d->out, d->width, 2);
    output_char(d->out, ' ');
    output_short(d->out, d->height, 2);
    output_char(d->out, '"');
    write_length(d, "font-size", d->font.size);
    output_text(d->out, " font-family=\"");
    svg_write_clean(d, d->fonts);
    output_text(d->out, "\">");
    write_policy(d);
    svg_new_line(d, 1);
    output_text(d->out, "<title>");
    svg_write_clean(d, title_of(d));
    output_text(d->out, "</title>");
    if (d->svg->notes.len) {
        svg_new_line(d, 1);
        output_text(d->out, "<desc>");
        svg_write_clean(d, d->svg->notes);
        output_text(d->out, "</desc>");
    }
}

static bool write_frames(struct svg_drawing *d)
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
    if (d->coloring == SVG_COLOR_CHANGE)
        output_text(d->out, " class=\"change\"");
    write_length(d, "width", width);
    write_length(d, "height", d->boxes_height);
    output_char(d->out, '>');
    svg_write_boxes(d);
    svg_new_line(d, 2);
    output_text(d->out, "</svg>");
    bool ok = svg_write_edges(d);
    svg_new_line(d, 1);
    output_text(d->out, "</svg>");
    return ok;
}

bool svg_write_document(struct svg_drawing *d)
{
    open_document(d);
    write_style(d);
    bool ok = write_frames(d);
    write_footer(d);
    write_header(d);
    if (!d->svg->no_script) {
        svg_write_data(d);
        svg_new_line(d, 1);
        output_text(d->out, "<script><![CDATA[");
        output_text(d->out, svg_page_script);
        output_text(d->out, "]]></script>");
    }
    output_text(d->out, "\n</svg>\n");
    return ok;
}

void svg_write_notice(struct svg_drawing *d, struct str message)
{
    open_document(d);
    write_style(d);
    write_header(d);
    open_text(d, "notice", 47, d->font.size);
    output_char(d->out, '>');
    svg_write_clean(d, message);
    output_text(d->out, "</text>\n</svg>\n");
}
