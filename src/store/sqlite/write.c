/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/hash.h"
#include "model/content_hash.h"
#include "model/sample_labels.h"
#include "store/rows.h"
#include "store/series.h"
#include "store/sqlite/parts.h"
#include "store/stacks.h"

/* What the writer knows at most, and for how long; then stacks are stored again, and those
 * that only old windows need can be removed with these. */
#define KNOWN_STACKS_MAX ((size_t)1 << 20)
#define KNOWN_OTHERS_MAX ((size_t)65536)
#define ERA ((uint64_t)7 * 86400 * STORE_SECOND)

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
    struct store_stack *added; /* new stacks, from the id `first` on */
    size_t added_count, added_cap;
    uint64_t first;
};

void sqlite_forget(struct sqlite_store *s)
{
    arena_deinit(&s->known.arena);
    s->known = (struct sqlite_known){.next = 0};
}

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

static bool find_module(struct adding *a, struct str path, struct str build_id,
                        uint64_t *id, struct error *err)
{
    static const enum sqlite_statement steps[] = {SQL_FIND_MODULE, SQL_ADD_MODULE};
    *id = 0;
    for (size_t i = 0; i < 2 && !*id; i++) {
        sqlite3_stmt *q = sqlite_prepare(a->s, steps[i], err);
        if (!q)
            return false;
        sqlite_bind_bytes(q, 1, path);
        sqlite_bind_bytes(q, 2, build_id);
        if (!(i ? insert : find_id)(a, q, id, err))
            return false;
    }
    return true;
}

static bool store_module(struct adding *a, module_id m, struct error *err)
{
    const struct module *module = &a->p->modules[m];
    return m == 0 || a->modules[m] ||
           find_module(a, profile_string(a->p, module->path),
                       profile_string(a->p, module->build_id), &a->modules[m], err);
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

/* A key of what is stored of a frame: cheaper than its content hash. */
static uint64_t frame_key(const struct profile *p, const struct frame *f)
{
    const struct module *m = &p->modules[f->module];
    struct str texts[] = {profile_string(p, f->name), profile_string(p, f->file),
                          profile_string(p, m->path), profile_string(p, m->build_id)};
    uint64_t key = hash_mix(f->kind ^ HASH_A, f->offset ^ HASH_B);
    key = hash_mix(key ^ f->line, HASH_C);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        key = hash_mix(key ^ HASH_A, hash_bytes(texts[i].ptr, texts[i].len));
    return key;
}

static bool find_frame(struct adding *a, frame_id f, struct error *err)
{
    struct content_hash hash = content_hash_frame(a->p, f);
    sqlite3_stmt *q = sqlite_prepare(a->s, SQL_FIND_FRAME, err);
    if (!q)
        return false;
    sqlite_bind_bytes(q, 1, (struct str){(const char *)hash.bytes, sizeof hash.bytes});
    return find_id(a, q, &a->frames[f], err) &&
           (a->frames[f] || add_frame(a, f, &hash, err));
}

static bool store_frame(struct adding *a, frame_id f, struct error *err)
{
    if (f == 0 || a->frames[f])
        return true;
    struct sqlite_known *k = &a->s->known;
    uint64_t *known = idmap_put(&k->frames, &k->arena, frame_key(a->p, &a->p->frames[f]));
    if (!known)
        return error_memory(err);
    a->frames[f] = *known;
    if (*known)
        return true;
    if (!find_frame(a, f, err))
        return false;
    *known = a->frames[f];
    return true;
}

/* --- Stacks ------------------------------------------------------------------------- */

static uint64_t number_of(struct adding *a, const char *sql)
{
    uint64_t number = 0;
    return sqlite_number(a->s, sql, &number) ? number : 0;
}

static bool begin_tree(struct sqlite_known *k, struct error *err)
{
    if (!trie_init(&k->stacks, &k->arena))
        return error_memory(err);
    k->stacks.limit = SQLITE_STACK_ID_MAX;
    return true;
}

static uint32_t node_of(const struct sqlite_known *k, uint64_t id)
{
    return id < k->era ? 0 : (uint32_t)(id - k->era + 1);
}

/* Stacks of an era follow one another without a gap, differ, and have callers of the era;
 * others are damaged. */
static bool know_stacks(struct adding *a, const struct store_stack *stacks, size_t count,
                        uint64_t first)
{
    struct sqlite_known *k = &a->s->known;
    bool ok = first == k->era + k->stacks.count - 1;
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t parent = stacks[i].parent, node = (uint32_t)k->stacks.count;
        ok = (parent == 0 || parent >= k->era) &&
             trie_child(&k->stacks, node_of(k, parent), stacks[i].frame) == node;
    }
    return ok && !k->arena.failed;
}

