/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/runtime_files.h"
#include "base/array.h"
#include "base/hash.h"
#include "os/machine.h"
#include "resolve/mapped_file.h"
#include "symbol/symbol_table.h"
#include "symbol/symtab.h"
#include <stdlib.h>
#include <string.h>

/* A hostile machine has many files. */
#define SYMBOLS_MAX 65536
#define PARTS_MAX 1000000

/* A file may be replaced by another one with the same identity. */
#define FRESH UINT64_C(60000000000) /* ns */

/* Files whose roles remain although no process has them any more: its next process may start
 * soon. */
#define UNUSED_MAX 16

/* Functions are aligned: nothing is executed in smaller gaps between them. */
#define GAP_MAX 64

/* --- Questions and answers ---------------------------------------------------------- */

struct question {
    const struct interpreter *interpreter; /* NULL: about a symbol */
    uint64_t file, start, offset;          /* struct runtime_mapping */
    uint32_t pid;
    uint32_t from; /* the first part of the answer */
    uint32_t path_length, name_length;
    /* the path and the name follow */
};

struct answer {
    uint64_t distance; /* of the symbol, or of address 0 of the file, from the mapping */
    uint32_t found;
    uint32_t count; /* of all parts; some of them follow */
};

#define PARTS_PER_ANSWER \
    ((OS_SERVICE_MAX - sizeof(struct answer)) / sizeof(struct runtime_part))

/* --- Reading files ------------------------------------------------------------------ */

struct open_file {
    struct open_file *next;
    uint64_t file;
    struct arena arena;
    struct mapped_file module;
    const struct interpreter *interpreter; /* whose roles the parts are */
    struct runtime_part *parts;
    size_t count, cap;
};

struct runtime_reader {
    struct open_file *files;
};

static const struct find_settings find_file = {.no_debuginfod = true};

static void reader_destroy(struct runtime_reader *r)
{
    while (r && r->files) {
        struct open_file *o = r->files;
        r->files = o->next;
        mapped_file_close(&o->module);
        arena_deinit(&o->arena);
        free(o);
    }
    free(r);
}

static struct open_file *open_file(struct runtime_reader *r, const struct question *q,
                                   struct str path)
{
    struct open_file *o = r->files;
    while (o && o->file != q->file)
        o = o->next;
    if (o || !(o = calloc(1, sizeof *o)))
        return o;
    o->file = q->file;
    o->module =
        (struct mapped_file){.path = arena_str(&o->arena, path), .build_id = STR("")};
    o->next = r->files;
    r->files = o;
    return o;
}

static void add_part(struct open_file *o, uint64_t start, uint64_t end,
                     enum interpreter_native role)
{
    bool is_gap = role == NATIVE_UNNAMED && end - start < GAP_MAX;
    if (o->count && (is_gap || o->parts[o->count - 1].role == role))
        return;
    struct runtime_part *part =
        o->count < PARTS_MAX ? ARRAY_APPEND(&o->arena, o->parts, o->count, o->cap) : NULL;
    if (part)
        *part = (struct runtime_part){start, role};
}

/* Classifies all functions of a file, whose names are not needed afterwards. */
static void read_roles(struct open_file *o, const struct interpreter *interpreter)
{
    struct arena arena = {0};
    struct symbol_table t;
    struct error ignored;
    o->interpreter = interpreter;
    o->count = 0;
    if (symtab_init(&t, &o->module.found.elf, NULL, &arena, &ignored))
        for (size_t i = 0; i < t.ranges.count; i++) {
            uint32_t owner = t.ranges.owners[i];
            uint64_t start = t.ranges.starts[i];
            uint64_t end = i + 1 < t.ranges.count ? t.ranges.starts[i + 1] : UINT64_MAX;
            add_part(o, start, end,
                     owner == RANGE_NONE
                         ? NATIVE_UNNAMED
                         : interpreter->native(symbol_table_get(&t, owner).name));
        }
    arena_deinit(&arena);
}

