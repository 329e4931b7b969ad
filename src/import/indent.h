/* SPDX-License-Identifier: Apache-2.0 */
/* A call tree as tools print it: one row per function, callers first, indented by
 * depth. The indentation is any number that grows with the depth: spaces, a column, a
 * level.
 *
 * The rows from the root to the last row are open. A new row closes those with the
 * same or more indentation; the remaining open rows are its path. If rows have totals,
 * the self weight of a row is its total without that of its callees, and is added to
 * the profile when the row closes. */
#ifndef STOKE_IMPORT_INDENT_H
#define STOKE_IMPORT_INDENT_H

#include "model/builder.h"

struct indent_row {
    size_t column;
    frame_id frame;
    stack_id stack; /* the path to the row; unused in a tree of callers */
    double rest;    /* of its total: not covered by rows below */
    double doubt;   /* how much of that may be caused by rounded totals */
    bool silent;    /* the rest of its total is dropped */
};

struct indent {
    struct builder *b;
    bool callers;     /* rows below a row are its callers, not its callees */
    bool samples;     /* totals count samples */
    event_id event;   /* of the samples that closing rows add */
    thread_id thread; /* the same */
    struct arena arena;
    struct indent_row *rows; /* the open ones, root first */
    size_t count, cap;
};

/* Closes every row that is indented by `column` or more. */
void indent_close(struct indent *t, size_t column);

/* Does the same, then opens a row there. Returns its stack (0 in a tree of callers).
 * Frame 0 is allowed for a row that is not a function, such as a thread. */
stack_id indent_open(struct indent *t, size_t column, frame_id frame);

/* The stack of the last row; 0 if none is open. */
stack_id indent_stack(const struct indent *t);

/* Sets the total of the row opened last. `doubt` is the largest possible rounding
 * error; 0 if the total is exact. */
void indent_total(struct indent *t, double total, double doubt);

/* The same where a total is behind the rows below: it ends the row opened last, whose callees have
 * closed. */
void indent_end(struct indent *t, double total, double doubt);

/* Drops the rest of the total of the row opened last (a thread that only waits). */
void indent_silence(struct indent *t);

/* Closes all rows and frees memory. A failed allocation is passed on to the builder. */
void indent_deinit(struct indent *t);

#endif
