/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regex.h"

#define NONE UINT32_MAX

/* A node of the automaton. It continues at `out`, and also at `other` if that is a
 * node. A node with a set continues only after a byte that is in the set. */
struct regex_node {
    uint32_t out, other;
    bool needs_byte; /* needs a byte of `set` */
    unsigned char set[32];
};

/* A part of the automaton: its first node, and the node that it ends in. */
struct part {
    uint32_t start, end;
};

/* The state of an open group: its complete alternatives, the current sequence, and the
 * last item of that, which a '*' may follow. `start` is NONE while a part is empty. */
struct group {
    struct part done, sequence, last;
};

struct parser {
    struct regex *re;
    struct str rest;
    struct group groups[REGEX_GROUPS_MAX];
    size_t depth; /* of the innermost group */
};

static const struct part no_part = {NONE, NONE};
static const struct group no_group = {{NONE, NONE}, {NONE, NONE}, {NONE, NONE}};

static uint32_t add_node(struct regex *re, uint32_t out, uint32_t other)
{
    if (re->count >= REGEX_NODES_MAX)
        return 0; /* regex_init checks the count after parsing */
    re->nodes[re->count] = (struct regex_node){.out = out, .other = other};
    return re->count++;
}

static struct part join(struct regex *re, struct part a, struct part b)
{
    if (a.start == NONE)
        return b;
    if (b.start == NONE)
        return a;
    re->nodes[a.end].out = b.start;
    return (struct part){a.start, b.end};
}

/* A part that matches the empty text. */
static struct part empty(struct regex *re)
{
    uint32_t node = add_node(re, NONE, NONE);
    return (struct part){node, node};
}

static struct part either(struct regex *re, struct part a, struct part b)
{
    if (a.start == NONE)
        return b;
    uint32_t end = add_node(re, NONE, NONE);
    re->nodes[a.end].out = end;
    re->nodes[b.end].out = end;
    return (struct part){add_node(re, a.start, b.start), end};
}

static struct part repeated(struct regex *re, struct part a, char how)
{
    uint32_t end = add_node(re, NONE, NONE);
    uint32_t fork = add_node(re, a.start, end);
    re->nodes[a.end].out = how == '?' ? end : fork;
    return (struct part){how == '+' ? a.start : fork, end};
}

/* --- Sets of bytes ------------------------------------------------------------- */

static void set_range(unsigned char *set, unsigned from, unsigned to)
{
    for (unsigned c = from; c <= to && c < 256; c++)
        set[c / 8] |= (unsigned char)(1u << c % 8);
}

static void set_invert(unsigned char *set)
{
    for (size_t i = 0; i < 32; i++)
        set[i] = (unsigned char)~set[i];
}

/* Adds the characters of an escape. False for a letter or digit whose meaning is not
 * supported. */
static bool set_escape(unsigned char *set, char c)
{
    unsigned char named[32] = {0};
    char lower = (char)(c | 0x20);
    if (!byte_is_word(c) || c == '_') {
        set_range(set, (unsigned char)c, (unsigned char)c);
        return true;
    }
    if (lower == 'd' || lower == 'w')
        set_range(named, '0', '9');
    if (lower == 'w') {
        set_range(named, 'A', 'Z');
        set_range(named, 'a', 'z');
        set_range(named, '_', '_');
    } else if (lower == 's') {
        set_range(named, '\t', '\r');
        set_range(named, ' ', ' ');
    } else if (lower != 'd') {
        return false;
    }
    if (c != lower)
        set_invert(named);
    for (size_t i = 0; i < 32; i++)
        set[i] |= named[i];
    return true;
}

/* Parses one member of a [class], which may begin a range. */
static bool take_member(struct str *s, unsigned char *set)
{
    unsigned char from = (unsigned char)s->ptr[0];
    *s = str_skip(*s, 1);
    if (from == '\\') {
        char c = s->len ? s->ptr[0] : 'a';
        *s = str_skip(*s, 1);
        return set_escape(set, c);
    }
    unsigned char to = from;
    if (s->len > 1 && s->ptr[0] == '-' && s->ptr[1] != ']' && s->ptr[1] != '\\') {
        to = (unsigned char)s->ptr[1];
        *s = str_skip(*s, 2);
    }
    set_range(set, from, to);
    return from <= to;
}

/* Parses a class after its '['. [:names:] are not supported. */
static bool take_class(struct str *s, unsigned char *set)
{
    bool inverted = s->len && s->ptr[0] == '^';
    *s = str_skip(*s, inverted);
    if (str_starts(*s, STR("[:")))
        return false;
    do {
        if (s->len == 0 || !take_member(s, set))
            return false;
    } while (s->len && s->ptr[0] != ']');
    if (inverted)
        set_invert(set);
    bool closed = s->len > 0;
    *s = str_skip(*s, 1);
    return closed;
}

/* --- Parsing ----------------------------------------------------------------------- */

/* Appends the last item to the sequence and makes `item` the last one. */
static void push_item(struct parser *p, struct part item)
{
    struct group *g = &p->groups[p->depth];
    g->sequence = join(p->re, g->sequence, g->last);
    g->last = item;
}

/* Makes the sequence an alternative. */
static void end_sequence(struct parser *p)
{
    struct group *g = &p->groups[p->depth];
    push_item(p, no_part);
    if (g->sequence.start == NONE)
        g->sequence = empty(p->re);
    g->done = either(p->re, g->done, g->sequence);
    g->sequence = no_part;
}

