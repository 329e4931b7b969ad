/* SPDX-License-Identifier: Apache-2.0 */
#include "import/stacktext.h"
#include "base/number.h"
#include "model/name.h"

#define COUNT_MAX 1000000000000000000u

static void report_end(struct stacktext *t)
{
    struct builder *b = t->b;
    if (t->finish)
        t->finish(t);
    if (b->path.count && t->weight > 0)
        stacktext_end(t);
    else if (b->path.count)
        stacktext_warn(t, "a stack without its count, truncated at the end", STR(""));
    if (t->dropped && b->profile->facts.samples == 0)
        stacktext_warn(t, "all threads are idle or waiting (--all-threads includes them)",
                       STR(""));
}

bool stacktext_open(struct stacktext *t, const struct import_options *options,
                    struct builder *b, struct error *err)
{
    t->b = b;
    t->options = options;
    t->pid = t->tid = ID_NONE;
    builder_path_clear(b);
    return memo_init(&t->frames, &t->arena, t->memo_pairs ? t->memo_pairs : 1024) ||
           error_memory(err);
}

void stacktext_close(struct stacktext *t, bool ok)
{
    struct builder *b = t->b;
    if (ok)
        report_end(t);
    builder_path_clear(b);
    b->profile->arena.failed |= t->arena.failed || t->text.failed;
    output_deinit(&t->text);
    arena_deinit(&t->arena);
}

bool stacktext_read(struct stacktext *t, struct source *in,
                    const struct import_options *options, struct builder *b,
                    void (*line)(struct stacktext *t, struct str line), struct error *err)
{
    struct str text;
    bool ok = stacktext_open(t, options, b, err);
    t->lines = lines_of(in, err);
    while (ok && !builder_failed(b) && lines_next(&t->lines, &text))
        line(t, text);
    stacktext_close(t, ok);
    return ok && !t->lines.failed;
}

/* --- Frames ------------------------------------------------------------------------- */

/* The name without its arguments (unchanged if it consists only of brackets), and with
 * its offset if the options request it. */
static struct str shown_name(struct stacktext *t, const struct text_frame *frame)
{
    struct str name = frame->name;
    if (!frame->verbatim && !t->options->signatures)
        name = str_trim_right(name_tidy(name));
    if (name.len == 0)
        name = frame->name;
    if (!t->options->offsets || frame->offset.len == 0 || name.len == 0)
        return name;
    t->text.used = 0;
    output_str(&t->text, name);
    output_str(&t->text, frame->offset);
    return output_contents(&t->text);
}

frame_id stacktext_frame(struct stacktext *t, const struct text_frame *frame)
{
    struct builder *b = t->b;
    struct frame f = {.kind = frame->kind};
    f.name = builder_string(b, shown_name(t, frame));
    f.module = builder_module(b, frame->module, STR(""));
    if (t->options->lines && frame->file.len) {
        f.file = builder_string(b, frame->file);
        f.line = frame->line <= UINT32_MAX ? (uint32_t)frame->line : 0;
    }
    if (t->options->every_address || (!f.name && t->options->addresses))
        f.address = frame->address;
    return builder_frame(b, &f);
}

bool stacktext_add_known(struct stacktext *t, struct str line)
{
    const uint64_t *known = memo_find(&t->frames, hash_bytes128(line.ptr, line.len));
    if (known)
        builder_path_add(t->b, (frame_id)*known);
    return known != NULL;
}

void stacktext_add(struct stacktext *t, struct str line, const struct text_frame *frame)
{
    frame_id id = stacktext_frame(t, frame);
    memo_put(&t->frames, hash_bytes128(line.ptr, line.len), id);
    builder_path_add(t->b, id);
}

void stacktext_location(struct stacktext *t, struct str file, uint64_t line)
{
    struct builder *b = t->b;
    if (!t->options->lines || b->path.count == 0 || builder_failed(b))
        return;
    frame_id *last = &b->path.items[b->path.count - 1];
    struct frame f = b->profile->frames[*last];
    f.file = builder_string(b, file);
    f.line = line <= UINT32_MAX ? (uint32_t)line : 0;
    *last = builder_frame(b, &f);
}

/* --- Stacks ------------------------------------------------------------------------- */

void stacktext_add_stack(struct stacktext *t, stack_id stack)
{
    struct builder *b = t->b;
    struct str name = profile_string(b->profile, t->thread);
    if (!t->event)
        t->event = builder_event(b, STR("samples"), UNIT_COUNT);
    builder_add(b, &(struct sample){.time = TIME_NONE,
                                    .cpu = CPU_NONE,
                                    .event = t->event,
                                    .thread = builder_thread(b, t->pid, t->tid, name),
                                    .stack = stack,
                                    .count = 1,
                                    .weight = t->weight});
}

