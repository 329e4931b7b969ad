/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that adds build IDs to mappings that the kernel reports without them. While a
 * counter of all threads requests build IDs, the kernel also flags the mappings in other users'
 * recordings, which contain no build ID (perf_sampler.h). So such counters do not request them,
 * and this stage reads them from the files. It comes before all other stages: it gets records of
 * the kernel only, and later stages can trust the flag. */
#ifndef STOKE_RECORD_BUILD_IDS_H
#define STOKE_RECORD_BUILD_IDS_H

#include "base/hash.h"
#include "record/record.h"

#define RECORD_BUILD_ID_MAX 20 /* bytes: longer ones do not fit into a record */

/* Entries of the cache: a machine runs some thousand different files. */
#define RECORD_BUILD_IDS_CACHED 4096

/* The build ID of a version of a file. */
struct record_build_id {
    struct hash128 key; /* of device, inode, generation, size and time; 0: no entry */
    uint8_t size;       /* 0: the file has none */
    char bytes[RECORD_BUILD_ID_MAX];
};

/* Of mappings of one round: processes that start map the same libraries. */
#define RECORD_BUILD_IDS_ROUND 256

/* What a mapping is found to have; its file is not checked again in the same round. */
struct record_mapped_file {
    struct hash128 key; /* of device, inode, generation and path */
    uint64_t round;     /* 0: no entry */
    struct record_build_id id;
};

struct record_build_ids {
    const struct record_layout *layout;
    struct record_sink next;
    bool reads; /* false: wrong flags are removed, but no file is read */
    struct record_build_id *cache;     /* a new entry replaces the one at its index */
    struct record_mapped_file *mapped; /* RECORD_BUILD_IDS_ROUND */
    uint64_t round;                    /* from 1 on */
    struct record_maker maker;
    uint64_t files_read, files_checked;
};

/* Must not be moved afterwards, neither it nor the layout. False if out of memory. */
bool record_build_ids_init(struct record_build_ids *s, const struct record_layout *layout,
                           bool reads, struct record_sink next, struct error *err);
void record_build_ids_deinit(struct record_build_ids *s); /* also if it is all zeros */

/* Passes on a user's mapping of a file with the file's build ID. It stays without one if
 * the file at its path is another, if it has none, or if it is not ELF. */
struct record_sink record_build_ids_sink(struct record_build_ids *s);

#endif
