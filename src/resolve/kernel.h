/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of the kernel and its modules: from vmlinux, from the kallsyms saved with the
 * recording, or from the running kernel if it is the recorded one. */
#ifndef STOKE_RESOLVE_KERNEL_H
#define STOKE_RESOLVE_KERNEL_H

#include "resolve/object.h"

/* Checks that the files given by the user contain kernel symbols. Reads only as much as
 * needed. */
bool kernel_check(const struct resolve_settings *s, struct error *err);

/* Fills the object's symbols, and the distance by which the kernel was moved since. */
void kernel_names(struct object *o, const struct resolve_settings *s);

#endif
