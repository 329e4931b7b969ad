/* SPDX-License-Identifier: Apache-2.0 */
/* A span as a profile: first the rows, then the series, frames and stacks that they refer to. */
#include "base/array.h"
#include "model/sample_labels.h"
#include "store/clickhouse/parts.h"
#include "store/series.h"

#define ROWS_MAX ((size_t)1 << 26) /* of a span: 3 GB */
#define SQL_SIZE 2048
#define DOUBLED_MAX 4096 /* numbers in a query: it may have 256 KB */
#define NOT_STORED "samples whose stack is not stored"

struct row {
    uint64_t second, series, stack, count;
    double weight;
};

struct known_series {
    event_id event;
    thread_id thread;
    label_set_id labels;
};

struct reading {
    struct clickhouse_client *c;
    struct builder *b;
    struct arena arena;
    char days[96];         /* conditions on the partition, */
    char span[320];        /* and on the time */
    uint64_t from, to;     /* seconds */
    struct resent_blocks { /* that may have rows in the span */
        uint64_t count, start, end;
    } resent;
    char resent_query[320]; /* "FROM windows WHERE ..." */
    struct output doubled;  /* numbers of blocks that have rows twice */
    uint64_t doubled_count;
    struct row *rows;
    size_t row_count, row_cap;
    struct idmap frames, stacks,
        series; /* ids of the profile by hash; of series: an index */
    struct known_series *known;
    size_t known_count, known_cap;
    struct late_name {
        module_id module;
        uint64_t start, end;
        string_id name;
    } * names; /* in order */
    size_t name_count, name_cap;
};

/* --- Conditions --------------------------------------------------------------------------- */

/* Samples count at the start of their second: a second that is only partly in the span counts if
 * its start is in the span. */
static void set_span(struct reading *r, const struct store_span *span)
{
    uint64_t most = UINT32_MAX;
    uint64_t from = span->from / STORE_SECOND + (span->from % STORE_SECOND != 0);
    uint64_t to = span->to / STORE_SECOND + (span->to % STORE_SECOND != 0);
    from = from < most ? from : most;
    to = to < most ? to : most;
    r->from = from;
    r->to = to;
    format_text(r->days, sizeof r->days, "day >= toDate(%u) AND day <= toDate(%u)",
                (unsigned)(from / CLICKHOUSE_DAY), (unsigned)(to / CLICKHOUSE_DAY));
    format_text(
        r->span, sizeof r->span,
        "%s AND hour >= %llu AND hour <= %llu AND second >= %llu AND second < %llu",
        r->days, (unsigned long long)(from / 3600), (unsigned long long)(to / 3600),
        (unsigned long long)from, (unsigned long long)to);
}

/* --- Blocks that were sent again ----------------------------------------------------------- */

static bool take_resent(void *context, struct bytes *b, struct error *err)
{
    struct resent_blocks *resent = context;
    uint64_t count = bytes_u64(b), start = bytes_u64(b), end = bytes_u64(b);
    (void)err;
    if (b->failed)
        return true;
    resent->count = count;
    resent->start = start;
    resent->end = end;
    return true;
}

static bool take_doubled(void *context, struct bytes *b, struct error *err)
{
    struct reading *r = context;
    uint64_t block = bytes_u64(b);
    (void)err;
    if (b->failed)
        return true;
    if (r->doubled_count++ < DOUBLED_MAX)
        output_format(&r->doubled, "%s%llu", r->doubled.used ? ", " : "",
                      (unsigned long long)block);
    return true;
}

/* The condition on the block. Both queries of rows have the same numbers. If each found double rows
 * itself, a block that the server merges between them would be in neither result. */
static void put_doubled(const struct reading *r, struct output *sql)
{
    output_text(sql, "block IN (");
    if (r->doubled_count > DOUBLED_MAX)
        output_format(sql, "SELECT block %s", r->resent_query);
    else
        output_str(sql, output_contents(&r->doubled));
    output_char(sql, ')');
}

/* Finds the blocks of the span that were sent again and have another number of rows than was sent.
 * To group all rows of the span by block takes much longer than to count those of the blocks that
 * were sent again, and these are rarely stored twice. The rows of a block may be in hours that the
 * span does not have. */
