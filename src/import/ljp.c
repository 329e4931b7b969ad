/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of the Lightweight Java Profiler: the number of samples, the number of frames, and the
 * frames, the leaf first. Some builds write a "d" behind the first number. The totals follow, and a
 * list of methods, which is not read.
 *
 *   42d 3 	shop.Cart.add(Cart.java:45)
 *   	shop.Cart.fill(Cart.java:12)
 *   	java.lang.Thread.run(Thread.java:744)
 *
 *   Total trace count = 42, Total traces = 1
 *
 * A native method has the line -1. */
#include "base/number.h"
#include "import/stacktext.h"
#include "import/stated.h"

#define FRAMES_MOST 100000 /* in a heading that is recognised */

struct ljp_reader {
    struct stacktext text;
    uint64_t expected; /* frames of the current stack that did not follow yet */
    double sum;
    bool ended; /* the totals were read */
};

/* "shop.Cart.add(Cart.java:45)" */
static bool parse_frame(struct str text, struct text_frame *f)
{
    size_t open = str_rfind(text, '(');
    *f = TEXT_FRAME;
    if (open == 0 || open == text.len || !str_ends(text, STR(")")))
        return false;
    struct str location = str_span(text.ptr + open + 1, text.ptr + text.len - 1);
    location = stacktext_split_location(location, &f->line);
    if (f->line) /* otherwise "Thread.java:-1" */
        f->file = location;
    f->name = str_head(text, open);
    f->verbatim = true;
    return str_find(f->name, ' ') == f->name.len;
}

/* "42d 3 FRAME". Leaves the frame in *rest; it can be empty. */
static bool take_heading(struct str *rest, struct str *count, uint64_t *frames)
{
    struct str text = *rest;
    uint64_t number;
    *count = str_word(&text);
    if (str_ends(*count, STR("d")))
        count->len--;
    if (!number_parse_u64(*count, &number) ||
        !number_parse_u64(str_word(&text), frames) || *frames > FRAMES_MOST)
        return false;
    *rest = str_trim(text);
    return true;
}

static void end_stack(struct ljp_reader *r)
{
    struct stacktext *t = &r->text;
    if (t->b->path.count && r->expected)
        stacktext_warn(t, "a stack with fewer frames than its heading states", STR(""));
    stacktext_end(t);
    r->expected = 0;
}

static void read_frame(struct ljp_reader *r, struct str text)
{
    struct stacktext *t = &r->text;
    struct text_frame f;
    if (r->expected == 0 || !parse_frame(text, &f)) {
        stacktext_warn(t, "neither a frame of a stack nor the heading of one", text);
        return;
    }
    r->expected--;
    if (!stacktext_add_known(t, text))
        stacktext_add(t, text, &f);
}

/* "Total trace count = 42, Total traces = 1" */
static void read_totals(struct ljp_reader *r, struct str text)
{
    double stated;
    struct str rest = str_skip(text, str_find(text, '=') + 1);
    end_stack(r);
    r->ended = true;
    if (number_parse_double(str_trim(str_cut(&rest, ',')), &stated))
        stated_check(r->text.b, STR("counts"), r->sum, stated);
}

static void ljp_line(struct stacktext *t, struct str line)
{
    struct ljp_reader *r = (struct ljp_reader *)t;
    struct str rest = str_trim(line), count;
    uint64_t frames;
    if (r->ended || rest.len == 0)
        return;
    if (str_starts(rest, STR("Total "))) {
        read_totals(r, rest);
        return;
    }
    if (!take_heading(&rest, &count, &frames)) {
        read_frame(r, rest);
        return;
    }
    end_stack(r);
    if (!stacktext_set_count(t, count))
        return;
    if (!t->options->samples)
        r->sum += t->weight;
    r->expected = frames;
    if (rest.len)
        read_frame(r, rest);
}

static bool ljp_read(struct source *in, const struct import_options *options,
                     struct builder *b, struct error *err)
{
    struct ljp_reader r = {.text = {.weight = 1}, .expected = 0};
    return stacktext_read(&r.text, in, options, b, ljp_line, err);
}

/* The first stack has as many frames as its heading states, as far as it is in the head. */
static int ljp_probe(struct str head)
{
    struct str line, count;
    uint64_t frames, found = 0;
    struct text_frame f;
    do {
        if (!stacktext_probe_line(&head, &line))
            return 0;
        line = str_trim(line);
    } while (line.len == 0);
    if (!take_heading(&line, &count, &frames) || frames == 0 || !parse_frame(line, &f))
        return 0;
    while (++found < frames && stacktext_probe_line(&head, &line))
        if (!parse_frame(str_trim(line), &f) || take_heading(&line, &count, &frames))
            return 0;
    return 88;
}

const struct importer import_ljp = {
    .name = "ljp",
    .suffixes = "",
    .summary = "traces of the Lightweight Java Profiler",
    .probe = ljp_probe,
    .read = ljp_read,
};
