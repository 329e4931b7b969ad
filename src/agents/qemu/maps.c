/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/maps.h"
#include "agents/qemu/channel.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/number.h"
#include "base/qemu_format.h"
#include <fcntl.h>
#include <unistd.h>

/* Addresses are those of the host; `bias` converts them to the guest's. */
struct map {
    uint64_t start, end, offset, bias;
    uint32_t id; /* 0 until code of the map is translated */
    struct str path;
};

struct maps {
    struct map *items;
    size_t count, cap;
};

static _Atomic uint32_t is_stale = 1;
static struct arena seen_memory, reported_memory;
static struct maps seen; /* as in /proc/self/maps; read again when they are outdated */
static struct maps reported; /* described in the trace, by id - 1 */

void maps_forget(void)
{
    atomic_store(&is_stale, 1);
}

static bool map_add(struct maps *maps, struct arena *memory, struct map map)
{
    struct map *added = ARRAY_APPEND(memory, maps->items, maps->count, maps->cap);
    if (!added)
        return false;
    *added = map;
    return true;
}

/* Reads all of /proc/self/maps into seen_memory. */
static struct str read_maps(void)
{
    char *text = NULL;
    size_t size = 0, cap = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0) {
        if (!ARRAY_RESERVE(&seen_memory, text, cap, size + 65536))
            break;
        ssize_t got = read(fd, text + size, 65536);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    return size ? (struct str){text, size} : STR("");
}

/* The text before the next `c`; removes both from the line. */
static struct str take_until(struct str *line, char c)
{
    struct str word = str_head(*line, str_find(*line, c));
    *line = str_skip(*line, word.len + 1);
    return word;
}

/* start-end flags offset device inode   path */
static bool parse_line(struct str line, struct map *map)
{
    struct str start = take_until(&line, '-'), end = take_until(&line, ' ');
    take_until(&line, ' ');
    struct str offset = take_until(&line, ' ');
    map->path = str_skip(line, str_find(line, '/'));
    return map->path.len && number_parse_hex(start, &map->start) &&
           number_parse_hex(end, &map->end) && number_parse_hex(offset, &map->offset);
}

static void look(void)
{
    atomic_store(&is_stale, 0);
    arena_deinit(&seen_memory);
    seen = (struct maps){0};
    struct str text = read_maps();
    while (text.len) {
        struct map map = {0};
        if (parse_line(take_until(&text, '\n'), &map) &&
            !map_add(&seen, &seen_memory, map))
            return;
    }
}

static void describe(const struct map *map)
{
    struct {
        uint32_t id, path_size;
        uint64_t start, end, offset;
    } head = {map->id, (uint32_t)map->path.len, map->start - map->bias,
              map->end - map->bias, map->offset};
    _Static_assert(sizeof head == QEMU_TRACE_MAP_SIZE, "the size in the format");
    feed_put(&channel->maps, &head, sizeof head, map->path.ptr, map->path.len);
}

static bool is_same(const struct map *a, const struct map *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset &&
           a->bias == b->bias && str_equal(a->path, b->path);
}

/* The id of the map that contains code. */
static uint32_t report(struct map *map)
{
    for (size_t i = 0; i < reported.count; i++)
        if (is_same(&reported.items[i], map))
            return reported.items[i].id;
    map->id = (uint32_t)reported.count + 1;
    struct map copy = *map;
    copy.path = arena_str(&reported_memory, map->path);
    if (copy.path.len != map->path.len || !map_add(&reported, &reported_memory, copy))
        return 0;
    describe(&copy);
    return copy.id;
}

uint32_t map_of(uint64_t address, uint64_t host)
{
    if (atomic_load(&is_stale))
        look();
    for (size_t i = 0; i < seen.count; i++) {
        struct map *map = &seen.items[i];
        if (host < map->start || host >= map->end)
            continue;
        if (!map->id) {
            map->bias = host - address;
            map->id = report(map);
        }
        return map->id;
    }
    return 0;
}

void maps_describe_again(void)
{
    for (size_t i = 0; i < reported.count; i++)
        describe(&reported.items[i]);
}
