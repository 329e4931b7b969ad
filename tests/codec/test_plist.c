/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/plist.h"
#include "unit.h"

/* Object 0 is the dict {"a": 1, "b": [1, 0]}; the array contains the dict that contains
 * it. */
static const char small[] = "bplist00"
                            "\xd2\x01\x02\x03\x04" /* at 8: keys 1, 2, values 3, 4 */
                            "\x51"
                            "a" /* 13 */
                            "\x51"
                            "b"          /* 15 */
                            "\x10\x2a"   /* 17 */
                            "\xa2\x03\0" /* 19 */
                            "\x08\x0d\x0f\x11\x13"
                            "\0\0\0\0\0\0\x01\x01"
                            "\0\0\0\0\0\0\0\x05"
                            "\0\0\0\0\0\0\0\0"
                            "\0\0\0\0\0\0\0\x16";

#define SMALL ((struct str){small, sizeof small - 1})

static void values_are_read_in_place(void **state)
{
    struct plist p;
    (void)state;
    assert_true(plist_init(&p, SMALL));
    struct plist_value root = plist_object(&p, p.root);
    assert_int_equal(root.kind, PLIST_DICT);
    assert_int_equal(root.count, 2);
    struct plist_value a = plist_find(&p, &root, STR("a"));
    assert_int_equal(a.kind, PLIST_INTEGER);
    assert_int_equal(a.integer, 42);
    struct plist_value b = plist_find(&p, &root, STR("b"));
    assert_int_equal(b.kind, PLIST_ARRAY);
    assert_int_equal(b.count, 2);
    assert_int_equal(plist_item(&p, &b, 0).integer, 42);
    assert_int_equal(plist_item(&p, &b, 1).kind, PLIST_DICT);
    assert_int_equal(plist_item(&p, &b, 2).kind, PLIST_NONE);
    assert_int_equal(plist_item(&p, &a, 0).kind, PLIST_NONE);
    assert_int_equal(plist_find(&p, &root, STR("c")).kind, PLIST_NONE);
    assert_int_equal(plist_object(&p, 5).kind, PLIST_NONE);
}

/* Returns a single object made of those bytes. */
static struct plist_value object_of(const char *bytes, size_t size)
{
    static char list[512] = "bplist00";
    struct plist p;
    memcpy(list + 8, bytes, size);
    list[8 + size] = 8;
    char *trailer = list + 8 + size + 1;
    memset(trailer, 0, 32);
    trailer[6] = trailer[7] = 1;
    trailer[15] = 1;
    trailer[31] = (char)(8 + size);
    assert_true(plist_init(&p, (struct str){list, 8 + size + 1 + 32}));
    return plist_object(&p, 0);
}

#define OBJECT(text) object_of(text, sizeof(text) - 1)

static void every_kind_of_value(void **state)
{
    (void)state;
    assert_int_equal(OBJECT("\x00").kind, PLIST_NONE);
    assert_int_equal(OBJECT("\x08").kind, PLIST_BOOL);
    assert_int_equal(OBJECT("\x08").integer, 0);
    assert_int_equal(OBJECT("\x09").integer, 1);
    assert_int_equal(OBJECT("\x11\x01\x02").integer, 0x102);
    assert_true(OBJECT("\x13\xff\xff\xff\xff\xff\xff\xff\xfe").integer == UINT64_MAX - 1);
    assert_true(OBJECT("\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07").integer == 7);
    assert_int_equal(OBJECT("\x15").kind, PLIST_NONE); /* 32 bytes long */
    assert_true(OBJECT("\x22\x3f\xc0\0\0").real == 1.5);
    assert_true(OBJECT("\x23\x40\0\xcc\xcc\xcc\xcc\xcc\xcd").real == 2.1);
    assert_int_equal(OBJECT("\x33\0\0\0\0\0\0\0\0").kind, PLIST_DATE);
    assert_true(str_equal(OBJECT("\x43"
                                 "abc")
                              .bytes,
                          STR("abc")));
    assert_int_equal(OBJECT("\x62\0x\0y").kind, PLIST_UTF16);
    assert_int_equal(OBJECT("\x62\0x\0y").bytes.len, 4);
    assert_int_equal(OBJECT("\x81\x01\x02").kind, PLIST_UID);
    assert_int_equal(OBJECT("\x81\x01\x02").integer, 0x102);
    /* the length is a separate object */
    struct plist_value text = OBJECT("\x5f\x10\x03xyz");
    assert_true(str_equal(text.bytes, STR("xyz")));
    assert_int_equal(OBJECT("\x70").kind, PLIST_NONE);
}

