/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/binary.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/sort.h"

/* --- Segments ---------------------------------------------------------------------- */

static bool add_segment(struct trace_binary *b, struct arena *a, size_t *cap,
                        struct trace_segment segment)
{
    struct trace_segment *added = ARRAY_APPEND(a, b->segments, b->segment_count, *cap);
    if (added)
        *added = segment;
    return added != NULL;
}

/* Code is in the segments that can be executed. A file that is not linked, or that has
 * only debug information, shows its code by sections. */
static bool find_segments(struct trace_binary *b, struct arena *a)
{
    struct elf *e = b->elf;
    size_t cap = 0;
    for (size_t i = 0; i < e->segment_count; i++) {
        const struct elf_segment *s = &e->segments[i];
        struct str bytes = elf_bytes_at(e, s->address, s->file_size);
        uint64_t end = s->address + bytes.len;
        if (s->type != ELF_PT_LOAD || !(s->flags & ELF_PF_X) || end <= s->address)
            continue;
        if (!add_segment(b, a, &cap, (struct trace_segment){s->address, end, bytes}))
            return false;
    }
    for (size_t i = 0; b->segment_count == 0 && i < e->section_count; i++) {
        const struct elf_section *s = &e->sections[i];
        uint64_t start = e->type == ELF_RELOCATABLE ? s->offset : s->address;
        if (!(s->flags & ELF_EXECINSTR) || start + s->size <= start)
            continue;
        if (!add_segment(b, a, &cap,
                         (struct trace_segment){start, start + s->size, s->raw}))
            return false;
    }
    return true;
}

/* A kernel of which only symbols are known: code is between the first and the last
 * symbol. */
static bool span_of_symbols(struct trace_binary *b, struct arena *a)
{
    const struct symbol_table *t = b->symbols;
    size_t cap = 0;
    if (!t || t->count == 0)
        return true;
    uint64_t end = t->entries[t->count - 1].end;
    for (size_t i = 0; i < t->count; i++)
        end = t->entries[i].end > end ? t->entries[i].end : end;
    return add_segment(b, a, &cap,
                       (struct trace_segment){t->entries[0].address, end, STR("")});
}

static bool before_segment(const void *context, uint32_t a, uint32_t b)
{
    const struct trace_segment *s = context;
    return s[a].start < s[b].start;
}

static bool sort_segments(struct trace_binary *b, struct arena *a)
{
    size_t n = b->segment_count;
    uint32_t *order = arena_alloc(a, (n + 1) * sizeof *order);
    uint32_t *scratch = arena_alloc(a, (n + 1) * sizeof *scratch);
    struct trace_segment *sorted = arena_alloc(a, (n + 1) * sizeof *sorted);
    if (!order || !scratch || !sorted)
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort_u32(order, n, scratch, before_segment, b->segments);
    for (size_t i = 0; i < n; i++)
        sorted[i] = b->segments[order[i]];
    b->segments = sorted;
    return true;
}

const struct trace_segment *trace_segment_at(const struct trace_binary *b,
                                             uint64_t address)
{
    for (size_t i = 0; i < b->segment_count; i++)
        if (address >= b->segments[i].start && address < b->segments[i].end)
            return &b->segments[i];
    return NULL;
}

bool trace_segment_bits(const struct trace_segment *s, uint64_t address, uint32_t *bits)
{
    unsigned char bytes[4] = {0};
    uint64_t at = address - s->start;
    if (at >= s->bytes.len || s->bytes.len - at < 2)
        return false;
    size_t left = s->bytes.len - (size_t)at;
    memcpy(bytes, s->bytes.ptr + at, left < 4 ? left : 4);
    *bits = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
            (uint32_t)bytes[3] << 24;
    return true;
}

/* --- Parts of functions ------------------------------------------------------------ */

/* The compiler moves code that rarely runs out of a function, to f.cold (GCC, clang)
 * or f.cold.1 (older GCC). It is still part of the function. */
static struct str whole_name(struct str name)
{
    size_t at = str_search(name, STR(".cold"));
    struct str behind = str_skip(name, at + 5);
    bool is_part = at < name.len && at > 0 && (behind.len == 0 || behind.ptr[0] == '.');
    return is_part ? str_head(name, at) : STR("");
}

struct name_query {
    const struct symbol_table *symbols;
    struct str name;
};

static bool same_name(const void *context, uint32_t id)
{
    const struct name_query *w = context;
    const struct symbol_entry *e = &w->symbols->entries[id - 1];
    return str_equal(symbol_table_name(w->symbols, e, SYMBOL_NAME_MAX), w->name);
}

/* Maps each symbol to itself, and a part to its function. Of functions with the same
 * name the first is taken. */
static bool find_owners(struct trace_binary *b, struct arena *a)
{
    const struct symbol_table *t = b->symbols;
    struct arena scratch = ARENA_INIT;
    struct index names = {0};
    size_t count = t ? t->count : 0;
    b->owners = arena_alloc(a, (count + 1) * sizeof *b->owners);
    bool ok = b->owners && index_reserve(&names, &scratch, count + 1);
    for (uint32_t i = 0; ok && i < count; i++) {
        struct name_query w = {t, symbol_table_name(t, &t->entries[i], SYMBOL_NAME_MAX)};
        uint32_t hash = (uint32_t)hash_bytes(w.name.ptr, w.name.len);
        struct index_slot *slot = index_find(&names, hash, same_name, &w);
        b->owners[i] = i;
        if (slot->id == 0)
            index_fill(&names, slot, hash, i + 1);
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        struct name_query w = {
            t, whole_name(symbol_table_name(t, &t->entries[i], SYMBOL_NAME_MAX))};
        if (w.name.len == 0)
            continue;
        uint32_t hash = (uint32_t)hash_bytes(w.name.ptr, w.name.len);
        const struct index_slot *slot = index_find(&names, hash, same_name, &w);
        if (slot->id)
            b->owners[i] = slot->id - 1;
    }
    arena_deinit(&scratch);
    return ok;
}

/* A kernel is in the upper half of the address space. */
#define IS_KERNEL(address) ((address) >> 63)

bool trace_binary_init(struct trace_binary *b, struct arena *arena, struct error *err)
{
    b->segments = NULL;
    b->segment_count = 0;
    b->moves = b->elf && b->elf->type == ELF_SHARED;
    b->entry = b->elf ? b->elf->entry : UINT64_MAX;
    bool ok = b->elf ? find_segments(b, arena) : span_of_symbols(b, arena);
    if (!ok || !sort_segments(b, arena) || !find_owners(b, arena) ||
        (b->elf && !landing_init(&b->landing, b->elf, arena)))
        return error_memory(err);
    bool kernel = b->segment_count && IS_KERNEL(b->segments[b->segment_count - 1].start);
    b->kind = kernel && !b->is_user ? FRAME_KERNEL : FRAME_USER;
    return true;
}
