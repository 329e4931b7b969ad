/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#define LENGTH_MAX 40
#define PREFIX_MIN 3 /* a shorter prefix matches too many names */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The edit distance of a and b: insertions, deletions, changes, and swaps of
 * neighbours. Both have at most LENGTH_MAX letters. */
static unsigned distance(struct str a, struct str b)
{
    unsigned rows[3][LENGTH_MAX + 1];
    unsigned *last = rows[0], *row = rows[1], *before = rows[2];
    for (unsigned j = 0; j <= b.len; j++)
        last[j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            char x = lower(a.ptr[i - 1]), y = lower(b.ptr[j - 1]);
            row[j] = min(last[j - 1] + (x != y), min(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b.ptr[j - 2]) && y == lower(a.ptr[i - 2]))
                row[j] = min(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b.len];
}

void nearest_offer(struct nearest *n, struct str name)
{
    struct str word = n->word;
    unsigned d, near = (unsigned)(word.len + 2) / 3;
    if (word.len == 0 || name.len == 0 || word.len > LENGTH_MAX || name.len > LENGTH_MAX)
        return;
    bool begins = name.len > word.len && word.len >= PREFIX_MIN;
    bool goes_on = word.len > name.len && name.len >= PREFIX_MIN;
    d = distance(word, name);
    if (begins && distance(str_head(name, word.len), word) == 0)
        d = 1; /* the input is a prefix of the name */
    else if (goes_on && d > 2 && distance(name, str_head(word, name.len)) == 0)
        d = 2;
    if (d <= near && d < word.len && (n->name.len == 0 || d < n->distance)) {
        n->name = name;
        n->distance = d;
    }
}

bool nearest_hint(const struct nearest *n, const char *dashes, const char *rest,
                  struct error *err)
{
    if (n->name.len == 0)
        return error_hint(err, "%s", rest);
    return error_hint(err, "did you mean %s%.*s? %s", dashes, STR_ARG(n->name), rest);
}
