/* SPDX-License-Identifier: Apache-2.0 */
/* Python's faulthandler: tracebacks of all threads, printed at a crash, a timeout or
 * on demand; several dumps in sequence.
 *
 *   Timeout (0:00:01)!
 *   Thread 0x00007f777311b6c0 (most recent call first):
 *     File "shop.py", line 5 in add
 *     File "threading.py", line 975 in run
 *
 *   Current thread 0x00007f3fb8149040 [python3] (most recent call first):
 *     File "shop.py", line 11 in <module>
 *
 * A frame's name is "shop.py:5:add", because a function name alone is ambiguous in
 * Python. Every stack has weight 1. A line "  ..." marks a stack truncated after 100
 * frames. Newer versions of Python also print the C stack of the same thread; it is
 * skipped. */
#include "base/number.h"
#include "import/stacktext.h"

/* `  File "shop.py", line 5 in add`. The file name may contain any character,
 * including quotes. */
static bool split_frame(struct str line, struct str *file, struct str *number,
                        struct str *name)
{
    struct str begin = STR("  File \""), line_mark = STR("\", line "), in = STR(" in ");
    struct str rest = str_skip(line, begin.len);
    size_t at = str_rsearch(rest, line_mark);
    if (!str_starts(line, begin) || at == rest.len)
        return false;
    *file = str_head(rest, at);
    rest = str_skip(rest, at + line_mark.len);
    at = str_search(rest, in);
    *number = str_head(rest, at);
    *name = str_skip(rest, at + in.len);
    return name->len != 0;
}

static void add_frame(struct stacktext *t, struct str line, struct str file,
                      struct str number, struct str name)
{
    struct text_frame f = TEXT_FRAME;
    t->text.used = 0;
    output_str(&t->text, file);
    output_char(&t->text, ':');
    output_str(&t->text, number);
    output_char(&t->text, ':');
    output_str(&t->text, name);
    f.name = output_contents(&t->text);
    f.verbatim = true;
    f.file = file;
    number_parse_u64(number, &f.line);
    stacktext_add(t, line, &f);
}

/* "Thread 0x7f77 [name] (most recent call first):"; the number is the pthread ID. */
static void begin_thread(struct stacktext *t, struct str line)
{
    struct str name = STR(""), rest = str_skip(line, str_search(line, STR("0x")));
    size_t open = str_find(line, '['), close = str_rfind(line, ']');
    uint64_t id;
    if (open < close && close < line.len)
        name = str_span(line.ptr + open + 1, line.ptr + close);
    stacktext_thread(t, name);
    if (stacktext_take_hex(&rest, &id) && id <= INT64_MAX)
        t->tid = (int64_t)id;
}

static void faulthandler_line(struct stacktext *t, struct str line)
{
    struct str file, number, name;
    if (stacktext_add_known(t, line))
        return;
    if (split_frame(line, &file, &number, &name))
        add_frame(t, line, file, number, name);
    else if (str_equal(line, STR("  ...")))
        stacktext_cut(t);
    else if (str_ends(line, STR("(most recent call first):")))
        begin_thread(t, line);
    else
        stacktext_end(t);
}

static bool faulthandler_read(struct source *in, const struct import_options *options,
                              struct builder *b, struct error *err)
{
    struct stacktext t = {.weight = 1};
    return stacktext_read(&t, in, options, b, faulthandler_line, err);
}

static int faulthandler_probe(struct str head)
{
    size_t headings = 0, frames = 0;
    struct str line, file, number, name;
    while (stacktext_probe_line(&head, &line)) {
        headings += str_ends(line, STR("(most recent call first):"));
        frames += split_frame(line, &file, &number, &name);
    }
    return headings && frames ? 95 : 0;
}

const struct importer import_faulthandler = {
    .name = "faulthandler",
    .suffixes = "",
    .summary = "Python faulthandler tracebacks",
    .probe = faulthandler_probe,
    .read = faulthandler_read,
};
