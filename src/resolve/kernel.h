/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kernel's and its modules' code: from vmlinux, from the list that was saved
 * with the recording, or from the running kernel where it is the recorded one. */
#ifndef STOKE_RESOLVE_KERNEL_H
#define STOKE_RESOLVE_KERNEL_H

#include "resolve/object.h"

/* Whether the files that the user named have the kernel's symbols. Looks no further than
 * it must. */
bool kernel_check(const struct resolve_settings *s, struct error *err);

/* Fills the object's symbols, and how far the kernel was moved since. */
void kernel_names(struct object *o, const struct resolve_settings *s);

#endif
