/* SPDX-License-Identifier: Apache-2.0 */
/* A symbol table: finds symbols by address. All sources of names use it (ELF symbol
 * tables, kallsyms, perf maps, jitdump).
 *
 * Symbols are added in any order; then the table is finished and read-only. If several
 * symbols cover an address, one of them is chosen for each part of the address space
 * when the table is finished: the result is ranges that do not overlap, so a lookup is
 * one binary search over sorted numbers. Building takes at most n log n.
 *
 * Names are views of the bytes that were read, which must outlive the table. */
#ifndef STOKE_SYMBOL_SYMBOL_TABLE_H
#define STOKE_SYMBOL_SYMBOL_TABLE_H

#include "base/arena.h"
#include "base/error.h"
#include "symbol/ranges.h"

/* Longer names are truncated. */
#define SYMBOL_NAME_MAX ((size_t)64 << 10)

/* Maximum number of bytes that are compared to choose among aliases. */
#define SYMBOL_COMPARED 1024

enum symbol_kind { SYMBOL_FUNCTION, SYMBOL_IFUNC, SYMBOL_OBJECT, SYMBOL_LABEL };
enum symbol_binding { SYMBOL_LOCAL, SYMBOL_GLOBAL, SYMBOL_WEAK };

/* The result of a lookup. */
struct symbol {
    uint64_t address, end; /* [address, end) */
    struct str name;       /* as stored in the file: mangled */
    struct str module;     /* of the kernel: "ext4"; otherwise empty */
    enum symbol_kind kind;
    enum symbol_binding binding;
};

/* A symbol as stored in the table. */
struct symbol_entry {
    uint64_t address, end;
    const char *name;
    uint32_t length; /* SYMBOL_MEASURE: up to the zero byte */
    uint16_t module; /* an index into modules */
    uint8_t text;    /* an index into texts, for SYMBOL_MEASURE */
    enum symbol_kind kind : 2;
    enum symbol_binding binding : 2;
    bool open : 1;
};

/* There may be millions. */
_Static_assert(sizeof(struct symbol_entry) <= 32, "two to a line of the cache");

#define SYMBOL_MEASURE UINT32_MAX
#define SYMBOL_TEXTS_MAX 8

/* Which symbol is chosen if several cover an address. */
enum symbol_choice {
    /* Among those that begin at the same address, the preferred one (see table.c);
     * otherwise the one that begins last: the innermost, if symbols are nested. */
    SYMBOLS_BEST,
    SYMBOLS_NEWEST, /* the one that was added last: code that was overwritten */
};

/* Which addresses will be looked up. A table with a filter stores only the symbols that
 * decide about these: those that cover one, and its neighbours on both sides. So the names
 * of a few addresses need little memory, however many symbols a file has. */
struct symbol_filter {
    const uint64_t *addresses; /* ascending, of the caller */
    size_t count;
    struct symbol_gap {
        uint64_t first, last; /* where symbols between two addresses begin */
        bool any;
    } * gaps;         /* count + 1 */
    uint64_t offered; /* symbols so far */

    /* Called from time to time while symbols are added, to release pages that were read;
     * or NULL. */
    void (*release)(void *context);
    void *context;
};

struct symbol_table {
    struct symbol_entry *entries; /* once finished: sorted by address, one per address */
    size_t count, cap;
    struct ranges ranges; /* the owners are indexes into entries */
    struct str texts[SYMBOL_TEXTS_MAX];
    unsigned text_count;
    struct str *modules; /* [0] is none */
    size_t module_count, module_cap;
    struct arena *arena;          /* owned by the caller */
    bool failed;                  /* out of memory while symbols were added */
    struct symbol_filter *filter; /* NULL: all symbols are stored */
    size_t prune_at;
};

void symbol_table_init(struct symbol_table *t, struct arena *arena);

/* Sets the filter of an empty table, which must live until the table is finished. */
void symbol_table_filter(struct symbol_table *t, struct symbol_filter *filter);

/* Whether the table would store a symbol of that range; always true without a filter. */
bool symbol_table_needs(struct symbol_table *t, uint64_t address, uint64_t end);

/* The part of the address space around `address` with the same answer: [*start, *end). */
void symbol_table_part(const struct symbol_table *t, uint64_t address, uint64_t *start,
                       uint64_t *end);

/* Allocates room for `count` symbols, if the number is known. */
void symbol_table_reserve(struct symbol_table *t, size_t count);

/* Registers a text of zero-terminated names; returns its number for symbol_entry. From
 * the ninth on they are rejected: UINT_MAX. */
unsigned symbol_table_text(struct symbol_table *t, struct str text);

/* Returns the number of a module for symbol_entry; compares with the newest one only. 0
 * if there are too many. */
uint16_t symbol_table_module(struct symbol_table *t, struct str name);

/* Adds a symbol. `end` is its end. If the end is unknown, `open` is set, and the symbol
 * extends to the next symbol, but at most to `end`. With an unknown maximum
 * (UINT64_MAX), it extends to the end of its page and one page further, as in perf, if
 * it is the last symbol, or if the next one belongs to another module or is far away.
 * More than 4,000,000,000 symbols are rejected. */
void symbol_table_add(struct symbol_table *t, struct symbol_entry entry);

/* Sorts, chooses and builds the ranges. False when out of memory, now or earlier.
 * Finish a table once. */
bool symbol_table_finish(struct symbol_table *t, enum symbol_choice choice,
                         struct error *err);

/* Finds the symbol at an address, in a finished table. Thread-safe. */
bool symbol_table_find(const struct symbol_table *t, uint64_t address,
                       struct symbol *found);

/* The name of an entry, at most `longest` bytes of it. */
struct str symbol_table_name(const struct symbol_table *t, const struct symbol_entry *e,
                             size_t longest);

/* entries[i] as the result of a lookup: to iterate over the table. */
struct symbol symbol_table_get(const struct symbol_table *t, size_t i);

#endif
