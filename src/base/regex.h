/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions that come from an input. Matching takes time proportional to the
 * product of the lengths for every pattern and text: it follows all paths through the
 * pattern at once, byte by byte, without backtracking and without recursion.
 *
 * Supported: . * + ? | ( ) (?: ) [ ] [^ ] \d \D \w \W \s \S, ^ at the beginning, $ at
 * the end, and a backslash before a character that stands for itself. */
#ifndef STOKE_BASE_REGEX_H
#define STOKE_BASE_REGEX_H

#include "base/arena.h"

#define REGEX_NODES_MAX 4096
#define REGEX_GROUPS_MAX 32 /* nested */

struct regex {
    struct regex_node *nodes;
    uint32_t count, start, end;
    /* Scratch of the matcher: active nodes, and marks of visited nodes. */
    uint32_t *now, *next, *open, *marks;
    uint32_t mark;
    uint64_t steps; /* visited nodes, in all matches */
};

/* False if the pattern is not supported or too large, or when out of memory. */
bool regex_init(struct regex *re, struct arena *a, struct str pattern);

/* Returns true if the whole text matches. */
bool regex_matches(struct regex *re, struct str text);

#endif
