/* SPDX-License-Identifier: Apache-2.0 */
/* The serialised form of a table: a header of numbers, the arrays one after the other,
 * and a checksum. All numbers are little-endian. */
#include "base/hash.h"
#include "unwind/registers.h"
#include "unwind/unwind_table.h"

static const char magic[8] = "stokeUNW";

#define VERSION 2 /* increase it also when the meaning of rules changes */

#define HEAD_SIZE (sizeof magic + (size_t)4 * 8 + (size_t)8 * 4)
#define ROW_SIZE ((size_t)4 + 2)
#define RULE_SIZE ((size_t)12)
#define FDE_SIZE ((size_t)16)
#define CHECKSUM_SIZE ((size_t)8)

/* --- Writing ------------------------------------------------------------------------ */

static char *put(char *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (char)(value >> (8 * i));
    return at + size;
}

/* Distinguishes the sections of different files that have the same build ID. */
static uint64_t fingerprint(const struct cfi_section *sections, size_t section_count,
                            const struct unwind_segment *segments, size_t segment_count)
{
    uint64_t mixed = hash_mix(section_count + 1, segment_count + 3);
    for (size_t i = 0; i < section_count; i++) {
        mixed = hash_mix(mixed ^ sections[i].bytes.len, sections[i].address + 5);
        mixed = hash_mix(mixed ^ sections[i].is_debug_frame, 7);
    }
    for (size_t i = 0; i < segment_count; i++) {
        mixed = hash_mix(mixed ^ segments[i].offset, segments[i].size + 11);
        mixed = hash_mix(mixed ^ segments[i].address, 13);
    }
    return mixed;
}

static uint64_t checksum(const char *bytes, size_t length)
{
    struct hash128 hash = hash_keyed128(HASH_FIXED_KEYS, bytes, length);
    return hash.lo ^ hash.hi;
}

static char *put_head(char *at, const struct unwind_table *t)
{
    memcpy(at, magic, sizeof magic);
    at = put(at + sizeof magic, VERSION, 8);
    at = put(at, t->base, 8);
    at = put(at, t->broken, 8);
    at = put(
        at, fingerprint(t->sections, t->section_count, t->segments, t->segment_count), 8);
    at = put(at, (uint32_t)t->machine, 4);
    at = put(at, t->row_count, 4);
    at = put(at, t->rule_count, 4);
    at = put(at, t->fde_count, 4);
    for (int spare = 0; spare < 4; spare++)
        at = put(at, 0, 4);
    return at;
}

static char *put_rule(char *at, const struct unwind_rule *rule)
{
    at = put(at, rule->cfa, 1);
    at = put(at, rule->from, 1);
    at = put(at, rule->fp, 1);
    at = put(at, rule->extra, 1);
    at = put(at, (uint32_t)rule->cfa_offset, 4);
    at = put(at, (uint16_t)rule->return_offset, 2);
    return put(at, (uint16_t)rule->fp_offset, 2);
}

static char *put_arrays(char *at, const struct unwind_table *t)
{
    for (size_t i = 0; i < t->row_count; i++)
        at = put(at, t->pcs[i], 4);
    for (size_t i = 0; i < t->row_count; i++)
        at = put(at, t->rule_of[i], 2);
    for (size_t i = 0; i < t->rule_count; i++)
        at = put_rule(at, &t->rules[i]);
    for (size_t i = 0; i < t->fde_count; i++) {
        at = put(at, t->fdes[i].pc, 4);
        at = put(at, t->fdes[i].end, 4);
        at = put(at, t->fdes[i].entry, 8);
    }
    return at;
}

struct str unwind_table_bytes(const struct unwind_table *t, struct arena *arena)
{
    size_t size = HEAD_SIZE + t->row_count * ROW_SIZE + t->rule_count * RULE_SIZE +
                  t->fde_count * FDE_SIZE + CHECKSUM_SIZE;
    char *bytes = arena_alloc(arena, size);
    if (!bytes)
        return STR("");
    char *end = put_arrays(put_head(bytes, t), t);
    put(end, checksum(bytes, (size_t)(end - bytes)), CHECKSUM_SIZE);
    return (struct str){bytes, size};
}

/* --- Reading ------------------------------------------------------------------------ */

struct loading {
    struct unwind_table *table;
    struct arena *arena;
    struct bytes in;
    uint32_t *pcs;
    uint16_t *rule_of;
    struct unwind_rule *rules;
    struct unwind_fde *fdes;
};

