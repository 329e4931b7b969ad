/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/functions.h"
#include "base/array.h"

bool unwind_functions_init(struct unwind_functions *f, const struct unwind_source *source,
                           struct elf *e, struct arena *arena)
{
    const struct elf_section *list = elf_section_named(e, STR(".eh_frame_hdr"));
    *f = (struct unwind_functions){.source = *source, .arena = arena};
    memcpy(f->segments.segments, source->segments, sizeof source->segments);
    f->segments.segment_count = source->segment_count;
    return list && source->section_count == 1 && !source->sections[0].is_debug_frame &&
           cfi_header_read(elf_section_bytes(e, list), list->address, source->machine,
                           e->big_endian, &f->header) &&
           f->header.count && f->header.eh_frame == source->sections[0].address;
}

static const void *copied(struct arena *a, const void *from, size_t size)
{
    void *to = arena_alloc(a, size + 1);
    return to && size ? memcpy(to, from, size) : to;
}

/* Copies a table to memory of its exact size. */
static struct unwind_table *copy_table(struct arena *a, const struct unwind_table *from)
{
    struct unwind_table *t = arena_alloc(a, sizeof *t);
    if (!t)
        return NULL;
    *t = *from;
    t->pcs = copied(a, t->pcs, t->row_count * sizeof *t->pcs);
    t->rule_of = copied(a, t->rule_of, t->row_count * sizeof *t->rule_of);
    t->rules = copied(a, t->rules, t->rule_count * sizeof *t->rules);
    t->pages = copied(a, t->pages, (t->page_count + 1) * sizeof *t->pages);
    t->fdes = copied(a, t->fdes, t->fde_count * sizeof *t->fdes);
    return a->failed ? NULL : t;
}

static struct unwind_table *make_table(struct unwind_functions *f, uint64_t entry)
{
    struct error ignored;
    struct arena scratch = ARENA_INIT;
    struct unwind_table made, *t = NULL;
    if (!ARRAY_RESERVE(f->arena, f->tables, f->table_cap, f->table_count + 2))
        return NULL;
    if (unwind_table_build_function(&made, &f->source, entry, &scratch, &ignored))
        t = copy_table(f->arena, &made);
    arena_deinit(&scratch);
    if (t)
        f->tables[++f->table_count] = t;
    return t;
}

/* The index of the function that contains the address; 0 if there is none. */
static size_t index_of(struct unwind_functions *f, uint64_t address)
{
    const struct cfi_section *section = &f->source.sections[0];
    struct cfi_fde fde;
    uint64_t at;
    if (!cfi_header_find(&f->header, address, &at) || at < section->address ||
        !cfi_at(section, at - section->address, &fde) ||
        address - fde.start >= fde.end - fde.start)
        return 0;
    uint64_t *index = idmap_put(&f->by_start, f->arena, fde.start);
    if (!index)
        return 0;
    if (*index == 0 && make_table(f, fde.offset))
        *index = f->table_count;
    return (size_t)*index;
}

bool unwind_functions_range(const struct unwind_functions *f, uint64_t address,
                            uint64_t *start, uint64_t *end)
{
    const struct cfi_section *section = &f->source.sections[0];
    struct cfi_fde fde;
    uint64_t at;
    if (!cfi_header_find(&f->header, address, &at) || at < section->address ||
        !cfi_at(section, at - section->address, &fde) ||
        address - fde.start >= fde.end - fde.start)
        return false;
    *start = fde.start;
    *end = fde.end;
    return true;
}

const struct unwind_table *unwind_functions_table(struct unwind_functions *f,
                                                  uint64_t offset)
{
    uint64_t address, *known = idmap_put(&f->by_offset, f->arena, offset);
    if (!known || !unwind_table_address(&f->segments, offset, &address))
        return NULL;
    if (*known == 0) {
        size_t index = index_of(f, address);
        index = index ? index : index_of(f, address - 1);
        *known = 1 + (index ? index : index_of(f, address + 1));
    }
    return *known > 1 ? f->tables[*known - 1] : NULL;
}

/* --- Frame pointers ---------------------------------------------------------------- */

/* Maximum number of functions that are sampled. */
#define FUNCTIONS_SAMPLED 48

/* A row of the list: address and FDE, relative to the address of the list. */
#define LIST_ROW 8

/* Bytes of code, and how many of them compute the CFA from the frame pointer. */
struct framing {
    uint64_t all, by_frame;
};

static void add_framing(struct framing *f, const struct unwind_table *t)
{
    for (size_t i = 0; i + 1 < t->row_count; i++) {
        const struct unwind_rule *rule = &t->rules[t->rule_of[i]];
        uint32_t size = t->pcs[i + 1] - t->pcs[i];
        if (rule->cfa != CFA_NONE)
            f->all += size;
        if (rule->cfa == CFA_FP)
            f->by_frame += size;
    }
}

static bool uses_frame_pointers(const struct framing *f)
{
    return f->by_frame * 2 > f->all;
}

bool unwind_table_uses_frame_pointers(const struct unwind_table *t)
{
    struct framing framing = {0};
    add_framing(&framing, t);
    return uses_frame_pointers(&framing);
}

bool unwind_table_go_code(const struct unwind_table *t, uint64_t *start, uint64_t *end)
{
    *start = t->fde_count ? UINT64_MAX : 0;
    *end = t->fde_count ? 0 : UINT64_MAX;
    for (size_t i = 0; i < t->fde_count; i++) {
        const struct unwind_fde *fde = &t->fdes[i];
        bool any = (fde->entry & 1) < t->section_count &&
                   t->sections[fde->entry & 1].is_debug_frame;
        if (any && t->base + fde->pc < *start)
            *start = t->base + fde->pc;
        if (any && t->base + fde->end > *end)
            *end = t->base + fde->end;
    }
    return *start < *end;
}

bool unwind_functions_use_frame_pointers(const struct unwind_functions *f)
{
    struct framing framing = {0};
    struct error ignored;
    uint64_t count = f->header.count;
    uint64_t step = count > FUNCTIONS_SAMPLED ? count / FUNCTIONS_SAMPLED : 1;
    for (uint64_t i = 0; i < count; i += step) {
        struct bytes row = bytes_of(str_part(f->header.table, i * LIST_ROW + 4, 4),
                                    f->header.big_endian);
        uint64_t fde = f->header.address + (uint64_t)(int64_t)(int32_t)bytes_u32(&row);
        struct arena scratch = ARENA_INIT;
        struct unwind_table t;
        if (unwind_table_build_function(
                &t, &f->source, fde - f->source.sections[0].address, &scratch, &ignored))
            add_framing(&framing, &t);
        arena_deinit(&scratch);
    }
    return uses_frame_pointers(&framing);
}