static size_t put_roles(struct open_file *o, const struct question *q, struct answer *a,
                        char *into)
{
    if (o->interpreter != q->interpreter)
        read_roles(o, q->interpreter);
    size_t from = q->from < o->count ? q->from : o->count;
    size_t count = o->count - from;
    if (count > PARTS_PER_ANSWER)
        count = PARTS_PER_ANSWER;
    a->count = (uint32_t)o->count;
    if (count)
        memcpy(into, o->parts + from, count * sizeof *o->parts);
    return count * sizeof *o->parts;
}

/* The answer of os_service_answer; `context` is the reader. */
static size_t answer(void *context, struct str question, char *into)
{
    struct question q;
    struct answer a = {.found = false};
    uint64_t address, bias;
    size_t parts = 0;
    memcpy(&q, question.ptr, sizeof q);
    struct str texts = str_skip(question, sizeof q);
    struct open_file *o = open_file(context, &q, str_head(texts, q.path_length));
    bool is_open = o && mapped_file_open(&o->module, q.pid, &find_file, &o->arena);
    if (is_open) {
        o->module.start = q.start;
        o->module.offset = q.offset;
    }
    if (is_open && q.interpreter && mapped_file_bias(&o->module, &bias)) {
        a.found = true;
        a.distance = bias - q.start;
        parts = put_roles(o, &q, &a, into + sizeof a);
    } else if (is_open && !q.interpreter &&
               mapped_file_symbol(&o->module, str_skip(texts, q.path_length), &address)) {
        a.found = true;
        a.distance = address - q.start;
    }
    memcpy(into, &a, sizeof a);
    return sizeof a + parts;
}

/* --- Asking ------------------------------------------------------------------------- */

static bool prepare(struct runtime_files *f)
{
    struct error ignored;
    if (!f->reader)
        f->reader = calloc(1, sizeof *f->reader);
    if (!f->reader || !f->isolated || f->service.child.pid)
        return f->reader != NULL;
    return os_service_start(&f->service, answer, f->reader, &ignored);
}

/* A file that makes the child crash is not read again for a while. */
static void refuse_file(struct runtime_files *f, uint64_t file)
{
    uint64_t *refused = idmap_put(&f->symbols, &f->arena, file);
    if (refused)
        *refused = 1;
}

/* Returns the number of bytes that follow the answer in `into`. */
static size_t ask(struct runtime_files *f, const struct question *q, struct str path,
                  struct str name, struct answer *a, char *into)
{
    char bytes[OS_SERVICE_MAX];
    size_t size = sizeof *q + path.len + name.len, length;
    *a = (struct answer){.found = false};
    if (size > sizeof bytes || idmap_find(&f->symbols, q->file) || !prepare(f))
        return 0;
    memcpy(bytes, q, sizeof *q);
    memcpy(bytes + sizeof *q, path.ptr, path.len);
    memcpy(bytes + sizeof *q + path.len, name.ptr, name.len);
    length = f->isolated ? os_service_ask(&f->service, (struct str){bytes, size}, into)
                         : answer(f->reader, (struct str){bytes, size}, into);
    if (length < sizeof *a) {
        refuse_file(f, q->file);
        return 0;
    }
    memcpy(a, into, sizeof *a);
    return length - sizeof *a;
}

void runtime_files_rest(struct runtime_files *f)
{
    os_service_end(&f->service);
    reader_destroy(f->reader);
    f->reader = NULL;
}

/* --- Symbols ------------------------------------------------------------------------ */

static void forget_symbols(struct runtime_files *f)
{
    arena_deinit(&f->arena);
    f->symbols = (struct idmap){0};
    f->distances = NULL;
    f->distance_count = f->distance_cap = 0;
}

static uint64_t ask_symbol(struct runtime_files *f, uint32_t pid,
                           const struct runtime_mapping *m, struct str name)
{
    char into[OS_SERVICE_MAX];
    struct answer a;
    struct question q = {.file = m->file,
                         .start = m->start,
                         .offset = m->offset,
                         .pid = pid,
                         .path_length = (uint32_t)m->path.len,
                         .name_length = (uint32_t)name.len};
    ask(f, &q, m->path, name, &a, into);
    if (!a.found ||
        !ARRAY_RESERVE(&f->arena, f->distances, f->distance_cap, f->distance_count + 2))
        return 1;
    if (f->distance_count == 0)
        f->distances[f->distance_count++] = 0;
    f->distances[f->distance_count++] = a.distance;
    return f->distance_count;
}

