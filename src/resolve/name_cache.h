/* SPDX-License-Identifier: Apache-2.0 */
/* A cache on disk of the names of addresses in one file. Displaying a recording again,
 * or recording the same executable again, does not read its debug information again.
 *
 * A cache belongs to one file, one debug file and one set of naming options, which
 * determine its path (object.c). It is used on this machine only, in its byte order; a
 * file that is damaged, or of another version, is ignored. */
#ifndef STOKE_RESOLVE_NAME_CACHE_H
#define STOKE_RESOLVE_NAME_CACHE_H

#include "base/arena.h"
#include "model/resolver.h"
#include "os/mapping.h"

struct name_cache {
    char path[512];         /* empty: the cache is not used */
    struct os_mapping file; /* the existing cache file */
    struct arena arena;
    struct name_job *added; /* new answers */
    size_t added_count, added_cap;
};

/* Opens the cache file at the path, if it exists. A zeroed cache is empty and stores
 * nothing. */
void name_cache_open(struct name_cache *c, const char *path);
void name_cache_close(struct name_cache *c);

/* Returns true if the cache file has entries. */
bool name_cache_has_entries(const struct name_cache *c);

/* Answers the job from the cache, by its address and whether it is a call. The arena
 * owns the frames; the texts are valid until the cache is closed. False if the address
 * is unknown. */
bool name_cache_find(const struct name_cache *c, struct name_job *job, struct arena *a);

/* Adds an answer, whose frames must stay valid until the cache is written. */
void name_cache_add(struct name_cache *c, const struct name_job *job);

/* Writes old and new entries, if there are enough new ones. Failures are ignored. */
void name_cache_write(struct name_cache *c);

#endif
