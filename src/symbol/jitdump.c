/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jitdump.h"
#include "base/array.h"
#include "base/idmap.h"
#include "base/sort.h"
#include <stdlib.h>

/* Lookups by time. The address ranges of all code are flattened with the newest on top:
 * if the code found there existed at the given time, it is the answer. Otherwise that
 * address was overwritten later, and the codes that share addresses with others are
 * searched. They are sorted by time and divided into blocks of BLOCK; level n flattens
 * every 2^n neighbouring blocks. Everything before a given time is a part of one block
 * and at most one node per level, which are searched from the newest to the oldest. */
#define BLOCK ((size_t)32)

enum { JIT_LOAD = 0, JIT_MOVE = 1, JIT_DEBUG_INFO = 2, JIT_CLOSE = 3, JIT_UNWINDING = 4 };

#define ARCH_TIMESTAMP 1u

/* Records that belong to a code load record that comes later. */
struct waiting {
    bool has_lines;
    uint64_t lines_address;
    uint32_t line_first, line_count;
    struct str frames;
    uint64_t frames_header_size;
};

struct reading {
    struct jitdump *j;
    struct waiting waiting;
    struct idmap by_index; /* 1 + position of the code, by its index */
};

static bool add_code(struct reading *r, const struct jit_code *code)
{
    struct jitdump *j = r->j;
    if (j->code_count >= 4000000000u)
        return true;
    struct jit_code *added = ARRAY_APPEND(j->arena, j->codes, j->code_count, j->code_cap);
    if (!added)
        return false;
    *added = *code;
    uint64_t *position = idmap_put(&r->by_index, j->arena, code->index);
    if (position)
        *position = j->code_count;
    return position != NULL;
}

static bool read_load(struct reading *r, struct bytes *b, uint64_t time)
{
    struct waiting *w = &r->waiting;
    struct jit_code code = {.time = time};
    code.pid = bytes_u32(b);
    code.tid = bytes_u32(b);
    bytes_u64(b); /* the virtual address, which currently equals the next field */
    code.address = bytes_u64(b);
    code.size = bytes_u64(b);
    code.index = bytes_u64(b);
    code.name = bytes_string(b);
    code.bytes = bytes_take(b, code.size);
    if (b->failed) {
        r->j->bad_records++;
        return true;
    }
    if (w->has_lines && w->lines_address == code.address) {
        code.line_first = w->line_first;
        code.line_count = w->line_count;
    }
    code.frames = w->frames;
    code.frames_header_size = w->frames_header_size;
    *w = (struct waiting){.frames = STR("")};
    return add_code(r, &code);
}

static bool read_move(struct reading *r, struct bytes *b, uint64_t time)
{
    uint32_t pid = bytes_u32(b), tid = bytes_u32(b);
    bytes_u64(b);
    uint64_t from = bytes_u64(b), to = bytes_u64(b), size = bytes_u64(b);
    uint64_t index = bytes_u64(b);
    const uint64_t *position = idmap_find(&r->by_index, index);
    if (b->failed || !position) {
        r->j->bad_records++;
        return true;
    }
    struct jit_code code = r->j->codes[*position - 1];
    code.pid = pid;
    code.tid = tid;
    code.moved += to - from;
    code.address = to;
    code.size = size;
    code.time = time;
    return add_code(r, &code);
}

/* A file name of only this byte means: the same as before. */
#define SAME_FILE STR("\xff")

/* Sorts the lines from `first` on by address; most are already sorted. */
static bool order_lines(struct jitdump *j, size_t first)
{
    size_t n = j->line_count - first, ascending = 1;
    struct jit_line *lines = n ? j->lines + first : NULL;
    while (ascending < n && lines[ascending].address >= lines[ascending - 1].address)
        ascending++;
    if (ascending >= n)
        return true;
    struct sort_key *order = malloc(2 * n * sizeof *order);
    struct jit_line *copy = malloc(n * sizeof *copy);
    bool ok = order && copy;
    if (ok) {
        memcpy(copy, lines, n * sizeof *copy);
        for (size_t i = 0; i < n; i++)
            order[i] = (struct sort_key){lines[i].address, (uint32_t)i};
        sort_keys(order, n, order + n);
        for (size_t i = 0; i < n; i++)
            lines[i] = copy[order[i].id];
    }
    free(order);
    free(copy);
    return ok;
}

