/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver (model/resolver.h) that uses the files of this machine: finds object
 * files, unwinds stacks and names addresses, with the work split over the cores. */
#ifndef STOKE_RESOLVE_LOCAL_RESOLVER_H
#define STOKE_RESOLVE_LOCAL_RESOLVER_H

#include "resolve/object.h"

struct local_resolver;

/* NULL when out of memory. `settings` must outlive it. */
struct local_resolver *local_resolver_create(const struct resolve_settings *settings);
void local_resolver_destroy(struct local_resolver *m);

/* The interface for readers; valid as long as m. */
struct resolver local_resolver_interface(struct local_resolver *m);

/* The object with that id in its current state; NULL if there is none, or if the
 * resolver is not a local one. Valid as long as the resolver; no other function of the
 * resolver may run at the same time. */
struct object *local_resolver_object(const struct resolver *resolver, object_id id);

/* The same with symbols and debug information loaded, even if all requested names came
 * from the cache on disk, which has no line tables. */
struct object *local_resolver_tables(const struct resolver *resolver, object_id id);

/* The function [*start, *end) at a file address according to the call frame information:
 * for code whose symbols were stripped. False if there is none. */
bool local_resolver_function(const struct resolver *resolver, object_id id,
                             uint64_t address, uint64_t *start, uint64_t *end);

/* Files that could not be used for names: how many, and the first of each kind. */
struct resolve_report {
    size_t missing, changed; /* files that are missing, or are others by now */
    struct str missing_path, changed_path;
    bool kernel_hidden;        /* kernel.kptr_restrict hides the kernel's addresses */
    bool kernel_unknown;       /* there are no symbols of the recorded kernel */
    struct str kernel_release; /* of that kernel; or empty */
    size_t unread;             /* jitdumps and perf maps that could not be read */
    struct str unread_why;     /* path and reason of the first */
    size_t unsplit, unshared;  /* files whose .dwo or .dwp, or dwz file is missing */
    struct str unsplit_path, unshared_path; /* the first missing .dwo; dwz file */
};

/* Whether a file was truncated by another process while it was read. */
bool local_resolver_truncated(struct local_resolver *m);

void local_resolver_report(const struct local_resolver *m, struct resolve_report *r);

/* Calls `each` for every file whose names may be those of another file (doubt.h), or are
 * incomplete because of the limits, with the reason. */
void local_resolver_doubts(const struct local_resolver *m,
                           void (*each)(void *context, const char *why), void *context);

/* Returns true if the file of that recorded path was found without a complete symbol
 * table and without a debug file. `has_build_id`: a debuginfod server could have it. */
bool local_resolver_is_stripped(const struct local_resolver *m, struct str path,
                                bool *has_build_id);

#endif
