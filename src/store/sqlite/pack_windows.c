/* SPDX-License-Identifier: Apache-2.0 */
/* Windows are stored when they end. Later those of ten minutes become one: rows that are sorted
 * over a longer time take fewer bytes, and fewer pieces are quicker to find and to remove. */
#include "store/rows.h"
#include "store/sqlite/parts.h"

#define SPAN ((uint64_t)600)  /* seconds; a part of an hour, so that sums do not change */
#define DELAY ((uint64_t)120) /* windows can arrive out of order: see rollup.c */
#define SPANS_BACK 6          /* that a writer which begins, or falls behind, checks */
#define ROWS_MAX ((uint64_t)256 << 10)

struct packing {
    struct sqlite_store *s;
    uint64_t from, to; /* ns: when the windows begin */
    struct arena arena;
    struct store_row *rows;
    size_t count;
    uint64_t most; /* rows there is room for */
    uint64_t start, end, samples, lost;
    double rate;
};

static sqlite3_stmt *prepare(struct packing *p, enum sqlite_statement which,
                             struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(p->s, which, err);
    if (!q)
        return NULL;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)p->from);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)p->to);
    return q;
}

/* When the first window begins that has another rate than those before it; `to` if all have
 * the same. Windows that begin at the same time with different rates are not one: then it is that
 * of both, and no window is before. */
static uint64_t end_of_rate(struct packing *p, struct error *err)
{
    sqlite3_stmt *q = prepare(p, SQL_LIST_RATES, err);
    uint64_t end = p->to;
    double rate = 0;
    for (bool first = true; q && end == p->to && sqlite3_step(q) == SQLITE_ROW;) {
        if (first)
            rate = sqlite3_column_double(q, 1);
        else if (sqlite3_column_double(q, 1) != rate)
            end = sqlite_u64(q, 0);
        first = false;
    }
    if (q)
        sqlite3_reset(q);
    return end;
}

/* Whether there are several windows that can be one. Fills the facts of all. */
static bool can_pack(struct packing *p, struct error *err)
{
    sqlite3_stmt *q = prepare(p, SQL_SUM_WINDOWS, err);
    bool can = q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_int64(q, 0) > 1;
    if (can) {
        p->most = sqlite_u64(q, 1);
        p->samples = sqlite_u64(q, 2);
        p->lost = sqlite_u64(q, 3);
        p->rate = sqlite3_column_double(q, 4);
        p->start = sqlite_u64(q, 6);
        p->end = sqlite_u64(q, 7);
        can = p->most <= ROWS_MAX && p->rate == sqlite3_column_double(q, 5) &&
              p->start < p->end && p->end - p->start < SQLITE_WINDOW_MAX;
    }
    if (q)
        sqlite3_reset(q);
    return can;
}

static bool add_rows(struct packing *p, sqlite3_stmt *q, struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct store_row *rows;
    size_t count;
    uint64_t later = sqlite_u64(q, 0) / STORE_SECOND - p->start / STORE_SECOND;
    bool ok = store_rows_decode(sqlite_bytes(q, 4), &scratch, &rows, &count, err) &&
              count <= p->most - p->count;
    for (size_t i = 0; ok && i < count; i++) {
        p->rows[p->count] = rows[i];
        p->rows[p->count++].second += later;
    }
    arena_deinit(&scratch);
    return ok;
}

/* False if a window is damaged: all stay as they are. */
static bool read_rows(struct packing *p, struct error *err)
{
    int code = SQLITE_DONE;
    sqlite3_stmt *q = prepare(p, SQL_LIST_WINDOWS, err);
    bool ok = q != NULL;
    if (!ok)
        return false;
    p->rows = arena_alloc(&p->arena, (size_t)(p->most + 1) * sizeof *p->rows);
    while (ok && p->rows && (code = sqlite3_step(q)) == SQLITE_ROW)
        ok = add_rows(p, q, err);
    sqlite3_reset(q);
    p->count = ok && p->rows ? store_rows_merge(p->rows, p->count) : 0;
    return ok && p->rows && code == SQLITE_DONE;
}

static bool run(struct packing *p, sqlite3_stmt *q, struct error *err)
{
    bool ok = sqlite3_step(q) == SQLITE_DONE ||
              sqlite_failed(p->s, "cannot write the store", err);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return ok;
}

static bool add_window(struct packing *p, struct str data, struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(p->s, SQL_ADD_WINDOW, err);
    if (!q)
        return false;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)p->start);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)p->end);
    sqlite3_bind_double(q, 3, p->rate);
    sqlite3_bind_int64(q, 4, (sqlite3_int64)p->count);
    sqlite3_bind_int64(q, 5, (sqlite3_int64)p->samples);
    sqlite3_bind_int64(q, 6, (sqlite3_int64)p->lost);
    sqlite_bind_bytes(q, 7, data);
    return run(p, q, err);
}

static bool replace_windows(struct packing *p, struct error *err)
{
    struct output data = OUTPUT_BUFFER;
    sqlite3_stmt *q = NULL;
    bool ok = store_rows_encode(p->rows, p->count, &data, err) &&
              sqlite_run(p->s, "BEGIN IMMEDIATE", err) &&
              (q = prepare(p, SQL_REMOVE_WINDOWS, err)) && run(p, q, err) &&
              add_window(p, output_contents(&data), err) &&
              sqlite_run(p->s, "COMMIT", err);
    if (!ok && !sqlite3_get_autocommit(p->s->db))
        sqlite3_exec(p->s->db, "ROLLBACK", NULL, NULL, NULL);
    output_deinit(&data);
    return ok;
}

/* Makes one window of those of each rate, so that rates stay exact. */
static bool pack_rates(struct sqlite_store *s, uint64_t from, uint64_t to,
                       struct error *err)
{
    struct error ignored;
    bool ok = true;
    while (ok && from < to) {
        struct packing p = {.s = s, .from = from, .to = to};
        uint64_t end = end_of_rate(&p, &ignored);
        p.to = end;
        if (can_pack(&p, &ignored) && read_rows(&p, &ignored))
            ok = replace_windows(&p, err);
        arena_deinit(&p.arena);
        from = end > from ? end : from + 1;
    }
    return ok;
}

bool sqlite_pack_windows(struct sqlite_store *s, bool *done, struct error *err)
{
    uint64_t newest = s->known.newest / STORE_SECOND;
    uint64_t complete = newest > DELAY ? (newest - DELAY) / SPAN : 0;
    if (s->packed + SPANS_BACK < complete)
        s->packed = complete - SPANS_BACK;
    if (s->packed >= complete)
        return true;
    *done = true;
    uint64_t from = s->packed * SPAN * STORE_SECOND;
    bool ok = pack_rates(s, from, from + SPAN * STORE_SECOND, err);
    s->packed += ok;
    return ok;
}