static bool find_doubled(struct reading *r, struct error *err)
{
    char sql[SQL_SIZE];
    uint64_t from = r->from * STORE_SECOND, to = r->to * STORE_SECOND;
    format_text(r->resent_query, sizeof r->resent_query,
                "FROM windows WHERE %s AND resent > 0 AND start < %llu AND end >= %llu",
                r->days, (unsigned long long)to, (unsigned long long)from);
    format_text(sql, sizeof sql,
                "SELECT toUInt64(count()), min(start), max(end) %s FORMAT RowBinary",
                r->resent_query);
    if (!clickhouse_query(r->c, sql, take_resent, &r->resent, err))
        return false;
    if (r->resent.count == 0)
        return true;
    format_text(sql, sizeof sql,
                "SELECT block FROM (SELECT block, count() AS stored FROM samples WHERE "
                "%s AND hour >= %llu AND hour <= %llu AND block IN (SELECT block %s) "
                "GROUP BY block) ANY INNER JOIN (SELECT block, any(rows) AS sent_rows %s "
                "GROUP BY block) USING block WHERE stored != sent_rows FORMAT RowBinary",
                r->days, (unsigned long long)(r->resent.start / STORE_SECOND / 3600),
                (unsigned long long)(r->resent.end / STORE_SECOND / 3600),
                r->resent_query, r->resent_query);
    return clickhouse_query(r->c, sql, take_doubled, r, err) &&
           (!r->doubled.failed || error_memory(err));
}

/* --- Rows --------------------------------------------------------------------------------- */

static bool take_row(void *context, struct bytes *b, struct error *err)
{
    struct reading *r = context;
    struct row row = {.second = bytes_u64(b)};
    row.series = bytes_u64(b);
    row.stack = bytes_u64(b);
    row.count = bytes_u64(b);
    row.weight = clickhouse_double(b);
    if (b->failed)
        return true;
    if (r->row_count == ROWS_MAX) {
        error_set(err, "the span has more than %zu rows", ROWS_MAX);
        return error_hint(err, "choose a shorter span with --at");
    }
    struct row *added = ARRAY_APPEND(&r->arena, r->rows, r->row_count, r->row_cap);
    if (!added)
        return error_memory(err);
    *added = row;
    return true;
}

static bool query_rows(struct reading *r, struct output *sql, struct error *err)
{
    output_char(sql, '\0');
    bool ok = sql->failed ? error_memory(err)
                          : clickhouse_query(r->c, sql->bytes, take_row, r, err);
    sql->used = 0;
    return ok;
}

/* Rows that are stored twice, until the server merges them, count once. Times only matter if
 * samples are retained. */
static bool read_rows(struct reading *r, struct error *err)
{
    struct output sql = OUTPUT_BUFFER;
    bool timed = r->b->mode == BUILD_KEEP;
    const char *second = timed ? "toUInt64(second)" : "toUInt64(0)";
    const char *key = timed ? "second, series, stack" : "series, stack";
    output_format(
        &sql, "SELECT %s, series, stack, sum(count), sum(weight) FROM samples WHERE %s",
        second, r->span);
    if (r->doubled_count) {
        output_text(&sql, " AND NOT ");
        put_doubled(r, &sql);
    }
    output_format(&sql, " GROUP BY %s FORMAT RowBinary", key);
    bool ok = query_rows(r, &sql, err);
    if (ok && r->doubled_count) {
        output_format(&sql,
                      "SELECT %s, series, stack, sum(n), sum(w) FROM (SELECT second, "
                      "series, stack, any(count) AS n, any(weight) AS w FROM samples "
                      "WHERE %s AND ",
                      second, r->span);
        put_doubled(r, &sql);
        output_format(&sql,
                      " GROUP BY block, second, series, stack) GROUP BY %s "
                      "FORMAT RowBinary",
                      key);
        ok = query_rows(r, &sql, err);
    }
    output_deinit(&sql);
    return ok;
}

/* --- Windows ------------------------------------------------------------------------------ */

static bool take_window(void *context, struct bytes *b, struct error *err)
{
    struct reading *r = context;
    uint64_t start = bytes_u64(b), lost = bytes_u64(b);
    double rate = clickhouse_double(b);
    (void)err;
    if (b->failed)
        return true;
    if (lost)
        builder_lost(r->b, start, lost);
    if (rate > 0)
        r->b->profile->facts.rate = rate;
    return true;
}

