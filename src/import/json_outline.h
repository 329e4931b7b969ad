/* SPDX-License-Identifier: Apache-2.0 */
/* The outline of a JSON text: each of its keys once, wherever they are in a file of
 * any size. It distinguishes the formats.
 *
 * The text is scanned in pieces as it arrives. The outline is itself the beginning of
 * a JSON text without white space: the opening bracket, and `"key":` for each key, so
 * that a probe finds "\"traceEvents\":" in it. For "$schema" it also has the value.
 * Keys that are numbers, and all keys beyond the limit, are omitted. */
#ifndef STOKE_IMPORT_JSON_OUTLINE_H
#define STOKE_IMPORT_JSON_OUTLINE_H

#include "base/str.h"
#include <stdint.h>

#define OUTLINE_SIZE ((size_t)32 << 10)
#define OUTLINE_KEYS 2048   /* in each of the two tables, at most half full */
#define OUTLINE_KEY_MAX 100 /* longer strings are ignored */

struct json_outline {
    bool ended;  /* the value is complete: nothing may follow */
    bool broken; /* it is not JSON */

    /* Internal to the scanner. */
    size_t used, key_count;
    uint64_t depth;
    bool started, in_string, escaped, is_schema;
    bool has_string; /* the last token is a string, in `word` */
    size_t word_length;
    char word[OUTLINE_KEY_MAX + 1];
    uint64_t known[OUTLINE_KEYS]; /* hashes of the keys in the outline */
    char text[OUTLINE_SIZE];
};

/* Initialises everything except the text and the tables. */
void json_outline_init(struct json_outline *o);

/* Scans the next piece of the text. Bytes after the end of the value are ignored. */
void json_outline_feed(struct json_outline *o, struct str piece);

static inline struct str json_outline_text(const struct json_outline *o)
{
    return (struct str){o->text, o->used};
}

#endif
