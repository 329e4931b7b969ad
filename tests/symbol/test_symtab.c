/* SPDX-License-Identifier: Apache-2.0 */
/* Finds symbols of the C library by their names, as the dynamic linker does. */
#include "symbol/elf.h"
#include "symbol/symtab.h"
#include "unit.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 2000

/* No IFUNCs: those have another address in the file than in the process. */
static const char *const names[] = {"qsort",  "malloc",  "free",   "fopen", "strtol",
                                    "getenv", "environ", "stdout", "rand",  "printf"};

#define NAMES (sizeof names / sizeof *names)

static struct arena arena;
static char *file;
static size_t file_size;
static uint64_t base;
static void *library;

static int read_library(void **state)
{
    (void)state;
    Dl_info info;
    library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (!library || !dladdr(dlsym(library, "qsort"), &info))
        return 0; /* another C library */
    base = (uint64_t)(uintptr_t)info.dli_fbase;
    FILE *f = fopen(info.dli_fname, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return -1;
    file_size = (size_t)ftell(f);
    rewind(f);
    file = malloc(file_size);
    bool ok = file && fread(file, 1, file_size, f) == file_size;
    fclose(f);
    return ok ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    free(file);
    arena_deinit(&arena);
    return 0;
}

static struct elf opened(void)
{
    struct elf e;
    struct error err;
    assert_true(elf_init(&e, (struct str){file, file_size}, &arena, &err));
    return e;
}

static uint64_t address_in_file(const char *name)
{
    uint64_t at = (uint64_t)(uintptr_t)dlsym(library, name);
    assert_true(at > base);
    return at - base;
}

static void test_addresses_are_those_of_the_linker(void **state)
{
    (void)state;
    uint64_t address;
    if (!file)
        skip();
    struct elf e = opened();
    for (size_t i = 0; i < NAMES; i++) {
        assert_true(symtab_find(&e, str_of(names[i]), &address));
        assert_int_equal(address, address_in_file(names[i]));
    }
    assert_false(symtab_find(&e, STR("no_such_function"), &address));
    assert_false(symtab_find(&e, STR("qsor"), &address));
    assert_false(symtab_find(&e, STR(""), &address));
}

/* A damaged table finds nothing, or the right symbol. */
static void test_damaged_hashes(void **state)
{
    (void)state;
    if (!file)
        skip();
    struct elf e = opened();
    const struct elf_section *s = elf_section_typed(&e, ELF_GNU_HASH);
    if (!s)
        skip();
    struct str table = elf_section_bytes(&e, s);
    char *bytes = file + (table.ptr - file), saved[4];
    uint64_t right, address;
    assert_true(symtab_find(&e, STR("qsort"), &right));
    srand(1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        /* the numbers at the start more often */
        size_t at = (size_t)rand() % (i % 2 ? 16 : table.len - 3);
        uint32_t value = i % 3 ? (uint32_t)rand() : UINT32_MAX;
        memcpy(saved, bytes + at, 4);
        memcpy(bytes + at, &value, 4);
        if (symtab_find(&e, STR("qsort"), &address))
            assert_int_equal(address, right);
        memcpy(bytes + at, saved, 4);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(test_addresses_are_those_of_the_linker),
        cmocka_unit_test(test_damaged_hashes),
    };
    return cmocka_run_group_tests(units, read_library, release);
}