/* Reads the stacks of the last era, unless there are too many: then a new era begins. */
static bool read_era(struct adding *a, struct error *err)
{
    struct sqlite_known *k = &a->s->known;
    sqlite3_stmt *q;
    bool ok = true;
    uint64_t era = number_of(a, "SELECT era FROM stacks ORDER BY first DESC LIMIT 1");
    if (era == 0 || era > SQLITE_STACK_ID_MAX)
        return era == 0;
    if (sqlite3_prepare_v2(a->s->db,
                           "SELECT first, count, data, start FROM stacks WHERE first>=?1 "
                           "ORDER BY first",
                           -1, &q, NULL) != SQLITE_OK)
        return sqlite_failed(a->s, "cannot read the store", err);
    sqlite3_bind_int64(q, 1, (sqlite3_int64)era);
    k->era = era;
    ok = begin_tree(k, err);
    while (ok && k->stacks.count < KNOWN_STACKS_MAX && sqlite3_step(q) == SQLITE_ROW) {
        struct arena scratch = ARENA_INIT;
        struct store_stack *stacks;
        uint64_t first = sqlite_u64(q, 0), count = sqlite_u64(q, 1);
        if (k->era_start == 0)
            k->era_start = sqlite_u64(q, 3);
        ok = store_stacks_decode(sqlite_bytes(q, 2), first, (size_t)count, &scratch,
                                 &stacks, err) &&
             know_stacks(a, stacks, (size_t)count, first);
        arena_deinit(&scratch);
    }
    sqlite3_finalize(q);
    return ok;
}

/* Retention removes the stacks of all eras before an era that began before all windows. Windows
 * that agents push may be earlier than windows of a previous era. So an era begins after all
 * windows that are stored. */
static uint64_t time_of_stacks(const struct adding *a)
{
    uint64_t newest = a->s->known.newest;
    return a->w->start > newest ? a->w->start : newest + 1;
}

static bool begin_era(struct adding *a, struct error *err)
{
    struct sqlite_known *k = &a->s->known;
    uint64_t next = k->next, newest = k->newest;
    sqlite_forget(a->s);
    *k = (struct sqlite_known){.next = next, .era = next, .newest = newest};
    k->era_start = time_of_stacks(a);
    return begin_tree(k, err);
}

/* What is known at the start of a window. Damaged stacks are not used again. */
static bool prepare_known(struct adding *a, struct error *err)
{
    struct sqlite_known *k = &a->s->known;
    struct error ignored;
    bool reads = k->next == 0, ok = true;
    if (reads) {
        uint64_t old = number_of(a, "SELECT max(id) FROM stack");
        uint64_t last = number_of(a, "SELECT max(first + count - 1) FROM stacks");
        ok = read_era(a, &ignored);
        k->next = 1 + (old > last ? old : last);
        ok &= k->era == 0 || k->next == k->era + k->stacks.count - 1; /* all were read */
        k->newest = number_of(a, "SELECT max(start) FROM window");
    }
    if ((!ok || k->era == 0 || k->stacks.count >= KNOWN_STACKS_MAX ||
         k->frames.count + k->series.count >= KNOWN_OTHERS_MAX ||
         a->w->start >= k->era_start + ERA) &&
        !begin_era(a, err))
        return false;
    a->first = k->next;
    return k->next + a->p->stack_count <= SQLITE_STACK_ID_MAX ||
           error_set(err, "the store is full");
}

/* The parent has an id already: it is before its callees in the profile. */
static bool store_stack(struct adding *a, stack_id stack, struct error *err)
{
    struct sqlite_known *k = &a->s->known;
    const struct stack *s = &a->p->stacks[stack];
    if (!store_frame(a, s->frame, err))
        return false;
    struct store_stack pair = {(uint32_t)a->stacks[s->parent],
                               (uint32_t)a->frames[s->frame]};
    size_t known = k->stacks.count;
    uint32_t node = trie_child(&k->stacks, node_of(k, pair.parent), pair.frame);
    if (k->arena.failed)
        return error_memory(err);
    a->stacks[stack] = k->era + node - 1;
    if (k->stacks.count == known)
        return true;
    struct store_stack *added =
        ARRAY_APPEND(&a->arena, a->added, a->added_count, a->added_cap);
    if (!added)
        return error_memory(err);
    *added = pair;
    k->next++;
    return true;
}

