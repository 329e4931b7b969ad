/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions that come from an input, so that no pattern and no text may cost
 * more than their lengths multiplied: all ways through the pattern are walked at once,
 * byte by byte, without backtracking and without recursion.
 *
 * Understood: . * + ? | ( ) (?: ) [ ] [^ ] \d \D \w \W \s \S, ^ at the beginning and $ at
 * the end, and a backslash before what stands for itself. */
#ifndef STOKE_BASE_REGEX_H
#define STOKE_BASE_REGEX_H

#include "base/arena.h"

#define REGEX_NODES_MAX 4096
#define REGEX_GROUPS_MAX 32 /* inside each other */

struct regex {
    struct regex_node *nodes;
    uint32_t count, start, end;
    /* Scratch of the matching: the nodes that are reached, and which were looked at. */
    uint32_t *now, *next, *open, *marks;
    uint32_t mark;
};

/* False where the pattern is not understood or too large, or memory is short. */
bool regex_init(struct regex *re, struct arena *a, struct str pattern);

/* Whether all of the text matches. */
bool regex_matches(struct regex *re, struct str text);

#endif
