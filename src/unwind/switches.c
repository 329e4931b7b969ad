/* SPDX-License-Identifier: Apache-2.0 */
/* Finds functions of the Go runtime that switch from a goroutine's stack to the system
 * stack (runtime, asm_amd64.s, sys_linux_amd64.s and those of arm64). Their call frame
 * information describes the stack they were called on, which is wrong after the
 * instruction that sets the stack pointer. */
#include "symbol/go_table.h"
#include "unwind/source.h"

/* maximum size of such a function */
#define FUNCTION_MAX 1024

#define SYMBOL_SIZE 24

struct switching {
    const char *name;
    bool returns; /* otherwise nothing on the other stack continues */
};

static const struct switching functions[] = {{"runtime.systemstack", true},
                                             {"runtime.asmcgocall", true},
                                             {"runtime.morestack", true},
                                             {"runtime.nanotime1", true},
                                             {"runtime.walltime", true},
                                             {"runtime.vgetrandom1", true},
                                             {"time.now", true},
                                             {"runtime.mcall", false},
                                             {"runtime.gogo", false},
                                             {"gogo", false}};

/* Effects of instructions on the stack pointer that Go's CFI cannot describe. */
enum effect { EFFECT_NONE, EFFECT_SET, EFFECT_ALIGN };

/* Decodes mov to %rsp from a register or from memory, and and $imm8,%rsp: returns the
 * length, or 0. */
static size_t x86_64_effect(struct str code, enum effect *effect)
{
    const unsigned char *c = (const unsigned char *)code.ptr;
    if (code.len < 4 || (c[0] & 0xf8) != 0x48)
        return 0;
    unsigned mode = c[2] >> 6, reg = c[2] >> 3 & 7, rm = c[2] & 7;
    *effect = EFFECT_SET;
    if (c[1] == 0x89 && mode == 3 && rm == 4 && !(c[0] & 1))
        return 3;
    if (c[1] == 0x8b && reg == 4 && !(c[0] & 4))
        return 3u + (mode != 3 && rm == 4 ? 1 : 0) + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
    *effect = EFFECT_ALIGN;
    return c[0] == 0x48 && c[1] == 0x83 && c[2] == 0xe4 ? 4 : 0;
}

/* mov sp, xN */
static size_t arm64_effect(struct str code, enum effect *effect)
{
    struct bytes b = bytes_of(code, false);
    uint32_t word = bytes_u32(&b), from = word >> 5 & 31;
    *effect = EFFECT_SET;
    return !b.failed && (word & 0xfffffc1f) == 0x9100001f && from != 31 ? 4 : 0;
}

static void add_switch(struct unwind_source *source, uint64_t start, uint64_t end,
                       bool returns)
{
    if (source->switch_count < UNWIND_SWITCHES_MAX && start < end)
        source->switches[source->switch_count++] =
            (struct unwind_switch){start, end, returns};
}

/* Adds the ranges from where the function sets the stack pointer to where it restores
 * it. */
static void add_function(struct unwind_source *source, const struct elf *e,
                         uint64_t address, uint64_t size, bool returns)
{
    bool arm = source->machine == ARCH_ARM64;
    struct str code = elf_bytes_at(e, address, size < FUNCTION_MAX ? size : FUNCTION_MAX);
    uint64_t from = 0;
    for (size_t at = 0; at < code.len;) {
        enum effect effect;
        struct str rest = str_skip(code, at);
        size_t length = arm ? arm64_effect(rest, &effect) : x86_64_effect(rest, &effect);
        if (length == 0) {
            at += arm ? 4 : 1;
            continue;
        }
        if (from && effect == EFFECT_SET) {
            add_switch(source, from, address + at, returns);
            from = 0;
        } else if (!from) {
            from = address + at + length;
        }
        at += length;
    }
    if (from)
        add_switch(source, from, address + code.len, returns);
}

/* The name may have the suffix of its calling convention. */
static const struct switching *switching_of(struct str name)
{
    if (str_ends(name, STR(".abi0")))
        name = str_head(name, name.len - 5);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_equal(name, str_of(functions[i].name)))
            return &functions[i];
    return NULL;
}

/* A wrapper for another calling convention has the name without the suffix and does not
 * set the stack pointer. */
static void read_symbols(struct unwind_source *source, const struct elf *loaded,
                         struct elf *e)
{
    const struct elf_section *table = elf_section_typed(e, ELF_SYMTAB);
    if (!table || !e->is_64 || table->link >= e->section_count)
        return;
    struct str names = elf_section_bytes(e, &e->sections[table->link]);
    struct bytes b = elf_cursor(e, elf_section_bytes(e, table));
    while (bytes_left(&b) >= SYMBOL_SIZE) {
        struct str name = str_skip(names, bytes_u32(&b));
        bytes_skip(&b, 4);
        uint64_t address = bytes_u64(&b), size = bytes_u64(&b);
        if (name.len == 0 || !strchr("rtg", name.ptr[0]))
            continue;
        const struct switching *s = switching_of(str_cut(&name, 0));
        if (s && size)
            add_function(source, loaded, address, size, s->returns);
    }
}

/* The same with Go's function table, for an executable without symbols. */
static void read_go_table(struct unwind_source *source, const struct elf *e,
                          const struct go_table *go)
{
    struct go_function f;
    for (size_t i = 0; i < go->count; i++) {
        const struct switching *s = go_table_get(go, i, &f) ? switching_of(f.name) : NULL;
        if (s)
            add_function(source, e, f.start, f.end - f.start, s->returns);
    }
}

static void order_switches(struct unwind_source *source)
{
    for (size_t i = 1; i < source->switch_count; i++)
        for (size_t k = i; k && source->switches[k].start < source->switches[k - 1].start;
             k--) {
            struct unwind_switch swap = source->switches[k];
            source->switches[k] = source->switches[k - 1];
            source->switches[k - 1] = swap;
        }
}

void unwind_source_switches(struct unwind_source *source, struct elf *e,
                            struct elf *debug, const struct go_table *go)
{
    source->is_go = go || go_table_is_go(e) || (debug && go_table_is_go(debug));
    if (!source->is_go)
        return;
    read_symbols(source, e, e);
    if (source->switch_count == 0 && debug)
        read_symbols(source, e, debug);
    if (source->switch_count == 0 && go)
        read_go_table(source, e, go);
    order_switches(source);
}
