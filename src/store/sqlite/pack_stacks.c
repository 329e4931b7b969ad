/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks are stored with the window that has them first, in small pieces: one for each window. A
 * reader of any minute needs most pieces of an era, so they are packed into few large ones. */
#include "store/sqlite/parts.h"

#define PIECES_LEAST 64           /* that were added since the last time */
#define PIECES_MOST 256           /* in one call */
#define LARGE ((uint64_t)1 << 16) /* stacks; a larger piece stays as it is */

struct packing {
    struct sqlite_store *s;
    struct arena arena;
    uint64_t first, count, pieces; /* of the piece that is made */
    struct store_stack *stacks;
};

/* The pieces that are packed: small ones that follow one another, from `first` on. */
static bool find_pieces(struct packing *p, struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(p->s, SQL_LIST_STACKS, err);
    if (!q)
        return false;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)p->s->known.era);
    while (p->count < LARGE && p->pieces < PIECES_MOST && sqlite3_step(q) == SQLITE_ROW) {
        uint64_t first = sqlite_u64(q, 0), count = sqlite_u64(q, 1);
        bool follows = p->pieces && first == p->first + p->count && count < LARGE;
        if (!follows && p->pieces > 1)
            break;
        if (!follows) {
            p->first = first;
            p->count = p->pieces = 0;
        }
        if (count < LARGE) {
            p->count += count;
            p->pieces++;
        }
    }
    sqlite3_reset(q);
    return true;
}

static bool read_piece(struct packing *p, sqlite3_stmt *q, uint64_t *done,
                       struct error *err)
{
    struct arena scratch = ARENA_INIT;
    struct store_stack *stacks;
    uint64_t first = sqlite_u64(q, 0), count = sqlite_u64(q, 1);
    bool ok = first == p->first + *done && count <= p->count - *done &&
              store_stacks_decode(sqlite_bytes(q, 2), first, (size_t)count, &scratch,
                                  &stacks, err);
    if (ok)
        memcpy(p->stacks + *done, stacks, (size_t)count * sizeof *stacks);
    *done += count;
    arena_deinit(&scratch);
    return ok;
}

/* False if a piece is damaged: nothing is packed. */
static bool read_pieces(struct packing *p, struct error *err)
{
    uint64_t done = 0;
    sqlite3_stmt *q = sqlite_prepare(p->s, SQL_READ_PIECES, err);
    bool ok = q != NULL;
    if (!ok)
        return false;
    p->stacks = arena_zalloc(&p->arena, (size_t)p->count + 1, sizeof *p->stacks);
    uint64_t end = p->first + p->count;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)p->first);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)end);
    while (ok && p->stacks && done < p->count && sqlite3_step(q) == SQLITE_ROW)
        ok = read_piece(p, q, &done, err);
    sqlite3_reset(q);
    return ok && p->stacks && done == p->count;
}

static bool run_bound(struct packing *p, enum sqlite_statement which, struct str data,
                      struct error *err)
{
    sqlite3_stmt *q = sqlite_prepare(p->s, which, err);
    if (!q)
        return false;
    uint64_t end = p->first + p->count;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)p->first);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)end);
    if (data.len) {
        sqlite3_bind_int64(q, 3, (sqlite3_int64)p->count);
        sqlite_bind_bytes(q, 4, data);
    }
    bool ok = sqlite3_step(q) == SQLITE_DONE ||
              sqlite_failed(p->s, "cannot write the store", err);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return ok;
}

/* The first piece gets the stacks of all; the others are removed. */
static bool replace_pieces(struct packing *p, struct error *err)
{
    struct output data = OUTPUT_BUFFER;
    bool ok = store_stacks_encode(p->stacks, (size_t)p->count, p->first, &data, err) &&
              sqlite_run(p->s, "BEGIN IMMEDIATE", err) &&
              run_bound(p, SQL_REMOVE_PIECES, STR(""), err) &&
              run_bound(p, SQL_CHANGE_PIECE, output_contents(&data), err) &&
              sqlite_run(p->s, "COMMIT", err);
    if (!ok && !sqlite3_get_autocommit(p->s->db))
        sqlite3_exec(p->s->db, "ROLLBACK", NULL, NULL, NULL);
    output_deinit(&data);
    return ok;
}

bool sqlite_pack_stacks(struct sqlite_store *s, bool *done, struct error *err)
{
    struct packing p = {.s = s};
    struct error ignored;
    if (s->pieces < PIECES_LEAST || s->known.era == 0)
        return true;
    s->pieces = 0;
    *done = true;
    bool ok = find_pieces(&p, err);
    if (ok && p.pieces > 1 && read_pieces(&p, &ignored))
        ok = replace_pieces(&p, err);
    arena_deinit(&p.arena);
    return ok;
}
