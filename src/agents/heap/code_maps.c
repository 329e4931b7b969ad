/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/heap/code_maps.h"
#include "agents/heap/lane.h"
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lines are truncated to this length; longer paths have no names. */
#define LINE_MAX_SIZE 4096

/* --- Lines ------------------------------------------------------------------------- */

static uint64_t take_number(const char **at, const char *end, unsigned base)
{
    uint64_t value = 0;
    for (; *at < end; ++*at) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : base;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    if (*at < end)
        ++*at; /* what separates it from the next field */
    return value;
}

/* "START-END rwxp OFFSET MAJOR:MINOR INODE   PATH" */
static struct map_line parse_line(const char *at, const char *end)
{
    struct map_line line = {.start = take_number(&at, end, 16)};
    line.end = take_number(&at, end, 16);
    line.is_executable = end - at > 5 && at[2] == 'x';
    at += end - at > 5 ? 5 : end - at;
    line.offset = take_number(&at, end, 16);
    line.major = (uint32_t)take_number(&at, end, 16);
    line.minor = (uint32_t)take_number(&at, end, 16);
    line.inode = take_number(&at, end, 10);
    while (at < end && *at == ' ')
        at++;
    line.path = at;
    line.path_size = (uint32_t)(end - at);
    return line;
}

bool code_maps_each(bool (*each)(void *context, const struct map_line *line),
                    void *context)
{
    char text[LINE_MAX_SIZE];
    size_t used = 0;
    bool goes_on = true;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (goes_on) {
        long got = syscall(SYS_read, fd, text + used, sizeof text - used);
        if (got <= 0)
            break;
        used += (size_t)got;
        char *from = text, *newline;
        while (goes_on && (newline = memchr(from, '\n', used - (size_t)(from - text)))) {
            struct map_line line = parse_line(from, newline);
            goes_on = each(context, &line);
            from = newline + 1;
        }
        used -= (size_t)(from - text);
        memmove(text, from, used);
        if (used == sizeof text)
            used = 0; /* a line that is too long */
    }
    syscall(SYS_close, fd);
    return true;
}

/* --- The listed code ---------------------------------------------------------------- */

/* The executable mappings of the last complete list, in ascending order. The link maps of
 * the dynamic linker would show new libraries, too, but another thread may unload one
 * while it is read. */
#define RANGES_MAX 2048

struct range {
    uint64_t start, end;
};

static struct range ranges[RANGES_MAX];
static size_t range_count;
static uint64_t ranges_space; /* 0: the ranges are not valid */

/* Odd while a thread changes the ranges. */
static uint32_t version;

/* Addresses that no list contains: they are not searched for again. */
static uint64_t unlisted[256];

static uint64_t space;

void code_maps_start(void)
{
    __atomic_store_n(&space,
                     __atomic_fetch_add(&heap_shared->claims, 1, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELEASE);
}

uint64_t code_maps_space(void)
{
    return __atomic_load_n(&space, __ATOMIC_RELAXED);
}

void code_maps_forked(void)
{
    ranges_space = 0;
    __atomic_store_n(&version, 0, __ATOMIC_RELEASE);
}

/* Another thread may change the ranges meanwhile: the result is then invalid. */
static bool is_in_ranges(uint64_t address)
{
    size_t count = __atomic_load_n(&range_count, __ATOMIC_RELAXED), low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && address >= ranges[low].start;
}

static bool is_listed(uint64_t address)
{
    uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
    bool is_found =
        __atomic_load_n(&ranges_space, __ATOMIC_RELAXED) == code_maps_space() &&
        is_in_ranges(address);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_found && before % 2 == 0 &&
           __atomic_load_n(&version, __ATOMIC_RELAXED) == before;
}

/* False if another thread changes the ranges, or this one, in the function that a signal
 * handler has interrupted. */
static bool begin_ranges(uint64_t of_space)
{
    uint32_t before = __atomic_load_n(&version, __ATOMIC_RELAXED);
    if (before % 2 || !__atomic_compare_exchange_n(&version, &before, before + 1, false,
                                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&range_count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&ranges_space, of_space, __ATOMIC_RELAXED);
    return true;
}

static void add_range(uint64_t start, uint64_t end)
{
    size_t count = range_count;
    if (count && ranges[count - 1].end == start) {
        ranges[count - 1].end = end;
    } else if (count < RANGES_MAX) {
        ranges[count] = (struct range){start, end};
        __atomic_store_n(&range_count, count + 1, __ATOMIC_RELAXED);
    }
}

static void end_ranges(void)
{
    __atomic_fetch_add(&version, 1, __ATOMIC_RELEASE);
}

/* --- Records ----------------------------------------------------------------------- */

static bool put_line(void *context, const struct map_line *line)
{
    const bool *has_ranges = context;
    struct heap_code code = {.offset = line->offset,
                             .inode = line->inode,
                             .major = line->major,
                             .minor = line->minor};
    if (!line->is_executable)
        return true;
    if (*has_ranges)
        add_range(line->start, line->end);
    lane_put(&(struct lane_record){.kind = HEAP_MAPPED_CODE,
                                   .address = line->start,
                                   .size = line->end - line->start,
                                   .fixed = &code,
                                   .fixed_size = sizeof code,
                                   .copied = (uintptr_t)line->path,
                                   .copied_size = line->path_size});
    return true;
}

/* Only a complete list counts: until then, other threads put it, too, before they put
 * stacks. A list that was begun before a library was unloaded belongs to the space of
 * before. */
void code_maps_put(void)
{
    if (lane_is_confined())
        return;
    uint64_t now = __atomic_load_n(&space, __ATOMIC_ACQUIRE);
    bool has_ranges = begin_ranges(now);
    lane_put(&(struct lane_record){.kind = HEAP_NO_CODE, .size = now});
    code_maps_each(put_line, &has_ranges);
    lane_put(&(struct lane_record){.kind = HEAP_CODE_LISTED});
    if (has_ranges)
        end_ranges();
}

void code_maps_need(uint64_t address)
{
    uint64_t key = address ^ code_maps_space() << 48;
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 56;
    if (is_listed(address) || __atomic_load_n(&unlisted[hash], __ATOMIC_RELAXED) == key)
        return;
    code_maps_put();
    if (!is_listed(address))
        __atomic_store_n(&unlisted[hash], key, __ATOMIC_RELAXED);
}

void code_maps_unloaded(void)
{
    if (lane_is_confined())
        return;
    code_maps_start();
    code_maps_put();
}
