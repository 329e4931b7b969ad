/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/devices.h"
#include "base/array.h"
#include "metrics/number.h"

#define DEVICES_MAX 65536
#define FIRST_COUNTERS 11 /* of all kernels since 2.6.25 */

bool disks_parse(struct str text, struct arena *a, struct disks *out)
{
    *out = (struct disks){0};
    while (text.len && out->count < DEVICES_MAX) {
        struct str line = str_cut(&text, '\n');
        uint64_t major, minor;
        struct disk disk = {0};
        if (!metrics_next(&line, &major) || !metrics_next(&line, &minor))
            continue;
        disk.major = (uint32_t)major;
        disk.minor = (uint32_t)minor;
        disk.name = str_word(&line);
        if (metrics_next_all(&line, disk.counters, DISK_COUNTERS) < FIRST_COUNTERS)
            continue;
        struct disk *slot = ARRAY_APPEND(a, out->items, out->count, out->cap);
        if (!slot)
            return false;
        *slot = disk;
    }
    return true;
}

const struct disk *disks_find(const struct disks *d, struct str name)
{
    for (size_t i = 0; i < d->count; i++)
        if (str_equal(d->items[i].name, name))
            return &d->items[i];
    return NULL;
}

#define NETWORK_COLUMNS 16 /* 8 received, 8 sent: bytes packets errs drop ... */

static struct network_traffic traffic_of(const uint64_t columns[8])
{
    return (struct network_traffic){columns[0], columns[1], columns[2], columns[3]};
}

bool network_interfaces_parse(struct str text, struct arena *a,
                              struct network_interfaces *out)
{
    *out = (struct network_interfaces){0};
    while (text.len && out->count < DEVICES_MAX) {
        struct str line = str_cut(&text, '\n');
        size_t colon = str_rfind(line, ':'); /* an alias is eth0:1 */
        uint64_t columns[NETWORK_COLUMNS];
        struct str rest = str_skip(line, colon + 1);
        if (metrics_next_all(&rest, columns, NETWORK_COLUMNS) < NETWORK_COLUMNS)
            continue;
        struct network_interface *slot =
            ARRAY_APPEND(a, out->items, out->count, out->cap);
        if (!slot)
            return false;
        *slot = (struct network_interface){.name = str_trim(str_head(line, colon)),
                                           .received = traffic_of(columns),
                                           .sent = traffic_of(columns + 8)};
    }
    return true;
}

/* Reads "Node 0, zone   Normal    845    163 ...". */
static bool parse_zone(struct str line, struct buddy_zone *out)
{
    uint64_t node;
    if (!str_equal(str_word(&line), STR("Node")))
        return false;
    struct str number = str_word(&line);
    if (!number_parse_u64(str_head(number, str_find(number, ',')), &node) ||
        !str_equal(str_word(&line), STR("zone")))
        return false;
    out->node = (uint32_t)node;
    out->name = str_word(&line);
    out->orders = metrics_next_all(&line, out->free, BUDDY_ORDERS);
    return true;
}

/* Reads "NAME active objects size per_slab pages : tunables A B C : slabdata active slabs shared". */
static bool parse_cache(struct str line, struct slab_cache *out)
{
    uint64_t first[5], last[2];
    out->name = str_word(&line);
    struct str tail = str_skip(line, str_rfind(line, ':') + 1);
    if (metrics_next_all(&line, first, 5) < 5 ||
        !str_equal(str_word(&tail), STR("slabdata")) ||
        metrics_next_all(&tail, last, 2) < 2)
        return false;
    out->active = first[0];
    out->objects = first[1];
    out->object_size = first[2];
    out->pages_per_slab = first[4];
    out->slabs = last[1];
    return true;
}

bool slab_caches_parse(struct str text, struct arena *a, struct slab_caches *out)
{
    *out = (struct slab_caches){0};
    while (text.len && out->count < DEVICES_MAX) {
        struct slab_cache cache, *slot;
        if (!parse_cache(str_cut(&text, '\n'), &cache))
            continue;
        slot = ARRAY_APPEND(a, out->items, out->count, out->cap);
        if (!slot)
            return false;
        *slot = cache;
    }
    return true;
}

bool buddy_zones_parse(struct str text, struct arena *a, struct buddy_zones *out)
{
    *out = (struct buddy_zones){0};
    while (text.len && out->count < DEVICES_MAX) {
        struct buddy_zone zone = {0}, *slot;
        if (!parse_zone(str_cut(&text, '\n'), &zone))
            continue;
        slot = ARRAY_APPEND(a, out->items, out->count, out->cap);
        if (!slot)
            return false;
        *slot = zone;
    }
    return true;
}
