/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of functions that the objects of this process call: entries of their
 * global offset tables, and relocated pointers. Those of some functions are replaced, and
 * restored.
 *
 * The dynamic linker writes to an object while it loads it. So only objects that are
 * loaded completely are changed: those that were in its list before its lock was free. */
#ifndef STOKE_AGENTS_HEAP_GOT_H
#define STOKE_AGENTS_HEAP_GOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces a function by another. `original` is its address in the C library. */
struct got_function {
    const char *name;
    uintptr_t original, replacement;
};

/* False if the table is full. */
bool got_add(const struct got_function *function);

/* Whether the program uses the C library's function and no other of that name. */
bool got_is_of_library(const struct got_function *function);

/* Replaces the functions in all objects that were loaded since. The calling thread must
 * not hold a lock that a constructor of a library could wait for. False if entries could
 * not be changed. */
bool got_replace(void);

/* Whether objects were loaded or unloaded since got_replace. */
bool got_is_outdated(void);

/* Restores all entries. Returns the number of those that still have a replacement. */
size_t got_restore(void);

#endif
