/* SPDX-License-Identifier: Apache-2.0 */
/* Reads binary property lists, and NSKeyedArchiver objects in them.
 *
 * No tree is built: a value is read in place, and its items are accessed by number. So
 * deep or cyclic lists cost nothing, and a reader that walks them must limit its own
 * path. Damaged values are PLIST_NONE.
 *
 * The format: objects, then a big-endian table of their offsets; the last 32 bytes
 * locate the table (see the head of CFBinaryPList.c in Apple's CoreFoundation). */
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
    uint32_t count;   /* number of items; of pairs in a dict */
    uint64_t integer; /* the low 64 bits; the number of a UID */
    double real;
    /* content of data and texts; the object numbers of the items of an array or dict */
    struct str bytes;
};

struct plist {
    struct str bytes;
    struct str offsets; /* offsets of the objects */
    unsigned offset_size, item_size;
    uint32_t count; /* number of objects */
    uint32_t root;
};

/* False if the bytes are not a binary property list. They must outlive it. */
bool plist_init(struct plist *p, struct str bytes);

/* The object with that number. */
struct plist_value plist_object(const struct plist *p, uint32_t number);

/* Item i of an array; of a dict, key i, or value i - count from `count` on. */
struct plist_value plist_item(const struct plist *p, const struct plist_value *in,
                              uint32_t i);

/* The value of a key in a dict. */
struct plist_value plist_find(const struct plist *p, const struct plist_value *dict,
                              struct str key);

/* --- NSKeyedArchiver ---------------------------------------------------------------- */

struct keyed_archive {
    struct plist plist;
    struct plist_value objects; /* the objects that UIDs refer to */
    struct plist_value top;
};

/* False if the bytes are not a keyed archive. */
bool keyed_init(struct keyed_archive *a, struct str bytes);

/* The object that a UID refers to; any other value unchanged. */
struct plist_value keyed_follow(const struct keyed_archive *a, struct plist_value v);

/* The value of a key of an object, with UIDs resolved. */
struct plist_value keyed_find(const struct keyed_archive *a,
                              const struct plist_value *object, struct str key);

/* The number N of a key "$N": coders without keys number the values in the order in
 * which they are written. UINT32_MAX for any other key. */
uint32_t keyed_position(const struct plist_value *key);

/* A text: a plain one, or an NSString. Text that is not ASCII is converted into the
 * arena. Empty if it is not a text. */
struct str keyed_text(const struct keyed_archive *a, struct plist_value v,
                      struct arena *arena);

/* The value of a text key in an NSDictionary, with UIDs resolved. */
struct plist_value keyed_entry(const struct keyed_archive *a,
                               const struct plist_value *dictionary, struct str key);

#endif
