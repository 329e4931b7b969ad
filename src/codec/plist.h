/* SPDX-License-Identifier: Apache-2.0 */
/* Binary property lists, and the objects that NSKeyedArchiver keeps in them.
 *
 * Nothing is built: a value is looked at where it lies, and what is in it is asked for by
 * its number. So neither deep lists nor ones that hold themselves cost anything, and a
 * reader that walks them bounds its own way. What is damaged is PLIST_NONE.
 *
 * The format: the object table, big-endian, behind the objects; the last 32 bytes tell
 * where (CFBinaryPList.c of Apple's CoreFoundation describes it in its head). */
#ifndef STOKE_CODEC_PLIST_H
#define STOKE_CODEC_PLIST_H

#include "base/arena.h"
#include "base/str.h"

enum plist_kind {
    PLIST_NONE, /* null, or damaged */
    PLIST_BOOL,
    PLIST_INTEGER,
    PLIST_REAL,
    PLIST_DATE, /* seconds since 2001, in `real` */
    PLIST_DATA,
    PLIST_ASCII,
    PLIST_UTF16, /* big-endian */
    PLIST_UID,
    PLIST_ARRAY,
    PLIST_DICT,
};

struct plist_value {
    enum plist_kind kind;
    uint32_t count;   /* of items; of pairs in a dict */
    uint64_t integer; /* the low 64 bits; of a UID its number */
    double real;
    struct str bytes; /* of data and texts; of an array or dict the items' numbers */
};

struct plist {
    struct str bytes;
    struct str offsets; /* of the objects */
    unsigned offset_size, item_size;
    uint32_t count; /* of objects */
    uint32_t root;
};

/* False where the bytes, which outlive the list, are no binary property list. */
bool plist_init(struct plist *p, struct str bytes);

/* The object of that number. */
struct plist_value plist_object(const struct plist *p, uint32_t number);

/* The i-th item of an array; of a dict the i-th key, and from `count` on the values. */
struct plist_value plist_item(const struct plist *p, const struct plist_value *in,
                              uint32_t i);

/* What a dict has under that key. */
struct plist_value plist_find(const struct plist *p, const struct plist_value *dict,
                              struct str key);

/* --- NSKeyedArchiver ---------------------------------------------------------------- */

struct keyed_archive {
    struct plist plist;
    struct plist_value objects; /* what UIDs number */
    struct plist_value top;
};

/* False where the bytes are no such archive. */
bool keyed_init(struct keyed_archive *a, struct str bytes);

/* What a UID stands for; any other value is itself. */
struct plist_value keyed_follow(const struct keyed_archive *a, struct plist_value v);

/* What an object has under that key, followed. */
struct plist_value keyed_find(const struct keyed_archive *a,
                              const struct plist_value *object, struct str key);

/* The number N of a key "$N", as old-style coders name what they write in turn;
 * UINT32_MAX for any other key. */
uint32_t keyed_place(const struct plist_value *key);

/* A text: a plain one, or an NSString. What is not ASCII goes into the arena. Empty where
 * it is none. */
struct str keyed_text(const struct keyed_archive *a, struct plist_value v,
                      struct arena *arena);

/* What an NSDictionary has under that text, followed. */
struct plist_value keyed_entry(const struct keyed_archive *a,
                               const struct plist_value *dictionary, struct str key);

#endif
