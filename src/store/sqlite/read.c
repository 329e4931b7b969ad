/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "model/sample_labels.h"
#include "store/rows.h"
#include "store/series.h"
#include "store/sqlite/parts.h"
#include "store/stacks.h"

#define DEPTH_MAX LIMIT_DEPTH

/* An item of the store is known if its flag is set; 0 is a valid id of a frame. */
struct known_series {
    bool known;
    event_id event;
    thread_id thread;
    label_set_id labels;
};

/* A stack of the store. Ids are dense only within an era, so they are in groups that are
 * allocated when one of them is needed. */
struct known_stack {
    struct store_stack parts; /* frame 0: not read yet */
    stack_id stack;           /* of the builder; 0: not known yet */
};

#define GROUP_BITS 14
#define GROUP ((uint64_t)1 << GROUP_BITS)

struct reading {
    struct sqlite_store *s;
    struct builder *b;
    struct store_span span, part; /* that is requested; that is read now */
    struct arena arena;
    uint64_t frame_max, series_max, module_max;
    uint64_t stack_rows_max;     /* ids of version 1 */
    frame_id *frames;            /* by id of the store; 0: not read yet */
    struct known_stack **stacks; /* groups, by id / GROUP */
    struct known_series *series;
    module_id *modules;        /* by id of the store; 0: not read yet */
    struct known_stack **path; /* of the stack that is being read, from the leaf on */
    size_t path_cap;
    struct store_sum sum; /* rows that have no time, and are not in the builder yet */
};

/* Adding rows to the builder is slow, so sums are added up before; this many rows at most. */
#define SUM_MAX ((size_t)1 << 19)

static bool damaged(const char *what, struct error *err)
{
    error_set(err, "the store is damaged: %s", what);
    return error_hint(err, "other spans may be intact: choose them with --at");
}

/* --- Frames, stacks, series --------------------------------------------------------- */

/* A row by its id. NULL with err set if there is none. */
static sqlite3_stmt *row_of(struct reading *r, enum sqlite_statement which, uint64_t id,
                            struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(r->s, which, err);
    if (!q)
        return NULL;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)id);
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW)
        return q;
    if (code == SQLITE_DONE)
        damaged("a name or stack is missing", err);
    else
        sqlite_failed(r->s, "cannot read the store", err);
    sqlite3_reset(q);
    return NULL;
}

/* The name of a function that became known after the frame was stored; or empty. */
static struct str late_name(struct reading *r, uint64_t module, uint64_t offset)
{
    struct error ignored;
    sqlite3_stmt *q =
        r->s->version >= 2 ? sqlite_prepare(r->s, SQL_READ_SYMBOL, &ignored) : NULL;
    if (!q)
        return STR("");
    sqlite3_bind_int64(q, 1, (sqlite3_int64)module);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)offset);
    bool found = sqlite3_step(q) == SQLITE_ROW && sqlite_u64(q, 1) > offset;
    return found ? sqlite_bytes(q, 0) : STR("");
}

/* Returns 0, which means no module, if the ID is 0 or if its row is missing. */
static module_id read_module(struct reading *r, uint64_t id)
{
    struct error ignored;
    if (id == 0 || id > r->module_max || r->modules[id])
        return id > r->module_max ? 0 : r->modules[id];
    sqlite3_stmt *q = row_of(r, SQL_READ_MODULE, id, &ignored);
    if (!q)
        return 0;
    struct str path = sqlite_bytes(q, 0), build_id = sqlite_bytes(q, 1);
    r->modules[id] = builder_module(r->b, path, build_id);
    sqlite3_reset(q);
    return r->modules[id];
}

