/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver of this machine: files found, stacks unwound and addresses named, split
 * over the cores. */
#ifndef STOKE_RESOLVE_MACHINE_H
#define STOKE_RESOLVE_MACHINE_H

#include "resolve/object.h"

struct machine_resolver;

/* NULL when memory is short. `settings` outlives it. */
struct machine_resolver *machine_resolver_create(const struct resolve_settings *settings);
void machine_resolver_destroy(struct machine_resolver *m);

/* What a reader is handed. It lives as long as m. */
struct resolver machine_resolver_seam(struct machine_resolver *m);

/* The file of that number as it was found, with what was made of it so far; NULL for
 * none, and where the resolver is not one of this machine. It lives as long as the
 * resolver; no other function of the resolver may run meanwhile. */
struct object *machine_resolver_object(const struct resolver *seam, object_id id);

/* The same, with its symbols and its debug information read: also where all names that
 * were asked for came from the cache on disk, which has no tables of lines. */
struct object *machine_resolver_tables(const struct resolver *seam, object_id id);

/* The function [*start, *end) that the file's call frame information has at an address of
 * it: what is known of code whose symbols were stripped. False where there is none. */
bool machine_resolver_function(const struct resolver *seam, object_id id,
                               uint64_t address, uint64_t *start, uint64_t *end);

/* What the user should know of the search: how many of the files that were asked for
 * names were not there, or other ones by now, and the first of each. */
struct resolve_report {
    size_t missing, changed;
    struct str missing_path, changed_path;
    bool kernel_hidden;  /* kernel.kptr_restrict keeps the kernel's addresses back */
    bool kernel_unknown; /* there are no symbols of the kernel that was recorded */
    struct str kernel_release; /* of that kernel; or empty */
    size_t unread;             /* jitdumps and perf maps that should be there */
    struct str unread_why;     /* of the first: its path and the reason */
    size_t unsplit, unshared;  /* files without their .dwo or .dwp, or without dwz's */
    struct str unsplit_path, unshared_path; /* the first such .dwo; the first of dwz's */
};

/* Calls for each file whose names may be those of another file (doubt.h), with why. */
void machine_resolver_doubts(const struct machine_resolver *m,
                             void (*each)(void *context, const char *why), void *context);

/* Whether a file of that recorded path was found, but neither the table of all its symbols
 * nor a debug file. `has_build_id`: whether a server could know it. */
bool machine_resolver_is_stripped(const struct machine_resolver *m, struct str path,
                                  bool *has_build_id);

void machine_resolver_report(const struct machine_resolver *m, struct resolve_report *r);

#endif
