/* SPDX-License-Identifier: Apache-2.0 */
/* Landing pads: where an exception that propagates through a call continues in the
 * caller.
 *
 * Source: the Linux Standard Base, "Exception Frames" (.eh_frame), and the Itanium C++
 * ABI's exception handling, "Language-Specific Data Area", as GCC and clang write it to
 * .gcc_except_table. */
#ifndef STOKE_SYMBOL_LANDING_H
#define STOKE_SYMBOL_LANDING_H

#include "symbol/elf.h"

/* A function with landing pads. */
struct landing_function {
    uint64_t start, end;
    uint64_t table; /* address of its language-specific data */
};

struct landing_table {
    struct landing_function *functions; /* sorted by address */
    size_t count;
    struct str except; /* .gcc_except_table */
    uint64_t except_address;
    bool big_endian, is_64;
};

/* Reads which functions have landing pads; invalid entries are skipped. The arena owns
 * the memory. False when out of memory. */
bool landing_init(struct landing_table *t, struct elf *e, struct arena *arena);

/* Where an exception thrown at an address (inside a call instruction) continues in the
 * same function; 0: nowhere, it propagates. Thread-safe. */
uint64_t landing_find(const struct landing_table *t, uint64_t address);

#endif
