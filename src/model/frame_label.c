/* SPDX-License-Identifier: Apache-2.0 */
#include "model/frame_label.h"

static const struct suffix {
    char letter;
    enum frame_kind kind;
    const char *word;
} suffixes[] = {{'k', FRAME_KERNEL, " (kernel)"},
                {'i', FRAME_INLINED, " (inlined)"},
                {'j', FRAME_JIT, " (JIT)"},
                {'w', FRAME_WAKER, " (waker)"}};

static const char *const kind_names[] = {"user",    "kernel", "guest",  "jit",
                                         "inlined", "idle",   "marker", "waker"};

const char *kind_name(enum frame_kind kind)
{
    return kind_names[kind];
}

enum frame_kind kind_named(struct str name)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
        if (str_equal(name, str_of(kind_names[i])))
            return (enum frame_kind)i;
    return FRAME_USER;
}

enum frame_kind label_suffix_kind(struct str name)
{
    if (name.len < 4 || name.ptr[name.len - 1] != ']' ||
        memcmp(name.ptr + name.len - 4, "_[", 2) != 0)
        return FRAME_USER;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (name.ptr[name.len - 2] == suffixes[i].letter)
            return suffixes[i].kind;
    return FRAME_USER;
}

struct str label_without_suffix(struct str name)
{
    if (label_suffix_kind(name) != FRAME_USER)
        name.len -= 4;
    return name;
}

bool label_word_to_suffix(struct output *o, struct str name)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct str word = str_of(suffixes[i].word);
        if (name.len > word.len && str_ends(name, word)) {
            output_str(o, str_head(name, name.len - word.len));
            output_format(o, "_[%c]", suffixes[i].letter);
            return true;
        }
    }
    return false;
}

/* The kind to mark the frame with; FRAME_USER for none. */
static enum frame_kind marked_kind(const struct frame *f, const struct label_style *style)
{
    switch (f->kind) {
    case FRAME_INLINED:
    case FRAME_WAKER:
        return (enum frame_kind)f->kind;
    case FRAME_KERNEL:
    case FRAME_GUEST:
        return style->kernel ? FRAME_KERNEL : FRAME_USER;
    case FRAME_JIT:
        return style->jit ? FRAME_JIT : FRAME_USER;
    default:
        return FRAME_USER;
    }
}

/* `name` is the frame's name, which may have a suffix itself: it is then already written,
 * unless words replace it. */
static void put_mark(struct output *o, const struct frame *f, struct str name,
                     const struct label_style *style)
{
    enum frame_kind kind = label_suffix_kind(name);
    if (style->plain || (kind != FRAME_USER && !style->words))
        return;
    if (kind == FRAME_USER)
        kind = marked_kind(f, style);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (suffixes[i].kind == kind && style->words)
            output_text(o, suffixes[i].word);
        else if (suffixes[i].kind == kind)
            output_format(o, "_[%c]", suffixes[i].letter);
    }
}

static void label_unknown(struct output *o, const struct profile *p,
                          const struct frame *f, const struct label_style *style)
{
    struct str path = profile_string(p, p->modules[f->module].path);
    struct str name = path.len ? str_basename(path) : STR("unknown");
    output_char(o, '[');
    output_str(o, name);
    if (style->addresses)
        output_format(o, " <%llx>", (unsigned long long)f->address);
    output_char(o, ']');
}

/* The byte that replaces another one in folded lines. */
static char foldable(char c)
{
    if (c == ';')
        return ':';
    if (c == '\n' || c == '\r' || c == '\t')
        return ' ';
    return (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
}

/* Replaces bytes that a reader of folded lines would not take as part of the name:
 * control characters, trailing spaces, and the start of a comment or of another encoding.
 * Returns the new length. */
static size_t make_foldable(char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = foldable(bytes[i]);
    while (length > 1 && bytes[length - 1] == ' ')
        length--;
    struct str text = {bytes, length};
    if (str_starts(text, STR("# ")))
        bytes[1] = '_';
    if (str_equal(text, STR("#"))) /* "# 12" would be a comment */
        bytes[0] = '?';
    if (str_starts(text, STR("\xff")) || str_starts(text, STR("\xfe")) ||
        str_starts(text, STR("\xef\xbb\xbf")))
        bytes[0] = '?';
    return length;
}

/* Whether the name contains the file: "shop.py:add", "add (shop.py)". */
static bool name_has_file(struct str name, struct str file)
{
    struct str rest = name;
    if (str_starts(rest, file))
        return str_starts(str_skip(rest, file.len), STR(":"));
    if (!str_ends(rest, STR(")")))
        return false;
    rest.len--;
    if (!str_ends(rest, file))
        return false;
    return str_ends(str_head(rest, rest.len - file.len), STR(" ("));
}

static void put_line(struct output *o, const struct profile *p, const struct frame *f)
{
    struct str file = profile_string(p, f->file);
    if (!name_has_file(profile_string(p, f->name), file))
        output_format(o, ":%.*s", STR_ARG(str_basename(file)));
    output_format(o, ":%u", (unsigned)f->line);
}

void label_frame(struct output *o, const struct profile *p, frame_id frame,
                 const struct label_style *style)
{
    const struct frame *f = &p->frames[frame];
    struct str name = profile_string(p, f->name);
    size_t before = o->used;
    if (!f->name && !(style->folded && f->kind == FRAME_MARKER))
        label_unknown(o, p, f, style);
    else if (f->name)
        output_str(o, style->plain || style->words ? label_without_suffix(name) : name);
    if (style->lines && f->file && f->line)
        put_line(o, p, f);
    put_mark(o, f, name, style);
    if (style->module) {
        output_char(o, 0);
        output_str(o, str_basename(profile_string(p, p->modules[f->module].path)));
    }
    if (style->folded && o->used > before)
        o->used = before + make_foldable(o->bytes + before, o->used - before);
}

static void output_id(struct output *o, int64_t id)
{
    if (id == ID_NONE)
        output_char(o, '?');
    else
        output_format(o, "%lld", (long long)id);
}

void label_thread(struct output *o, const struct profile *p, thread_id thread,
                  enum thread_style style)
{
    const struct thread *t = &p->threads[thread];
    struct str name = profile_string(p, t->name);
    size_t before = o->used;
    bool has_id = t->pid != ID_NONE || t->tid != ID_NONE;
    if (thread == 0 || style == THREAD_NONE)
        return;
    for (size_t i = 0; i < name.len; i++) {
        char c = foldable(name.ptr[i]);
        output_char(o, c == ' ' ? '_' : c);
    }
    if (style != THREAD_COMM && has_id) {
        output_text(o, name.len ? "-" : "");
        output_id(o, t->pid);
    }
    if (style == THREAD_TID && has_id) {
        output_char(o, '/');
        output_id(o, t->tid);
    }
    if (o->used > before)
        o->used = before + make_foldable(o->bytes + before, o->used - before);
}
