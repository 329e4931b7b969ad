/* SPDX-License-Identifier: Apache-2.0 */
#include "export/folded_text.h"
#include "base/arena.h"
#include "base/array.h"
#include <stdlib.h>

/* The number of lines per task, and its limit in bytes, because the text of a task is
 * held in memory until all earlier tasks are written. */
#define SHARE_LINES ((size_t)256)
#define SHARE_BYTES ((size_t)4 << 20)

/* A frame of the last line: its path, and the end of its text. */
struct step {
    uint32_t path;
    uint32_t end;
};

struct line_writer {
    const struct folded_text *text;
    struct arena arena;
    struct output names; /* of the last line, */
    struct step *steps;  /* by frame */
    uint32_t *climb;     /* scratch: a path, leaf first */
    size_t step_count, step_cap, climb_cap;
};

/* Collects the path's frames that the last line does not have, leaf first, in
 * w->climb. *shared is the number of frames that both lines share. A caller's number
 * is smaller than its callees', so both lines are climbed in parallel. */
static size_t climb_path(struct line_writer *w, uint32_t path, size_t *shared)
{
    size_t count = 0, top = w->step_count;
    for (; path; path = w->text->paths->nodes[path].parent) {
        while (top && w->steps[top - 1].path > path)
            top--;
        if (top && w->steps[top - 1].path == path)
            break;
        uint32_t *next = ARRAY_APPEND(&w->arena, w->climb, count, w->climb_cap);
        if (!next)
            break;
        *next = path;
    }
    *shared = path ? top : 0;
    return count;
}

/* Sets w->names to the path's names. Lines are sorted, so most of the preceding line's
 * text is reused; only the frames that differ are written. */
static void write_path(struct line_writer *w, uint32_t path)
{
    const struct paths *paths = w->text->paths;
    size_t shared, count = climb_path(w, path, &shared), total = shared + count;
    if (!ARRAY_RESERVE(&w->arena, w->steps, w->step_cap, total))
        return;
    struct step *steps = w->steps;
    w->names.used = shared ? steps[shared - 1].end : 0;
    for (size_t i = shared; i < total; i++) {
        uint32_t at = w->climb[total - 1 - i];
        if (i)
            output_char(&w->names, ';');
        output_str(&w->names, strings_get(&paths->labels, path_label(paths, at)));
        steps[i] = (struct step){at, (uint32_t)w->names.used};
    }
    w->step_count = total;
}

/* The offset of the space before the last word of a leaf's name, if a reader would
 * parse that word as a count; otherwise the end. */
static size_t number_at(struct str names)
{
    size_t at = names.len;
    char last = at ? names.ptr[at - 1] : ' ';
    if (!byte_is_digit(last) && last != '.')
        return names.len;
    while (at && (byte_is_digit(names.ptr[at - 1]) || strchr("+-.eE", names.ptr[at - 1])))
        at--;
    return at && names.ptr[at - 1] == ' ' ? at - 1 : names.len;
}

static void write_names(struct output *out, struct str names)
{
    size_t at = number_at(names);
    output_str(out, str_head(names, at));
    if (at < names.len) {
        output_char(out, '_');
        output_str(out, str_skip(names, at + 1));
    }
}

static void write_line(struct line_writer *w, const struct folded_line *line,
                       struct output *out)
{
    output_str(out, line->thread);
    if (line->thread.len && line->path)
        output_char(out, ';');
    if (line->path) {
        write_path(w, line->path);
        write_names(out, output_contents(&w->names));
    }
    if (w->text->differential) {
        output_char(out, ' ');
        output_exact(out, line->base, line->base_rest);
    }
    output_char(out, ' ');
    output_exact(out, line->weight, line->rest);
    output_char(out, '\n');
}

static bool line_writer_deinit(struct line_writer *w)
{
    bool ok = !w->arena.failed && !w->names.failed;
    output_deinit(&w->names);
    arena_deinit(&w->arena);
    return ok;
}

/* --- Many lines, in parallel ----------------------------------------------------------
 */

struct share {
    struct pool_task task; /* first member, so that the task is the share */
    struct line_writer writer;
    struct output out;
    size_t next, end; /* the lines that are not yet written */
};

static void write_share(struct pool_task *task, unsigned worker)
{
    struct share *share = (struct share *)(void *)task;
    const struct folded_line *lines = share->writer.text->lines;
    (void)worker;
    share->out.used = 0;
    while (share->next < share->end && share->out.used < SHARE_BYTES)
        write_line(&share->writer, &lines[share->next++], &share->out);
}

/* Writes the text of the share, then the lines that did not fit into it. */
static void flush_share(struct share *share, struct output *out)
{
    output_str(out, output_contents(&share->out));
    while (share->next < share->end)
        write_line(&share->writer, &share->writer.text->lines[share->next++], out);
}

static void write_shares(const struct folded_text *text, const struct thread_pool *pool,
                         struct share *shares, size_t count, struct output *out)
{
    size_t started = 0, written = 0,
           share_count = (text->count + SHARE_LINES - 1) / SHARE_LINES;
    while (written < share_count) {
        for (; started < share_count && started < written + count; started++) {
            struct share *share = &shares[started % count];
            size_t from = started * SHARE_LINES, remaining = text->count - from;
            share->next = from;
            share->end = from + (remaining < SHARE_LINES ? remaining : SHARE_LINES);
            thread_pool_start(pool, &share->task);
        }
        struct share *share = &shares[written++ % count];
        thread_pool_finish(pool, &share->task);
        flush_share(share, out);
    }
}

static bool write_parallel(const struct folded_text *text, const struct thread_pool *pool,
                           struct output *out)
{
    size_t count = (size_t)pool->workers * 2;
    struct share *shares = calloc(count, sizeof *shares);
    bool ok = shares != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        shares[i].task.work = write_share;
        shares[i].writer.text = text;
    }
    if (ok)
        write_shares(text, pool, shares, count, out);
    for (size_t i = 0; shares && i < count; i++) {
        ok = line_writer_deinit(&shares[i].writer) && !shares[i].out.failed && ok;
        output_deinit(&shares[i].out);
    }
    free(shares);
    return ok;
}

bool folded_text_write(const struct folded_text *text, const struct thread_pool *pool,
                       struct output *out)
{
    struct line_writer writer = {.text = text};
    if (thread_pool_workers(pool) > 1 && text->count >= SHARE_LINES * 4)
        return write_parallel(text, pool, out);
    for (size_t i = 0; i < text->count; i++)
        write_line(&writer, &text->lines[i], out);
    return line_writer_deinit(&writer);
}