static bool open_group(struct parser *p)
{
    if (str_starts(p->rest, STR("?:")))
        p->rest = str_skip(p->rest, 2);
    if (str_starts(p->rest, STR("?")) || p->depth + 1 == REGEX_GROUPS_MAX)
        return false;
    p->groups[++p->depth] = no_group;
    return true;
}

static bool close_group(struct parser *p)
{
    if (p->depth == 0)
        return false;
    end_sequence(p);
    struct part whole = p->groups[p->depth--].done;
    push_item(p, whole);
    return true;
}

/* Applies '*', '+' or '?', also several in a row. A '?' after one means a lazy match,
 * which changes nothing because the whole text must match. */
static bool repeat_last(struct parser *p, char how)
{
    struct group *g = &p->groups[p->depth];
    if (g->last.start == NONE)
        return false;
    g->last = repeated(p->re, g->last, how);
    if (str_starts(p->rest, STR("?")))
        p->rest = str_skip(p->rest, 1);
    return true;
}

static bool push_set(struct parser *p, char c)
{
    struct regex *re = p->re;
    uint32_t end = add_node(re, NONE, NONE), node = add_node(re, end, NONE);
    unsigned char set[32] = {0};
    bool ok = true;
    if (c == '.') {
        set_range(set, '\n', '\n');
        set_invert(set);
    } else if (c == '[') {
        ok = take_class(&p->rest, set);
    } else if (c == '\\') {
        ok = p->rest.len && set_escape(set, p->rest.ptr[0]);
        p->rest = str_skip(p->rest, 1);
    } else {
        set_range(set, (unsigned char)c, (unsigned char)c);
    }
    re->nodes[node].needs_byte = true;
    memcpy(re->nodes[node].set, set, sizeof set);
    push_item(p, (struct part){node, end});
    return ok;
}

static bool parse_one(struct parser *p)
{
    char c = p->rest.ptr[0];
    p->rest = str_skip(p->rest, 1);
    switch (c) {
    case '(':
        return open_group(p);
    case ')':
        return close_group(p);
    case '|':
        end_sequence(p);
        return true;
    case '*':
    case '+':
    case '?':
        return repeat_last(p, c);
    case '{':
    case '^':
    case '$':
        return false;
    default:
        return push_set(p, c);
    }
}

static bool parse(struct regex *re, struct str pattern)
{
    struct parser p = {.re = re, .rest = pattern, .groups = {no_group}};
    bool anchored = str_ends(pattern, STR("$")) && !str_ends(pattern, STR("\\$"));
    if (str_starts(p.rest, STR("^")))
        p.rest = str_skip(p.rest, 1);
    if (anchored && p.rest.len)
        p.rest.len--;
    while (p.rest.len)
        if (!parse_one(&p) || re->count >= REGEX_NODES_MAX)
            return false;
    end_sequence(&p);
    re->start = p.groups[0].done.start;
    re->end = p.groups[0].done.end;
    return p.depth == 0 && re->count < REGEX_NODES_MAX;
}

bool regex_init(struct regex *re, struct arena *a, struct str pattern)
{
    *re = (struct regex){0};
    re->nodes = arena_alloc(a, REGEX_NODES_MAX * sizeof *re->nodes);
    if (!re->nodes || !parse(re, pattern))
        return false;
    re->now = arena_alloc(a, re->count * sizeof *re->now);
    re->next = arena_alloc(a, re->count * sizeof *re->next);
    re->open = arena_alloc(a, (re->count * 2 + 1) * sizeof *re->open);
    re->marks = arena_zalloc(a, re->count, sizeof *re->marks);
    return re->now && re->next && re->open && re->marks;
}

/* --- Matching ---------------------------------------------------------------------- */

/* Adds to the list all nodes that need a byte, or are the end, and that this node
 * reaches without one. Marks each node, so that a step visits it once. */
static uint32_t reach(struct regex *re, uint32_t node, uint32_t *list, uint32_t count)
{
    uint32_t open = 0;
    re->open[open++] = node;
    while (open) {
        uint32_t at = re->open[--open];
        if (at == NONE || re->marks[at] == re->mark)
            continue;
        re->marks[at] = re->mark;
        if (re->nodes[at].needs_byte || at == re->end) {
            list[count++] = at;
            continue;
        }
        re->open[open++] = re->nodes[at].out;
        re->open[open++] = re->nodes[at].other;
    }
    return count;
}

/* Starts a new mark. Clears the marks when the counter wraps around. */
static void next_mark(struct regex *re)
{
    if (++re->mark == 0) {
        memset(re->marks, 0, re->count * sizeof *re->marks);
        re->mark = 1;
    }
}

bool regex_matches(struct regex *re, struct str text)
{
    next_mark(re);
    uint32_t count = reach(re, re->start, re->now, 0);
    for (size_t i = 0; i < text.len && count; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        uint32_t next = 0;
        next_mark(re);
        re->steps += count;
        for (uint32_t n = 0; n < count; n++) {
            const struct regex_node *node = &re->nodes[re->now[n]];
            if (node->needs_byte && (node->set[c / 8] >> c % 8 & 1))
                next = reach(re, node->out, re->next, next);
        }
        uint32_t *swap = re->now;
        re->now = re->next;
        re->next = swap;
        count = next;
    }
    for (uint32_t n = 0; n < count; n++)
        if (re->now[n] == re->end)
            return true;
    return false;
}
