/* SPDX-License-Identifier: Apache-2.0 */
/* Landing pads: where an exception that passes through a call goes on in the caller.
 *
 * Source of the rules: the Linux Standard Base, "Exception Frames" (.eh_frame), and the
 * Itanium C++ ABI's exception handling, "Language-Specific Data Area", as GCC and clang
 * write it to .gcc_except_table. */
#ifndef STOKE_SYMBOL_LANDING_H
#define STOKE_SYMBOL_LANDING_H

#include "symbol/elf.h"

/* A function that has some. */
struct landing_function {
    uint64_t start, end;
    uint64_t table; /* address of what the language knows of it */
};

struct landing_table {
    struct landing_function *functions; /* by address */
    size_t count;
    struct str except; /* .gcc_except_table */
    uint64_t except_address;
    bool big_endian, is_64;
};

/* Reads which functions have landing pads; what is broken is left out. Memory is the
 * arena's. False when memory is short. */
bool landing_init(struct landing_table *t, struct elf *e, struct arena *arena);

/* Where an exception thrown at an address (within a call instruction) goes on in the
 * function there; 0: it passes through. Any number of threads may ask. */
uint64_t landing_find(const struct landing_table *t, uint64_t address);

#endif
