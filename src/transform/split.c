/* SPDX-License-Identifier: Apache-2.0 */
/* Makes frames of packages: the parts of a name before the function become frames.
 * std::vector<int>::at becomes std, vector<int>, at; java.util.HashMap.get and
 * java/util/HashMap.get become java, util, HashMap, get; net/http.(*Client).Do becomes
 * net, http.(*Client).Do. */
#include "base/array.h"
#include "transform/rewrite.h"

/* --- Parts of a name --------------------------------------------------------------- */

/* True if dots separate parts of the name: at least two dots, between words that start
 * with a letter. foo.isra.0 and libc.so.6 are not packages. */
static bool is_dotted(struct str name)
{
    size_t dots = 0;
    bool begin = true;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c == '.') {
            if (begin)
                return false;
            dots++;
            begin = true;
            continue;
        }
        bool letter = (byte_is_word(c) && !byte_is_digit(c)) || c == '$' || c == '<' ||
                      c == '>' || (unsigned char)c >= 0x80;
        if (!letter && (begin || !byte_is_digit(c)))
            return false;
        begin = false;
    }
    return dots >= 2 && !begin;
}

/* How slashes and dots of a name are interpreted. */
struct separators {
    bool slash, dot;
};

static struct separators separators_of(struct str name)
{
    struct str path = str_head(name, str_find(name, '('));
    bool is_file = name.len && (name.ptr[0] == '/' || name.ptr[0] == '[');
    return (struct separators){.slash = !is_file && str_find(path, ' ') == path.len,
                               .dot = is_dotted(name)};
}

/* The length of the separator at `at`, 0 if there is none. */
static size_t separator_at(struct str s, size_t at, struct separators by)
{
    if (s.ptr[at] == ':')
        return str_starts(str_skip(s, at), STR("::")) ? 2 : 0;
    if (s.ptr[at] == '.')
        return by.dot;
    return by.slash && s.ptr[at] == '/' && !str_ends(str_head(s, at), STR("operator"));
}

/* Removes the next part from *rest; empty at the end. Ignores separators in brackets. */
static struct str next_part(struct str *rest, struct separators by)
{
    struct str s = *rest;
    size_t depth = 0, at = 0, length = 0;
    for (; at < s.len; at++) {
        char c = s.ptr[at];
        if (c == '<' || c == '(')
            depth++;
        else if ((c == '>' || c == ')') && depth)
            depth--;
        else if (depth == 0 && (length = separator_at(s, at, by)) != 0)
            break;
    }
    *rest = str_skip(s, at + length);
    return str_head(s, at);
}

/* --- Frames ------------------------------------------------------------------------- */

/* The new frames of an old one: a run in `parts`. */
struct run {
    uint32_t first, count;
};

struct splitting {
    struct run *runs; /* by old frame */
    frame_id *parts;
    size_t count, cap;
};

static bool add_part(struct rewrite *r, frame_id old, struct str name, bool last)
{
    struct splitting *s = r->context;
    frame_id *part = ARRAY_APPEND(&r->arena, s->parts, s->count, s->cap);
    if (!part)
        return false;
    *part = last ? rewrite_copy_frame(r, old, &name) : builder_named_frame(r->to, name);
    s->runs[old].count++;
    return true;
}

/* Splits a frame when it is first used. */
static const struct run *split_frame(struct rewrite *r, frame_id old)
{
    struct splitting *s = r->context;
    struct str name = profile_string(r->from, r->from->frames[old].name);
    struct separators by = separators_of(name);
    if (s->runs[old].count)
        return &s->runs[old];
    s->runs[old].first = (uint32_t)s->count;
    for (struct str rest = name; rest.len;) {
        struct str part = next_part(&rest, by);
        while (rest.len && (str_ends(part, STR(";")) || str_ends(part, STR(":"))))
            part.len--; /* Ljava/util/List;::get */
        if (part.len)
            add_part(r, old, part, rest.len == 0);
    }
    if (s->runs[old].count == 0)
        add_part(r, old, name, true);
    return &s->runs[old];
}

static stack_id push_parts(struct rewrite *r, stack_id parent, frame_id frame)
{
    const struct splitting *s = r->context;
    const struct run *run = split_frame(r, frame);
    for (uint32_t i = 0; i < run->count; i++)
        parent = builder_push(r->to, parent, s->parts[run->first + i]);
    return parent;
}

static stack_id push_split(struct rewrite *r, stack_id parent, stack_id old)
{
    return push_parts(r, parent, r->from->stacks[old].frame);
}

static stack_id leaf_packages(struct rewrite *r, struct sample *s)
{
    return s->stack ? push_parts(r, 0, r->from->stacks[s->stack].frame) : 0;
}

static bool split_requested(const struct transform_options *o)
{
    return o->split != SPLIT_NONE;
}

static bool split_run(const struct profile *from, const struct transform_options *o,
                      struct builder *to, struct error *err)
{
    struct rewrite r;
    struct splitting s = {0};
    bool ok = rewrite_init(&r, from, to, err);
    if (ok) {
        s.runs = arena_zalloc(&r.arena, from->frame_count, sizeof *s.runs);
        r.context = &s;
        if (o->split == SPLIT_LEAF)
            r.make_stack = leaf_packages;
        else
            r.push = push_split;
        ok = s.runs ? rewrite_run(&r, err) : error_memory(err);
    }
    rewrite_deinit(&r);
    return ok;
}

const struct transform transform_split = {
    .name = "split",
    .summary = "make frames of the packages in names",
    .requested = split_requested,
    .run = split_run,
};
