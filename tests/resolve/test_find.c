/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/find.h"
#include "resolve/object.h"
#include "unit.h"

#define ID "93ac61ec5a8eb1396f9fbd350e3169a558528a40"

static bool same(const char *expected, const char *has)
{
    return find_same_build_id(str_of(expected), str_of(has));
}

static void test_same_build_id(void **state)
{
    (void)state;
    assert_true(same(ID, ID));
    assert_false(same(ID, "93ac61ec5a8eb1396f9fbd350e3169a558528a41"));
    /* a file without a build ID, and one that is too short */
    assert_false(same(ID, ""));
    assert_false(same("", ""));
    assert_false(same(ID, "93ac61e"));
    /* 16 bytes, recorded as 20 */
    assert_true(same("93ac61ec5a8eb1396f9fbd350e3169a500000000",
                     "93ac61ec5a8eb1396f9fbd350e3169a5"));
    /* longer than 20 bytes and truncated; and a prefix with another length */
    assert_true(same(ID, ID "1234"));
    assert_false(same("93ac61ec5a8eb139", ID));
}

static enum find_result vdso_with(const char *build_id, const char *release)
{
    struct resolve_settings settings = {.find.no_debuginfod = true};
    struct object_request expected = {.path = STR("[vdso]"),
                                      .build_id = str_of(build_id),
                                      .pid = ID_NONE,
                                      .kind = FRAME_USER,
                                      .release = str_of(release)};
    struct object *o = object_create(&expected);
    assert_non_null(o);
    object_load_names(o, &settings);
    enum find_result result = o->result;
    object_destroy(o);
    return result;
}

static void test_vdso(void **state)
{
    struct arena arena = ARENA_INIT;
    struct elf elf;
    (void)state;
    if (!elf_init(&elf, os_vdso(), &arena, NULL)) {
        arena_deinit(&arena);
        skip(); /* files that do not exist here */
    }
    struct str id = find_hexadecimal(elf_build_id(&elf), &arena);
    char own[300] = "";
    assert_true(id.len < sizeof own);
    memcpy(own, id.ptr, id.len);
    assert_int_equal(vdso_with("", ""), FIND_FOUND);
    assert_int_equal(vdso_with("", "another release"), FIND_NONE);
    assert_int_equal(vdso_with(ID, ""), FIND_NONE);
    if (id.len)
        assert_int_equal(vdso_with(own, "another release"), FIND_FOUND);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_same_build_id), UNIT(test_vdso)};
    return UNITS_RUN(units);
}
