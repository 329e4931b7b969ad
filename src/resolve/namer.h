/* SPDX-License-Identifier: Apache-2.0 */
/* Names the addresses of one object after another, in one thread: functions, inlined
 * calls and lines from the object's symbols, DWARF, Go table or jitdump. */
#ifndef STOKE_RESOLVE_NAMER_H
#define STOKE_RESOLVE_NAMER_H

#include "resolve/object.h"

struct namer;

/* The frames that it makes are owned by the arena. NULL when out of memory. */
struct namer *namer_create(const struct resolve_settings *settings, struct arena *arena);
void namer_destroy(struct namer *r); /* NULL is allowed */

/* The address where names are looked up for a return address: that of the call before it.
 * A signal handler returns to the first instruction of a trampoline, which has no call
 * before it, and so may a stack that was made by hand: if a function begins at the
 * address and none ends there, it is the address itself. */
uint64_t namer_call_address(const struct object *o, uint64_t address);

/* Sets the frames of the jobs of an object whose names are loaded. The tag of each query
 * is the index of its job; the queries are sorted by dwarf_order. False
 * when out of memory. */
bool namer_answer(struct namer *r, struct object *o, struct dwarf_query *queries,
                  size_t count, struct name_job *jobs);

#endif
