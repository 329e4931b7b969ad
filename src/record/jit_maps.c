/* SPDX-License-Identifier: Apache-2.0 */
#include "record/jit_maps.h"
#include "base/array.h"
#include "base/format.h"
#include "os/child.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/process_probe.h"
#include "record/java_map.h"
#include <stdlib.h>

#define SEEN_MOST 65536
#define HELD_MOST 256
#define MAP_MOST ((uint64_t)64 << 20) /* bytes; larger maps are left out */
#define WAIT_MOST 64                  /* checks between two checks of a process */
#define WAIT_JVM 16 /* the same, while a JVM is searched: it is mapped at the start */
#define END_WAIT ((uint64_t)1000000000) /* ns, for the last maps of all JVMs */

struct jit_map {
    uint32_t pid;
    uint16_t
        wait; /* number of checks before the check after the next; 0: no more checks */
    uint64_t next;         /* the number of the next check */
    int file;              /* open, or -1 */
    bool written;          /* a recording contains it */
    struct java_map *java; /* of a JVM without a map of its own, or NULL */
};

/* Opens the perf map of a process: in its own root directory if it is in a container; if the
 * process has ended, only a map of the user who started the recording. */
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
    struct os_user_ids user = os_invoking_user();
    j->wait = 0;
    format_text(path, sizeof path, "/tmp/perf-%u.map", j->pid);
    return os_shared_open(path, user.other ? user.user : os_user(), &ignored);
}

static void check_map(struct record_jit_maps *m, struct jit_map *j)
{
    j->next = m->checks + j->wait;
    if (!os_process_probe_answers(m->probe, j->pid))
        return;
    if (j->wait < WAIT_MOST)
        j->wait = (uint16_t)(j->wait * 2);
    if (m->held == HELD_MOST)
        return;
    j->file = open_map(j);
    m->held += j->file >= 0;
    if (j->file < 0 && m->request_java && j->wait && j->wait <= WAIT_JVM)
        j->java = java_map_new(j->pid);
}

void record_jit_maps_add(struct record_jit_maps *m, uint32_t pid)
{
    if (m->count >= SEEN_MOST || !ARRAY_RESERVE_HEAP(m->items, m->cap, m->count + 1))
        return;
    m->items[m->count] = (struct jit_map){.pid = pid, .wait = 1, .file = -1};
    check_map(m, &m->items[m->count++]);
}

void record_jit_maps_check(struct record_jit_maps *m)
{
    m->checks++;
    for (size_t i = 0; i < m->count; i++) {
        struct jit_map *j = &m->items[i];
        if (j->java)
            java_map_step(j->java);
        else if (j->file < 0 && j->wait && j->next <= m->checks)
            check_map(m, j);
    }
}

static void write_text(struct jit_map *j, struct str text, struct output *out)
{
    uint64_t head[2] = {j->pid, text.len};
    if (text.len == 0)
        return;
    output_bytes(out, (const char *)head, sizeof head);
    output_str(out, text);
    j->written = true;
}

static void write_map(struct jit_map *j, struct output *out)
{
    struct os_mapping map;
    struct error ignored;
    if (!os_mapping_of(&map, j->file, MAP_MOST, &ignored))
        return;
    write_text(j, map.bytes, out);
    os_mapping_close(&map);
}

void record_jit_maps_write(struct record_jit_maps *m, struct output *out)
{
    uint64_t deadline = os_clock_monotonic() + END_WAIT;
    for (size_t i = 0; i < m->count; i++) {
        struct jit_map *j = &m->items[i];
        if (j->file < 0 && j->wait && !j->java)
            check_map(m, j);
        if (j->java) {
            java_map_finish(j->java, deadline);
            write_text(j, java_map_text(j->java), out);
        } else if (j->file >= 0) {
            write_map(j, out);
        }
    }
}

const char *record_jit_maps_problem(const struct record_jit_maps *m, uint64_t *count)
{
    const char *first = "";
    *count = 0;
    for (size_t i = 0; i < m->count; i++) {
        const char *why = m->items[i].java ? java_map_problem(m->items[i].java) : "";
        if (*why && (*count)++ == 0)
            first = why;
    }
    return first;
}

uint64_t record_jit_maps_count(const struct record_jit_maps *m, bool written,
                               uint32_t *counts, uint32_t limit)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct jit_map *j = &m->items[i];
        uint32_t pid = j->pid;
        bool known = j->file >= 0 || (j->java && java_map_text(j->java).len);
        if (!(written ? j->written : known && !j->written) || pid >= limit)
            continue;
        sum += counts[pid];
        counts[pid] = 0;
    }
    return sum;
}

void record_jit_maps_deinit(struct record_jit_maps *m)
{
    for (size_t i = 0; i < m->count; i++) {
        os_shared_close(m->items[i].file);
        java_map_destroy(m->items[i].java);
    }
    free(m->items);
    *m = (struct record_jit_maps){0};
}
