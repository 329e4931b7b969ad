/* SPDX-License-Identifier: Apache-2.0 */
/* OProfile's call graph, by opreport --callgraph: blocks of a function with its samples,
 * its callers before and its callees after it.
 *
 *   samples  %        image name               symbol name
 *   -------------------------------------------------------------------------------
 *     30     100.000  a.out                    main                      a caller
 *   10        20.000  a.out                    work                      the function
 *     20      66.667  libc.so.6                memcpy                    a callee
 *     10      33.333  a.out                    work [self]
 *   -------------------------------------------------------------------------------
 *
 * A callee's number is the samples of the calls from this function. Each call is also
 * among the callers of the callee, so callers are not read. */
#include "base/array.h"
#include "base/number.h"
#include "import/gprof.h"

#define SAMPLES_MOST ((uint64_t)1 << 50)

struct reader {
    struct gprof graph;
    struct lines lines;
    bool has_line, has_image, has_app; /* columns */
    bool in_table;                     /* after the header and its rule */
    bool block_is_open;
    uint32_t function; /* of the block; 0: none yet */
};

struct row {
    double samples;
    bool is_self;
    struct str image, file, name;
    uint64_t line;
};

static bool is_rule(struct str line)
{
    size_t dashes = 0;
    while (dashes < line.len && line.ptr[dashes] == '-')
        dashes++;
    return dashes >= 10 && str_trim(str_skip(line, dashes)).len == 0;
}

static bool has_column(struct str *rest, struct str name)
{
    *rest = str_trim(*rest);
    if (!str_starts(*rest, name))
        return false;
    *rest = str_skip(*rest, name.len);
    return true;
}

/* "samples  %  linenr info  image name  app name  symbol name"; of one event only. */
static bool read_header(struct reader *r, struct str line)
{
    struct str rest = line;
    if (!str_equal(str_word(&rest), STR("samples")) ||
        !str_equal(str_word(&rest), STR("%")))
        return false;
    r->has_line = has_column(&rest, STR("linenr info"));
    r->has_image = has_column(&rest, STR("image name"));
    r->has_app = has_column(&rest, STR("app name"));
    return has_column(&rest, STR("symbol name")) && str_trim(rest).len == 0;
}

/* "(no location information)", or "a.c:12" */
static void read_location(struct str *rest, struct row *row)
{
    struct str none = STR("(no location information)"), word;
    *rest = str_trim(*rest);
    if (str_starts(*rest, none)) {
        *rest = str_skip(*rest, none.len);
        return;
    }
    word = str_word(rest);
    size_t colon = str_rfind(word, ':');
    if (colon < word.len && number_parse_u64(str_skip(word, colon + 1), &row->line) &&
        row->line <= UINT32_MAX)
        row->file = str_head(word, colon);
}

/* "a.out", or "anon (tgid:12 range:0x1-0x2)" */
static struct str read_image(struct str *rest)
{
    struct str image = str_word(rest), next = str_trim(*rest);
    if (str_starts(next, STR("(tgid:")) && str_find(next, ')') < next.len)
        *rest = str_skip(next, str_find(next, ')') + 1);
    return image;
}

static bool parse_row(const struct reader *r, struct str line, struct row *row)
{
    struct str rest = line, self = STR(" [self]");
    uint64_t samples;
    double share;
    *row = (struct row){.image = STR(""), .file = STR("")};
    if (!number_parse_u64(str_word(&rest), &samples) || samples > SAMPLES_MOST ||
        !number_parse_double(str_word(&rest), &share))
        return false;
    row->samples = (double)samples;
    if (r->has_line)
        read_location(&rest, row);
    if (r->has_image)
        row->image = read_image(&rest);
    if (r->has_app)
        read_image(&rest);
    row->name = str_trim(rest);
    row->is_self = str_ends(row->name, self);
    if (row->is_self)
        row->name.len -= self.len;
    if (str_equal(row->name, STR("(no symbols)")))
        row->name = row->image;
    return row->name.len;
}

/* The function of a row: a symbol of an image. */
static uint32_t function_of(struct gprof *g, const struct row *row)
{
    string_id name = builder_string(g->b, row->name);
    module_id module = builder_module(g->b, row->image, STR(""));
    uint32_t id = gprof_function(g, (uint64_t)name << 32 | module);
    if (id) {
        struct gprof_function *f = &g->functions[id];
        f->name = name;
        f->module = module;
        if (!f->file && row->file.len) {
            f->file = builder_string(g->b, row->file);
            f->line = (uint32_t)row->line;
        }
    }
    return id;
}

static void read_row(struct reader *r, struct str line)
{
    struct gprof *g = &r->graph;
    struct row row;
    bool is_function = !byte_is_space(line.ptr[0]);
    if (!parse_row(r, line, &row) || (is_function && r->function)) {
        builder_warn(g->b, "not a line of a call graph", r->lines.number, 1, line);
        return;
    }
    r->block_is_open = true;
    if (is_function) {
        r->function = function_of(g, &row);
        if (r->function)
            g->functions[r->function].self += row.samples;
        return;
    }
    uint32_t callee = r->function && !row.is_self ? function_of(g, &row) : 0;
    struct gprof_call *call = callee ? gprof_call(g, r->function, callee) : NULL;
    if (call)
        call->part += row.samples;
}

static void read_line(struct reader *r, struct str line)
{
    struct str text = str_trim(line);
    if (is_rule(text)) {
        if (r->block_is_open && !r->function)
            builder_warn(r->graph.b, "a block without its function", r->lines.number, 1,
                         line);
        r->block_is_open = false;
        r->function = 0;
    } else if (str_starts(line, STR("samples"))) {
        r->in_table = read_header(r, line);
    } else if (text.len && r->in_table) {
        read_row(r, line);
    }
}

static bool oprofile_read(struct source *in, const struct import_options *options,
                          struct builder *b, struct error *err)
{
    struct reader r = {.lines = lines_of(in, err)};
    struct gprof *g = &r.graph;
    struct str line;
    *g = (struct gprof){
        .b = b, .options = options, .event = "samples", .unit = UNIT_COUNT, .stated = -1};
    while (!builder_failed(b) && !g->arena.failed && lines_next(&r.lines, &line))
        read_line(&r, line);
    if (r.block_is_open) {
        builder_warn(b, "the file ends inside a block of the call graph", r.lines.number,
                     1, STR(""));
        b->profile->facts.incomplete = true;
    }
    g->bytes = r.lines.source->offset;
    if (g->function_count && !g->arena.failed)
        gprof_add_stacks(g);
    builder_end_scratch(b, &g->arena);
    return !r.lines.failed;
}

/* The flat output of opreport has the same header, but no rule. */
static int oprofile_probe(struct str head)
{
    struct reader r = {.in_table = false};
    for (int i = 0; i < 50 && head.len; i++) {
        struct str line = str_cut(&head, '\n');
        if (str_starts(line, STR("samples")) && read_header(&r, line))
            return is_rule(str_cut(&head, '\n')) ? 94 : 0;
    }
    return 0;
}

const struct importer import_oprofile = {
    .name = "oprofile",
    .suffixes = "",
    .summary = "OProfile call graph, opreport --callgraph",
    .probe = oprofile_probe,
    .read = oprofile_read,
};
