/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of caller lists, keyed by their text: the lines of a stack from the leaf's
 * caller to the root, as tools print them, leaf first.
 *
 * Most texts occurred before as a whole. Most of the others occurred in part, because
 * stacks differ near the leaf. So the lines are divided into chunks, counted from the
 * root, and a hash finds the longest known run of outermost chunks. Only the lines
 * before it are parsed. */
#ifndef STOKE_IMPORT_CALLERS_H
#define STOKE_IMPORT_CALLERS_H

#include "base/memo.h"
#include "model/builder.h"

#define CALLERS_CHUNK 8       /* lines */
#define CALLERS_LINES_MAX 512 /* of an entry; longer ones are not cached */

struct callers {
    struct memo memo;
    struct str text;    /* the current entry's lines, found by callers_scan */
    size_t entry_lines; /* including lines that are not callers */
    size_t first;       /* line number of the leaf's caller */
    size_t line_count;  /* number of callers; 0: too many */
    uint32_t
        starts[CALLERS_LINES_MAX + 2]; /* start of each line, and the end of the last */
    size_t
        frames_at[CALLERS_LINES_MAX]; /* length of the builder's path after each caller */
    struct hash128 keys[CALLERS_LINES_MAX / CALLERS_CHUNK + 2];
    size_t known; /* number of known chunks, counted from the root */
    stack_id known_stack;
};

/* The memo is allocated from the arena. */
bool callers_init(struct callers *c, struct arena *a);

/* Finds the lines of the entry at the start of `text`. Returns the offset of the empty
 * line after the entry; text.len if there is none. */
size_t callers_scan(struct callers *c, struct str text);

/* A caller's line without its line end; 0 is the leaf's caller. */
static inline struct str callers_line(const struct callers *c, size_t i)
{
    const uint32_t *start = &c->starts[c->first + i];
    struct str line = str_span(c->text.ptr + start[0], c->text.ptr + start[1] - 1);
    line.len -= str_ends(line, STR("\r"));
    return line;
}

/* Its size including the line end. */
static inline size_t callers_line_size(const struct callers *c, size_t i)
{
    return c->starts[c->first + i + 1] - c->starts[c->first + i];
}

/* Looks up the callers: the entry's lines from `from` to `to`. True if all are known;
 * *stack is then their stack. Otherwise the caller parses the lines 0 to
 * callers_unknown(c), sets frames_at to the length of the builder's path after each,
 * and calls callers_learn, unless line_count is 0 (too many callers). */
bool callers_find(struct callers *c, size_t from, size_t to, stack_id *stack);

/* How many lines must be parsed, counted from the first. */
size_t callers_unknown(const struct callers *c);

/* Makes the stack of the text, whose unknown lines added the frames from `from` on to
 * the builder's path (leaf first; this function reverses them), and caches it. */
stack_id callers_learn(struct callers *c, struct builder *b, size_t from);

#endif
