/* SPDX-License-Identifier: Apache-2.0 */
/* Zones of Tracy, as CSV by its tool tracy-csvexport.
 *
 *   name,src_file,src_line,ns_since_start,exec_time_ns,thread,value          with -u
 *   Frame,main.cpp,12,1000,600,1,
 *
 *   name,src_file,src_line,total_ns,total_perc,counts,mean_ns,min_ns,max_ns,std_ns
 *   Frame,main.cpp,12,600,60.0,1,600,600,600,0
 *
 * With -u, a row is one zone: those of a thread that lie inside another one are its callees, and
 * its weight is the time outside of them. Without, a row is all zones of a name, and has no
 * callers: its weight is its total, or its self time if the tool was called with -e. The file does not
 * say which, so a warning says that the totals of nested zones are counted twice. */
#include "base/array.h"
#include "base/number.h"
#include "base/sort.h"
#include "codec/csv.h"
#include "import/importer.h"

#define COLUMNS_MOST 16
#define TIME_MOST ((uint64_t)1 << 62)

enum column { NAME, FILE_NAME, LINE, START, LENGTH, THREAD, TOTAL, COUNTS, COLUMNS };

static const char *const column_names[COLUMNS] = {
    "name",         "src_file", "src_line", "ns_since_start",
    "exec_time_ns", "thread",   "total_ns", "counts"};

#define UNWRAPPED                                                             \
    (1u << NAME | 1u << FILE_NAME | 1u << LINE | 1u << START | 1u << LENGTH | \
     1u << THREAD)
#define TOTALS (1u << NAME | 1u << FILE_NAME | 1u << LINE | 1u << TOTAL | 1u << COUNTS)

struct zone {
    uint64_t start, end, inner; /* inner: the time of its callees */
    thread_id thread;
    frame_id frame;
};

struct open_zone {
    uint32_t zone;
    stack_id stack;
};

struct tracy {
    struct builder *b;
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    struct output scratch; /* of names with quotes */
    char separator;        /* the tool's -s sets it */
    size_t columns[COLUMNS_MOST];
    size_t column_count;
    unsigned found; /* columns, as bits */
    struct zone *zones;
    struct open_zone *open;
    size_t zone_count, zone_cap, open_count, open_cap;
    event_id event;
};

/* --- Rows --------------------------------------------------------------------------- */

static bool read_names(struct tracy *r, struct str line, char separator)
{
    struct csv csv = csv_of(line, separator);
    struct csv_field field;
    r->column_count = 0;
    r->found = 0;
    while (csv_next(&csv, &field) && r->column_count < COLUMNS_MOST) {
        size_t c = 0;
        while (c < COLUMNS && !str_equal(str_trim(field.text), str_of(column_names[c])))
            c++;
        r->found |= c < COLUMNS ? 1u << c : 0;
        r->columns[r->column_count++] = c;
    }
    r->separator = separator;
    return (r->found & UNWRAPPED) == UNWRAPPED || (r->found & TOTALS) == TOTALS;
}

static bool read_header(struct tracy *r, struct str line)
{
    static const char separators[] = {',', ';', '\t', '|'};
    for (size_t i = 0; i < sizeof separators; i++)
        if (read_names(r, line, separators[i]))
            return true;
    return false;
}

static bool parse_time(struct str text, uint64_t *time)
{
    double number;
    if (number_parse_u64(text, time))
        return *time < TIME_MOST;
    bool ok =
        number_parse_double(text, &number) && number >= 0 && number < (double)TIME_MOST;
    *time = ok ? (uint64_t)number : 0;
    return ok;
}

static frame_id frame_of(struct tracy *r, const struct str *fields)
{
    struct frame f = {.name = import_label(r->b, builder_string(r->b, fields[NAME]))};
    uint64_t line;
    if (r->options->lines && fields[FILE_NAME].len) {
        f.file = builder_string(r->b, fields[FILE_NAME]);
        if (number_parse_u64(fields[LINE], &line) && line < UINT32_MAX)
            f.line = (uint32_t)line;
    }
    return builder_frame(r->b, &f);
}

static bool add_zone(struct tracy *r, const struct str *fields)
{
    struct zone z = {.inner = 0};
    uint64_t length, thread;
    if (!parse_time(fields[START], &z.start) || !parse_time(fields[LENGTH], &length))
        return false;
    bool has_id = number_parse_u64(fields[THREAD], &thread) && thread <= INT64_MAX;
    z.thread = builder_thread(r->b, ID_NONE, has_id ? (int64_t)thread : ID_NONE,
                              has_id ? STR("") : fields[THREAD]);
    z.end = z.start + length;
    z.frame = frame_of(r, fields);
    struct zone *added =
        r->zone_count < UINT32_MAX
            ? ARRAY_APPEND(&r->arena, r->zones, r->zone_count, r->zone_cap)
            : NULL;
    if (added)
        *added = z;
    return true;
}

static void add_sample(struct tracy *r, struct sample s, uint64_t weight)
{
    s.cpu = CPU_NONE;
    s.event = r->event;
    s.weight = r->options->samples ? 1 : (double)weight;
    if (weight)
        builder_add(r->b, &s);
}

