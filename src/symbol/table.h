/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols by address: what every source of names becomes (an object file's tables,
 * kallsyms, a perf map, jitdump).
 *
 * Symbols are added in any order, then the table is finished and only read. Where several
 * cover an address, one is the answer for each part of the address space, and that is
 * settled once: the table holds ranges that do not overlap, so looking up is one binary
 * search over sorted numbers. Building is n log n at worst, whatever overlaps.
 *
 * Names are views of the bytes that were read, which must outlive the table. */
#ifndef STOKE_SYMBOL_TABLE_H
#define STOKE_SYMBOL_TABLE_H

#include "base/arena.h"
#include "base/error.h"
#include "symbol/ranges.h"

/* Longer names are cut here. */
#define SYMBOL_NAME_MAX ((size_t)64 << 10)

/* Names that are compared, to choose among aliases, are compared so far. */
#define SYMBOL_COMPARED 1024

enum symbol_kind { SYMBOL_FUNCTION, SYMBOL_IFUNC, SYMBOL_OBJECT, SYMBOL_LABEL };
enum symbol_binding { SYMBOL_LOCAL, SYMBOL_GLOBAL, SYMBOL_WEAK };

/* What a lookup gives. */
struct symbol {
    uint64_t address, end; /* [address, end) */
    struct str name;       /* as it stands in the file: mangled */
    struct str module;     /* of the kernel: "ext4"; else empty */
    enum symbol_kind kind;
    enum symbol_binding binding;
};

/* A symbol as it is kept. */
struct symbol_entry {
    uint64_t address, end;
    const char *name;
    uint32_t length; /* SYMBOL_MEASURE: up to the zero */
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

/* How one is chosen where several symbols cover an address. */
enum symbol_choice {
    /* Of those that begin at one address the best (see table.c), else the one that begins
     * last: the innermost, where symbols lie within others. */
    SYMBOLS_BEST,
    SYMBOLS_NEWEST, /* the one that was added last: code that was written over */
};

struct symbol_table {
    struct symbol_entry *entries; /* once finished: by address, no two at one */
    size_t count, cap;
    struct ranges ranges; /* whose owners are indexes into entries */
    struct str texts[SYMBOL_TEXTS_MAX];
    unsigned text_count;
    struct str *modules; /* [0] is none */
    size_t module_count, module_cap;
    struct arena *arena; /* the caller's */
    bool failed;         /* memory was short while symbols were added */
};

void symbol_table_init(struct symbol_table *t, struct arena *arena);

/* Makes room for so many symbols at once, where that can be told. */
void symbol_table_reserve(struct symbol_table *t, size_t count);

/* Makes known a text in which names end with a zero; its number, for symbol_entry. The
 * 9th and later ones are refused: UINT_MAX. */
unsigned symbol_table_text(struct symbol_table *t, struct str text);

/* The number of a module for symbol_entry; compared with the newest only. 0 where there
 * are too many. */
uint16_t symbol_table_module(struct symbol_table *t, struct str name);

/* Adds a symbol: `end` is where it ends, or, where `open` is set because that is not
 * known, where it must have ended: it reaches to the next symbol or there. UINT64_MAX:
 * that is not known either; before another module's symbol, far before the next one, and
 * as the last one, it then reaches to the end of its page and one page on, as in perf.
 * One more than 4,000,000,000 is left out. */
void symbol_table_add(struct symbol_table *t, struct symbol_entry entry);

/* Sorts, chooses and makes ready. False when memory is short now or was before. A table
 * is finished once. */
bool symbol_table_finish(struct symbol_table *t, enum symbol_choice choice,
                         struct error *err);

/* The symbol at an address, in a finished table. Any number of threads may ask. */
bool symbol_table_find(const struct symbol_table *t, uint64_t address,
                       struct symbol *found);

/* The name of an entry, at most `longest` bytes of it. */
struct str symbol_table_name(const struct symbol_table *t, const struct symbol_entry *e,
                             size_t longest);

/* entries[i] as a lookup gives it: to walk over the table. */
struct symbol symbol_table_get(const struct symbol_table *t, size_t i);

#endif