static bool read_lines(struct reading *r, struct bytes *b)
{
    struct jitdump *j = r->j;
    struct str file = STR("");
    uint64_t address = bytes_u64(b), count = bytes_u64(b);
    size_t first = j->line_count;
    for (uint64_t i = 0; i < count && bytes_left(b); i++) {
        struct jit_line line = {.address = bytes_u64(b)};
        line.line = bytes_u32(b);
        bytes_u32(b); /* discriminator */
        struct str name = bytes_string(b);
        if (b->failed)
            break;
        line.file = file = str_equal(name, SAME_FILE) ? file : name;
        struct jit_line *item =
            ARRAY_APPEND(j->arena, j->lines, j->line_count, j->line_cap);
        if (!item)
            return false;
        *item = line;
    }
    j->bad_records += b->failed;
    r->waiting.has_lines = j->line_count <= UINT32_MAX;
    r->waiting.lines_address = address;
    r->waiting.line_first = (uint32_t)first;
    r->waiting.line_count = (uint32_t)(j->line_count - first);
    return order_lines(j, first);
}

static void read_frames(struct reading *r, struct bytes *b)
{
    uint64_t size = bytes_u64(b), header = bytes_u64(b);
    bytes_u64(b); /* mapped size */
    struct str frames = bytes_take(b, size);
    if (b->failed || header > size) {
        r->j->bad_records++;
        return;
    }
    r->waiting.frames = frames;
    r->waiting.frames_header_size = header;
}

static bool read_record(struct reading *r, uint32_t id, uint64_t time, struct bytes *b)
{
    switch (id) {
    case JIT_LOAD:
        return read_load(r, b, time);
    case JIT_MOVE:
        return read_move(r, b, time);
    case JIT_DEBUG_INFO:
        return read_lines(r, b);
    case JIT_UNWINDING:
        read_frames(r, b);
        return true;
    default: /* JIT_CLOSE, and records of later versions */
        return true;
    }
}

static bool read_records(struct reading *r, struct bytes *b)
{
    while (bytes_left(b) >= 16) {
        size_t begin = bytes_offset(b);
        uint32_t id = bytes_u32(b), size = bytes_u32(b);
        uint64_t time = bytes_u64(b);
        struct bytes inside =
            bytes_of(str_part(str_span(b->begin, b->end), begin, size), b->big_endian);
        bytes_seek(b, begin + (uint64_t)size);
        if (b->failed || size < 16)
            break;
        bytes_skip(&inside, 16);
        if (!read_record(r, id, time, &inside))
            return false;
    }
    r->j->cut = b->failed || b->at < b->end;
    return true;
}

static bool read_header(struct jitdump *j, struct bytes *b, struct error *err)
{
    struct str file = str_span(b->begin, b->end);
    b->big_endian = str_starts(file, STR("JiTD"));
    if (!b->big_endian && !str_starts(file, STR("DTiJ")))
        return error_set(err, "not a jitdump file");
    bytes_skip(b, 4);
    uint32_t version = bytes_u32(b), size = bytes_u32(b);
    j->machine = bytes_u32(b);
    bytes_u32(b);
    j->pid = bytes_u32(b);
    j->time = bytes_u64(b);
    j->arch_timestamp = bytes_u64(b) & ARCH_TIMESTAMP;
    if (b->failed)
        return error_set(err, "the header of the jitdump file is truncated");
    if (version != 1)
        return error_set(err, "jitdump file of version %u; only version 1 is supported",
                         (unsigned)version);
    bytes_seek(b, size > bytes_offset(b) ? size : bytes_offset(b));
    return true;
}

/* --- Making ready ----------------------------------------------------------------- */

static uint64_t code_end(const struct jit_code *c)
{
    return c->size < UINT64_MAX - c->address ? c->address + c->size : UINT64_MAX;
}

/* Marks codes that share an address with another. Sorted by start, a code overlaps an
 * earlier one exactly if it overlaps the one that ends last. */
static void mark_layered(struct jitdump *j, const struct range *items, size_t count)
{
    const struct range *last = items;
    for (size_t i = 1; i < count; i++) {
        if (items[i].start < last->end)
            j->codes[items[i].owner].is_layered = j->codes[last->owner].is_layered = true;
        if (items[i].end > last->end)
            last = &items[i];
    }
}

/* Sorts the codes by time; codes of the same time keep their order. */
static bool order_codes(struct jitdump *j)
{
    size_t n = j->code_count;
    struct sort_key *order = malloc((n + 1) * sizeof *order);
    struct sort_key *scratch = malloc((n + 1) * sizeof *scratch);
    struct jit_code *sorted = arena_alloc(j->arena, (n + 1) * sizeof *sorted);
    bool ok = order && scratch && sorted;
    for (size_t i = 0; ok && i < n; i++)
        order[i] = (struct sort_key){j->codes[i].time, (uint32_t)i};
    if (ok)
        sort_keys(order, n, scratch);
    for (size_t i = 0; ok && i < n; i++)
        sorted[i] = j->codes[order[i].id];
    free(order);
    free(scratch);
    if (ok) {
        arena_release(j->arena, j->codes, j->code_cap * sizeof *sorted);
        j->codes = sorted;
        j->code_cap = n;
    }
    return ok;
}

