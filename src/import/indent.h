/* SPDX-License-Identifier: Apache-2.0 */
/* A call tree as tools print it: a row a function, callers first, each as far in as it is
 * deep. How far in is any number that grows with the depth: spaces, a column, a level.
 *
 * The rows from the root to the last one are open. A new row closes those that stand as
 * far in as it does or farther, and what is left is its path. Where rows tell totals, a
 * row's own share is what its callees leave of it, added to the profile as it closes. */
#ifndef STOKE_IMPORT_INDENT_H
#define STOKE_IMPORT_INDENT_H

#include "model/builder.h"

struct indent_row {
    size_t column;
    frame_id frame;
    stack_id stack; /* the path to the row; not kept in a tree of callers */
    double rest;    /* of its total: what no row below claimed yet */
    double doubt;   /* how much of that may come of rounded totals */
    bool silent;    /* what is left to it is dropped */
};

struct indent {
    struct builder *b;
    bool callers;     /* the rows below a row are its callers, not its callees */
    bool samples;     /* totals count samples */
    event_id event;   /* of what closing rows add */
    thread_id thread; /* the same */
    struct arena arena;
    struct indent_row *rows; /* the open ones, the outermost first */
    size_t count, cap;
};

/* Closes every row that stands at `column` or farther in. */
void indent_close(struct indent *t, size_t column);

/* The same, then opens a row there. Returns its stack (0 in a tree of callers). Frame 0
 * is allowed: a row that is no function, such as a thread's. */
stack_id indent_open(struct indent *t, size_t column, frame_id frame);

/* The stack of the last row, 0 where none is open. */
stack_id indent_stack(const struct indent *t);

/* Tells the total of the row opened last. `doubt` is how far off rounding may have put
 * it; 0 where it is exact. */
void indent_total(struct indent *t, double total, double doubt);

/* Drops what is left to the row opened last (a thread that only waits). */
void indent_silence(struct indent *t);

/* Closes all rows and frees. Failure of memory is passed on to the builder's profile. */
void indent_deinit(struct indent *t);

#endif
