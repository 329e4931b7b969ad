/* SPDX-License-Identifier: Apache-2.0 */
/* The answers about a file are the same whether this process reads it or a child does. */
#include "os/proc.h"
#include "resolve/runtime_files.h"
#include "unit.h"
#include <string.h>
#include <unistd.h>

int a_variable_of_this_program = 1;

/* The roles of functions, by name. */
static enum interpreter_native native(struct str function)
{
    return str_equal(function, STR("loop_of_this_program"))     ? NATIVE_LOOP
           : str_equal(function, STR("hidden_of_this_program")) ? NATIVE_INTERNAL
                                                                : NATIVE_WORK;
}

static const struct interpreter interpreter = {.name = "test", .native = native};

__attribute__((noinline)) int loop_of_this_program(int n);
__attribute__((noinline)) int hidden_of_this_program(int n);

int loop_of_this_program(int n)
{
    return n + a_variable_of_this_program;
}

int hidden_of_this_program(int n)
{
    return n - a_variable_of_this_program;
}

static char path[4096];

/* Takes the first mapping of code of this program. */
static void take_code(void *context, const struct os_code *code)
{
    struct runtime_mapping *m = context;
    if (m->path.len || !str_equal(code->path, str_of(path)))
        return;
    *m = (struct runtime_mapping){
        .path = str_of(path), .start = code->start, .offset = code->offset, .file = 7};
}

static struct runtime_mapping own_mapping(void)
{
    struct runtime_mapping m = {.path = STR("")};
    uint32_t pid = (uint32_t)getpid();
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    assert_true(os_process_code(pid, pid, take_code, &m) > 0);
    assert_true(m.path.len > 0);
    return m;
}

static enum interpreter_native role_of(const struct runtime_roles *r, uint64_t bias,
                                       int (*function)(int))
{
    return runtime_roles_find(r, (uint64_t)(uintptr_t)function - bias);
}

static void check(bool isolated)
{
    struct runtime_files f;
    struct runtime_mapping m = own_mapping();
    uint32_t pid = (uint32_t)getpid();
    uint64_t address = 0, bias = 0;
    runtime_files_init(&f, isolated);
    for (int round = 0; round < 2; round++) { /* the second time, the answers are known */
        assert_true(runtime_files_symbol(&f, pid, &m, STR("a_variable_of_this_program"),
                                         &address));
        assert_int_equal(address, (uintptr_t)&a_variable_of_this_program);
        assert_false(
            runtime_files_symbol(&f, pid, &m, STR("no_such_variable"), &address));
        runtime_files_rest(&f);
    }
    struct runtime_roles *r = runtime_files_roles(&f, pid, &m, &interpreter, &bias);
    assert_non_null(r);
    assert_int_equal(role_of(r, bias, loop_of_this_program), NATIVE_LOOP);
    assert_int_equal(role_of(r, bias, hidden_of_this_program), NATIVE_INTERNAL);
    assert_int_equal(runtime_roles_find(r, (uint64_t)(uintptr_t)check - bias),
                     NATIVE_WORK);
    assert_int_equal(runtime_roles_find(r, 0), NATIVE_UNNAMED);
    assert_ptr_equal(runtime_files_roles(&f, pid, &m, &interpreter, &bias), r);
    runtime_files_leave(&f, r);
    runtime_files_leave(&f, r);
    runtime_files_leave(&f, NULL);
    runtime_files_deinit(&f);
}

static void this_process_reads(void **state)
{
    (void)state;
    check(false);
}

static void a_child_reads(void **state)
{
    (void)state;
    check(true);
}

static void files_that_cannot_be_read(void **state)
{
    static const char *const paths[] = {"/no/such/file", "[vdso]", "", "/proc/self/maps"};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof paths / sizeof *paths; i++) {
        struct runtime_files f;
        struct runtime_mapping m = {.path = str_of(paths[i / 2]), .file = i};
        uint64_t address = 0;
        runtime_files_init(&f, i % 2);
        assert_false(
            runtime_files_symbol(&f, (uint32_t)getpid(), &m, STR("main"), &address));
        assert_null(
            runtime_files_roles(&f, (uint32_t)getpid(), &m, &interpreter, &address));
        runtime_files_deinit(&f);
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(this_process_reads),
        cmocka_unit_test(a_child_reads),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return UNITS_RUN(units);
}