static bool read_frame(struct reading *r, uint64_t id, struct error *err)
{
    if (id == 0 || id > r->frame_max)
        return damaged("a stack has an unknown frame", err);
    if (r->frames[id])
        return true;
    sqlite3_stmt *q = row_of(r, SQL_READ_FRAME, id, err);
    if (!q)
        return false;
    uint64_t kind = sqlite_u64(q, 0);
    struct frame f = {.kind = kind <= FRAME_WAKER ? (uint32_t)kind : FRAME_USER};
    f.name = builder_string(r->b, sqlite_bytes(q, 1));
    f.module = read_module(r, sqlite_u64(q, 2));
    f.file = builder_string(r->b, sqlite_bytes(q, 3));
    f.line = (uint32_t)sqlite_u64(q, 4);
    f.offset = (uint64_t)sqlite3_column_int64(q, 5);
    if (!f.name && f.offset &&
        (f.name = builder_string(r->b, late_name(r, sqlite_u64(q, 2), f.offset))))
        f.offset = 0;
    r->frames[id] = builder_frame(r->b, &f);
    sqlite3_reset(q);
    return r->frames[id] || builder_failed(r->b) ? true : damaged("an empty frame", err);
}

/* The group of a stack, and the stack in it. NULL when out of memory. */
static struct known_stack *known_stack(struct reading *r, uint64_t id)
{
    struct known_stack **group = &r->stacks[id >> GROUP_BITS];
    if (!*group)
        *group = arena_zalloc(&r->arena, GROUP, sizeof **group);
    return *group ? &(*group)[id & (GROUP - 1)] : NULL;
}

static bool keep_parts(struct reading *r, uint64_t first,
                       const struct store_stack *stacks, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct known_stack *known = known_stack(r, first + i);
        if (!known)
            return false;
        known->parts = stacks[i];
    }
    return true;
}

/* Reads the stacks that were stored with this one. */
static bool read_parts(struct reading *r, uint64_t id, struct error *err)
{
    struct store_stack *stacks = NULL;
    sqlite3_stmt *q = r->s->version >= 2 ? row_of(r, SQL_READ_STACKS, id, err) : NULL;
    if (!q)
        return false;
    struct arena scratch = ARENA_INIT;
    uint64_t first = sqlite_u64(q, 0), count = sqlite_u64(q, 1);
    bool ok = first && first <= id && count <= STORE_STACKS_MAX && id - first < count &&
              first + count <= UINT32_MAX;
    ok = ok ? store_stacks_decode(sqlite_bytes(q, 2), first, (size_t)count, &scratch,
                                  &stacks, err) &&
                  (keep_parts(r, first, stacks, count) || error_memory(err))
            : damaged("a stack is missing", err);
    sqlite3_reset(q);
    arena_deinit(&scratch);
    return ok;
}

/* The parent and the frame of a stack. Version 1 has a row for each. */
static bool find_parts(struct reading *r, uint64_t id, struct known_stack *known,
                       struct error *err)
{
    if (known->parts.frame)
        return true;
    if (id > r->stack_rows_max)
        return read_parts(r, id, err);
    sqlite3_stmt *q = row_of(r, SQL_READ_STACK, id, err);
    if (!q)
        return false;
    uint64_t parent = sqlite_u64(q, 0), frame = sqlite_u64(q, 1);
    sqlite3_reset(q);
    if (parent >= id || frame > r->frame_max)
        return damaged("the callers of a stack", err);
    known->parts = (struct store_stack){(uint32_t)parent, (uint32_t)frame};
    return true;
}

/* Reads the callers of a stack up to one that is known, whose id in the builder becomes `top`.
 * Parents have smaller ids, so it ends. */
static bool read_path(struct reading *r, uint64_t id, size_t *count, stack_id *top,
                      struct error *err)
{
    *count = 0;
    *top = 0;
    while (id) {
        struct known_stack *known = known_stack(r, id);
        if (!known)
            return error_memory(err);
        *top = known->stack;
        if (known->stack)
            return true;
        if (!find_parts(r, id, known, err))
            return false;
        struct known_stack **step = ARRAY_APPEND(&r->arena, r->path, *count, r->path_cap);
        if (!step)
            return error_memory(err);
        *step = known;
        if (known->parts.parent >= id || *count > DEPTH_MAX)
            return damaged("the callers of a stack", err);
        id = known->parts.parent;
    }
    return true;
}

