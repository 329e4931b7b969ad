/* SPDX-License-Identifier: Apache-2.0 */
/* Disks, network interfaces, free memory blocks, and caches of the kernel: /proc/diskstats,
 * /proc/net/dev, /proc/buddyinfo, /proc/slabinfo. */
#ifndef STOKE_METRICS_DEVICES_H
#define STOKE_METRICS_DEVICES_H

#include "base/arena.h"
#include <stdint.h>

/* In the order of the file (Documentation/admin-guide/iostats.rst of the kernel). Times
 * are in ms; a sector has 512 bytes. */
enum disk_counter {
    DISK_READS,
    DISK_READS_MERGED,
    DISK_SECTORS_READ,
    DISK_READ_TIME,
    DISK_WRITES,
    DISK_WRITES_MERGED,
    DISK_SECTORS_WRITTEN,
    DISK_WRITE_TIME,
    DISK_IN_FLIGHT, /* now */
    DISK_BUSY_TIME,
    DISK_QUEUE_TIME, /* the busy time of each request, added up */
    DISK_DISCARDS,
    DISK_DISCARDS_MERGED,
    DISK_SECTORS_DISCARDED,
    DISK_DISCARD_TIME,
    DISK_FLUSHES,
    DISK_FLUSH_TIME,
    DISK_COUNTERS
};

struct disk {
    uint32_t major, minor;
    struct str name; /* part of the text */
    uint64_t counters[DISK_COUNTERS];
};

struct disks {
    struct disk *items;
    size_t count, cap;
};

/* Read the files' text, to which the results refer. Lines without the first 11 counters,
 * as those of partitions in kernels before 2.6.25, are skipped. False when memory is
 * short. */
bool disks_parse(struct str text, struct arena *a, struct disks *out);

/* The disk of that name, or NULL. */
const struct disk *disks_find(const struct disks *d, struct str name);

struct network_traffic {
    uint64_t bytes, packets, errors, drops;
};

struct network_interface {
    struct str name; /* part of the text */
    struct network_traffic received, sent;
};

struct network_interfaces {
    struct network_interface *items;
    size_t count, cap;
};

bool network_interfaces_parse(struct str text, struct arena *a,
                              struct network_interfaces *out);

#define BUDDY_ORDERS 32

/* Free blocks of 2^order pages in a zone. */
struct buddy_zone {
    uint32_t node;
    struct str name; /* part of the text */
    uint64_t free[BUDDY_ORDERS];
    size_t orders;
};

struct buddy_zones {
    struct buddy_zone *items;
    size_t count, cap;
};

bool buddy_zones_parse(struct str text, struct arena *a, struct buddy_zones *out);

/* Objects of one kind, which the kernel allocates from slabs: groups of pages. */
struct slab_cache {
    struct str name; /* part of the text */
    uint64_t active, objects, object_size;
    uint64_t slabs, pages_per_slab;
};

struct slab_caches {
    struct slab_cache *items;
    size_t count, cap;
};

/* Only root can read this file. */
bool slab_caches_parse(struct str text, struct arena *a, struct slab_caches *out);

#endif