static bool read_windows(struct reading *r, const struct store_span *span,
                         struct error *err)
{
    char sql[SQL_SIZE];
    format_text(
        sql, sizeof sql,
        "SELECT at, sum(l), max(r) FROM (SELECT any(start) AS at, "
        "any(lost) AS l, any(rate) AS r FROM windows WHERE %s AND start >= %llu "
        "AND start < %llu GROUP BY block) GROUP BY at ORDER BY at FORMAT RowBinary",
        r->days, (unsigned long long)span->from, (unsigned long long)span->to);
    return clickhouse_query(r->c, sql, take_window, r, err);
}

/* --- Series ------------------------------------------------------------------------------- */

static bool take_series(void *context, struct bytes *b, struct error *err)
{
    struct reading *r = context;
    uint64_t id = bytes_u64(b);
    struct str bytes = clickhouse_text(b);
    if (b->failed)
        return true;
    uint64_t *index = idmap_put(&r->series, &r->arena, id);
    if (index && *index)
        return true;
    struct known_series *s =
        index ? ARRAY_APPEND(&r->arena, r->known, r->known_count, r->known_cap) : NULL;
    if (!s)
        return error_memory(err);
    *index = r->known_count;
    return store_series_read(bytes, r->b, &s->event, &s->thread, &s->labels, err);
}

static bool read_series(struct reading *r, struct error *err)
{
    char sql[SQL_SIZE];
    format_text(sql, sizeof sql,
                "SELECT series, any(bytes) FROM series WHERE %s AND series IN (SELECT "
                "series FROM samples WHERE %s) GROUP BY series FORMAT RowBinary",
                r->days, r->span);
    return clickhouse_query(r->c, sql, take_series, r, err);
}

/* --- Names that became known later --------------------------------------------------------- */

static bool take_name(void *context, struct bytes *b, struct error *err)
{
    struct reading *r = context;
    struct str path = clickhouse_text(b), build_id = clickhouse_text(b);
    struct late_name n = {.start = bytes_u64(b)};
    n.end = bytes_u64(b);
    struct str name = clickhouse_text(b);
    if (b->failed)
        return true;
    n.module = builder_module(r->b, path, build_id);
    n.name = builder_string(r->b, name);
    struct late_name *added =
        ARRAY_APPEND(&r->arena, r->names, r->name_count, r->name_cap);
    if (!added)
        return error_memory(err);
    *added = n;
    return true;
}

