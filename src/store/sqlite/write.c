/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "model/content_hash.h"
#include "model/sample_labels.h"
#include "store/rows.h"
#include "store/series.h"
#include "store/sqlite/parts.h"

/* A window while it is stored: ids of the store by ids of the profile. */
struct adding {
    struct sqlite_store *s;
    const struct store_window *w;
    const struct profile *p;
    struct arena arena;
    uint64_t *modules, *frames, *stacks; /* 0: not known yet */
    bool *used;                          /* by stack: a sample needs it */
    struct store_row *rows;
    size_t row_count;
};

/* --- Items that are stored once ----------------------------------------------------- */

/* Steps a query that finds an id; 0 if there is none. */
static bool find_id(struct adding *a, sqlite3_stmt *q, uint64_t *id, struct error *err)
{
    int code = sqlite3_step(q);
    *id = code == SQLITE_ROW ? sqlite_u64(q, 0) : 0;
    sqlite3_reset(q);
    return code == SQLITE_ROW || code == SQLITE_DONE ||
           sqlite_failed(a->s, "cannot read the store", err);
}

static bool insert(struct adding *a, sqlite3_stmt *q, uint64_t *id, struct error *err)
{
    int code = sqlite3_step(q);
    sqlite3_reset(q);
    if (code != SQLITE_DONE)
        return sqlite_failed(a->s, "cannot write the store", err);
    *id = (uint64_t)sqlite3_last_insert_rowid(a->s->db);
    return *id <= SQLITE_STORE_ID_MAX || error_set(err, "the store is full");
}

static bool store_module(struct adding *a, module_id m, struct error *err)
{
    static const enum sqlite_statement steps[] = {SQL_FIND_MODULE, SQL_ADD_MODULE};
    for (size_t i = 0; i < 2 && m && !a->modules[m]; i++) {
        sqlite3_stmt *q = sqlite_prepare(a->s, steps[i], err);
        if (!q)
            return false;
        sqlite_bind_bytes(q, 1, profile_string(a->p, a->p->modules[m].path));
        sqlite_bind_bytes(q, 2, profile_string(a->p, a->p->modules[m].build_id));
        if (!(i ? insert : find_id)(a, q, &a->modules[m], err))
            return false;
    }
    return true;
}

static bool add_frame(struct adding *a, frame_id f, const struct content_hash *hash,
                      struct error *err)
{
    const struct frame *frame = &a->p->frames[f];
    sqlite3_stmt *q;
    if (!store_module(a, frame->module, err) ||
        !(q = sqlite_prepare(a->s, SQL_ADD_FRAME, err)))
        return false;
    sqlite_bind_bytes(q, 1, (struct str){(const char *)hash->bytes, sizeof hash->bytes});
    sqlite3_bind_int64(q, 2, frame->kind);
    sqlite_bind_bytes(q, 3, profile_string(a->p, frame->name));
    sqlite3_bind_int64(q, 4, (sqlite3_int64)a->modules[frame->module]);
    sqlite_bind_bytes(q, 5, profile_string(a->p, frame->file));
    sqlite3_bind_int64(q, 6, frame->line);
    sqlite3_bind_int64(q, 7, (sqlite3_int64)frame->offset);
    return insert(a, q, &a->frames[f], err);
}

static bool store_frame(struct adding *a, frame_id f, struct error *err)
{
    if (f == 0 || a->frames[f])
        return true;
    struct content_hash hash = content_hash_frame(a->p, f);
    sqlite3_stmt *q = sqlite_prepare(a->s, SQL_FIND_FRAME, err);
    if (!q)
        return false;
    sqlite_bind_bytes(q, 1, (struct str){(const char *)hash.bytes, sizeof hash.bytes});
    return find_id(a, q, &a->frames[f], err) &&
           (a->frames[f] || add_frame(a, f, &hash, err));
}

/* The parent is stored already: it has a smaller id. */
static bool store_stack(struct adding *a, stack_id stack, struct error *err)
{
    static const enum sqlite_statement steps[] = {SQL_FIND_STACK, SQL_ADD_STACK};
    const struct stack *k = &a->p->stacks[stack];
    if (!store_frame(a, k->frame, err))
        return false;
    for (size_t i = 0; i < 2 && !a->stacks[stack]; i++) {
        sqlite3_stmt *q = sqlite_prepare(a->s, steps[i], err);
        if (!q)
            return false;
        sqlite3_bind_int64(q, 1, (sqlite3_int64)a->stacks[k->parent]);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)a->frames[k->frame]);
        if (!(i ? insert : find_id)(a, q, &a->stacks[stack], err))
            return false;
    }
    return true;
}

