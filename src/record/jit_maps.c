/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jit_maps.h"
#include "base/format.h"
#include "os/child.h"
#include "os/mapping.h"
#include <stdlib.h>

#define SEEN_MOST 65536
#define HELD_MOST 256
#define MAP_MOST ((uint64_t)64 << 20) /* bytes; what is larger is left out */
#define WAIT_MOST 64                  /* looks from one to the next of a process */

struct jit_map {
    uint32_t pid;
    uint16_t wait; /* looks until the one after the next; 0: no more */
    uint64_t next; /* the look it is due at */
    int file;      /* open, or -1 */
    bool written;  /* it is in a recording */
};

/* Opens the map of a process that is there, its own where it is in a container; of one
 * that is not, what whoever asked for the recording has left. */
static int open_map(struct jit_map *j)
{
    char path[96];
    uint32_t owner;
    struct error ignored;
    long long own = (long long)os_process_own_pid(j->pid);
    if (os_process_owner(j->pid, &owner)) {
        format_text(path, sizeof path, "/proc/%u/root/tmp/perf-%lld.map", j->pid, own);
        return os_shared_open(path, owner, &ignored);
    }
    struct os_person person = os_invoking_person();
    j->wait = 0;
    format_text(path, sizeof path, "/tmp/perf-%u.map", j->pid);
    return os_shared_open(path, person.other ? person.user : os_user(), &ignored);
}

static void look_for(struct record_jit_maps *m, struct jit_map *j)
{
    j->next = m->looks + j->wait;
    if (j->wait < WAIT_MOST)
        j->wait = (uint16_t)(j->wait * 2);
    if (m->held == HELD_MOST)
        return;
    j->file = open_map(j);
    m->held += j->file >= 0;
}

void record_jit_maps_see(struct record_jit_maps *m, uint32_t pid)
{
    if (m->count == m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 64;
        struct jit_map *items =
            cap <= SEEN_MOST ? realloc(m->items, cap * sizeof *items) : NULL;
        if (!items)
            return;
        m->items = items;
        m->cap = cap;
    }
    m->items[m->count] = (struct jit_map){.pid = pid, .wait = 1, .file = -1};
    look_for(m, &m->items[m->count++]);
}

void record_jit_maps_look(struct record_jit_maps *m)
{
    m->looks++;
    for (size_t i = 0; i < m->count; i++) {
        struct jit_map *j = &m->items[i];
        if (j->file < 0 && j->wait && j->next <= m->looks)
            look_for(m, j);
    }
}

static void write_map(struct jit_map *j, struct output *out)
{
    struct os_mapping map;
    struct error ignored;
    uint64_t head[2] = {j->pid};
    if (!os_mapping_of(&map, j->file, MAP_MOST, &ignored))
        return;
    head[1] = map.bytes.len;
    if (map.bytes.len) {
        output_bytes(out, (const char *)head, sizeof head);
        output_str(out, map.bytes);
        j->written = true;
    }
    os_mapping_close(&map);
}

void record_jit_maps_write(struct record_jit_maps *m, struct output *out)
{
    for (size_t i = 0; i < m->count; i++) {
        struct jit_map *j = &m->items[i];
        if (j->file < 0 && j->wait)
            look_for(m, j);
        if (j->file >= 0)
            write_map(j, out);
    }
}

uint64_t record_jit_maps_take(const struct record_jit_maps *m, uint32_t *counts,
                              uint32_t limit)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->count; i++) {
        uint32_t pid = m->items[i].pid;
        if (!m->items[i].written || pid >= limit)
            continue;
        sum += counts[pid];
        counts[pid] = 0;
    }
    return sum;
}

void record_jit_maps_deinit(struct record_jit_maps *m)
{
    for (size_t i = 0; i < m->count; i++)
        os_shared_close(m->items[i].file);
    free(m->items);
    *m = (struct record_jit_maps){0};
}
