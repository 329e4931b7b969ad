/* SPDX-License-Identifier: Apache-2.0 */
/* Compares tables of single functions with the table of the whole file: the same rule
 * at every address, in this executable and in the C library. */
#include "os/mapping.h"
#include "unit.h"
#include "unwind/functions.h"
#include "unwind/source.h"
#include <dlfcn.h>
#include <unistd.h>

struct both {
    struct os_mapping mapping;
    struct elf elf;
    struct arena arena;
    struct unwind_source source;
    struct unwind_table whole;
    struct unwind_functions functions;
};

static bool open_both(struct both *b, const char *path)
{
    struct error err;
    *b = (struct both){.arena = ARENA_INIT};
    assert_true(os_mapping_open(&b->mapping, path, &err));
    assert_true(elf_init(&b->elf, b->mapping.bytes, &b->arena, &err));
    unwind_source_of(&b->source, &b->elf, NULL);
    assert_true(unwind_table_build(&b->whole, &b->source, &b->arena, &err));
    return unwind_functions_init(&b->functions, &b->source, &b->elf, &b->arena);
}

static void close_both(struct both *b)
{
    arena_deinit(&b->arena);
    os_mapping_close(&b->mapping);
}

static bool same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Compares an address in a function of the whole table. */
static void compare(struct both *b, uint64_t address)
{
    const struct unwind_segment *s = &b->source.segments[0];
    const struct cfi_section *section;
    struct cfi_fde fde, other;
    const struct unwind_table *t =
        unwind_functions_table(&b->functions, address - s->address + s->offset);
    assert_non_null(t);
    if (!same_rule(unwind_table_find(t, address), unwind_table_find(&b->whole, address)))
        fail_msg("other rules at %llx", (unsigned long long)address);
    assert_true(unwind_table_fde(&b->whole, address, &section, &fde));
    assert_true(unwind_table_fde(t, address, &section, &other));
    assert_int_equal(fde.offset, other.offset);
}

static void check_file(const char *path)
{
    struct both b;
    size_t compared = 0;
    if (!open_both(&b, path))
        fail_msg("%s does not list its functions", path);
    for (size_t i = 0; i < b.whole.fde_count; i++) {
        const struct unwind_fde *f = &b.whole.fdes[i];
        uint64_t base = b.whole.base, size = f->end - f->pc;
        if (f->entry & 1)
            continue;
        for (uint64_t at = 0; at < size; at += size / 7 + 1, compared++)
            compare(&b, base + f->pc + at);
        compare(&b, base + f->end - 1);
    }
    assert_true(compared > 100);
    /* a repeated lookup builds nothing */
    size_t made = b.functions.table_count;
    compare(&b, b.whole.base + b.whole.fdes[0].pc);
    assert_int_equal(b.functions.table_count, made);
    assert_true(made <= b.whole.fde_count);
    close_both(&b);
}

static void test_own_program(void **state)
{
    (void)state;
    check_file("/proc/self/exe");
}

static void test_c_library(void **state)
{
    Dl_info info;
    (void)state;
    if (!dladdr((void *)(uintptr_t)&getppid, &info) || !strstr(info.dli_fname, "libc"))
        skip();
    check_file(info.dli_fname);
}

/* The table of a function is also found for an adjacent address, because samples in a
 * signal trampoline may be at its end. Elsewhere there is none. */
static void test_adjacent_address(void **state)
{
    struct both b;
    (void)state;
    assert_true(open_both(&b, "/proc/self/exe"));
    const struct unwind_segment *s = &b.source.segments[0];
    uint64_t offset = b.whole.base - s->address + s->offset;
    assert_non_null(unwind_functions_table(&b.functions, offset));
    assert_ptr_equal(unwind_functions_table(&b.functions, offset - 1),
                     unwind_functions_table(&b.functions, offset));
    assert_null(unwind_functions_table(&b.functions, UINT64_MAX));
    assert_null(unwind_functions_table(&b.functions, s->offset + s->size));
    close_both(&b);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_own_program), UNIT(test_c_library),
                                       UNIT(test_adjacent_address)};
    return UNITS_RUN(units);
}
