/* Callers known by their text: the lines of a stack from the leaf's caller to the
 * outermost, as tools print them, leaf first.
 *
 * The text as a whole is looked up by its hash first. Where it was not met before, most
 * of it often was: stacks differ near the leaf. So the lines are also cut into chunks,
 * counted from the outermost, and the longest run of outermost chunks that is known is
 * found. Only the lines in front of it are parsed. */
#ifndef STOKE_IMPORT_CALLERS_H
#define STOKE_IMPORT_CALLERS_H

#include "base/memo.h"
#include "model/builder.h"

#define CALLERS_CHUNK 8       /* lines */
#define CALLERS_LINES_MAX 512 /* longer texts are known as a whole or not at all */

struct callers {
    struct memo memo;
    struct str text; /* under way: indexed by callers_find */
    size_t line_count;
    uint32_t starts[CALLERS_LINES_MAX + 1]; /* where each line begins, and the end */
    size_t frames_at[CALLERS_LINES_MAX];    /* how long the path is behind each line */
    struct hash128 whole, keys[CALLERS_LINES_MAX / CALLERS_CHUNK + 1];
    size_t known; /* chunks of the text that are known, from the outermost */
    stack_id known_stack;
};

/* The memo lives in the arena. */
bool callers_init(struct callers *c, struct arena *a);

/* Looks a text of whole lines up. True where all of it is known: its stack and its count
 * of lines. Else the caller parses the lines from 0 to callers_unknown(c), notes the
 * length of the builder's path behind each in frames_at, and calls callers_learn. */
bool callers_find(struct callers *c, struct str text, stack_id *stack, size_t *lines);

/* How many of the lines, from the first, are to be parsed. */
size_t callers_unknown(const struct callers *c);

/* The stack of the text, whose unknown lines gave the frames of the builder's path from
 * `from` on (leaf first; they are turned around). Remembers it. */
stack_id callers_learn(struct callers *c, struct builder *b, size_t from);

#endif
