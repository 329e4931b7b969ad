/* SPDX-License-Identifier: Apache-2.0 */
/* SystemTap's stacks, as print_backtrace(), print_ubacktrace() and similar functions
 * print them for each entry of an array, followed by the count:
 *
 *    0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]
 *    0xffffffff8101c6a3 : default_idle+0x53/0x1d0 [kernel] (inexact)
 *    0x7f1b5c3d2a10 [libc-2.17.so+0x3a10/0x1c2000]
 *           2404
 *
 * Another line between frames and count is additional output of the script. It is read
 * as a frame, which is the intention of scripts that print execname(). */
#include "base/number.h"
#include "import/stacktext.h"
#include "model/name.h"

#define KERNEL_HALF 0xffff800000000000u

/* Removes "[libc-2.17.so+0x3a10/0x1c2000]" and a mark of uncertainty from the end of
 * *rest; returns the module's name. */
static struct str take_module(struct str *rest)
{
    struct str inexact = STR(" (inexact)");
    *rest = str_trim(*rest);
    if (str_ends(*rest, inexact))
        *rest = str_trim_right(str_head(*rest, rest->len - inexact.len));
    size_t open = str_rsearch(*rest, STR(" ["));
    if (str_starts(*rest, STR("[")))
        open = 0;
    else if (open < rest->len)
        open++;
    if (open == rest->len || !str_ends(*rest, STR("]")))
        return STR("");
    struct str module = str_span(rest->ptr + open + 1, rest->ptr + rest->len - 1);
    *rest = str_trim_right(str_head(*rest, open));
    return str_head(module, str_rfind(module, '+'));
}

/* Whether the line has the form of a SystemTap frame. */
static bool parse_frame(struct str text, struct text_frame *f)
{
    struct str rest = text;
    *f = TEXT_FRAME;
    if (str_starts(rest, STR("Returning from:")) ||
        str_starts(rest, STR("Returning to  :")))
        rest = str_trim_left(str_skip(rest, STR("Returning from:").len));
    if (!str_starts(rest, STR("0x")) || !stacktext_take_hex(&rest, &f->address))
        return false;
    if (str_starts(rest, STR(": ")))
        f->name = str_trim_left(str_skip(rest, 2));
    else if (rest.len && rest.ptr[0] != '[' && rest.ptr[0] != '(')
        return false;
    f->module = take_module(f->name.len ? &f->name : &rest);
    if (str_equal(f->module, STR("kernel")) || f->address >= KERNEL_HALF)
        f->kind = FRAME_KERNEL;
    if (str_starts(f->name, STR("0x"))) /* no symbol, printed twice */
        f->name = STR("");
    struct str bare = name_without_offset(f->name);
    f->offset = str_skip(f->name, bare.len);
    f->name = bare;
    return true;
}

static void stap_line(struct stacktext *t, struct str line)
{
    struct str text = str_trim(line);
    struct text_frame f;
    if (text.len == 0)
        return;
    if (stacktext_is_count(text)) {
        stacktext_end_counted(t, text);
        return;
    }
    if (stacktext_add_known(t, text))
        return;
    if (!parse_frame(text, &f)) {
        f = TEXT_FRAME;
        f.name = text;
        f.verbatim = true;
    }
    stacktext_add(t, text, &f);
}

static bool stap_read(struct source *in, const struct import_options *options,
                      struct builder *b, struct error *err)
{
    struct stacktext t = {.weight = 0};
    return stacktext_read(&t, in, options, b, stap_line, err);
}

static int stap_probe(struct str head)
{
    size_t frames = 0, counts = 0, others = 0;
    struct str line;
    struct text_frame f;
    while (stacktext_probe_line(&head, &line)) {
        struct str text = str_trim_left(line);
        bool is_frame = parse_frame(text, &f) && (f.name.len || f.module.len);
        bool is_count = stacktext_is_count(text);
        frames += is_frame;
        counts += frames && is_count;
        others += text.len && !is_frame && !is_count;
    }
    return frames && counts && others <= frames ? 88 : 0;
}

/* Every line that is not a count is a frame. */
static bool is_frame(struct str text)
{
    return text.len != 0;
}

static size_t stap_split(struct str bytes, size_t from)
{
    return stacktext_split(bytes, from, is_frame);
}

const struct importer import_stap = {
    .name = "stap",
    .suffixes = "stap",
    .summary = "SystemTap stacks with counts",
    .probe = stap_probe,
    .read = stap_read,
    .split = stap_split,
};
