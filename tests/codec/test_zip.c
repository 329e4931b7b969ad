/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/zip.h"
#include "unit.h"

#define FILE_HEAD "PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define ENTRY_HEAD(flags) "PK\x01\x02\x14\0\x14\0" flags
#define END(size, offset) \
    "PK\x05\x06\0\0\0\0\x01\0\x01\0" size "\0\0\0" offset "\0\0\0\0\0"

/* A file "f" of 3 bytes; the extra fields of its local header and of its entry differ. */
#define MEMBER FILE_HEAD "\x03\0\0\0\x03\0\0\0\x01\0\x02\0fXXabc"
#define ENTRY(flags)                                                                     \
    ENTRY_HEAD(flags)                                                                    \
    "\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x03\0\0\0\x01\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "fYZ"

static struct zip_file only_file(struct str bytes, bool expected)
{
    struct zip z;
    struct zip_file f = {.path = STR("")};
    assert_true(zip_init(&z, bytes));
    assert_int_equal(zip_next(&z, &f), expected);
    return f;
}

static void files_are_found_in_the_directory(void **state)
{
    struct str whole = STR(MEMBER ENTRY("\0\0") END("\x31", "\x24"));
    struct zip_file f = only_file(whole, true);
    struct zip z;
    (void)state;
    assert_true(str_equal(f.path, STR("f")));
    assert_true(str_equal(f.packed, STR("abc")));
    assert_int_equal(f.method, ZIP_STORED);
    assert_int_equal(f.size, 3);
    assert_true(zip_init(&z, whole));
    assert_true(zip_next(&z, &f));
    assert_false(zip_next(&z, &f));
}

static void encrypted_files_are_unsupported(void **state)
{
    (void)state;
    struct zip_file f = only_file(STR(MEMBER ENTRY("\x01\0") END("\x31", "\x24")), true);
    assert_int_equal(f.method, UINT16_MAX);
    assert_int_equal(f.size, 3);
}

/* Truncated or corrupted archives never cause reads beyond the bytes. */
static void damaged_archives_are_survived(void **state)
{
    struct str whole = STR(MEMBER ENTRY("\0\0") END("\x31", "\x24"));
    char *bent = malloc(whole.len);
    struct zip z;
    struct zip_file f;
    (void)state;
    for (size_t cut = 0; cut < whole.len; cut++) {
        memcpy(bent, whole.ptr + whole.len - cut, cut);
        if (zip_init(&z, (struct str){bent, cut}))
            zip_next(&z, &f);
        if (cut < 22)
            assert_false(zip_init(&z, (struct str){bent, cut}));
    }
    for (size_t at = 0; at < whole.len; at++) {
        memcpy(bent, whole.ptr, whole.len);
        bent[at] = (char)0xff;
        unsigned files = 0;
        for (bool ok = zip_init(&z, (struct str){bent, whole.len});
             ok && zip_next(&z, &f);)
            files++;
        assert_true(files <= 1);
    }
    free(bent);
}

/* Without the directory, the headers before the files are used. */
static void files_of_truncated_archives_are_found(void **state)
{
    struct zip z;
    struct zip_file f;
    (void)state;
    zip_scan(&z, STR(MEMBER MEMBER));
    for (int i = 0; i < 2; i++) {
        assert_true(zip_next(&z, &f));
        assert_true(str_equal(f.path, STR("f")));
        assert_true(str_equal(f.packed, STR("abc")));
        assert_int_equal(f.size, 3);
    }
    assert_false(zip_next(&z, &f));
    zip_scan(&z, str_head(STR(MEMBER), sizeof MEMBER - 1 - 2));
    assert_true(zip_next(&z, &f));
    assert_true(str_equal(f.packed, STR("a")));
    assert_false(zip_next(&z, &f));
    zip_scan(&z, str_head(STR(MEMBER), 31));
    assert_false(zip_next(&z, &f));
}

/* A stream's sizes are known only after the data. */
static void files_of_unknown_size_end_at_the_next_header(void **state)
{
    static const char stream[] = "PK\x03\x04\x14\0\x08\0\0\0\0\0\0\0\0\0\0\0"
                                 "\0\0\0\0\0\0\0\0\x01\0\0\0gabcd" MEMBER;
    struct zip z;
    struct zip_file f;
    (void)state;
    zip_scan(&z, (struct str){stream, sizeof stream - 1});
    assert_true(zip_next(&z, &f));
    assert_true(str_equal(f.path, STR("g")));
    assert_true(str_equal(f.packed, STR("abcd")));
    assert_true(f.size == ZIP_SIZE_UNKNOWN);
    assert_true(zip_next(&z, &f));
    assert_true(str_equal(f.path, STR("f")));
    assert_false(zip_next(&z, &f));
}

static void the_case_of_a_path_is_ignored(void **state)
{
    (void)state;
    assert_true(zip_path_is(STR("Stats.TXT"), STR("stats.txt")));
    assert_false(zip_path_is(STR("Stats.TX"), STR("stats.txt")));
    assert_false(zip_path_is(STR("Stats.txt2"), STR("stats.txt")));
    assert_false(zip_path_is(STR("Ztats.txt"), STR("stats.txt")));
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(files_are_found_in_the_directory),
        UNIT(encrypted_files_are_unsupported),
        UNIT(damaged_archives_are_survived),
        UNIT(files_of_truncated_archives_are_found),
        UNIT(files_of_unknown_size_end_at_the_next_header),
        UNIT(the_case_of_a_path_is_ignored),
    };
    return UNITS_RUN(units);
}
