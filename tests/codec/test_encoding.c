/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encoding.h"
#include "unit.h"

static void encodings_are_detected_from_the_first_bytes(void **state)
{
    (void)state;
    assert_int_equal(encoding_of(STR("\x1f\x8b\x08")), ENCODING_GZIP);
    assert_int_equal(encoding_of(STR("\x28\xb5\x2f\xfd")), ENCODING_ZSTD);
    assert_int_equal(encoding_of(STR("\xfd"
                                     "7zXZ\n")),
                     ENCODING_XZ);
    assert_int_equal(encoding_of(STR("BZh9")), ENCODING_BZIP2);
    assert_int_equal(encoding_of(STR("PK\x03\x04")), ENCODING_ZIP);
    assert_int_equal(encoding_of(STR("\xef\xbb\xbf"
                                     "a")),
                     ENCODING_UTF8);
    assert_int_equal(encoding_of(STR("\xff\xfe")), ENCODING_UTF16_LE);
    assert_int_equal(encoding_of(STR("\xfe\xff")), ENCODING_UTF16_BE);
}

static void short_and_other_bytes_have_no_encoding(void **state)
{
    (void)state;
    assert_int_equal(encoding_of(STR("")), ENCODING_NONE);
    assert_int_equal(encoding_of(STR("\x1f")), ENCODING_NONE);
    assert_int_equal(encoding_of(STR("a;b 1\n")), ENCODING_NONE);
}

/* The header of a zip's first file, whose name has `length` bytes according to it. */
#define ZIP(length, name) \
    STR("PK\x03\x04"      \
        "22"              \
        "22"              \
        "22"              \
        "4444"            \
        "4444"            \
        "4444"            \
        "4444" length "\0\0" name)

static void a_zip_has_a_trace_if_its_first_file_is_in_one(void **state)
{
    (void)state;
    assert_true(zip_has_trace(ZIP("\x0d\0", "x.trace/a.xml")));
    assert_false(zip_has_trace(ZIP("\x05\0", "x.txt")));
    assert_false(zip_has_trace(ZIP("\x03\0", "x.trace/a.xml")));
    assert_false(zip_has_trace(STR("PK\x03\x04")));
}

static void captures_of_very_sleepy_are_known_by_their_names(void **state)
{
    (void)state;
    assert_true(zip_has_sleepy(ZIP("\x0e\0", "Callstacks.txt...")));
    assert_true(zip_has_sleepy(ZIP("\x0c\0", "minidump.dmp...")));
    assert_true(zip_has_sleepy(ZIP("\x15\0", "Version 0.91 required...")));
    assert_true(zip_has_sleepy(ZIP("\x09\0", "Stats.txt...PK...Symbols.txt")));
    assert_true(zip_is_profile(ZIP("\x09\0", "stats.txt...PK...ipcounts.txt")));
    assert_false(zip_has_sleepy(ZIP("\x09\0", "Stats.txt...PK...Other.txt")));
    assert_false(zip_has_sleepy(ZIP("\x0c\0", "Version.txt....")));
    assert_false(zip_has_sleepy(STR("PK\x03\x04")));
    assert_false(zip_has_sleepy(STR("")));
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(encodings_are_detected_from_the_first_bytes),
        UNIT(short_and_other_bytes_have_no_encoding),
        UNIT(a_zip_has_a_trace_if_its_first_file_is_in_one),
        UNIT(captures_of_very_sleepy_are_known_by_their_names),
    };
    return UNITS_RUN(units);
}