static bool add_stacks(struct adding *a, struct error *err)
{
    struct output data = OUTPUT_BUFFER;
    sqlite3_stmt *q = sqlite_prepare(a->s, SQL_ADD_STACKS, err);
    uint64_t id;
    bool ok = q && store_stacks_encode(a->added, a->added_count, a->first, &data, err);
    if (ok) {
        sqlite3_bind_int64(q, 1, (sqlite3_int64)a->first);
        sqlite3_bind_int64(q, 2, (sqlite3_int64)a->added_count);
        sqlite3_bind_int64(q, 3, (sqlite3_int64)a->s->known.era);
        sqlite3_bind_int64(q, 4, (sqlite3_int64)time_of_stacks(a));
        sqlite_bind_bytes(q, 5, output_contents(&data));
        ok = insert(a, q, &id, err);
        sqlite3_clear_bindings(q);
        a->s->pieces++;
    }
    output_deinit(&data);
    return ok;
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
    return a->added_count == 0 || add_stacks(a, err);
}

/* --- Names and series --------------------------------------------------------------- */

static bool store_name(struct adding *a, const struct store_name *n, struct error *err)
{
    uint64_t module, id;
    sqlite3_stmt *q;
    if (!find_module(a, n->path, n->build_id, &module, err) ||
        !(q = sqlite_prepare(a->s, SQL_ADD_SYMBOL, err)))
        return false;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)module);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)n->start);
    sqlite3_bind_int64(q, 3, (sqlite3_int64)n->end);
    sqlite_bind_bytes(q, 4, n->name);
    return insert(a, q, &id, err);
}

static bool store_names(struct adding *a, struct error *err)
{
    for (size_t i = 0; i < a->w->name_count; i++)
        if (!store_name(a, &a->w->names[i], err))
            return false;
    return true;
}

static bool store_series(struct adding *a, struct str labels, uint64_t *id,
                         struct error *err)
{
    static const enum sqlite_statement steps[] = {SQL_FIND_SERIES, SQL_ADD_SERIES};
    struct sqlite_known *k = &a->s->known;
    uint64_t *known =
        idmap_put(&k->series, &k->arena, hash_bytes(labels.ptr, labels.len));
    if (!known)
        return error_memory(err);
    *id = *known;
    for (size_t i = 0; i < 2 && !*id; i++) {
        sqlite3_stmt *q = sqlite_prepare(a->s, steps[i], err);
        if (!q)
            return false;
        sqlite_bind_bytes(q, 1, labels);
        if (!(i ? insert : find_id)(a, q, id, err))
            return false;
    }
    *known = *id;
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
    bool ok = q && store_rows_encode(a->rows, a->row_count, &data, err) &&
              sqlite_remove_rollups(a->s, a->w->start, a->w->end, err);
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
    if (a->w->start > a->s->known.newest)
        a->s->known.newest = a->w->start;
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

static bool add_samples(struct adding *a, struct error *err)
{
    return prepare_known(a, err) && store_stacks(a, err) && store_names(a, err) &&
           make_rows(a, err) && add_window(a, err);
}

bool sqlite_store_add(struct store *base, const struct store_window *w, struct error *err)
{
    struct adding a = {.s = sqlite_store_of(base), .w = w, .p = w->profile};
    struct error ignored;
    bool ok = (!a.p || allocate(&a, err)) && step(a.s, SQL_BEGIN, err);
    if (ok) {
        ok = (!a.p || add_samples(&a, err)) &&
             sqlite_add_metrics(a.s, w->metrics, w->metric_count, err) &&
             step(a.s, SQL_COMMIT, err);
        if (!ok && !sqlite3_get_autocommit(a.s->db))
            step(a.s, SQL_ROLLBACK, &ignored);
        if (!ok) /* the ids of this window do not exist */
            sqlite_forget(a.s);
        if (ok)
            sqlite_log_note(a.s);
    }
    arena_deinit(&a.arena);
    return ok;
}
