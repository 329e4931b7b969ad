/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/heap/code_maps.h"
#include "agents/heap/lane.h"
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lines are cut at this length; longer paths have no names. */
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

/* --- Records ----------------------------------------------------------------------- */

static bool put_line(void *context, const struct map_line *line)
{
    struct heap_code code = {.offset = line->offset,
                             .inode = line->inode,
                             .major = line->major,
                             .minor = line->minor};
    (void)context;
    if (!line->is_executable)
        return true;
    lane_put(&(struct lane_record){.kind = HEAP_MAPPED_CODE,
                                   .address = line->start,
                                   .size = line->end - line->start,
                                   .fixed = &code,
                                   .fixed_size = sizeof code,
                                   .copied = (uintptr_t)line->path,
                                   .copied_size = line->path_size});
    return true;
}

/* The last library that was put; its successor is one that was loaded later. */
static struct link_map *volatile last;

/* Changes when a library is unloaded: what was read of the list before is invalid. */
static unsigned unloads;

static struct link_map *last_library(void)
{
    struct link_map *at = _r_debug.r_map;
    while (at && at->l_next)
        at = at->l_next;
    return at;
}

static uint64_t space;

void code_maps_start(void)
{
    __atomic_store_n(&space,
                     __atomic_fetch_add(&heap_shared->claims, 1, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
}

uint64_t code_maps_space(void)
{
    return __atomic_load_n(&space, __ATOMIC_RELAXED);
}

/* Only a complete list counts as put: until then, other threads put it, too, before they
 * put stacks. */
void code_maps_put(void)
{
    unsigned before = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
    struct link_map *library = last_library();
    lane_put(&(struct lane_record){.kind = HEAP_NO_CODE, .size = code_maps_space()});
    code_maps_each(put_line, NULL);
    lane_put(&(struct lane_record){.kind = HEAP_CODE_LISTED});
    if (__atomic_load_n(&unloads, __ATOMIC_ACQUIRE) == before)
        last = library;
}

void code_maps_refresh(void)
{
    const struct link_map *at = last;
    if (at && at->l_next)
        code_maps_put();
}

void code_maps_unloading(void)
{
    __atomic_fetch_add(&unloads, 1, __ATOMIC_ACQ_REL);
    last = NULL;
}

void code_maps_unloaded(void)
{
    code_maps_start();
    code_maps_put();
}