static bool read_stack(struct reading *r, uint64_t id, stack_id *stack, struct error *err)
{
    size_t count;
    struct known_stack *known = NULL;
    *stack = 0;
    if (id > UINT32_MAX)
        return damaged("a sample has an unknown stack", err);
    if (r->stacks[id >> GROUP_BITS])
        known = known_stack(r, id);
    if (known && known->stack) {
        *stack = known->stack;
        return true;
    }
    if (!read_path(r, id, &count, stack, err))
        return false;
    while (count--) {
        known = r->path[count];
        if (!read_frame(r, known->parts.frame, err))
            return false;
        *stack = builder_push(r->b, *stack, r->frames[known->parts.frame]);
        known->stack = *stack;
    }
    return true;
}

static const struct known_series *read_series(struct reading *r, uint64_t id,
                                              struct error *err)
{
    if (id == 0 || id > r->series_max) {
        damaged("a sample has unknown labels", err);
        return NULL;
    }
    struct known_series *known = &r->series[id];
    if (known->known)
        return known;
    sqlite3_stmt *q = row_of(r, SQL_READ_SERIES, id, err);
    if (!q)
        return NULL;
    known->known = store_series_read(sqlite_bytes(q, 0), r->b, &known->event,
                                     &known->thread, &known->labels, err);
    sqlite3_reset(q);
    return known->known ? known : NULL;
}

/* --- Windows ------------------------------------------------------------------------ */

static bool add_row(struct reading *r, const struct store_row *row, uint64_t time,
                    struct error *err)
{
    stack_id stack;
    const struct known_series *series = read_series(r, row->series, err);
    if (!series || !read_stack(r, row->stack, &stack, err))
        return false;
    builder_add_labelled(r->b,
                         &(struct sample){.time = time,
                                          .cpu = CPU_NONE,
                                          .thread = series->thread,
                                          .event = series->event,
                                          .stack = stack,
                                          .count = row->count,
                                          .weight = row->weight},
                         series->labels);
    return !builder_failed(r->b) || error_memory(err);
}

static void note_time(struct reading *r, uint64_t time)
{
    struct facts *f = &r->b->profile->facts;
    if (f->time_first == TIME_NONE || time < f->time_first)
        f->time_first = time;
    if (f->time_last == TIME_NONE || time > f->time_last)
        f->time_last = time;
}

/* Whether the row is in the part that is read. `time` is that of its second. */
static bool is_in_part(struct reading *r, const struct store_row *row, uint64_t start,
                       uint64_t *time)
{
    *time = (start / STORE_SECOND + row->second) * STORE_SECOND;
    return *time >= r->part.from && *time < r->part.to;
}

static bool are_alike(const struct store_row *a, const struct store_row *b)
{
    return a->series == b->series && a->stack == b->stack;
}

/* Without times: neighbours that differ in them only are one. */
static bool add_counted(struct reading *r, struct store_row *rows, size_t count,
                        uint64_t start, struct error *err)
{
    size_t put = 0;
    uint64_t time;
    for (size_t i = 0; i < count; i++) {
        if (!is_in_part(r, &rows[i], start, &time))
            continue;
        note_time(r, time);
        if (put && are_alike(&rows[put - 1], &rows[i])) {
            rows[put - 1].count += rows[i].count;
            rows[put - 1].weight += rows[i].weight;
        } else {
            rows[put++] = rows[i];
        }
    }
    for (size_t i = 0; i < put; i++)
        if (!add_row(r, &rows[i], TIME_NONE, err))
            return false;
    return true;
}

static bool add_timed(struct reading *r, const struct store_row *rows, size_t count,
                      uint64_t start, struct error *err)
{
    uint64_t time;
    for (size_t i = 0; i < count; i++)
        if (is_in_part(r, &rows[i], start, &time) && !add_row(r, &rows[i], time, err))
            return false;
    return true;
}

static bool are_times_valid(const struct store_row *rows, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].second > UINT32_MAX)
            return damaged("the time of a sample", err);
    return true;
}

static bool read_rows(struct reading *r, struct str data, uint64_t start,
                      struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct store_row *rows = NULL;
    size_t count = 0;
    bool ok = store_rows_decode(data, &scratch, &rows, &count, err) &&
              are_times_valid(rows, count, err) &&
              (r->b->mode == BUILD_COUNT ? add_counted(r, rows, count, start, err)
                                         : add_timed(r, rows, count, start, err));
    arena_deinit(&scratch);
    return ok;
}

/* --- Sums --------------------------------------------------------------------------- */

