/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/name_cache.h"
#include "base/array.h"
#include "base/output.h"
#include "base/strings.h"
#include "base/text_cache.h"

#define MAGIC "stoke\0n4"
#define ENTRIES_MIN 32
#define ENTRIES_MAX ((size_t)1 << 20)

/* The file: the header, then the columns one after another. */
struct head {
    char magic[8];
    /* checksum of everything after it; it also detects a change of the hash function */
    uint64_t sum;
    uint32_t slots, entries, frames, texts; /* numbers of items; slots: a power of two */
    uint64_t text_size;
    uint64_t salt; /* of the slots: random, because recordings contain chosen addresses */
};

struct cache_entry {
    uint64_t key;
    uint32_t first, count; /* frames */
};

struct cache_frame {
    uint32_t name, file; /* texts */
    uint32_t line, kind;
    uint64_t offset;
};

struct cache_text {
    uint32_t at, length;
};

struct columns {
    const struct head *head;
    const struct cache_entry *entries;
    const struct cache_frame *frames;
    const struct cache_text *texts;
    const uint32_t *slots; /* entry + 1; 0: empty */
    const char *bytes;
};

static uint64_t key_of(const struct name_job *job)
{
    return job->address << 1 | job->is_call;
}

static uint32_t slot_of(const struct head *h, uint64_t key)
{
    struct hash_keys k = HASH_FIXED_KEYS;
    return (uint32_t)hash_mix(key ^ k.a ^ h->salt, h->salt | k.b) & (h->slots - 1);
}

/* False if the length of the file does not match its header. */
static bool find_columns(struct str file, struct columns *c)
{
    const struct head *h = (const void *)file.ptr;
    if (file.len < sizeof *h)
        return false;
    uint64_t at = sizeof *h;
    *c = (struct columns){.head = h};
    c->entries = (const void *)(file.ptr + at);
    at += (uint64_t)h->entries * sizeof *c->entries;
    c->frames = (const void *)(file.ptr + (at <= file.len ? at : 0));
    at += (uint64_t)h->frames * sizeof *c->frames;
    c->texts = (const void *)(file.ptr + (at <= file.len ? at : 0));
    at += (uint64_t)h->texts * sizeof *c->texts;
    c->slots = (const void *)(file.ptr + (at <= file.len ? at : 0));
    at += (uint64_t)h->slots * sizeof *c->slots;
    c->bytes = file.ptr + (at <= file.len ? at : 0);
    return at <= file.len && file.len - at == h->text_size && h->slots &&
           (h->slots & (h->slots - 1)) == 0;
}

static uint64_t sum_of(struct str file)
{
    struct str rest = str_skip(file, offsetof(struct head, slots));
    return hash_fixed(rest.ptr, rest.len);
}

static bool is_valid(struct str file)
{
    struct columns c;
    return find_columns(file, &c) && memcmp(c.head->magic, MAGIC, 8) == 0 &&
           c.head->sum == sum_of(file);
}

void name_cache_open(struct name_cache *c, const char *path)
{
    *c = (struct name_cache){.file = OS_MAPPING_NONE};
    if (format_text(c->path, sizeof c->path, "%s", path) + 1 >= sizeof c->path) {
        c->path[0] = 0;
        return;
    }
    if (os_cache_open(&c->file, path) && is_valid(c->file.bytes))
        return;
    os_mapping_close(&c->file);
    c->file = OS_MAPPING_NONE;
}

void name_cache_close(struct name_cache *c)
{
    if (c->path[0])
        os_mapping_close(&c->file);
    arena_deinit(&c->arena);
}

bool name_cache_has_entries(const struct name_cache *c)
{
    return c->file.bytes.len != 0;
}

/* --- Reading ----------------------------------------------------------------------- */

static struct str text_at(const struct columns *c, uint32_t number)
{
    if (number >= c->head->texts)
        return STR("");
    struct cache_text t = c->texts[number];
    if ((uint64_t)t.at + t.length > c->head->text_size)
        return STR("");
    return (struct str){c->bytes + t.at, t.length};
}

static const struct cache_entry *entry_with(const struct columns *c, uint64_t key)
{
    uint32_t mask = c->head->slots - 1, at = slot_of(c->head, key);
    for (uint32_t i = 0; i <= mask; i++, at = (at + 1) & mask) {
        uint32_t number = c->slots[at];
        if (number == 0 || number > c->head->entries)
            return NULL;
        if (c->entries[number - 1].key == key)
            return &c->entries[number - 1];
    }
    return NULL;
}

static bool read_entry(const struct columns *c, const struct cache_entry *e,
                       struct name_job *job, struct arena *a)
{
    if ((uint64_t)e->first + e->count > c->head->frames)
        return false;
    struct resolved_frame *frames = arena_alloc(a, (e->count + 1) * sizeof *frames);
    if (!frames)
        return false;
    for (uint32_t i = 0; i < e->count; i++) {
        const struct cache_frame *f = &c->frames[e->first + i];
        frames[i] = (struct resolved_frame){text_at(c, f->name), text_at(c, f->file),
                                            f->line, f->kind, f->offset};
    }
    job->frames = frames;
    job->count = e->count;
    return true;
}

bool name_cache_find(const struct name_cache *c, struct name_job *job, struct arena *a)
{
    struct columns columns;
    if (!name_cache_has_entries(c) || !find_columns(c->file.bytes, &columns))
        return false;
    const struct cache_entry *e = entry_with(&columns, key_of(job));
    return e && read_entry(&columns, e, job, a);
}

