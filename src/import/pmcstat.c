/* SPDX-License-Identifier: Apache-2.0 */
/* FreeBSD's pmcstat -G: for every sampled function, the tree of its callers.
 *
 *   @ inst_retired.any [35705 samples]
 *
 *   20.86%  [7447]     zfs_lz4_compress @ /boot/kernel/zfs.ko
 *    100.0%  [7447]      zio_compress_data
 *
 * A row is indented by one more space than its callee. The image is printed only if it
 * differs from that of the preceding line. */
#include "base/number.h"
#include "import/importer.h"
#include "import/indent.h"
#include "import/quantity.h"

/* A parsed row. */
struct pmc_row {
    size_t column;
    uint64_t count;
    struct str name, image; /* image is empty if it is not printed */
};

static bool parse_row(struct str line, struct pmc_row *row)
{
    struct str rest = str_trim_left(line);
    row->column = line.len - rest.len;
    struct str share = str_word(&rest), count = str_word(&rest);
    if (!str_ends(share, STR("%")) || !byte_is_digit(share.ptr[0]))
        return false;
    if (count.len < 3 || count.ptr[0] != '[' || !str_ends(count, STR("]")) ||
        !number_parse_u64(str_span(count.ptr + 1, count.ptr + count.len - 1),
                          &row->count))
        return false;
    rest = str_trim(rest);
    size_t at = str_search(rest, STR(" @ "));
    row->name = str_trim(str_head(rest, at));
    row->image = str_trim(str_skip(rest, at + 3));
    return row->name.len != 0;
}

/* "@ inst_retired.any [35705 samples]": the event's name. */
static bool parse_event(struct str line, struct str *name)
{
    struct str rest = line;
    if (!str_equal(str_word(&rest), STR("@")))
        return false;
    *name = str_word(&rest);
    rest = str_trim(rest);
    return name->len && str_starts(rest, STR("[")) && str_has(rest, STR("samples"));
}

static int pmcstat_probe(struct str head)
{
    struct str name;
    struct pmc_row row;
    size_t events = 0, rows = 0, others = 0;
    for (int i = 0; i < 200 && head.len; i++) {
        struct str line = str_trim_right(str_cut(&head, '\n'));
        bool is_row = parse_row(line, &row), is_event = parse_event(line, &name);
        rows += is_row;
        events += is_event;
        others += !is_row && !is_event && line.len && line.ptr[0] != '#';
    }
    if (rows == 0 || others > rows)
        return 0;
    return events ? 95 : 70;
}

struct pmc_reader {
    struct builder *b;
    struct lines lines;
    struct indent tree;
    module_id image;
    enum frame_kind kind; /* of the image's frames */
};

static void set_image(struct pmc_reader *r, struct str image)
{
    r->image = builder_module(r->b, image, STR(""));
    bool kernel = str_ends(image, STR("/kernel")) || str_ends(image, STR(".ko"));
    r->kind = kernel ? FRAME_KERNEL : FRAME_USER;
}

static void read_row(struct pmc_reader *r, const struct pmc_row *row)
{
    struct frame f = {.name = builder_string(r->b, row->name)};
    if (row->image.len)
        set_image(r, row->image);
    f.module = r->image;
    f.kind = r->kind;
    if (!r->tree.event)
        r->tree.event = builder_event(r->b, STR("samples"), UNIT_COUNT);
    indent_open(&r->tree, row->column, builder_frame(r->b, &f));
    indent_total(&r->tree, (double)row->count, 0);
}

static void read_line(struct pmc_reader *r, struct str line)
{
    struct pmc_row row;
    struct str name;
    if (parse_event(line, &name)) {
        indent_close(&r->tree, 0);
        r->tree.event = builder_event(r->b, name, UNIT_COUNT);
    } else if (!parse_row(line, &row)) {
        if (str_trim(line).len && line.ptr[0] != '#')
            builder_warn(r->b, "neither an event nor a row of a call graph",
                         r->lines.number, 1, line);
    } else if ((double)row.count > QUANTITY_MAX) {
        builder_warn(r->b, "a count that is too large", r->lines.number, row.column + 1,
                     line);
    } else {
        read_row(r, &row);
    }
}

static bool pmcstat_read(struct source *in, const struct import_options *options,
                         struct builder *b, struct error *err)
{
    struct pmc_reader r = {.b = b,
                           .lines = lines_of(in, err),
                           .tree = {.b = b, .callers = true, .samples = true}};
    struct str line;
    (void)options;
    while (!builder_failed(b) && lines_next(&r.lines, &line))
        read_line(&r, line);
    indent_deinit(&r.tree);
    return !r.lines.failed;
}

const struct importer import_pmcstat = {
    .name = "pmcstat",
    .suffixes = "graph",
    .summary = "FreeBSD pmcstat -G call graph",
    .probe = pmcstat_probe,
    .read = pmcstat_read,
};
