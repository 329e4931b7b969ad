/* SPDX-License-Identifier: Apache-2.0 */
#include "model/label.h"

static const struct suffix {
    char letter;
    enum frame_kind kind;
} suffixes[] = {
    {'k', FRAME_KERNEL}, {'i', FRAME_INLINED}, {'j', FRAME_JIT}, {'w', FRAME_WAKER}};

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

static const char *suffix_of(const struct frame *f, const struct label_style *style)
{
    switch (f->kind) {
    case FRAME_INLINED:
        return "_[i]";
    case FRAME_WAKER:
        return "_[w]";
    case FRAME_KERNEL:
    case FRAME_GUEST:
        return style->kernel ? "_[k]" : "";
    case FRAME_JIT:
        return style->jit ? "_[j]" : "";
    default:
        return "";
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

/* What a folded line holds in place of a byte. */
static char foldable(char c)
{
    if (c == ';')
        return ':';
    if (c == '\n' || c == '\r' || c == '\t')
        return ' ';
    return (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
}

/* Replaces what a reader of the folded line would take for something else than a part of
 * the name: control characters, spaces at the end, and what begins a comment or a file of
 * another encoding. Returns the new length. */
static size_t make_foldable(char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = foldable(bytes[i]);
    while (length > 1 && bytes[length - 1] == ' ')
        length--;
    struct str text = {bytes, length};
    if (str_starts(text, STR("# ")))
        bytes[1] = '_';
    if (str_starts(text, STR("\xff")) || str_starts(text, STR("\xfe")) ||
        str_starts(text, STR("\xef\xbb\xbf")))
        bytes[0] = '?';
    return length;
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
        output_str(o, style->plain ? label_without_suffix(name) : name);
    if (style->lines && f->file && f->line)
        output_format(o, ":%.*s:%u", STR_ARG(str_basename(profile_string(p, f->file))),
                      (unsigned)f->line);
    if (!style->plain && label_suffix_kind(name) == FRAME_USER)
        output_text(o, suffix_of(f, style));
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
    if (thread == 0 || style == THREAD_NONE)
        return;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        c = foldable(c);
        output_char(o, c == ' ' ? '_' : c);
    }
    if (style == THREAD_COMM || (t->pid == ID_NONE && t->tid == ID_NONE))
        return;
    if (name.len)
        output_char(o, '-');
    output_id(o, t->pid);
    if (style == THREAD_TID) {
        output_char(o, '/');
        output_id(o, t->tid);
    }
}
