/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as lines, and as the trees that Pyroscope's first agents send.
 *
 * A tree is a list of nodes, each before those below it: the length of its name, the name, its
 * value, and how many nodes are below it; numbers are varints. In a `tree` a name is a function.
 * In a `trie` it is a piece of the text of a stack, which is all pieces from the root on. */
#include "base/array.h"
#include "base/bytes.h"
#include "base/number.h"
#include "base/output.h"
#include "ingest/pyroscope.h"

#define COUNT_MAX ((uint64_t)1 << 40) /* of one stack, so that sums stay exact */
#define DEPTH_MAX ((size_t)2048)      /* of a tree: its nodes */
#define STACK_MAX ((size_t)1 << 20)   /* bytes of the text of a stack */

struct texts {
    struct builder *b;
    event_id event;
    double period;
};

static void add(const struct texts *t, stack_id stack, uint64_t count)
{
    builder_add(t->b, &(struct sample){.time = TIME_NONE,
                                       .cpu = CPU_NONE,
                                       .event = t->event,
                                       .stack = stack,
                                       .count = t->period > 0 ? count : 1,
                                       .weight = (double)count *
                                                 (t->period > 0 ? t->period : 1)});
}

static void add_text(const struct texts *t, struct str stack, uint64_t count)
{
    builder_path_clear(t->b);
    while (stack.len)
        builder_path_add(t->b, builder_named_frame(t->b, str_cut(&stack, ';')));
    add(t, builder_path_from_root(t->b), count);
}

/* --- Lines ------------------------------------------------------------------------------ */

static bool refuse_line(uint64_t line, const char *what, struct str text,
                        struct error *err)
{
    error_set(err, "line %llu %s: '%.*s'", (unsigned long long)line, what,
              (int)(text.len < 80 ? text.len : 80), text.ptr);
    return error_at_line(err, line, 1, text);
}

static bool add_group(const struct texts *t, struct str text, uint64_t line,
                      struct error *err)
{
    size_t at = str_rfind(text, ' ');
    uint64_t count;
    if (at == text.len || !number_parse_u64(str_skip(text, at + 1), &count))
        return refuse_line(line, "has no count at its end", text, err);
    if (count > COUNT_MAX)
        return refuse_line(line, "has a count that is too large", text, err);
    struct str stack = str_trim(str_head(text, at));
    if (stack.len == 0)
        return refuse_line(line, "has no stack", text, err);
    if (count)
        add_text(t, stack, count);
    return true;
}

static bool add_lines(const struct texts *t, struct str body, bool has_counts,
                      struct error *err)
{
    for (uint64_t line = 1; body.len; line++) {
        struct str text = str_trim(str_cut(&body, '\n'));
        if (text.len > STACK_MAX)
            return error_set(err, "line %llu has more than %zu bytes",
                             (unsigned long long)line, STACK_MAX);
        if (text.len && !has_counts)
            add_text(t, text, 1);
        else if (text.len && !add_group(t, text, line, err))
            return false;
    }
    return true;
}

/* --- Trees ------------------------------------------------------------------------------ */

struct node {
    uint64_t below; /* nodes that follow */
    stack_id stack; /* of a tree */
    size_t length;  /* of a trie: bytes of the text */
};

struct tree {
    struct bytes bytes;
    struct node *path; /* from the root on */
    size_t depth;
    struct output text;
    uint64_t in, expanded; /* bytes of the body; of the texts of stacks */
    bool is_trie;
};

static bool damaged(const struct tree *t, const char *what, struct error *err)
{
    return error_set(err, "the %s is damaged: %s", t->is_trie ? "trie" : "tree", what);
}

/* The root of a tree has no name and no value. */
static bool add_node(const struct texts *to, struct tree *t, struct str name,
                     uint64_t value, struct node *node, struct error *err)
{
    struct node parent = t->depth ? t->path[t->depth - 1] : (struct node){0};
    if (value > COUNT_MAX)
        return damaged(t, "a value is too large", err);
    if (t->is_trie) {
        t->text.used = parent.length;
        output_str(&t->text, name);
        node->length = t->text.used;
        if (t->text.used > STACK_MAX)
            return damaged(t, "a stack is too long", err);
        t->expanded += value ? t->text.used : 0;
        if (limits_expansion_exceeded(to->b->limits, t->in, t->expanded))
            return damaged(t, "its stacks repeat the same text too often", err);
        if (value)
            add_text(to, output_contents(&t->text), value);
    } else {
        node->stack =
            name.len || t->depth
                ? builder_push(to->b, parent.stack, builder_named_frame(to->b, name))
                : 0;
        if (value)
            add(to, node->stack, value);
    }
    return true;
}

/* Nodes whose last one below was read are complete. */
static void close_nodes(struct tree *t)
{
    while (t->depth && t->path[t->depth - 1].below == 0)
        t->depth--;
}

static bool add_nodes(const struct texts *to, struct tree *t, struct error *err)
{
    do {
        struct node node = {0};
        struct str name = bytes_take(&t->bytes, bytes_uleb(&t->bytes));
        uint64_t value = bytes_uleb(&t->bytes);
        node.below = bytes_uleb(&t->bytes);
        if (t->bytes.failed)
            return damaged(t, "it ends too early", err);
        if (node.below > bytes_left(&t->bytes) / 3)
            return damaged(t, "a node has more nodes below it than there are", err);
        if (!add_node(to, t, name, value, &node, err))
            return false;
        if (t->depth)
            t->path[t->depth - 1].below--;
        if (t->depth == DEPTH_MAX)
            return damaged(t, "it is deeper than 2048 nodes", err);
        t->path[t->depth++] = node;
        close_nodes(t);
    } while (t->depth && !builder_failed(to->b) && !t->text.failed);
    return bytes_left(&t->bytes) == 0 || damaged(t, "bytes follow it", err);
}

static bool add_tree(const struct texts *to, struct str body, bool is_trie,
                     struct error *err)
{
    struct arena arena = ARENA_INIT;
    struct tree t = {.bytes = bytes_of(body, false), .in = body.len, .is_trie = is_trie};
    t.path = arena_zalloc(&arena, DEPTH_MAX, sizeof *t.path);
    bool ok = t.path ? body.len == 0 || add_nodes(to, &t, err) : error_memory(err);
    if (ok && t.text.failed)
        ok = error_memory(err);
    output_deinit(&t.text);
    arena_deinit(&arena);
    return ok;
}

bool ingest_pyroscope_text(enum ingest_text kind, struct str body, struct builder *b,
                           event_id event, double period, struct error *err)
{
    const struct texts t = {b, event, period};
    bool ok = kind == INGEST_GROUPS || kind == INGEST_LINES
                  ? add_lines(&t, body, kind == INGEST_GROUPS, err)
                  : add_tree(&t, body, kind == INGEST_TRIE, err);
    return ok && (!builder_failed(b) || error_memory(err));
}
