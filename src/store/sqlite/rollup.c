/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of hours and days, so that long spans are read quickly. They are made from stored
 * windows, one at a time, and can be made again: a window that is added to the time of a
 * sum removes it. */
#include "store/rows.h"
#include "store/sqlite/parts.h"

#define HOUR ((uint64_t)3600)
#define DAY (24 * HOUR)

/* Of one sum. A time with more rows has none: its windows are read. */
#define ROWS_MAX ((size_t)256 << 10)

/* Windows can arrive out of order when the clock is set: a sum is made with this delay. */
#define DELAY ((uint64_t)120) /* seconds */

enum { OF_HOURS, OF_DAYS }; /* the indices of `rolled` */

struct summing {
    struct sqlite_store *s;
    uint64_t start, step; /* seconds */
    struct store_sum sum;
    double rate;
    uint64_t samples, lost;
    bool too_large;
};

/* --- Adding ------------------------------------------------------------------------- */

/* The rows of a window whose second is outside are left out. */
static bool add_rows(struct summing *m, struct store_row *rows, size_t count,
                     uint64_t start, struct error *err)
{
    size_t inside = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t second = start + rows[i].second;
        if (second < m->start || second >= m->start + m->step)
            continue;
        m->samples += rows[i].count;
        rows[inside++] = rows[i];
    }
    if (!store_sum_add(&m->sum, rows, inside, err))
        return false;
    m->too_large = m->sum.count > ROWS_MAX;
    return true;
}

static bool add_data(struct summing *m, struct str data, uint64_t start,
                     struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct store_row *rows;
    size_t count;
    bool ok = store_rows_decode(data, &scratch, &rows, &count, err) &&
              add_rows(m, rows, count, start, err);
    arena_deinit(&scratch);
    return ok;
}

static bool add_windows(struct summing *m, struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(m->s, SQL_READ_WINDOWS, err);
    int code = SQLITE_DONE;
    bool ok = q != NULL;
    if (!ok)
        return false;
    uint64_t from = m->start * STORE_SECOND, to = from + m->step * STORE_SECOND;
    sqlite_bind_windows(q, from, to);
    while (ok && !m->too_large && (code = sqlite3_step(q)) == SQLITE_ROW) {
        struct store_span window = {sqlite_u64(q, 0), sqlite_u64(q, 1)};
        m->rate = sqlite3_column_double(q, 2);
        m->lost += sqlite_lost_in(&window, sqlite_u64(q, 3), from, to);
        ok = add_data(m, sqlite_bytes(q, 4), window.from / STORE_SECOND, err);
    }
    if (ok && !m->too_large && code != SQLITE_DONE)
        ok = sqlite_failed(m->s, "cannot read the store", err);
    sqlite3_reset(q);
    return ok;
}

/* Number of windows that are partly in the time. */
static uint64_t windows_in(struct sqlite_store *s, uint64_t start, uint64_t step)
{
    char sql[160];
    unsigned long long count_from = start * STORE_SECOND;
    unsigned long long count_to = (start + step) * STORE_SECOND;
    uint64_t count = 0;
    format_text(sql, sizeof sql,
                "SELECT count(*) FROM window WHERE start < %llu AND end > %llu "
                "AND start >= %llu",
                count_to, count_from, count_from - SQLITE_WINDOW_MAX);
    return sqlite_number(s, sql, &count) ? count : 1;
}

/* The sums of the hours of a day; an hour with windows and without a sum spoils it. */
static bool add_hours(struct summing *m, struct error *err)
{
    bool ok = true;
    for (uint64_t h = m->start; ok && !m->too_large && h < m->start + m->step;
         h += HOUR) {
        sqlite3_stmt *q = sqlite_prepare(m->s, SQL_READ_ROLLUP, err);
        if (!q)
            return false;
        sqlite3_bind_int64(q, 1, (sqlite3_int64)h);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)HOUR);
        if (sqlite3_step(q) == SQLITE_ROW) {
            m->rate = sqlite3_column_double(q, 0);
            m->lost += sqlite_u64(q, 1);
            ok = add_data(m, sqlite_bytes(q, 2), h, err);
        } else {
            m->too_large |= windows_in(m->s, h, HOUR) != 0;
        }
        sqlite3_reset(q);
    }
    return ok;
}

/* --- Storing ------------------------------------------------------------------------ */