void name_cache_add(struct name_cache *c, const struct name_job *job)
{
    if (!c->path[0] || c->added_count >= ENTRIES_MAX || job->address >> 63)
        return;
    struct name_job *to = ARRAY_APPEND(&c->arena, c->added, c->added_count, c->added_cap);
    if (!to)
        return;
    *to = *job;
}

/* --- Writing ----------------------------------------------------------------------- */

#define CACHED_TEXTS 4096

struct cache_writer {
    struct output entries, frames;
    struct strings texts;
    struct text_cache numbers; /* of texts: the namer returns the same ones again */
    struct arena arena;
    struct head head;
};

static uint32_t text_number(struct cache_writer *w, struct str text)
{
    struct text_cache_slot *slot = text_cache_slot(&w->numbers, text, 0);
    if (text.len == 0)
        return 0;
    if (!text_cache_has(slot, text, 0))
        *slot = (struct text_cache_slot){text, 0, strings_add(&w->texts, text)};
    return (uint32_t)slot->value;
}

static void write_job(struct cache_writer *w, const struct name_job *job)
{
    struct cache_entry entry = {key_of(job), w->head.frames, (uint32_t)job->count};
    output_bytes(&w->entries, (const char *)&entry, sizeof entry);
    w->head.entries++;
    for (size_t i = 0; i < job->count; i++) {
        const struct resolved_frame *from = &job->frames[i];
        struct cache_frame f = {text_number(w, from->name), text_number(w, from->file),
                                from->line, from->kind, from->offset};
        output_bytes(&w->frames, (const char *)&f, sizeof f);
        w->head.frames++;
    }
}

static void write_old(struct cache_writer *w, const struct name_cache *c)
{
    struct columns columns;
    if (!name_cache_has_entries(c) || !find_columns(c->file.bytes, &columns))
        return;
    for (uint32_t i = 0; i < columns.head->entries; i++) {
        const struct cache_entry *e = &columns.entries[i];
        struct name_job job = {.address = e->key >> 1, .is_call = e->key & 1};
        if (read_entry(&columns, e, &job, &w->arena))
            write_job(w, &job);
    }
}

/* The hash slots of the written entries. */
static uint32_t *make_slots(struct cache_writer *w)
{
    const struct cache_entry *entries = (const void *)w->entries.bytes;
    w->head.salt = hash_ids(w->head.entries, w->head.frames);
    w->head.slots = 2;
    while (w->head.slots < w->head.entries * 2)
        w->head.slots *= 2;
    uint32_t *slots = arena_zalloc(&w->arena, w->head.slots, sizeof *slots);
    for (uint32_t i = 0; slots && i < w->head.entries; i++) {
        uint32_t mask = w->head.slots - 1, at = slot_of(&w->head, entries[i].key);
        while (slots[at])
            at = (at + 1) & mask;
        slots[at] = i + 1;
    }
    return slots;
}

/* Writes the positions of the texts, then the slots and the bytes of the texts. */
static void write_texts(struct cache_writer *w, const uint32_t *slots, struct output *out)
{
    uint32_t at = 0;
    for (size_t i = 0; i < w->texts.count; i++) {
        struct cache_text t = {at, (uint32_t)w->texts.items[i].len};
        output_bytes(out, (const char *)&t, sizeof t);
        at += t.length;
    }
    output_bytes(out, (const char *)slots, w->head.slots * sizeof *slots);
    for (size_t i = 0; i < w->texts.count; i++)
        output_str(out, w->texts.items[i]);
}

static void write_file(struct cache_writer *w, const char *path)
{
    struct output out = OUTPUT_BUFFER;
    const uint32_t *slots = make_slots(w);
    uint64_t size = 0;
    for (size_t i = 0; i < w->texts.count; i++)
        size += w->texts.items[i].len;
    memcpy(w->head.magic, MAGIC, sizeof w->head.magic);
    w->head.texts = (uint32_t)w->texts.count;
    w->head.text_size = size;
    output_bytes(&out, (const char *)&w->head, sizeof w->head);
    output_str(&out, output_contents(&w->entries));
    output_str(&out, output_contents(&w->frames));
    if (slots && size < UINT32_MAX)
        write_texts(w, slots, &out);
    if (slots && size < UINT32_MAX && !out.failed && !w->arena.failed &&
        !w->entries.failed && !w->frames.failed) {
        struct head *head = (void *)out.bytes;
        head->sum = sum_of(output_contents(&out));
        os_cache_write(path, output_contents(&out));
    }
    output_deinit(&out);
}

void name_cache_write(struct name_cache *c)
{
    struct cache_writer w = {.arena = ARENA_INIT};
    if (c->added_count < ENTRIES_MIN ||
        !text_cache_init(&w.numbers, &w.arena, CACHED_TEXTS) ||
        !strings_init(&w.texts, &w.arena)) {
        arena_deinit(&w.arena);
        return;
    }
    write_old(&w, c);
    for (size_t i = 0; i < c->added_count && w.head.entries < ENTRIES_MAX; i++)
        write_job(&w, &c->added[i]);
    write_file(&w, c->path);
    output_deinit(&w.entries);
    output_deinit(&w.frames);
    arena_deinit(&w.arena);
}