bool runtime_files_symbol(struct runtime_files *f, uint32_t pid,
                          const struct runtime_mapping *m, struct str name,
                          uint64_t *address)
{
    uint64_t time = os_clock_monotonic();
    if (f->symbols.count > SYMBOLS_MAX || time > f->expires) {
        forget_symbols(f);
        f->expires = time + FRESH;
    }
    uint64_t key = hash_mix(m->file ^ HASH_A, hash_bytes(name.ptr, name.len));
    const uint64_t *known = idmap_find(&f->symbols, key);
    uint64_t index = known ? *known : ask_symbol(f, pid, m, name);
    uint64_t *put = known ? NULL : idmap_put(&f->symbols, &f->arena, key);
    if (put)
        *put = index;
    if (index == 1 || !f->distances)
        return false;
    *address = m->start + f->distances[index - 1];
    return true;
}

/* --- Roles -------------------------------------------------------------------------- */

static void destroy_roles(struct runtime_roles *r)
{
    arena_deinit(&r->arena);
    free(r);
}

/* Appends the parts that follow an answer. False if there are none. */
static bool add_parts(struct runtime_roles *r, const char *bytes, size_t size)
{
    size_t count = size / sizeof *r->parts;
    if (count == 0 || r->count > PARTS_MAX ||
        !ARRAY_RESERVE(&r->arena, r->parts, r->cap, r->count + count))
        return false;
    memcpy(r->parts + r->count, bytes, count * sizeof *r->parts);
    r->count += count;
    return true;
}

/* Asks for the roles, and where the process has the file. */
static bool ask_roles(struct runtime_files *f, struct question *q, struct str path,
                      struct runtime_roles *r)
{
    char into[OS_SERVICE_MAX];
    struct answer a;
    size_t size;
    do {
        q->from = (uint32_t)r->count;
        size = ask(f, q, path, STR(""), &a, into);
    } while (a.found && add_parts(r, into + sizeof a, size) && r->count < a.count);
    r->distance = a.distance;
    return a.found;
}

static struct runtime_roles *new_roles(struct runtime_files *f, uint32_t pid,
                                       const struct runtime_mapping *m,
                                       const struct interpreter *interpreter)
{
    struct question q = {.interpreter = interpreter,
                         .file = m->file,
                         .start = m->start,
                         .offset = m->offset,
                         .pid = pid,
                         .path_length = (uint32_t)m->path.len};
    struct runtime_roles *r = calloc(1, sizeof *r);
    if (!r || !ask_roles(f, &q, m->path, r)) {
        if (r)
            destroy_roles(r);
        return NULL;
    }
    r->file = m->file;
    r->next = f->roles;
    f->roles = r;
    f->roles_count++;
    return r;
}

struct runtime_roles *runtime_files_roles(struct runtime_files *f, uint32_t pid,
                                          const struct runtime_mapping *m,
                                          const struct interpreter *interpreter,
                                          uint64_t *bias)
{
    struct runtime_roles *r = f->roles;
    while (r && r->file != m->file)
        r = r->next;
    if (!r)
        r = new_roles(f, pid, m, interpreter);
    if (!r)
        return NULL;
    r->users++;
    *bias = m->start + r->distance;
    return r;
}

void runtime_files_leave(struct runtime_files *f, struct runtime_roles *r)
{
    struct runtime_roles **at = &f->roles;
    if (!r || --r->users || f->roles_count <= UNUSED_MAX)
        return;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    f->roles_count--;
    destroy_roles(r);
}

enum interpreter_native runtime_roles_find(const struct runtime_roles *r,
                                           uint64_t address)
{
    size_t from = 0, to = r->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (r->parts[middle].start <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from ? r->parts[from - 1].role : NATIVE_UNNAMED;
}

/* --- Start and end ------------------------------------------------------------------ */

void runtime_files_init(struct runtime_files *f, bool isolated)
{
    *f = (struct runtime_files){.isolated = isolated};
}

void runtime_files_deinit(struct runtime_files *f)
{
    runtime_files_rest(f);
    forget_symbols(f);
    while (f->roles) {
        struct runtime_roles *r = f->roles;
        f->roles = r->next;
        destroy_roles(r);
    }
}
