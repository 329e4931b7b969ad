/* SPDX-License-Identifier: Apache-2.0 */
/* The slow log of PHP-FPM (request_slowlog_timeout): leaf first, and an empty line after each
 * stack.
 *
 *   [28-Nov-2026 01:00:00]  [pool www] pid 4711
 *   script_filename = /srv/shop/index.php
 *   [0x00007f8b4a413c70] usleep() /srv/shop/Cart.php:40
 *   [0x00007f8b4a413b50] add() /srv/shop/index.php:3
 *
 * The file and line of a function are those of its call, which are in its caller. The script itself
 * has no line; it is the outermost frame. Every stack has weight 1. */
#include "base/number.h"
#include "import/stacktext.h"

#define LOCATION_MOST 4096 /* bytes of a file's name */

struct slow_reader {
    struct stacktext t; /* first */
    char file_room[LOCATION_MOST];
    struct str file; /* of the call of the last frame */
    uint64_t line;
};

struct slow_frame {
    struct str name, file;
    uint64_t line;
};

/* "[0x00007f8b4a413c70] add() /srv/shop/index.php:3"; the location may be "unknown:0". */
static bool parse_frame(struct str line, struct slow_frame *f)
{
    size_t close = str_search(line, STR("] "));
    struct str rest = str_skip(line, close + 2);
    size_t end = str_search(rest, STR("() "));
    if (!str_starts(line, STR("[0x")) || close == line.len || end == rest.len || end == 0)
        return false;
    f->name = str_head(rest, end);
    f->file = stacktext_split_location(str_skip(rest, end + 3), &f->line);
    if (f->line == 0)
        f->file = STR("");
    return true;
}

/* "[28-Nov-2026 01:00:00]  [pool www] pid 4711" */
static bool parse_heading(struct str line, struct str *pool, uint64_t *pid)
{
    size_t at = str_search(line, STR("]  [pool "));
    struct str rest = str_skip(line, at + 9);
    size_t end = str_rsearch(rest, STR("] pid "));
    *pool = str_head(rest, end);
    return str_starts(line, STR("[")) && at < line.len && end < rest.len &&
           number_parse_u64(str_trim(str_skip(rest, end + 6)), pid) && *pid <= INT64_MAX;
}

static void add_frame(struct slow_reader *r, struct str name)
{
    struct text_frame f = TEXT_FRAME;
    f.name = name;
    f.verbatim = true;
    f.file = r->file;
    f.line = r->line;
    builder_path_add(r->t.b, stacktext_frame(&r->t, &f));
}

static void end_stack(struct slow_reader *r)
{
    if (r->t.b->path.count)
        add_frame(r, STR("<main>"));
    stacktext_end(&r->t);
    r->file.len = 0;
    r->line = 0;
}

static void slow_line(struct stacktext *t, struct str line)
{
    struct slow_reader *r = (struct slow_reader *)t;
    struct slow_frame f;
    struct str pool;
    uint64_t pid;
    if (parse_frame(line, &f)) {
        add_frame(r, f.name);
        r->file = (struct str){r->file_room, f.file.len};
        r->line = f.line;
        if (f.file.len > sizeof r->file_room)
            r->file.len = 0;
        memcpy(r->file_room, f.file.ptr, r->file.len);
        return;
    }
    end_stack(r);
    if (!parse_heading(line, &pool, &pid))
        return;
    stacktext_thread(t, pool);
    t->pid = (int64_t)pid;
}

static void slow_finish(struct stacktext *t)
{
    end_stack((struct slow_reader *)t);
}

static bool slow_read(struct source *in, const struct import_options *options,
                      struct builder *b, struct error *err)
{
    struct slow_reader r = {.t = {.weight = 1, .finish = slow_finish}};
    r.file = (struct str){r.file_room, 0};
    return stacktext_read(&r.t, in, options, b, slow_line, err);
}

static int slow_probe(struct str head)
{
    size_t headings = 0, frames = 0;
    struct str line, pool;
    struct slow_frame f;
    uint64_t pid;
    while (stacktext_probe_line(&head, &line)) {
        headings += parse_heading(line, &pool, &pid);
        frames += headings && parse_frame(line, &f);
    }
    return frames ? 95 : 0;
}

const struct importer import_php_slow_log = {
    .name = "php-slow-log",
    .suffixes = "slow",
    .summary = "slow log of PHP-FPM",
    .probe = slow_probe,
    .read = slow_read,
};