void stacktext_end(struct stacktext *t)
{
    if (t->b->path.count && t->drop)
        t->dropped++;
    else if (t->b->path.count)
        stacktext_add_stack(t, builder_path_from_leaf(t->b));
    builder_path_clear(t->b);
    t->drop = false;
}

void stacktext_cut(struct stacktext *t)
{
    struct frame mark = {.kind = FRAME_MARKER};
    if (t->b->path.count == 0)
        return;
    t->b->profile->facts.truncated++;
    if (!t->options->cuts)
        return;
    mark.name = builder_string(t->b, STR(TRUNCATED_MARK));
    builder_path_add(t->b, builder_frame(t->b, &mark));
}

void stacktext_thread(struct stacktext *t, struct str name)
{
    stacktext_end(t);
    t->thread = builder_string(t->b, name);
    t->tid = ID_NONE;
}

void stacktext_end_counted(struct stacktext *t, struct str count)
{
    if (stacktext_set_count(t, count))
        stacktext_add_stack(t, builder_path_from_leaf(t->b));
    builder_path_clear(t->b);
    t->weight = 0;
}

bool stacktext_is_count(struct str line)
{
    struct str s = str_trim(line);
    if (s.len && s.ptr[0] == '-')
        s = str_skip(s, 1);
    for (size_t i = 0; i < s.len; i++)
        if (!byte_is_digit(s.ptr[i]))
            return false;
    return s.len != 0;
}

bool stacktext_set_count(struct stacktext *t, struct str count)
{
    uint64_t v;
    struct str s = str_trim(count);
    bool ok = number_parse_u64(s, &v) && v <= COUNT_MAX;
    if (ok)
        t->weight = (double)v;
    else
        stacktext_warn(t,
                       s.len && s.ptr[0] == '-' ? "a negative count"
                                                : "a count that is too large",
                       count);
    return ok;
}

void stacktext_warn(struct stacktext *t, const char *what, struct str line)
{
    builder_warn(t->b, what, t->lines.number, 1, line);
}

/* --- Pieces of lines ---------------------------------------------------------------- */

bool stacktext_take_hex(struct str *rest, uint64_t *value)
{
    struct str left = *rest, word = str_word(&left);
    if (word.len == 0 || !number_parse_hex(word, value))
        return false;
    *rest = str_trim_left(left);
    return true;
}

struct text_frame stacktext_kernel_frame(struct str text)
{
    struct text_frame f = TEXT_FRAME;
    size_t open = str_rfind(text, '[');
    f.kind = FRAME_KERNEL;
    f.module = STR("[kernel.kallsyms]");
    if (open < text.len && str_ends(text, STR("]"))) {
        f.module = str_skip(str_head(text, text.len - 1), open + 1);
        f.module = str_head(f.module, str_find(f.module, ' '));
        text = str_trim_right(str_head(text, open));
    }
    f.name = name_without_offset(text);
    f.offset = str_skip(text, f.name.len);
    return f;
}

struct str stacktext_split_location(struct str location, uint64_t *line)
{
    struct str file = location;
    uint64_t number;
    *line = 0;
    for (int i = 0; i < 2; i++) {
        size_t colon = str_rfind(file, ':');
        if (colon == file.len || !number_parse_u64(str_skip(file, colon + 1), &number))
            break;
        *line = number;
        file = str_head(file, colon);
    }
    return file;
}

bool stacktext_probe_line(struct str *rest, struct str *line)
{
    size_t end = str_find(*rest, '\n');
    if (rest->len == 0)
        return false;
    *line = str_trim_right(str_head(*rest, end));
    *rest = str_skip(*rest, end + 1);
    return true;
}

size_t stacktext_split(struct str bytes, size_t from, bool (*is_frame)(struct str text))
{
    size_t at = from + str_find(str_skip(bytes, from), '\n') + 1;
    bool after_frame = false;
    while (at < bytes.len) {
        size_t length = str_find(str_skip(bytes, at), '\n');
        struct str line = str_trim(str_head(str_skip(bytes, at), length));
        bool is_count = stacktext_is_count(line);
        if (at + length >= bytes.len)
            break;
        at += length + 1;
        if (is_count && after_frame)
            return at;
        after_frame = line.len && !is_count && is_frame(line);
    }
    return bytes.len;
}