static bool store_sum(struct summing *m, struct error *err)
{
    struct output data = OUTPUT_BUFFER;
    sqlite3_stmt *q = sqlite_prepare(m->s, SQL_ADD_ROLLUP, err);
    bool ok = q && store_rows_encode(m->sum.rows, m->sum.count, &data, err);
    if (ok) {
        sqlite3_bind_int64(q, 1, (sqlite3_int64)m->start);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)m->step);
        sqlite3_bind_double(q, 3, m->rate);
        sqlite3_bind_int64(q, 4, (sqlite3_int64)m->sum.count);
        sqlite3_bind_int64(q, 5, (sqlite3_int64)m->samples);
        sqlite3_bind_int64(q, 6, (sqlite3_int64)m->lost);
        sqlite_bind_bytes(q, 7, output_contents(&data));
        ok = sqlite3_step(q) == SQLITE_DONE ||
             sqlite_failed(m->s, "cannot write the store", err);
        sqlite3_reset(q);
        sqlite3_clear_bindings(q);
    }
    output_deinit(&data);
    return ok;
}

/* Damaged windows have no sum: reading them reports the damage. */
static bool make_sum(struct sqlite_store *s, uint64_t start, uint64_t step,
                     struct error *err)
{
    struct summing m = {.s = s, .start = start, .step = step};
    struct error ignored;
    bool read = step == HOUR ? add_windows(&m, &ignored) : add_hours(&m, &ignored);
    bool ok = !read || m.too_large || !m.sum.count || store_sum(&m, err);
    arena_deinit(&m.sum.arena);
    return ok;
}

/* --- Which time is next ------------------------------------------------------------- */

/* The first time without a sum, not before `from`; 0: there is none that is complete. */
static uint64_t next_time(struct sqlite_store *s, uint64_t from, uint64_t step)
{
    char sql[160];
    uint64_t first = 0, last = 0;
    long long begin = (long long)from * (long long)STORE_SECOND;
    format_text(sql, sizeof sql,
                "SELECT start FROM window WHERE start > %lld AND end > %lld "
                "ORDER BY start LIMIT 1",
                begin - (long long)SQLITE_WINDOW_MAX, begin);
    if (!sqlite_number(s, sql, &first) || !first ||
        !sqlite_number(s, "SELECT max(start) FROM window", &last))
        return 0;
    uint64_t start = first / STORE_SECOND / step * step;
    start = start < from ? from : start;
    return start + step + DELAY <= last / STORE_SECOND ? start : 0;
}

static uint64_t begin_at(struct sqlite_store *s, uint64_t step)
{
    char sql[100];
    uint64_t last = 0;
    format_text(sql, sizeof sql, "SELECT max(start) FROM rollup WHERE step = %llu",
                (unsigned long long)step);
    return sqlite_number(s, sql, &last) && last ? last + step : step;
}

/* Makes the next sum of one kind: `which` is its index in `rolled`. */
static bool make_next(struct sqlite_store *s, size_t which, bool *done, struct error *err)
{
    uint64_t step = which == OF_HOURS ? HOUR : DAY, *next = &s->rolled[which];
    if (*next == 0)
        *next = begin_at(s, step);
    uint64_t start = next_time(s, *next, step);
    /* a day needs all of its hours */
    if (!start || (which == OF_DAYS && s->rolled[OF_HOURS] < start + step))
        return true;
    *done = true;
    if (!make_sum(s, start, step, err))
        return false;
    *next = start + step;
    return true;
}

bool sqlite_sum_hour(struct sqlite_store *s, bool *done, struct error *err)
{
    return make_next(s, OF_HOURS, done, err);
}

bool sqlite_sum_day(struct sqlite_store *s, bool *done, struct error *err)
{
    return make_next(s, OF_DAYS, done, err);
}

/* --- Removing ----------------------------------------------------------------------- */

bool sqlite_remove_rollups(struct sqlite_store *s, uint64_t from, uint64_t to,
                           struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(s, SQL_REMOVE_ROLLUPS, err);
    if (!q)
        return false;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)(from / STORE_SECOND));
    sqlite3_bind_int64(q, 2, (sqlite3_int64)(to / STORE_SECOND));
    bool ok =
        sqlite3_step(q) == SQLITE_DONE || sqlite_failed(s, "cannot write the store", err);
    sqlite3_reset(q);
    return ok;
}
