/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/go_frames.h"
#include "base/output.h"

enum cfa_operation {
    CFA_NOP = 0,
    CFA_ADVANCE4 = 4,
    CFA_UNDEFINED = 7,
    CFA_SAME_VALUE = 8,
    CFA_DEFINE = 0x0c,
    CFA_DEFINE_OFFSET = 0x0e,
    CFA_OFFSET = 0x80, /* plus the register */
};

/* Maximum number of rows per byte of the table, if value tables are shared; linkers do
 * not write that many. */
#define STEPS_A_BYTE 1

/* What differs between architectures (DWARF register numbers). */
struct frame_machine {
    uint8_t stack, link; /* link: the register with the return address */
    uint8_t pushed;      /* bytes of the return address that a call pushes */
};

static const struct frame_machine *machine_of(const struct elf *e)
{
    static const struct frame_machine x86_64 = {7, 16, 8}, aarch64 = {31, 30, 0};
    if (!e->is_64 || e->big_endian)
        return NULL;
    return e->machine == ELF_X86_64    ? &x86_64
           : e->machine == ELF_AARCH64 ? &aarch64
                                       : NULL;
}

static void put_number(struct output *o, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        output_char(o, (char)(value >> 8 * i));
}

static void put_uleb(struct output *o, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        output_char(o, (char)(value | 0x80));
    output_char(o, (char)value);
}

/* An entry is written to `entry` first, because its length comes before it. */
static void put_entry(struct output *o, struct output *entry)
{
    while (entry->used % 8 != 4 && !entry->failed)
        output_char(entry, CFA_NOP);
    put_number(o, entry->used, 4);
    output_str(o, output_contents(entry));
    entry->used = 0;
}

static void put_common(struct output *o, struct output *entry,
                       const struct frame_machine *m)
{
    put_number(entry, UINT32_MAX, 4);
    output_char(entry, 3);        /* version */
    output_char(entry, 0);        /* no augmentation */
    output_char(entry, 1);        /* code alignment factor */
    output_char(entry, 0x80 - 8); /* data alignment factor: -8 */
    output_char(entry, (char)m->link);
    output_char(entry, CFA_DEFINE);
    put_uleb(entry, m->stack);
    put_uleb(entry, m->pushed);
    if (m->pushed) {
        output_char(entry, (char)(CFA_OFFSET | m->link));
        put_uleb(entry, 1);
    }
    put_entry(o, entry);
}

/* Writes the CFA for a given stack use. On architectures with a link register, the
 * return address is at the lowest address of the frame. */
static void put_row(struct output *entry, const struct frame_machine *m, uint32_t used,
                    bool is_top)
{
    output_char(entry, CFA_DEFINE_OFFSET);
    put_uleb(entry, (uint64_t)used + m->pushed);
    if (m->pushed || is_top)
        return;
    output_char(entry, (char)(used ? CFA_OFFSET | m->link : CFA_SAME_VALUE));
    put_uleb(entry, used ? used / 8 : m->link);
}

/* Writes the entry of a function; false if nothing is known about its stack. */
static bool put_function(struct output *entry, const struct go_table *t,
                         const struct frame_machine *m, const struct go_function *f,
                         uint64_t *budget)
{
    struct go_values v = go_values_of(t, f, f->stack_values);
    put_number(entry, 0, 4);
    put_number(entry, f->start, 8);
    put_number(entry, f->end - f->start, 8);
    if (f->is_top) {
        output_char(entry, CFA_UNDEFINED);
        put_uleb(entry, m->link);
    }
    bool any = false;
    for (uint64_t at = f->start; *budget && go_values_next(&v) && v.value >= 0;
         any = true) {
        --*budget;
        if (any) {
            output_char(entry, CFA_ADVANCE4);
            put_number(entry, v.start - at, 4);
            at = v.start;
        }
        put_row(entry, m, (uint32_t)v.value, f->is_top);
    }
    return any;
}

struct str go_frames(const struct go_table *t, struct arena *arena)
{
    const struct frame_machine *m = machine_of(t->elf);
    struct output o = OUTPUT_BUFFER, entry = OUTPUT_BUFFER;
    struct go_function f;
    uint64_t budget = (uint64_t)STEPS_A_BYTE * t->all.len;
    if (!m)
        return STR("");
    put_common(&o, &entry, m);
    for (size_t i = 0; i < t->count; i++) {
        if (go_table_get(t, i, &f) && put_function(&entry, t, m, &f, &budget))
            put_entry(&o, &entry);
        entry.used = 0;
    }
    struct str bytes = arena_str(arena, output_contents(&o));
    if (o.failed || entry.failed)
        bytes = STR("");
    output_deinit(&entry);
    output_deinit(&o);
    return bytes;
}
