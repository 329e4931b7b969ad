/* SPDX-License-Identifier: Apache-2.0 */
#include "record/build_ids.h"
#include "base/format.h"
#include "os/file.h"
#include "os/mapping.h"
#include "resolve/find.h"
#include "symbol/elf.h"
#include <stdlib.h>

/* Only this many bytes of a file are read, so that the rings are drained in time. Linkers put
 * the build ID into the first page; the kernel reads no more either. */
#define HEAD_MAX ((size_t)64 << 10)

#define PATH_SIZE 4096

/* --- Files ------------------------------------------------------------------------- */

/* The build ID of the file, if it is the one that the record maps. */
static bool read_file(const struct record *r, const char *path,
                      struct record_build_id *id)
{
    struct arena arena = ARENA_INIT;
    struct os_mapping map;
    struct error ignored;
    struct elf elf;
    if (!os_mapping_open_inode(&map, path, record_u32(r->bytes, RECORD_MMAP_MAJOR),
                               record_u32(r->bytes, RECORD_MMAP_MINOR),
                               record_u64(r->bytes, RECORD_MMAP_INODE), &ignored))
        return false;
    if (elf_init(&elf, str_head(map.bytes, HEAD_MAX), &arena, &ignored)) {
        struct str found = elf_build_id(&elf);
        id->size = found.len <= sizeof id->bytes ? (uint8_t)found.len : 0;
        memcpy(id->bytes, found.ptr, id->size);
    }
    bool whole = !os_mapping_was_truncated(&map);
    os_mapping_close(&map);
    arena_deinit(&arena);
    return whole;
}

/* A file can change while its inode stays: then its time or its size differs. */
static bool key_of(const struct record *r, struct str path, struct hash128 *key)
{
    struct os_file_facts facts;
    char text[RECORD_MMAP_FILE_SIZE + sizeof facts];
    if (!os_file_facts(&facts, path) ||
        facts.inode != record_u64(r->bytes, RECORD_MMAP_INODE))
        return false;
    memcpy(text, r->bytes.ptr + RECORD_MMAP_MAJOR, RECORD_MMAP_FILE_SIZE);
    memcpy(text + RECORD_MMAP_FILE_SIZE, &facts, sizeof facts);
    *key = hash_bytes128(text, sizeof text);
    return true;
}

/* Checks which version of the file is at the path. */
static bool check_file(struct record_build_ids *s, const struct record *r,
                       struct str name, struct record_build_id *id)
{
    char path[PATH_SIZE];
    s->files_checked++;
    if (!key_of(r, name, &id->key))
        return false;
    struct record_build_id *cached = &s->cache[id->key.lo % RECORD_BUILD_IDS_CACHED];
    if (cached->key.lo != id->key.lo || cached->key.hi != id->key.hi) {
        format_text(path, sizeof path, "%.*s", STR_ARG(name));
        s->files_read++;
        if (!read_file(r, path, id))
            return false;
        *cached = *id;
    }
    *id = *cached;
    return true;
}

/* What is mapped twice in a round has one build ID: the file at the path is read later than
 * it is mapped in any case. */
static bool find_id(struct record_build_ids *s, const struct record *r,
                    struct record_build_id *id)
{
    char text[RECORD_MMAP_FILE_SIZE + PATH_SIZE];
    struct str name = record_mmap_path(s->layout, r);
    if (record_u64(r->bytes, RECORD_MMAP_INODE) == 0 || !find_is_path(name) ||
        name.len >= PATH_SIZE)
        return false;
    memcpy(text, r->bytes.ptr + RECORD_MMAP_MAJOR, RECORD_MMAP_FILE_SIZE);
    memcpy(text + RECORD_MMAP_FILE_SIZE, name.ptr, name.len);
    struct hash128 key = hash_bytes128(text, RECORD_MMAP_FILE_SIZE + name.len);
    struct record_mapped_file *m = &s->mapped[key.lo % RECORD_BUILD_IDS_ROUND];
    if (m->round != s->round || m->key.lo != key.lo || m->key.hi != key.hi) {
        *id = (struct record_build_id){.size = 0};
        if (!check_file(s, r, name, id))
            return false;
        *m = (struct record_mapped_file){key, s->round, *id};
    }
    *id = m->id;
    return id->size > 0;
}

/* --- Records ----------------------------------------------------------------------- */

/* The counters do not request build IDs. If another's do, the kernel sets the flag here
 * too, but the record contains device and inode. */
static void take_map(struct record_build_ids *s, const struct record *r)
{
    struct record_build_id id;
    char *bytes = s->maker.bytes;
    bool user = (r->misc & PERF_CPU_MODE) == PERF_MODE_USER;
    bool found = s->reads && user && find_id(s, r, &id);
    if (!found && !(r->misc & PERF_MISC_MMAP_BUILD_ID)) {
        record_pass(&s->next, r);
        return;
    }
    struct record out = *r;
    out.misc = (uint16_t)((r->misc & ~PERF_MISC_MMAP_BUILD_ID) |
                          (found ? PERF_MISC_MMAP_BUILD_ID : 0));
    out.bytes.ptr = bytes;
    memcpy(bytes, r->bytes.ptr, r->bytes.len);
    memcpy(bytes + RECORD_MISC, &out.misc, sizeof out.misc);
    if (found) {
        memset(bytes + RECORD_MMAP_MAJOR, 0, RECORD_MMAP_FILE_SIZE);
        bytes[RECORD_MMAP_BUILD_ID_SIZE] = (char)id.size;
        memcpy(bytes + RECORD_MMAP_BUILD_ID, id.bytes, id.size);
    }
    record_pass(&s->next, &out);
}

static void take(void *context, const struct record *r)
{
    struct record_build_ids *s = context;
    if (r->type == PERF_MMAP2 && r->bytes.len <= sizeof s->maker.bytes &&
        r->bytes.len >= RECORD_MMAP_PATH + 8 + s->layout->trailer)
        take_map(s, r);
    else
        record_pass(&s->next, r);
}

static void round_over(void *context)
{
    struct record_build_ids *s = context;
    s->round++;
    s->next.round(s->next.context);
}

struct record_sink record_build_ids_sink(struct record_build_ids *s)
{
    return (struct record_sink){s, take, round_over};
}

bool record_build_ids_init(struct record_build_ids *s, const struct record_layout *layout,
                           bool reads, struct record_sink next, struct error *err)
{
    *s = (struct record_build_ids){
        .layout = layout, .next = next, .reads = reads, .round = 1};
    s->cache = calloc(RECORD_BUILD_IDS_CACHED, sizeof *s->cache);
    s->mapped = calloc(RECORD_BUILD_IDS_ROUND, sizeof *s->mapped);
    return (s->cache && s->mapped) || error_memory(err);
}

void record_build_ids_deinit(struct record_build_ids *s)
{
    free(s->cache);
    free(s->mapped);
    s->cache = NULL;
    s->mapped = NULL;
}