static bool add_total(struct tracy *r, const struct str *fields)
{
    uint64_t total, count;
    if (!parse_time(fields[TOTAL], &total) || !number_parse_u64(fields[COUNTS], &count))
        return false;
    stack_id stack = builder_push(r->b, 0, frame_of(r, fields));
    add_sample(r, (struct sample){.time = TIME_NONE, .stack = stack, .count = count},
               total);
    return true;
}

static bool read_row(struct tracy *r, struct str line)
{
    struct csv csv = csv_of(line, r->separator);
    struct csv_field field;
    struct str fields[COLUMNS + 1] = {{0}};
    size_t count = 0;
    while (count < r->column_count && csv_next(&csv, &field)) {
        size_t c = r->columns[count++];
        fields[c] = c == NAME ? csv_text(&field, &r->scratch) : str_trim(field.text);
    }
    if (count < r->column_count || !fields[NAME].len)
        return false;
    return (r->found & UNWRAPPED) == UNWRAPPED ? add_zone(r, fields)
                                               : add_total(r, fields);
}

/* --- Callees ------------------------------------------------------------------------ */

/* By thread and start; a caller comes before a callee that starts at the same time. */
static bool before(const void *context, uint32_t a, uint32_t b)
{
    const struct zone *zones = context, *x = &zones[a], *y = &zones[b];
    if (x->thread != y->thread)
        return x->thread < y->thread;
    return x->start != y->start ? x->start < y->start : x->end > y->end;
}

static void close_zone(struct tracy *r)
{
    struct open_zone o = r->open[--r->open_count];
    const struct zone *z = &r->zones[o.zone];
    uint64_t length = z->end - z->start;
    add_sample(r,
               (struct sample){
                   .time = z->start, .thread = z->thread, .stack = o.stack, .count = 1},
               length > z->inner ? length - z->inner : 0);
}

static void open_zone(struct tracy *r, uint32_t number)
{
    struct zone *z = &r->zones[number];
    while (r->open_count) {
        const struct zone *top = &r->zones[r->open[r->open_count - 1].zone];
        if (top->thread == z->thread && z->start < top->end)
            break;
        close_zone(r);
    }
    struct open_zone *caller = r->open_count ? &r->open[r->open_count - 1] : NULL;
    stack_id stack = builder_push(r->b, caller ? caller->stack : 0, z->frame);
    if (caller) {
        struct zone *outer = &r->zones[caller->zone];
        if (z->end > outer->end) {
            builder_warn(r->b, "a zone that ends after the zone around it, shortened", 0,
                         0, STR(""));
            z->end = outer->end;
        }
        outer->inner += z->end - z->start;
    }
    struct open_zone *added =
        ARRAY_APPEND(&r->arena, r->open, r->open_count, r->open_cap);
    if (added)
        *added = (struct open_zone){number, stack};
}

static void add_zones(struct tracy *r)
{
    uint32_t *order = arena_alloc(&r->arena, (r->zone_count + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(&r->arena, (r->zone_count + 1) * sizeof *scratch);
    if (!order || !scratch)
        return;
    for (uint32_t i = 0; i < r->zone_count; i++)
        order[i] = i;
    sort_u32(order, r->zone_count, scratch, before, r->zones);
    for (size_t i = 0; i < r->zone_count && !builder_failed(r->b) && !r->arena.failed;
         i++)
        open_zone(r, order[i]);
    while (r->open_count)
        close_zone(r);
}

/* --- The file ----------------------------------------------------------------------- */

/* The first line that is not empty. */
static bool next_text(struct lines *lines, struct str *line)
{
    while (lines_next(lines, line))
        if (str_trim(*line).len)
            return true;
    return false;
}

static bool tracy_read(struct source *in, const struct import_options *options,
                       struct builder *b, struct error *err)
{
    struct tracy r = {
        .b = b, .options = options, .lines = lines_of(in, err), .scratch = OUTPUT_BUFFER};
    struct str line;
    r.event = builder_event(b, STR("zone time"),
                            options->samples ? UNIT_COUNT : UNIT_NANOSECONDS);
    bool has_header = next_text(&r.lines, &line) && read_header(&r, line);
    while (has_header && !builder_failed(b) && !r.arena.failed &&
           lines_next(&r.lines, &line))
        if (str_trim(line).len && !read_row(&r, line))
            builder_warn(b, "not a row of the table", r.lines.number, 1, line);
    add_zones(&r);
    if ((r.found & UNWRAPPED) != UNWRAPPED && b->profile->sample_count > 1)
        builder_warn(
            b,
            "times of zones, which include those of the zones inside them unless "
            "tracy-csvexport ran with -e (or -u)",
            0, 0, STR(""));
    bool ok = !r.lines.failed;
    if (ok && (r.scratch.failed || r.arena.failed))
        ok = error_memory(err);
    else if (ok && !has_header)
        ok = error_set(err, "no header with the columns of tracy-csvexport");
    output_deinit(&r.scratch);
    builder_end_scratch(b, &r.arena);
    return ok;
}

static int tracy_probe(struct str head)
{
    struct tracy r = {.column_count = 0};
    return read_header(&r, str_cut(&head, '\n')) ? 94 : 0;
}

const struct importer import_tracy = {
    .name = "tracy",
    .suffixes = "",
    .summary = "Tracy zones, as CSV by tracy-csvexport",
    .probe = tracy_probe,
    .read = tracy_read,
};