/* Flattens codes, the newest on top: those in `ids`, or, if `ids` is NULL, the first
 * ones. */
static bool lay_flat(struct jitdump *j, const uint32_t *ids, size_t count,
                     struct ranges *flat)
{
    struct sort_key *order = malloc((count + 1) * sizeof *order);
    struct sort_key *scratch = malloc((count + 1) * sizeof *scratch);
    struct range *items = malloc((count + 1) * sizeof *items);
    bool ok = order && scratch && items;
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t id = ids ? ids[i] : (uint32_t)i;
        order[i] = (struct sort_key){j->codes[id].address, id};
    }
    if (ok)
        sort_keys(order, count, scratch);
    for (size_t i = 0; ok && i < count; i++) {
        const struct jit_code *c = &j->codes[order[i].id];
        items[i] = (struct range){c->address, code_end(c), order[i].id, order[i].id};
    }
    if (ok && !ids)
        mark_layered(j, items, count);
    ok = ok && ranges_init(flat, items, count, j->arena);
    free(order);
    free(scratch);
    free(items);
    return ok;
}

static bool make_levels(struct jitdump *j)
{
    size_t blocks = j->layered_count / BLOCK;
    for (unsigned level = 0; blocks >> level; level++) {
        size_t nodes = blocks >> level, size = BLOCK << level;
        struct ranges *made = arena_zalloc(j->arena, nodes, sizeof *made);
        j->levels[level] = made;
        for (size_t i = 0; made && i < nodes; i++)
            if (!lay_flat(j, j->layered + i * size, size, &made[i]))
                return false;
        if (!made)
            return false;
        j->level_count = level + 1;
    }
    return true;
}

static bool make_ready(struct jitdump *j)
{
    size_t count = 0;
    if (!order_codes(j) || !lay_flat(j, NULL, j->code_count, &j->newest))
        return false;
    for (size_t i = 0; i < j->code_count; i++)
        count += j->codes[i].is_layered;
    j->layered = arena_alloc(j->arena, (count + 1) * sizeof *j->layered);
    if (!j->layered)
        return false;
    for (size_t i = 0; i < j->code_count; i++)
        if (j->codes[i].is_layered)
            j->layered[j->layered_count++] = (uint32_t)i;
    return make_levels(j);
}

bool jitdump_init(struct jitdump *j, struct str file, struct arena *arena,
                  struct error *err)
{
    struct bytes b = bytes_of(file, false);
    struct reading r = {.j = j, .waiting = {.frames = STR("")}};
    *j = (struct jitdump){.arena = arena};
    if (!read_header(j, &b, err))
        return false;
    return (read_records(&r, &b) && make_ready(j)) || error_memory(err);
}

/* --- Looking up ------------------------------------------------------------------- */

/* Number of layered codes that existed at a time. */
static size_t layered_until(const struct jitdump *j, uint64_t time)
{
    size_t low = 0, high = j->layered_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (j->codes[j->layered[middle]].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct jit_code *find_layered(const struct jitdump *j, uint64_t address,
                                           uint64_t time)
{
    size_t until = layered_until(j, time), blocks = until / BLOCK;
    for (size_t i = until; i-- > blocks * BLOCK;) {
        const struct jit_code *c = &j->codes[j->layered[i]];
        if (address >= c->address && address < code_end(c))
            return c;
    }
    for (unsigned level = 0; level < j->level_count && blocks >> level; level++) {
        size_t nodes = blocks >> level;
        if ((nodes & 1) == 0)
            continue;
        uint32_t id = ranges_find(&j->levels[level][nodes - 1], address);
        if (id != RANGE_NONE)
            return &j->codes[id];
    }
    return NULL;
}

const struct jit_code *jitdump_find(const struct jitdump *j, uint64_t address,
                                    uint64_t time)
{
    uint32_t id = ranges_find(&j->newest, address);
    const struct jit_code *code = id == RANGE_NONE ? NULL : &j->codes[id];
    if (!code || code->time <= time)
        return code;
    return code->is_layered ? find_layered(j, address, time) : NULL;
}

const struct jit_line *jitdump_line(const struct jitdump *j, const struct jit_code *code,
                                    uint64_t address)
{
    const struct jit_line *lines = code->line_count ? j->lines + code->line_first : NULL;
    size_t low = 0, high = code->line_count;
    uint64_t written = address - code->moved;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines[middle].address <= written)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &lines[low - 1] : NULL;
}