static int by_module(const void *a, const void *b)
{
    const struct late_name *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* A name became known on any day, and counts on all: those of the modules that need one. */
static bool read_names(struct reading *r, struct error *err)
{
    char sql[SQL_SIZE];
    format_text(sql, sizeof sql,
                "SELECT module, build_id, start, any(end), any(name) FROM names WHERE "
                "(module, build_id) IN (SELECT module, build_id FROM frames WHERE %s AND "
                "name = '' AND offset != 0) "
                "GROUP BY module, build_id, start FORMAT RowBinary",
                r->days);
    if (!clickhouse_query(r->c, sql, take_name, r, err))
        return false;
    if (r->name_count)
        qsort(r->names, r->name_count, sizeof *r->names, by_module);
    return true;
}

static string_id late_name(const struct reading *r, module_id module, uint64_t offset)
{
    size_t low = 0, high = r->name_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct late_name *n = &r->names[middle];
        if (n->module < module || (n->module == module && n->start <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    const struct late_name *n = low ? &r->names[low - 1] : NULL;
    return n && n->module == module && n->end > offset ? n->name : 0;
}

/* --- Frames and stacks --------------------------------------------------------------------- */

static bool take_frame(void *context, struct bytes *b, struct error *err)
{
    struct reading *r = context;
    uint64_t hash = bytes_u64(b);
    uint32_t kind = bytes_u8(b);
    struct str name = clickhouse_text(b), path = clickhouse_text(b);
    struct str build_id = clickhouse_text(b), file = clickhouse_text(b);
    struct frame f = {.kind = kind <= FRAME_WAKER ? kind : FRAME_USER};
    f.line = bytes_u32(b);
    f.offset = bytes_u64(b);
    if (b->failed)
        return true;
    f.name = builder_string(r->b, name);
    f.module = path.len || build_id.len ? builder_module(r->b, path, build_id) : 0;
    f.file = builder_string(r->b, file);
    if (!f.name && f.offset && (f.name = late_name(r, f.module, f.offset)))
        f.offset = 0;
    uint64_t *id = idmap_put(&r->frames, &r->arena, hash);
    if (!id)
        return error_memory(err);
    *id = builder_frame(r->b, &f);
    return true;
}

static bool take_stack(void *context, struct bytes *b, struct error *err)
{
    struct reading *r = context;
    uint64_t hash = bytes_u64(b), count = bytes_uleb(b);
    struct str frames = bytes_take(b, count < SIZE_MAX / 8 ? count * 8 : SIZE_MAX);
    if (b->failed)
        return true;
    if (count > LIMIT_DEPTH)
        return error_set(err, "the server sent a stack of %llu frames",
                         (unsigned long long)count);
    uint64_t *id = idmap_put(&r->stacks, &r->arena, hash);
    if (!id)
        return error_memory(err);
    struct bytes list = bytes_of(frames, false);
    builder_path_clear(r->b);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *frame = idmap_find(&r->frames, bytes_u64(&list));
        builder_path_add(r->b, frame && *frame
                                   ? (frame_id)*frame
                                   : builder_named_frame(r->b, STR("[unknown]")));
    }
    *id = builder_path_from_leaf(r->b);
    return !builder_failed(r->b) || error_memory(err);
}

static bool read_stacks(struct reading *r, struct error *err)
{
    char sql[SQL_SIZE];
    format_text(
        sql, sizeof sql,
        "SELECT frame, any(kind), any(name), any(module), any(build_id), any(file), "
        "any(line), any(offset) FROM frames WHERE %s AND frame IN (SELECT "
        "arrayJoin(frames) FROM stacks WHERE %s AND stack IN (SELECT stack FROM "
        "samples WHERE %s)) GROUP BY frame FORMAT RowBinary",
        r->days, r->days, r->span);
    if (!clickhouse_query(r->c, sql, take_frame, r, err))
        return false;
    format_text(
        sql, sizeof sql,
        "SELECT stack, any(frames) FROM stacks WHERE %s AND stack IN (SELECT stack "
        "FROM samples WHERE %s) GROUP BY stack FORMAT RowBinary",
        r->days, r->span);
    return clickhouse_query(r->c, sql, take_stack, r, err);
}

/* --- The profile --------------------------------------------------------------------------- */

static bool add_row(struct reading *r, const struct row *row, struct error *err)
{
    const uint64_t *series = idmap_find(&r->series, row->series);
    const uint64_t *stack = idmap_find(&r->stacks, row->stack);
    if (!series)
        return error_set(err, "the store is damaged: a sample has unknown labels");
    if (!stack && row->stack)
        builder_warn_times(r->b, NOT_STORED, row->count);
    const struct known_series *s = &r->known[*series - 1];
    builder_add_labelled(r->b,
                         &(struct sample){.time = row->second * STORE_SECOND,
                                          .cpu = CPU_NONE,
                                          .thread = s->thread,
                                          .event = s->event,
                                          .stack = stack ? (stack_id)*stack : 0,
                                          .count = row->count,
                                          .weight = row->weight},
                         s->labels);
    return !builder_failed(r->b) || error_memory(err);
}

bool clickhouse_store_read(struct store *base, const struct store_span *span,
                           struct builder *b, struct error *err)
{
    struct reading r = {
        .c = &clickhouse_store_of(base)->client, .b = b, .doubled = OUTPUT_BUFFER};
    set_span(&r, span);
    b->profile->facts.format = builder_string(b, STR("store"));
    bool ok = read_windows(&r, span, err) && find_doubled(&r, err) && read_rows(&r, err);
    if (ok && r.row_count)
        ok = read_series(&r, err) && read_names(&r, err) && read_stacks(&r, err);
    for (size_t i = 0; ok && i < r.row_count; i++)
        ok = add_row(&r, &r.rows[i], err);
    output_deinit(&r.doubled);
    arena_deinit(&r.arena);
    return ok;
}