static bool add_sum(struct reading *r, struct error *err)
{
    for (size_t i = 0; i < r->sum.count; i++)
        if (!add_row(r, &r->sum.rows[i], TIME_NONE, err))
            return false;
    r->sum.count = 0;
    return true;
}

/* Sums of times that follow one another have nearly the same rows. */
static bool read_sum(struct reading *r, struct str data, uint64_t start, uint64_t end,
                     struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct store_row *rows = NULL;
    size_t count = 0;
    bool ok = store_rows_decode(data, &scratch, &rows, &count, err) &&
              store_sum_add(&r->sum, rows, count, err);
    arena_deinit(&scratch);
    if (ok && count) {
        note_time(r, start);
        note_time(r, end - STORE_SECOND); /* sums are of complete times */
    }
    return ok && (r->sum.count <= SUM_MAX || add_sum(r, err));
}

/* --- Spans -------------------------------------------------------------------------- */

/* The losses until a time, ns. Milliseconds, so that products are less than 2^64. */
static uint64_t lost_until(const struct store_span *window, uint64_t lost, uint64_t time)
{
    uint64_t ms = STORE_SECOND / 1000, most = SQLITE_WINDOW_MAX / ms;
    if (time <= window->from)
        return 0;
    uint64_t length = (window->to - window->from) / ms;
    uint64_t at = (time - window->from) / ms;
    if (time >= window->to || length > most || at >= length)
        return lost;
    return lost / length * at + lost % length * at / length;
}

uint64_t sqlite_lost_in(const struct store_span *window, uint64_t lost, uint64_t from,
                        uint64_t to)
{
    return to > from ? lost_until(window, lost, to) - lost_until(window, lost, from) : 0;
}

static bool read_window(struct reading *r, sqlite3_stmt *q, struct error *err)
{
    uint64_t start = sqlite_u64(q, 0), from = r->part.from;
    struct store_span window = {start, sqlite_u64(q, 1)};
    uint64_t lost = sqlite_lost_in(&window, sqlite_u64(q, 3), from, r->part.to);
    r->b->profile->facts.rate = sqlite3_column_double(q, 2);
    if (lost)
        builder_lost(r->b, start > from ? start : from, lost);
    return read_rows(r, sqlite_bytes(q, 4), start, err);
}

void sqlite_bind_windows(sqlite3_stmt *q, uint64_t from, uint64_t to)
{
    uint64_t most = INT64_MAX, at = from < most ? from : most;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)at);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)(to < most ? to : most));
    sqlite3_bind_int64(q, 3, (sqlite3_int64)at - (sqlite3_int64)SQLITE_WINDOW_MAX);
}

/* Reads the windows of a part of the span. */
static bool read_windows(struct reading *r, uint64_t from, uint64_t to, struct error *err)
{
    sqlite3_stmt *q = from < to ? sqlite_prepare(r->s, SQL_READ_WINDOWS, err) : NULL;
    int code = SQLITE_ROW;
    bool ok = true;
    if (!q)
        return from >= to;
    r->part = (struct store_span){from, to};
    sqlite_bind_windows(q, from, to);
    while (ok && (code = sqlite3_step(q)) == SQLITE_ROW)
        ok = read_window(r, q, err);
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(r->s, "cannot read the store", err);
    sqlite3_reset(q);
    return ok;
}

/* Reads the sum of an hour or a day, and the windows before it. `*from` is where it ends. */
static bool read_rollup(struct reading *r, sqlite3_stmt *q, uint64_t *from,
                        struct error *err)
{
    uint64_t start = sqlite_u64(q, 0) * STORE_SECOND;
    uint64_t end = start + sqlite_u64(q, 1) * STORE_SECOND, lost = sqlite_u64(q, 3);
    if (start < *from || end <= start) /* a part of one that was read */
        return true;
    if (!read_windows(r, *from, start, err))
        return false;
    *from = end;
    r->b->profile->facts.rate = sqlite3_column_double(q, 2);
    if (lost)
        builder_lost(r->b, start, lost);
    return read_sum(r, sqlite_bytes(q, 4), start, end, err);
}

