/* SPDX-License-Identifier: Apache-2.0 */
/* The names of addresses in one file, kept on disk from one run to the next: who looks at
 * a recording a second time, or records a program again, does not read its debug
 * information again.
 *
 * What is kept belongs to one file, one debug file and one way of naming: the path that
 * it is kept at tells them (object.c). It is this machine's alone, in its byte order; a
 * file that is damaged, or of another version, is none. */
#ifndef STOKE_RESOLVE_NAME_CACHE_H
#define STOKE_RESOLVE_NAME_CACHE_H

#include "base/arena.h"
#include "model/resolver.h"
#include "os/mapping.h"

struct name_cache {
    char path[512];         /* empty: nothing is kept */
    struct os_mapping file; /* what was kept before */
    struct arena arena;
    struct name_job *added; /* what was not */
    size_t added_count, added_cap;
};

/* Opens what is kept at the path, if anything. A cache of zeros is one that keeps nothing
 * and knows nothing. */
void name_cache_open(struct name_cache *c, const char *path);
void name_cache_close(struct name_cache *c);

/* Whether it knows any address. */
bool name_cache_has_any(const struct name_cache *c);

/* Answers the job, by its address as asked and whether it is a call. The frames are the
 * arena's, the texts live until the cache is closed. False where it does not know. */
bool name_cache_find(const struct name_cache *c, struct name_job *job, struct arena *a);

/* Remembers the answer, whose frames must live until the cache is written. */
void name_cache_add(struct name_cache *c, const struct name_job *job);

/* Writes what was kept and what was added, where that is worth it. That it cannot is no
 * failure. */
void name_cache_write(struct name_cache *c);

#endif
