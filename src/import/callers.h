/* SPDX-License-Identifier: Apache-2.0 */
/* Callers known by their text: the lines of a stack from the leaf's caller to the
 * outermost, as tools print them, leaf first.
 *
 * Most texts were met before as a whole; of the others most were in part, as stacks
 * differ near the leaf. So the lines are cut into chunks, counted from the outermost, and
 * the longest run of outermost chunks that is known is found by its hash. Only the lines
 * in front of it are parsed. */
#ifndef STOKE_IMPORT_CALLERS_H
#define STOKE_IMPORT_CALLERS_H

#include "base/memo.h"
#include "model/builder.h"

#define CALLERS_CHUNK 8       /* lines */
#define CALLERS_LINES_MAX 512 /* of an entry; longer ones are not known */

struct callers {
    struct memo memo;
    struct str text;    /* under way: an entry's lines, found by callers_scan */
    size_t entry_lines; /* with those that are no callers */
    size_t first;       /* the line of the leaf's caller */
    size_t line_count;  /* of the callers; 0: too many */
    uint32_t starts[CALLERS_LINES_MAX + 2]; /* where each line begins, and the end */
    size_t frames_at[CALLERS_LINES_MAX];    /* how long the path is behind each caller */
    struct hash128 keys[CALLERS_LINES_MAX / CALLERS_CHUNK + 2];
    size_t known; /* chunks of the callers that are known, from the outermost */
    stack_id known_stack;
};

/* The memo lives in the arena. */
bool callers_init(struct callers *c, struct arena *a);

/* Finds the lines of the entry that `text` begins with. Gives where the empty line behind
 * it begins; text.len where there is none. */
size_t callers_scan(struct callers *c, struct str text);

/* A caller's line, without its end: 0 is the leaf's caller. */
static inline struct str callers_line(const struct callers *c, size_t i)
{
    const uint32_t *start = &c->starts[c->first + i];
    struct str line = str_span(c->text.ptr + start[0], c->text.ptr + start[1] - 1);
    line.len -= str_ends(line, STR("\r"));
    return line;
}

/* How long it is with its end. */
static inline size_t callers_line_size(const struct callers *c, size_t i)
{
    return c->starts[c->first + i + 1] - c->starts[c->first + i];
}

/* Looks up the callers: the lines of the entry from `from` up to `to`. True where all are
 * known: their stack. Else the lines from 0 to callers_unknown(c) are to be parsed, the
 * length of the builder's path behind each noted in frames_at, and callers_learn called,
 * unless line_count is 0: then the callers are too many. */
bool callers_find(struct callers *c, size_t from, size_t to, stack_id *stack);

/* How many of the lines, from the first, are to be parsed. */
size_t callers_unknown(const struct callers *c);

/* The stack of the text, whose unknown lines gave the frames of the builder's path from
 * `from` on (leaf first; they are turned around). Remembers it. */
stack_id callers_learn(struct callers *c, struct builder *b, size_t from);

#endif
