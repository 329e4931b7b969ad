/* SPDX-License-Identifier: Apache-2.0 */
/* Text with stacks in it: frame lines, leaf first, and something that ends the stack.
 *
 * Backtraces, thread dumps and the aggregations of tracers all have this shape. What ends
 * a stack is a line that tells its count, an empty line, or the next stack's heading. An
 * importer of such text embeds a struct stacktext as its reader's first member and gives
 * stacktext_read one function, which looks at one line and calls the verbs below.
 *
 * A frame line met before need not be parsed again: ask stacktext_add_known first. */
#ifndef STOKE_IMPORT_STACKTEXT_H
#define STOKE_IMPORT_STACKTEXT_H

#include "base/memo.h"
#include "base/output.h"
#include "import/importer.h"

struct stacktext {
    struct builder *b; /* its path holds the frames of the stack under way */
    const struct import_options *options;
    struct lines lines;
    struct arena arena;
    struct memo frames; /* frame lines met before */
    size_t memo_pairs;  /* its size; 0: enough for dumps of threads */
    struct output text; /* where a name is put together */
    event_id event;     /* 0: "samples" */
    /* What the next stack to end is given: */
    double weight; /* 1; 0 where a line to come has to tell it */
    int64_t pid, tid;
    string_id thread; /* the thread's name, or 0 */
    bool drop;        /* not to be kept: its thread is idle */
    uint64_t dropped; /* how many were not */

    void (*finish)(
        struct stacktext *t); /* the importer's own end of the input, or NULL */
};

/* What a frame line says. */
struct text_frame {
    struct str name;   /* without its offset; empty where it is unknown */
    struct str offset; /* "+0x1f" or empty; kept where the options ask for offsets */
    struct str module; /* or empty */
    struct str file;   /* or empty; kept where the options ask for lines */
    uint64_t line;
    uint64_t address;
    enum frame_kind kind;
    bool verbatim; /* the name is taken as it stands, brackets and all */
};

#define TEXT_FRAME        \
    ((struct text_frame){ \
        .name = STR(""), .offset = STR(""), .module = STR(""), .file = STR("")})

/* Reads all of the source, one call of `line` per line (its end is cut off). `t` is zero
 * but for what the importer itself set. A stack under way at the end is ended too, or
 * counted as cut where its weight was not told. */
bool stacktext_read(struct stacktext *t, struct source *in,
                    const struct import_options *options, struct builder *b,
                    void (*line)(struct stacktext *t, struct str line),
                    struct error *err);

/* Adds the frame of a line met before to the stack under way; false where it was not. */
bool stacktext_add_known(struct stacktext *t, struct str line);

/* Adds a frame to the stack under way, and remembers it for the line. */
void stacktext_add(struct stacktext *t, struct str line, const struct text_frame *frame);

/* The frame alone: its row in the builder's table. Argument lists are cut off the name
 * unless it is verbatim or the options keep them. */
frame_id stacktext_frame(struct stacktext *t, const struct text_frame *frame);

/* Tells where in the source the frame added last is: for formats that say so in a line of
 * its own. Does nothing unless the options ask for lines. */
void stacktext_place(struct stacktext *t, struct str file, uint64_t line);

/* The input says that the stack under way has further callers, which it does not tell:
 * counts it, and marks it where the options ask for that. */
void stacktext_cut(struct stacktext *t);

/* Ends the stack under way, if there is one, and begins one of the thread of that name,
 * its tid not known yet. */
void stacktext_thread(struct stacktext *t, struct str name);

/* Ends the stack under way, if there is one. */
void stacktext_end(struct stacktext *t);

/* Ends the stack under way, which may be empty, with the weight that a line tells. */
void stacktext_end_counted(struct stacktext *t, struct str count);

/* Adds a sample of that stack, for the thread and with the weight under way. */
void stacktext_add_stack(struct stacktext *t, stack_id stack);

/* A count: digits, perhaps with a sign and with white space around. */
bool stacktext_is_count(struct str line);

/* Takes the count into t->weight. False, with a warning, where it cannot be used. */
bool stacktext_set_count(struct stacktext *t, struct str count);

/* Counts a line that is of no use. */
void stacktext_warn(struct stacktext *t, const char *what, struct str line);

/* --- Pieces that lines are made of ------------------------------------------------- */

/* Takes a hexadecimal number, with or without 0x, that ends at white space or the end off
 * *rest, with the white space behind it. False, with *rest unchanged, where there is
 * none. */
bool stacktext_take_hex(struct str *rest, uint64_t *value);

/* Splits "file:12" or "file:12:3" at its numbers; the line is 0 where there is none. */
struct str stacktext_split_place(struct str place, uint64_t *line);

/* Takes the next line off *rest for a probe, without white space at its end; false at the
 * end of the head, which may cut the last line. */
bool stacktext_probe_line(struct str *rest, struct str *line);

/* What importers of text in which a line with a count ends a stack split at: behind a
 * count behind a line that is surely a frame's. */
size_t stacktext_split(struct str bytes, size_t from, bool (*is_frame)(struct str text));

#endif