static bool read_head(struct loading *l, const struct unwind_source *source)
{
    struct unwind_table *t = l->table;
    struct bytes *in = &l->in;
    uint64_t expected = fingerprint(source->sections, source->section_count,
                                    source->segments, source->segment_count);
    struct str name = bytes_take(in, sizeof magic);
    bool ours =
        str_equal(name, (struct str){magic, sizeof magic}) && bytes_u64(in) == VERSION;
    t->base = bytes_u64(in);
    t->broken = (size_t)bytes_u64(in);
    ours = ours && bytes_u64(in) == expected;
    ours = ours && bytes_u32(in) == (uint32_t)source->machine;
    t->row_count = bytes_u32(in);
    t->rule_count = bytes_u32(in);
    t->fde_count = bytes_u32(in);
    bytes_skip(in, (uint64_t)4 * 4);
    uint64_t size = (uint64_t)t->row_count * ROW_SIZE +
                    (uint64_t)t->rule_count * RULE_SIZE +
                    (uint64_t)t->fde_count * FDE_SIZE;
    return ours && !in->failed && size == bytes_left(in);
}

/* One extra item each, so that no allocation has size 0. */
static bool reserve(struct loading *l)
{
    const struct unwind_table *t = l->table;
    l->pcs = arena_alloc(l->arena, (t->row_count + 1) * sizeof *l->pcs);
    l->rule_of = arena_alloc(l->arena, (t->row_count + 1) * sizeof *l->rule_of);
    l->rules = arena_alloc(l->arena, (t->rule_count + 1) * sizeof *l->rules);
    l->fdes = arena_alloc(l->arena, (t->fde_count + 1) * sizeof *l->fdes);
    return l->pcs && l->rule_of && l->rules && l->fdes;
}

static bool read_rows(struct loading *l)
{
    const struct unwind_table *t = l->table;
    bool good = true;
    for (size_t i = 0; i < t->row_count; i++) {
        l->pcs[i] = bytes_u32(&l->in);
        good &= i ? l->pcs[i] > l->pcs[i - 1] : l->pcs[i] == 0;
    }
    for (size_t i = 0; i < t->row_count; i++) {
        l->rule_of[i] = bytes_u16(&l->in);
        good &= l->rule_of[i] < t->rule_count;
    }
    return good;
}

static bool read_rules(struct loading *l)
{
    const struct unwind_table *t = l->table;
    const struct register_roles *roles = register_roles_of(t->machine);
    bool good = roles != NULL;
    for (size_t i = 0; i < t->rule_count && good; i++) {
        struct unwind_rule *rule = &l->rules[i];
        rule->cfa = bytes_u8(&l->in);
        rule->from = bytes_u8(&l->in);
        rule->fp = bytes_u8(&l->in);
        rule->extra = bytes_u8(&l->in);
        rule->cfa_offset = (int32_t)bytes_u32(&l->in);
        rule->return_offset = (int16_t)bytes_u16(&l->in);
        rule->fp_offset = (int16_t)bytes_u16(&l->in);
        good = rule->cfa <= CFA_NONE && rule->fp <= FP_LOST &&
               (rule->from & ~RETURN_SIGNAL) <= RETURN_SWITCHED &&
               (rule->cfa != CFA_REGISTER || rule->extra < roles->count);
    }
    return good;
}

static bool read_fdes(struct loading *l, const struct unwind_source *source)
{
    const struct unwind_table *t = l->table;
    uint64_t end = 0;
    bool good = true;
    for (size_t i = 0; i < t->fde_count; i++) {
        struct unwind_fde *fde = &l->fdes[i];
        fde->pc = bytes_u32(&l->in);
        fde->end = bytes_u32(&l->in);
        fde->entry = bytes_u64(&l->in);
        good &= fde->pc >= end && fde->end > fde->pc &&
                (fde->entry & 1) < source->section_count;
        end = fde->end;
    }
    return good;
}

static bool read_table(struct loading *l, const struct unwind_source *source)
{
    struct unwind_table *t = l->table;
    if (!read_rows(l) || !read_rules(l) || !read_fdes(l, source))
        return false;
    t->pcs = l->pcs;
    t->rule_of = l->rule_of;
    t->rules = l->rules;
    t->fdes = l->fdes;
    memcpy(t->sections, source->sections, sizeof t->sections);
    t->section_count = source->section_count;
    memcpy(t->segments, source->segments, sizeof t->segments);
    t->segment_count = source->segment_count;
    return true;
}

bool unwind_table_load(struct unwind_table *t, struct str bytes,
                       const struct unwind_source *source, struct arena *arena,
                       struct error *err)
{
    struct loading l = {.table = t, .arena = arena};
    size_t body = bytes.len < CHECKSUM_SIZE ? 0 : bytes.len - CHECKSUM_SIZE;
    struct bytes sum = bytes_of(str_skip(bytes, body), false);
    *t = (struct unwind_table){.machine = source->machine};
    l.in = bytes_of(str_head(bytes, body), false);
    bool ours = bytes_u64(&sum) == checksum(bytes.ptr, body) && !sum.failed &&
                read_head(&l, source);
    bool memory = !ours || reserve(&l);
    ours = ours && memory && read_table(&l, source);
    memory = memory && (!ours || unwind_table_index(t, arena));
    if (ours && memory)
        return true;
    *t = (struct unwind_table){.machine = source->machine};
    if (!memory)
        return error_memory(err);
    error_set(err, "the cached unwind table is damaged or belongs to another file");
    return error_hint(err, "delete it: stoke builds it again");
}
