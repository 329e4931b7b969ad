/* SPDX-License-Identifier: Apache-2.0 */
#include "os/proc.h"
#include "resolve/mapped_file.h"
#include "unit.h"
#include <unistd.h>

/* A symbol of this program. */
int a_variable_of_this_program = 1;

struct search {
    struct mapped_file file;
    char path[4096];
};

/* Takes the first mapping of code of this program. */
static void take_code(void *context, const struct os_code *code)
{
    struct search *s = context;
    if (s->file.path.len || !str_equal(code->path, str_of(s->path)))
        return;
    s->file = (struct mapped_file){
        .path = str_of(s->path), .start = code->start, .offset = code->offset};
}

static void symbols_have_their_addresses(void **state)
{
    (void)state;
    static const struct find_settings find = {.no_debuginfod = true};
    struct search s = {.file.path = STR("")};
    struct arena arena = {0};
    uint32_t pid = (uint32_t)getpid();
    uint64_t address = 0;
    assert_true(readlink("/proc/self/exe", s.path, sizeof s.path - 1) > 0);
    assert_true(os_process_code(pid, pid, take_code, &s) > 0);
    assert_true(mapped_file_open(&s.file, pid, &find, &arena));
    assert_true(mapped_file_symbol(&s.file, STR("a_variable_of_this_program"), &address));
    assert_int_equal(address, (uintptr_t)&a_variable_of_this_program);
    assert_false(mapped_file_symbol(&s.file, STR("no_such_variable"), &address));
    mapped_file_close(&s.file);
    mapped_file_close(&s.file);
    arena_deinit(&arena);
}

static void files_that_are_absent(void **state)
{
    (void)state;
    static const struct find_settings find = {.no_debuginfod = true};
    static const char *const paths[] = {"/no/such/file", "[vdso]", ""};
    struct arena arena = {0};
    uint64_t address = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct mapped_file m = {.path = str_of(paths[i])};
        assert_false(mapped_file_open(&m, (uint32_t)getpid(), &find, &arena));
        assert_false(mapped_file_symbol(&m, STR("main"), &address));
        mapped_file_close(&m);
    }
    arena_deinit(&arena);
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(symbols_have_their_addresses),
        UNIT(files_that_are_absent),
    };
    return UNITS_RUN(units);
}