static void values_beyond_the_end_are_none(void **state)
{
    (void)state;
    assert_int_equal(OBJECT("\x5f\x13\xff\xff\xff\xff\xff\xff\xff\xff").kind, PLIST_NONE);
    assert_int_equal(OBJECT("\xaf\x12\xff\xff\xff\xff").kind, PLIST_NONE);
    assert_int_equal(OBJECT("\xdf\x13\x80\0\0\0\0\0\0\0").kind, PLIST_NONE);
    assert_int_equal(OBJECT("\x5f\x5f").kind,
                     PLIST_NONE); /* a length that is not a number */
    struct plist p;
    for (size_t cut = 0; cut < SMALL.len; cut++)
        plist_init(&p, str_head(SMALL, cut));
    assert_false(plist_init(&p, STR("")));
    assert_false(plist_init(&p, str_head(SMALL, 39)));
}

/* A small archive like those of tests/import/make_instruments_trace.py: {"$archiver",
 * "$objects": ["$null", "x"], "$top": {"k": UID 1}}. */
static const char archive[] = "bplist00"
                              "\xd3\x01\x02\x03\x04\x05\x06" /* 8 */
                              "\x59"
                              "$archiver" /* 15 */
                              "\x58"
                              "$objects" /* 25 */
                              "\x54"
                              "$top" /* 34 */
                              "\x5f\x10\x0f"
                              "NSKeyedArchiver"  /* 39 */
                              "\xa3\x07\x08\x0c" /* 57 */
                              "\xd1\x09\x0a"     /* 61 */
                              "\x55"
                              "$null" /* 64 */
                              "\x51"
                              "x" /* 70 */
                              "\x51"
                              "k"                           /* 72 */
                              "\x80\x01"                    /* 74 */
                              "\x80\x00"                    /* 76 */
                              "\x64\0h\0\xe9\xd8\x3d\xde\0" /* 78 */
                              "\x08\x0f\x19\x22\x27\x39\x3d\x40\x46\x48\x4a\x4c\x4e"
                              "\0\0\0\0\0\0\x01\x01"
                              "\0\0\0\0\0\0\0\x0d"
                              "\0\0\0\0\0\0\0\0"
                              "\0\0\0\0\0\0\0\x57";

static void archives_are_resolved(void **state)
{
    struct keyed_archive a;
    struct arena arena = ARENA_INIT;
    (void)state;
    assert_true(keyed_init(&a, (struct str){archive, sizeof archive - 1}));
    struct plist_value x = keyed_find(&a, &a.top, STR("k"));
    assert_true(str_equal(keyed_text(&a, x, &arena), STR("x")));
    struct plist_value null = {.kind = PLIST_UID, .integer = 0};
    assert_int_equal(keyed_follow(&a, null).kind, PLIST_NONE);
    struct plist_value far = {.kind = PLIST_UID, .integer = 77};
    assert_int_equal(keyed_follow(&a, far).kind, PLIST_NONE);
    struct plist_value wide = {.kind = PLIST_UID, .integer = 2};
    assert_true(
        str_equal(keyed_text(&a, wide, &arena), STR("h\xc3\xa9\xf0\x9f\x98\x80")));
    assert_false(keyed_init(&a, SMALL));
    arena_deinit(&arena);
}

static void numbered_keys(void **state)
{
    struct plist_value key = {.kind = PLIST_ASCII, .bytes = STR("$12")};
    (void)state;
    assert_int_equal(keyed_position(&key), 12);
    key.bytes = STR("$class");
    assert_int_equal(keyed_position(&key), UINT32_MAX);
    key.bytes = STR("12");
    assert_int_equal(keyed_position(&key), UINT32_MAX);
    key.bytes = STR("$99999999999");
    assert_int_equal(keyed_position(&key), UINT32_MAX);
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(values_are_read_in_place),
        UNIT(every_kind_of_value),
        UNIT(values_beyond_the_end_are_none),
        UNIT(archives_are_resolved),
        UNIT(numbered_keys),
    };
    return UNITS_RUN(units);
}
