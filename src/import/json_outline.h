/* SPDX-License-Identifier: Apache-2.0 */
/* The outline of a JSON text: its keys, each once, from wherever they lie in a file of any
 * size. It distinguishes the formats.
 *
 * The text is scanned as it comes, in pieces. What is kept is itself the beginning of a
 * JSON text without white space: the opening bracket, and for each key `"key":`, so that a
 * probe finds "\"traceEvents\":" in it. Of a "$schema" the value is kept, too. Keys that
 * are numbers, and all that are beyond the room, are left out. */
#ifndef STOKE_IMPORT_JSON_OUTLINE_H
#define STOKE_IMPORT_JSON_OUTLINE_H

#include "base/str.h"
#include <stdint.h>

#define OUTLINE_SIZE ((size_t)32 << 10)
#define OUTLINE_KEYS 2048   /* of each kind at most half of it */
#define OUTLINE_KEY_MAX 100 /* longer strings are not looked at */

struct json_outline {
    bool ended;  /* the value is complete: nothing more belongs to it */
    bool broken; /* it is not JSON */

    /* The scanner's own. */
    size_t used, key_count;
    uint64_t depth;
    bool started, in_string, escaped, is_schema;
    bool has_string; /* the last token is a string, of `word` */
    size_t word_length;
    char word[OUTLINE_KEY_MAX + 1];
    uint64_t known[OUTLINE_KEYS]; /* hashes of the keys kept */
    char text[OUTLINE_SIZE];
};

/* All but the text and the tables is zero at first. */
void json_outline_init(struct json_outline *o);

/* The next piece of the text. Nothing behind the end of the value is looked at. */
void json_outline_feed(struct json_outline *o, struct str piece);

static inline struct str json_outline_text(const struct json_outline *o)
{
    return (struct str){o->text, o->used};
}

#endif
