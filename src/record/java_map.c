/* SPDX-License-Identifier: Apache-2.0 */
#include "record/java_map.h"
#include "base/format.h"
#include "base/memo.h"
#include "base/output.h"
#include "os/jvm.h"
#include "os/machine.h"
#include "os/mapping.h"
#include "os/proc.h"
#include <stdlib.h>

#define SECOND ((uint64_t)1000000000)
#define TEXT_MOST ((uint64_t)64 << 20) /* bytes; larger maps are left out */
#define LINES_MOST 65536               /* in pairs; of those that are recognised */
#define FRESH (SECOND / 5)             /* a younger map is not replaced at the end */

struct java_map {
    uint32_t pid;
    bool busy, over;
    struct os_jvm request; /* while busy */
    uint64_t began, last, next;
    struct output text;
    struct memo lines; /* in the text */
    struct arena arena;
    struct error problem;
};

static void name_of(const struct os_jvm *r, char *room, size_t size)
{
    format_text(room, size, "perf-%lld.map", (long long)r->own_pid);
}

static bool begin(struct java_map *m)
{
    m->over = !os_jvm_begin(&m->request, m->pid, "Compiler.perfmap", &m->problem);
    m->busy = !m->over;
    return m->busy;
}

static bool has_own_map(const struct java_map *m)
{
    char name[64];
    name_of(&m->request, name, sizeof name);
    int fd = os_jvm_open(&m->request, name);
    os_shared_close(fd);
    return fd >= 0;
}

struct java_map *java_map_new(uint32_t pid)
{
    if (!os_is_jvm(pid))
        return NULL;
    struct java_map *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->pid = pid;
    m->began = os_clock_monotonic();
    m->arena = ARENA_INIT;
    m->text = OUTPUT_BUFFER;
    if (memo_init(&m->lines, &m->arena, LINES_MOST) && (!begin(m) || !has_own_map(m)))
        return m;
    java_map_destroy(m);
    return NULL;
}

/* Adds the lines that no earlier map has. The last line is omitted if it is not whole. */
static void merge(struct java_map *m, struct str text)
{
    if (output_contents(&m->text).len + text.len > TEXT_MOST) {
        output_deinit(&m->text);
        m->text = OUTPUT_BUFFER;
    }
    bool first = output_contents(&m->text).len == 0;
    while (text.len) {
        bool whole = str_find(text, '\n') < text.len;
        struct str line = str_cut(&text, '\n');
        struct hash128 key = hash_bytes128(line.ptr, line.len);
        if (!whole || (!first && memo_find(&m->lines, key)))
            continue;
        memo_put(&m->lines, key, 1);
        output_str(&m->text, line);
        output_char(&m->text, '\n');
    }
}

static void take_map(struct java_map *m)
{
    char name[64];
    struct os_mapping map;
    name_of(&m->request, name, sizeof name);
    int fd = os_jvm_open(&m->request, name);
    if (fd >= 0 && os_mapping_of(&map, fd, TEXT_MOST, &m->problem)) {
        merge(m, map.bytes);
        os_mapping_close(&map);
    } else {
        m->over = true;
        if (fd < 0)
            error_set(&m->problem, "it wrote no /tmp/%s", name);
    }
    os_shared_close(fd);
    os_jvm_remove(&m->request, name);
}

void java_map_step(struct java_map *m)
{
    if (m->over || (!m->busy && (os_clock_monotonic() < m->next || !begin(m))))
        return;
    enum os_jvm_state state = os_jvm_step(&m->request, &m->problem);
    if (state == OS_JVM_BUSY)
        return;
    if (state == OS_JVM_DONE)
        take_map(m);
    else
        m->over = true;
    m->busy = false;
    os_jvm_end(&m->request);
    uint64_t now = os_clock_monotonic(), age = now - m->began;
    m->last = now;
    m->next = now + (age / 4 > SECOND ? age / 4 : SECOND);
}

void java_map_finish(struct java_map *m, uint64_t deadline)
{
    uint64_t now = os_clock_monotonic();
    if (!m->busy && m->last && now - m->last < FRESH)
        return;
    m->next = now;
    do {
        java_map_step(m);
        if (m->busy)
            os_jvm_await(&m->request, (int)((deadline - now) / 1000000));
        now = os_clock_monotonic();
    } while (m->busy && now < deadline);
}

struct str java_map_text(const struct java_map *m)
{
    return output_contents(&m->text);
}

const char *java_map_problem(const struct java_map *m)
{
    return m->over && os_process_runs(m->pid) ? m->problem.message : "";
}

void java_map_destroy(struct java_map *m)
{
    if (!m)
        return;
    if (m->busy)
        os_jvm_end(&m->request);
    output_deinit(&m->text);
    arena_deinit(&m->arena);
    free(m);
}
