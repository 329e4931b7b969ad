/* SPDX-License-Identifier: Apache-2.0 */
/* The log of the store, before it is used: other programs may write into it, and SQLite trusts its
 * index of it (the format of both: https://sqlite.org/walformat.html). Without a valid header of
 * the index SQLite makes it again, from the part of the log whose checksums are right. If that is
 * less than what was stored, the log is damaged. */
#include "store/sqlite/parts.h"
#include <string.h>
#include <unistd.h>

#define INDEX_SIZE 32768 /* of the first part of the index */
#define WRITE_LOCK 0

/* One of two copies at the beginning of the index. */
struct header {
    uint32_t version, unused, changes;
    uint8_t is_valid, is_big_endian;
    uint16_t page_size;
    uint32_t frames, pages, frame_sums[2], salts[2], sums[2];
};

static uint8_t *index_of(struct sqlite_store *s, sqlite3_file **file)
{
    void volatile *start = NULL;
    *file = NULL;
    sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, (void *)file);
    if (!*file || !(*file)->pMethods || (*file)->pMethods->iVersion < 2 || s->log < 0 ||
        (*file)->pMethods->xShmMap(*file, 0, INDEX_SIZE, 0, &start) != SQLITE_OK)
        return NULL;
    return (uint8_t *)(uintptr_t)start;
}

/* The checksum of the header; its size is a multiple of 8. */
static bool is_valid(const struct header *h)
{
    uint32_t words[10], a = 0, b = 0;
    memcpy(words, h, sizeof words);
    for (size_t i = 0; i < 10; i += 2) {
        a += words[i] + b;
        b += words[i + 1] + a;
    }
    return h->is_valid && a == h->sums[0] && b == h->sums[1];
}

static bool read_state(const uint8_t *index, struct sqlite_log *state)
{
    struct header copies[2];
    uint32_t backfilled;
    memcpy(copies, index, sizeof copies);
    memcpy(&backfilled, index + sizeof copies, sizeof backfilled);
    if (memcmp(&copies[0], &copies[1], sizeof *copies) != 0 || !is_valid(&copies[0]))
        return false;
    state->frames = copies[0].frames;
    state->backfilled = backfilled < state->frames ? backfilled : state->frames;
    memcpy(state->sums, copies[0].frame_sums, sizeof copies[0].frame_sums);
    memcpy(state->salts, copies[0].salts, sizeof state->salts);
    return true;
}

void sqlite_log_note(struct sqlite_store *s)
{
    sqlite3_file *file;
    const uint8_t *index = index_of(s, &file);
    if (!index || !read_state(index, &s->noted))
        s->noted = (struct sqlite_log){0};
}

static bool same_log(const struct sqlite_log *a, const struct sqlite_log *b)
{
    return memcmp(a->salts, b->salts, sizeof a->salts) == 0;
}

/* Whether a log has all that another one, read before, had. */
static bool has_all(const struct sqlite_log *now, const struct sqlite_log *before)
{
    return same_log(now, before) &&
           (now->frames > before->frames ||
            (now->frames == before->frames &&
             memcmp(now->sums, before->sums, sizeof now->sums) == 0));
}

/* What the log should have: another process may have written the store (it has other salts then),
 * or made the index again from a damaged log (it has less, or none). */
static struct sqlite_log expected(const struct sqlite_store *s, bool valid,
                                  const struct sqlite_log *now)
{
    struct sqlite_log e = valid ? *now : s->noted;
    bool is_empty = !now->salts[0] && !now->salts[1];
    if (valid && (is_empty || (same_log(now, &s->noted) && !has_all(now, &s->noted))))
        e = s->noted;
    if (same_log(&e, &s->noted) && e.backfilled < s->noted.backfilled)
        e.backfilled = s->noted.backfilled;
    return e;
}

/* Not while another process writes: it relies on the header. */
static bool clear_header(sqlite3_file *file, uint8_t *index)
{
    if (file->pMethods->xShmLock(file, WRITE_LOCK, 1,
                                 SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE) != SQLITE_OK)
        return false;
    memset(index, 0, 2 * sizeof(struct header));
    file->pMethods->xShmLock(file, WRITE_LOCK, 1,
                             SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    return true;
}

/* SQLite reads the log again. */
static bool read_again(struct sqlite_store *s, sqlite3_file *file, uint8_t *index,
                       struct sqlite_log *after)
{
    uint64_t ignored;
    return clear_header(file, index) &&
           sqlite_number(s, "SELECT count(*) FROM sqlite_master", &ignored) &&
           read_state(index, after);
}

/* The store is newer than what can be read of the log: that would replace newer pages. */
static void empty_log(struct sqlite_store *s, sqlite3_file *file, uint8_t *index)
{
    char path[sizeof s->location + 8];
    format_text(path, sizeof path, "%s-wal", s->location);
    if (sqlite_file_is(s->log, path) && truncate(path, 0) == 0)
        clear_header(file, index);
}

enum sqlite_log_fault sqlite_log_check(struct sqlite_store *s)
{
    struct sqlite_log now = {0}, after = {0};
    sqlite3_file *file;
    uint8_t *index = index_of(s, &file);
    bool valid = index && read_state(index, &now);
    if (file && sqlite_index_is_lost(file))
        return SQLITE_LOG_NO_INDEX;
    if (!index)
        return SQLITE_LOG_RIGHT;
    struct sqlite_log e = expected(s, valid, &now);
    /* the store has all of the log, which begins again with the next window */
    if (valid && e.frames == now.frames && e.frames == now.backfilled)
        return SQLITE_LOG_RIGHT;
    if (!read_again(s, file, index, &after))
        return sqlite_index_is_lost(file) ? SQLITE_LOG_NO_INDEX : SQLITE_LOG_RIGHT;
    if (e.frames == 0 || has_all(&after, &e))
        return valid ? SQLITE_LOG_RIGHT : SQLITE_LOG_NO_INDEX;
    if (!same_log(&after, &e) || after.frames < e.backfilled)
        empty_log(s, file, index);
    return SQLITE_LOG_DAMAGED;
}
