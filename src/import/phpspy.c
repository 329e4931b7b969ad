/* SPDX-License-Identifier: Apache-2.0 */
/* The text of phpspy, a sampling profiler for PHP: leaf first, and an empty line after each
 * stack.
 *
 *   0 usleep <internal>:-1
 *   1 Shop\Cart::add /srv/shop/Cart.php:40
 *   2 <main> /srv/shop/index.php:3
 *   # pid = 4711
 *   # uri = /cart
 *
 * Every stack has weight 1. */
#include "base/number.h"
#include "import/stacktext.h"

#define ROOT STR("<main>") /* the outermost frame, and each included file */

struct phpspy_reader {
    struct stacktext text;
    uint64_t depth; /* of the next frame of the current stack */
    bool at_root;   /* the last frame can be the outermost */
};

/* "1 Shop\Cart::add /srv/shop/Cart.php:40". A file's name can contain spaces, a
 * function's cannot. */
static bool parse_frame(struct str line, struct text_frame *f, uint64_t *depth)
{
    struct str rest = line;
    *f = TEXT_FRAME;
    f->verbatim = true;
    if (!number_parse_u64(str_cut(&rest, ' '), depth))
        return false;
    f->name = str_cut(&rest, ' ');
    size_t colon = str_rfind(rest, ':');
    struct str number = str_skip(rest, colon + 1);
    if (f->name.len == 0 || f->name.ptr[0] == '#' || colon == rest.len || colon == 0)
        return false; /* a folded line that begins with '#' is a comment */
    if (str_equal(number, STR("-1"))) /* functions of the interpreter */
        return true;
    f->file = str_head(rest, colon);
    return number_parse_u64(number, &f->line);
}

static void end_stack(struct phpspy_reader *r)
{
    stacktext_end(&r->text);
    r->text.pid = ID_NONE;
    r->depth = 0;
}

static void read_frame(struct phpspy_reader *r, struct str line)
{
    struct text_frame f;
    uint64_t depth;
    if (!parse_frame(line, &f, &depth)) {
        stacktext_warn(&r->text, "a line of a stack without a frame", line);
        return;
    }
    if (depth == 0 && r->depth)
        end_stack(r);
    if (depth != r->depth)
        stacktext_warn(&r->text, "a frame whose number does not follow", line);
    r->depth = depth < UINT64_MAX ? depth + 1 : depth;
    r->at_root = str_equal(f.name, ROOT);
    if (!stacktext_add_known(&r->text, line))
        stacktext_add(&r->text, line, &f);
}

static void phpspy_line(struct stacktext *t, struct str line)
{
    struct phpspy_reader *r = (struct phpspy_reader *)t;
    struct str text = str_trim_right(line), pid_mark = STR("# pid = ");
    uint64_t pid;
    if (text.len == 0) {
        end_stack(r);
    } else if (str_starts(text, pid_mark)) {
        if (number_parse_u64(str_skip(text, pid_mark.len), &pid) && pid <= INT64_MAX)
            t->pid = (int64_t)pid;
    } else if (text.ptr[0] != '#') {
        read_frame(r, text);
    }
}

/* The last stack may lack frames if the text ends without the empty line, except after the
 * outermost frame. */
static void phpspy_finish(struct stacktext *t)
{
    const struct phpspy_reader *r = (const struct phpspy_reader *)t;
    if (t->b->path.count == 0 || r->at_root)
        return;
    stacktext_warn(t, "a stack without the empty line after it", STR(""));
    t->b->profile->facts.incomplete = true;
}

static bool phpspy_read(struct source *in, const struct import_options *options,
                        struct builder *b, struct error *err)
{
    struct phpspy_reader r = {.text = {.weight = 1, .finish = phpspy_finish}};
    return stacktext_read(&r.text, in, options, b, phpspy_line, err);
}

/* Whether the text begins with a complete stack, in which a frame is PHP's. The empty line after
 * the only stack may be missing. */
static int phpspy_probe(struct str head)
{
    struct str line;
    struct text_frame f = TEXT_FRAME;
    uint64_t depth, next = 0;
    bool is_php = false;
    while (stacktext_probe_line(&head, &line)) {
        if (line.len == 0)
            return next && is_php ? 90 : 0;
        if (line.ptr[0] == '#' && next)
            continue;
        if (!parse_frame(line, &f, &depth) || depth != next)
            return 0;
        next++;
        is_php |= str_ends(f.file, STR(".php")) ||
                  str_ends(line, STR(" <internal>:-1")) || str_equal(f.name, ROOT);
    }
    return next && str_equal(f.name, ROOT) ? 90 : 0;
}

const struct importer import_phpspy = {
    .name = "phpspy",
    .suffixes = "phpspy",
    .summary = "phpspy: stacks of PHP programs",
    .probe = phpspy_probe,
    .read = phpspy_read,
};