static bool store_stacks(struct adding *a, struct error *err)
{
    const struct profile *p = a->p;
    for (size_t i = 0; i < p->sample_count; i++)
        a->used[p->samples[i].stack] = true;
    for (size_t i = p->stack_count; i-- > 1;)
        a->used[p->stacks[i].parent] |= a->used[i];
    for (size_t i = 1; i < p->stack_count; i++)
        if (a->used[i] && !store_stack(a, (stack_id)i, err))
            return false;
    return true;
}

static bool store_series(struct adding *a, struct str labels, uint64_t *id,
                         struct error *err)
{
    static const enum sqlite_statement steps[] = {SQL_FIND_SERIES, SQL_ADD_SERIES};
    *id = 0;
    for (size_t i = 0; i < 2 && !*id; i++) {
        sqlite3_stmt *q = sqlite_prepare(a->s, steps[i], err);
        if (!q)
            return false;
        sqlite_bind_bytes(q, 1, labels);
        if (!(i ? insert : find_id)(a, q, id, err))
            return false;
    }
    return true;
}

/* --- Rows --------------------------------------------------------------------------- */

static uint64_t second_of(const struct store_window *w, uint64_t time)
{
    uint64_t start = w->start / STORE_SECOND;
    return time / STORE_SECOND > start ? time / STORE_SECOND - start : 0;
}

/* Samples of one thread follow each other rarely, but most have the same labels. */
static bool make_rows(struct adding *a, struct error *err)
{
    struct store_series_table table = {.profile = a->p, .arena = &a->arena};
    for (size_t i = 0; i < a->p->sample_count; i++) {
        const struct sample *s = &a->p->samples[i];
        struct store_series *series =
            store_series_find(&table, s, profile_labels(a->p, i));
        if (!series)
            return error_memory(err);
        if (!series->id && !store_series(a, series->bytes, &series->id, err))
            return false;
        a->rows[i] = (struct store_row){.series = series->id,
                                        .stack = a->stacks[s->stack],
                                        .second = second_of(a->w, s->time),
                                        .count = s->count,
                                        .weight = s->weight + s->rest};
    }
    a->row_count = store_rows_merge(a->rows, a->p->sample_count);
    return true;
}

static uint64_t count_samples(const struct profile *p)
{
    uint64_t count = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        count += p->samples[i].count;
    return count;
}

static bool add_window(struct adding *a, struct error *err)
{
    struct output data = OUTPUT_BUFFER;
    sqlite3_stmt *q = sqlite_prepare(a->s, SQL_ADD_WINDOW, err);
    uint64_t id;
    bool ok = q && store_rows_encode(a->rows, a->row_count, &data, err);
    if (ok) {
        sqlite3_bind_int64(q, 1, (sqlite3_int64)a->w->start);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)a->w->end);
        sqlite3_bind_double(q, 3, a->w->rate);
        sqlite3_bind_int64(q, 4, (sqlite3_int64)a->row_count);
        sqlite3_bind_int64(q, 5, (sqlite3_int64)count_samples(a->p));
        sqlite3_bind_int64(q, 6, (sqlite3_int64)a->w->lost);
        sqlite_bind_bytes(q, 7, output_contents(&data));
        ok = insert(a, q, &id, err);
        sqlite3_clear_bindings(q);
    }
    output_deinit(&data);
    return ok;
}

/* --- The transaction ---------------------------------------------------------------- */

static bool step(struct sqlite_store *s, enum sqlite_statement which, struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(s, which, err);
    int code = q ? sqlite3_step(q) : SQLITE_ERROR;
    if (q)
        sqlite3_reset(q);
    return code == SQLITE_DONE || (q && sqlite_failed(s, "cannot write the store", err));
}

static bool allocate(struct adding *a, struct error *err)
{
    const struct profile *p = a->p;
    a->modules = arena_zalloc(&a->arena, p->module_count + 1, sizeof *a->modules);
    a->frames = arena_zalloc(&a->arena, p->frame_count + 1, sizeof *a->frames);
    a->stacks = arena_zalloc(&a->arena, p->stack_count + 1, sizeof *a->stacks);
    a->used = arena_zalloc(&a->arena, p->stack_count + 1, sizeof *a->used);
    a->rows = arena_zalloc(&a->arena, p->sample_count + 1, sizeof *a->rows);
    return !a->arena.failed || error_memory(err);
}

bool sqlite_store_add(struct store *base, const struct store_window *w, struct error *err)
{
    struct adding a = {.s = sqlite_store_of(base), .w = w, .p = w->profile};
    struct error ignored;
    bool ok = allocate(&a, err) && step(a.s, SQL_BEGIN, err);
    if (ok) {
        ok = store_stacks(&a, err) && make_rows(&a, err) && add_window(&a, err) &&
             step(a.s, SQL_COMMIT, err);
        if (!ok && !sqlite3_get_autocommit(a.s->db))
            step(a.s, SQL_ROLLBACK, &ignored);
    }
    arena_deinit(&a.arena);
    return ok;
}
