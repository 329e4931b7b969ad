/* SPDX-License-Identifier: Apache-2.0 */
#include "export/folded_text.h"
#include "base/arena.h"
#include <stdlib.h>

/* So many lines are a share of the work, unless they get longer than so many bytes: what
 * is written at the same time is kept until its turn comes. */
#define SHARE_LINES ((size_t)256)
#define SHARE_BYTES ((size_t)4 << 20)

/* One frame of the line written last: its path, and where its text ends. */
struct step {
    uint32_t path;
    uint32_t end;
};

struct line_writer {
    const struct folded_text *text;
    struct arena arena;
    struct output names; /* of the line written last, */
    struct step *steps;  /* frame by frame */
    uint32_t *climb;     /* scratch: a path, leaf first */
    size_t step_count, step_cap, climb_cap;
};

/* Collects the path's frames that the last line does not have, leaf first, into w->climb.
 * *shared is how many frames the two lines share. A caller's number is smaller than that
 * of its callees, so the two lines are climbed side by side. */
static size_t climb_path(struct line_writer *w, uint32_t path, size_t *shared)
{
    size_t count = 0, top = w->step_count;
    for (; path; path = w->text->paths->nodes[path].parent) {
        while (top && w->steps[top - 1].path > path)
            top--;
        if (top && w->steps[top - 1].path == path)
            break;
        uint32_t *climb =
            arena_grow(&w->arena, w->climb, &w->climb_cap, count + 1, sizeof *climb);
        if (!climb)
            break;
        w->climb = climb;
        climb[count++] = path;
    }
    *shared = path ? top : 0;
    return count;
}

/* Makes w->names the path's names. Lines come in order, so most of the text of the line
 * before stands: only the frames behind those they share are written anew. */
static void write_path(struct line_writer *w, uint32_t path)
{
    const struct paths *paths = w->text->paths;
    size_t shared, count = climb_path(w, path, &shared), total = shared + count;
    struct step *steps =
        arena_grow(&w->arena, w->steps, &w->step_cap, total, sizeof *steps);
    if (!steps)
        return;
    w->steps = steps;
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

/* Where the space is before the last word of a leaf's name, if a reader would take that word
 * for a first count; else the end. */
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
        write_names(out, output_kept(&w->names));
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

/* --- Many lines, a share at a time for each hand ------------------------------------ */

struct share {
    struct errand errand; /* first: the errand is the share */
    struct line_writer writer;
    struct output out;
    size_t next, end; /* the lines still to write */
};

static void write_share(struct errand *errand, unsigned hand)
{
    struct share *share = (struct share *)(void *)errand;
    const struct folded_line *lines = share->writer.text->lines;
    (void)hand;
    share->out.used = 0;
    while (share->next < share->end && share->out.used < SHARE_BYTES)
        write_line(&share->writer, &lines[share->next++], &share->out);
}

/* What the share holds, and then what was too long to be held. */
static void give_share(struct share *share, struct output *out)
{
    output_str(out, output_kept(&share->out));
    while (share->next < share->end)
        write_line(&share->writer, &share->writer.text->lines[share->next++], out);
}

static void write_shares(const struct folded_text *text, const struct crew *crew,
                         struct share *shares, size_t count, struct output *out)
{
    size_t begun = 0, given = 0, wanted = (text->count + SHARE_LINES - 1) / SHARE_LINES;
    while (given < wanted) {
        for (; begun < wanted && begun < given + count; begun++) {
            struct share *share = &shares[begun % count];
            size_t from = begun * SHARE_LINES, left = text->count - from;
            share->next = from;
            share->end = from + (left < SHARE_LINES ? left : SHARE_LINES);
            crew_start(crew, &share->errand);
        }
        struct share *share = &shares[given++ % count];
        crew_finish(crew, &share->errand);
        give_share(share, out);
    }
}

static bool write_together(const struct folded_text *text, const struct crew *crew,
                           struct output *out)
{
    size_t count = (size_t)crew->hands * 2;
    struct share *shares = calloc(count, sizeof *shares);
    bool ok = shares != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        shares[i].errand.work = write_share;
        shares[i].writer.text = text;
    }
    if (ok)
        write_shares(text, crew, shares, count, out);
    for (size_t i = 0; shares && i < count; i++) {
        ok = line_writer_deinit(&shares[i].writer) && !shares[i].out.failed && ok;
        output_deinit(&shares[i].out);
    }
    free(shares);
    return ok;
}

bool folded_text_write(const struct folded_text *text, const struct crew *crew,
                       struct output *out)
{
    struct line_writer writer = {.text = text};
    if (crew_hands(crew) > 1 && text->count >= SHARE_LINES * 4)
        return write_together(text, crew, out);
    for (size_t i = 0; i < text->count; i++)
        write_line(&writer, &text->lines[i], out);
    return line_writer_deinit(&writer);
}
