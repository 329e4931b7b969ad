/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the boxes as numbers, for the page's script. */
#include "export/svg_drawing.h"

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
    write_key(d, name);
    d->text->used = 0;
    svg_clean(d->text, v);
    svg_quote(d->out, output_contents(d->text), d->ascii);
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

/* Without callees the value is not used. */
static double lead_of(const struct svg_drawing *d, const struct svg_box *b, bool before)
{
    const struct svg_box *end = d->layout.boxes + d->layout.count;
    return b + 1 < end && b[1].row > b->row ? svg_box_lead(b, before) : 0;
}

static double value_lead(const struct svg_drawing *d, const struct svg_box *b)
{
    return lead_of(d, b, false);
}

static double value_lead_before(const struct svg_drawing *d, const struct svg_box *b)
{
    return lead_of(d, b, true);
}

static double value_gap(const struct svg_drawing *d, const struct svg_box *b)
{
    (void)d;
    return b->gap;
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

void svg_write_data(const struct svg_drawing *d)
{
    const struct svg_options *o = d->svg;
    /* The rows' positions in pictures of the original tools, so that links to those
     * still find their frames. */
    double link_top = 3 * o->font_size + (o->subtitle.len ? 2 * o->font_size : 0) +
                      (o->shape == SVG_ICICLES ? 0 : 1);
    double link_height =
        o->frame_height == svg_defaults.frame_height ? 16 : o->frame_height;
    svg_new_line(d, 1);
    output_text(d->out, "<script id=\"data\" type=\"application/json\">{\n\"version\":1");
    write_number(d, "total", d->layout.total);
    if (d->tree.base)
        write_number(d, "totalBefore", d->layout.base);
    write_number(d, "factor", d->factor);
    write_number(d, "rows", d->layout.rows);
    write_number(d, "rowHeight", o->frame_height);
    write_number(d, "linkTop", link_top);
    write_number(d, "linkHeight", link_height);
    write_number(d, "edgeLeast", SVG_EDGE_LEAST);
    write_number(d, "cut", o->cut);
    write_flag(d, "icicles", o->shape == SVG_ICICLES);
    write_flag(d, "fluid", o->width <= 0);
    write_flag(d, "showBefore", d->layout.before);
    write_flag(d, "negate", o->negate);
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
    write_column(d, "lead", value_lead);
    if (o->by_time)
        write_column(d, "gap", value_gap);
    if (d->tree.base) {
        write_column(d, "before", value_before);
        write_column(d, "leadBefore", value_lead_before);
    }
    output_text(d->out, "}\n</script>");
}
