/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that are called in place of the C library's, and what they need: of a
 * library that is loaded before the program (preload.c), or by a running one
 * (attach.c). */
#ifndef STOKE_AGENTS_HEAP_HOOKS_H
#define STOKE_AGENTS_HEAP_HOOKS_H

/* Finds the functions of the C library. Without this, the first call does it. */
void hooks_start(void);

/* For hooks_start: the C library's function of that name, and what follows when all are
 * found. */
void *hooks_find(const char *name);
void hooks_ready(void);

/* Finds the functions that confine.c replaces. */
void confine_start(void);

struct hook {
    const char *name; /* NULL: the end of the table */
    void (*function)(void);
};

extern const struct hook hooks[];

#endif
