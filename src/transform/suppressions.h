/* SPDX-License-Identifier: Apache-2.0 */
/* Suppressions of leaks, in the syntax of LeakSanitizer and in that of valgrind; one text
 * may have both:
 *
 *   leak:NAME                 a stack with a frame whose function, module or source file has
 *                             NAME in it; '*' is any text, '^' at the start and '$' at the
 *                             end mean the start and the end. '#' begins a comment
 *
 *   {                         a stack whose leaf and callers match these lines one by one:
 *      a name                 fun:FUNCTION, obj:MODULE or src:FILE, with the wildcards '*'
 *      Memcheck:Leak          and '?'; or "..." for any number of frames, also none.
 *      fun:malloc             Callers of the last one are not compared. Functions that
 *      fun:read_*             allocate may be missing in the stack, or in the suppression
 *      ...
 *   }
 *
 * Those of other checks than leaks are ignored. */
#ifndef STOKE_TRANSFORM_SUPPRESSIONS_H
#define STOKE_TRANSFORM_SUPPRESSIONS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#define SUPPRESSION_LINES_MAX 64

enum suppression_kind {
    SUPPRESSION_ANY, /* of leak: */
    SUPPRESSION_FUNCTION,
    SUPPRESSION_MODULE,
    SUPPRESSION_SOURCE,
    SUPPRESSION_FRAMES, /* "..." */
};

struct suppression_line {
    enum suppression_kind kind;
    struct str pattern; /* of the whole name, for glob_match */
};

/* `stacks` and `weight` are what it has suppressed so far. */
struct suppression {
    struct str name; /* the NAME of leak:, or the name in valgrind's syntax */
    bool is_stack;   /* the lines match a stack from its leaf on, otherwise any frame */
    const struct suppression_line *lines;
    size_t count;
    uint64_t stacks;
    double weight;
};

/* Zeroed: there are none. */
struct suppressions {
    struct arena arena; /* of lines and items; the texts belong to the caller */
    struct suppression *items;
    size_t count, cap;
    bool is_quiet; /* for the caller: the counts are not shown */
};

/* Adds those of a text, which must remain valid. False, with err set, at an invalid line. */
bool suppressions_add(struct suppressions *s, struct str text, struct error *err);
void suppressions_deinit(struct suppressions *s);

#endif
