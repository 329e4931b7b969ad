/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for that waits in the library that implements locks: a mutex, a condition
 * variable. The names of the functions on its stack show it. */
#ifndef STOKE_MODEL_LOCK_KIND_H
#define STOKE_MODEL_LOCK_KIND_H

#include "model/profile.h"

/* The stack of the innermost function of the program itself, for a stack that waits for a lock or
 * holds one: not of the kernel, nor of the library that implements locks. 0 if there is none. Sets
 * the kind of the lock, if a function shows it and it is still empty. */
stack_id lock_user(const struct profile *p, stack_id stack, const char **kind);

/* Whether a thread that waits for this kind of lock waits for another thread to give it work or
 * to end, and not for one that holds the lock. */
bool lock_kind_is_idle(const char *kind);

#endif