/* If times do not matter, sums replace the windows of their hours and days. */
static bool read_parts_of_span(struct reading *r, struct error *err)
{
    uint64_t from = r->span.from, most = INT64_MAX / STORE_SECOND;
    int code = SQLITE_ROW;
    bool ok = true;
    if (r->b->mode != BUILD_COUNT || r->s->version < 4)
        return read_windows(r, from, r->span.to, err);
    sqlite3_stmt *q = sqlite_prepare(r->s, SQL_READ_ROLLUPS, err);
    if (!q)
        return false;
    uint64_t first = from / STORE_SECOND + (from % STORE_SECOND != 0);
    uint64_t last = r->span.to / STORE_SECOND;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)(first < most ? first : most));
    sqlite3_bind_int64(q, 2, (sqlite3_int64)(last < most ? last : most));
    while (ok && (code = sqlite3_step(q)) == SQLITE_ROW)
        ok = read_rollup(r, q, &from, err);
    if (ok && code != SQLITE_DONE)
        ok = sqlite_failed(r->s, "cannot read the store", err);
    sqlite3_reset(q);
    return ok && add_sum(r, err) && read_windows(r, from, r->span.to, err);
}

/* An array by id. The ids are dense, so a file that needs a large one is large. */
static void *by_id(struct reading *r, const char *query, size_t size, uint64_t *most)
{
    if (!sqlite_number(r->s, query, most) || *most > SQLITE_STORE_ID_MAX)
        *most = 0;
    return arena_zalloc(&r->arena, (size_t)*most + 1, size);
}

bool sqlite_store_read(struct store *base, const struct store_span *span,
                       struct builder *b, struct error *err)
{
    struct reading r = {.s = sqlite_store_of(base), .b = b, .span = *span};
    /* one state of the file for all queries */
    bool ok = sqlite_run(r.s, "BEGIN", err);
    r.frames = by_id(&r, "SELECT max(id) FROM frame", sizeof *r.frames, &r.frame_max);
    if (!sqlite_number(r.s, "SELECT max(id) FROM stack", &r.stack_rows_max))
        r.stack_rows_max = 0;
    r.stacks = arena_zalloc(&r.arena, (size_t)(UINT32_MAX / GROUP) + 1, sizeof *r.stacks);
    r.modules = by_id(&r, "SELECT max(id) FROM module", sizeof *r.modules, &r.module_max);
    r.series = by_id(&r, "SELECT max(id) FROM series", sizeof *r.series, &r.series_max);
    if (ok && r.arena.failed)
        ok = error_memory(err);
    b->profile->facts.format = builder_string(b, STR("store"));
    ok = ok && read_parts_of_span(&r, err);
    sqlite3_exec(r.s->db, "COMMIT", NULL, NULL, NULL);
    arena_deinit(&r.sum.arena);
    arena_deinit(&r.arena);
    return ok;
}

bool sqlite_store_usage(struct store *base, struct store_usage *u, struct error *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    uint64_t pages = 0, size = 0;
    const struct {
        const char *query;
        uint64_t *value;
    } numbers[] = {
        {"PRAGMA page_count", &pages},
        {"PRAGMA page_size", &size},
        {"SELECT sum(length(data)) FROM window", &u->data_bytes},
        {s->version >= 3 ? "SELECT total(length(data)) FROM metrics" : "SELECT 0",
         &u->metric_bytes},
        {"SELECT count(*) FROM window", &u->windows},
        {"SELECT sum(rows) FROM window", &u->rows},
        {"SELECT sum(samples) FROM window", &u->samples},
        {"SELECT sum(lost) FROM window", &u->lost},
        {s->version >= 2
             ? "SELECT total(count) + (SELECT count(*) FROM stack) FROM stacks"
             : "SELECT count(*) FROM stack",
         &u->stacks},
        {"SELECT count(*) FROM frame", &u->frames},
        {"SELECT count(*) FROM series", &u->series},
        {"SELECT min(start) FROM window", &u->first},
        {"SELECT max(end) FROM window", &u->last},
    };
    *u = (struct store_usage){0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!sqlite_number(s, numbers[i].query, numbers[i].value))
            return sqlite_failed(s, "cannot read the store", err);
    u->bytes = pages * size;
    return true;
}
