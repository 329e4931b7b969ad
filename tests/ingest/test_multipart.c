/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/multipart.h"
#include "unit.h"

#define HEAD "Content-Disposition: form-data; name=\"a\"; filename=\"f;x=1\"\r\n\r\n"

static struct multipart open_form(const char *type, const char *body)
{
    struct multipart m;
    struct error err = {.message = ""};
    assert_true(multipart_init(&m, str_of(type), str_of(body), &err));
    return m;
}

static void check_part(struct multipart *m, const char *name, const char *body)
{
    struct multipart_part part;
    struct error err;
    assert_true(multipart_next(m, &part, &err));
    assert_true(str_equal(part.name, str_of(name)));
    assert_true(str_equal(part.body, str_of(body)));
}

static void check_end(struct multipart *m)
{
    struct multipart_part part;
    struct error err;
    assert_false(multipart_next(m, &part, &err));
    assert_false(m->failed);
}

static void parts_in_order(void **state)
{
    struct multipart m = open_form("multipart/form-data; boundary=b",
                                   "preamble\r\n--b\r\n" HEAD "one\r\n--b \t\r\n"
                                   "content-type: x\r\nCONTENT-DISPOSITION: form-data; "
                                   "name=other\r\n\r\n\r\n--bc\r\n--b--\r\nepilogue");
    (void)state;
    check_part(&m, "a", "one");
    /* a line that begins as the boundary does ends the part */
    check_part(&m, "other", "");
}

static void boundaries(void **state)
{
    static const char *const types[] = {
        "multipart/form-data; boundary=\"b c\"",
        "Multipart/Form-Data;charset=utf-8;BOUNDARY=\"b c\"; x=y",
        "multipart/form-data; x=\"; boundary=z\"; boundary=\"b c\""};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct multipart m =
            open_form(types[i], "--b c\r\n" HEAD "1\r\n--b c\r\n" HEAD "2\r\n--b c--");
        assert_true(multipart_is(str_of(types[i])));
        check_part(&m, "a", "1");
        check_part(&m, "a", "2");
        check_end(&m);
    }
    assert_false(multipart_is(STR("multipart/mixed")));
}

static void damaged_forms(void **state)
{
    static const char *const bodies[] = {
        "--b",
        "--b\r\nContent-Disposition: form-data; name=a\r\n",
        "--b\r\n" HEAD "no end",
        "--b\r\n" HEAD "no end\r\n--c--",
        "--b\r\nContent-Type: x\r\n\r\nno name\r\n--b--",
        "--bjunk\r\n" HEAD "x\r\n--b--",
    };
    struct multipart_part part;
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct multipart m = open_form("multipart/form-data; boundary=b", bodies[i]);
        while (multipart_next(&m, &part, &err))
            continue;
        if (!m.failed)
            fail_msg("'%s' is accepted", bodies[i]);
    }
}

static void types_without_boundary(void **state)
{
    static const char *const types[] = {
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"\"",
        ("multipart/form-data; boundary=0123456789012345678901234567890123456789"
         "0123456789012345678901234567890"),
    };
    struct multipart m;
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_false(multipart_init(&m, str_of(types[i]), STR("--\r\n"), &err));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {UNIT(parts_in_order), UNIT(boundaries),
                                              UNIT(damaged_forms),
                                              UNIT(types_without_boundary)};
    return UNITS_RUN(tests);
}
