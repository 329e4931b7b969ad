/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "os/http.h"
#include "unit.h"

static struct http_request parsed(const char *head)
{
    struct http_request r;
    assert_true(http_parse(str_of(head), &r));
    return r;
}

static void a_request_has_its_parts(void **state)
{
    struct http_request r = parsed("GET /a?b HTTP/1.1\r\nhOST:  LocalHost:81 \r\n\r\n");
    (void)state;
    assert_true(str_equal(r.method, STR("GET")));
    assert_true(str_equal(r.path, STR("/a?b")));
    assert_string_equal(r.host, "localhost");
    assert_int_equal(r.port, 81);
    assert_false(r.from_elsewhere);
    r = parsed("GET / HTTP/1.0\r\nHost: [::1]\r\nSec-Fetch-Site: cross-site\r\n\r\n");
    assert_string_equal(r.host, "[::1]");
    assert_int_equal(r.port, 80);
    assert_true(r.from_elsewhere);
}

static void invalid_requests_are_rejected(void **state)
{
    static const char *const heads[] = {"",
                                        "\r\n\r\n",
                                        "GET",
                                        "GET /",
                                        "GET / HTTP/2",
                                        "GET / HTTP/1.1 x",
                                        "GET  / HTTP/1.1",
                                        "GET / http/1.1",
                                        "GET /\tHTTP/1.1"};
    struct http_request r;
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        assert_false(http_parse(str_of(heads[i]), &r));
}

/* Random combinations of letters and ports of the three names: only the exact names are
 * accepted. */
static void only_exact_names_are_hosts(void **state)
{
    static const char *const parts[] = {"localhost", "127.0.0.1", "[::1]", ".", ":",
                                        "80",        "evil",      "@",     "0", " ",
                                        "::1",       "\t",        "65535", "#"};
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    static const char *const ports[] = {"", ":80", ":65535", ":8080", ":080", ":00080"};
    uint32_t seed = 1;
    unsigned accepted = 0;
    (void)state;
    for (int round = 0; round < 200000; round++) {
        char host[64] = "", head[160];
        for (unsigned n = 1 + (seed >> 16) % 4; n; n--) {
            seed = seed * 1103515245 + 12345;
            strcat(host, parts[(seed >> 16) % (sizeof parts / sizeof *parts)]);
        }
        format_text(head, sizeof head, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
        struct str shown = str_trim(str_of(host));
        bool right = false;
        for (size_t i = 0; i < 3; i++)
            for (size_t k = 0; k < sizeof ports / sizeof *ports; k++) {
                char expected[64];
                format_text(expected, sizeof expected, "%s%s", names[i], ports[k]);
                right = right || str_equal(shown, str_of(expected));
            }
        struct http_request r = parsed(head);
        if (!r.host) {
            assert_false(right);
            continue;
        }
        accepted++;
        struct str rest = str_skip(shown, strlen(r.host));
        assert_true(str_starts(shown, str_of(r.host)));
        assert_true(r.port >= 1 && r.port <= 65535);
        assert_true(rest.len != 1 && rest.len <= 6 && (!rest.len || rest.ptr[0] == ':'));
        for (size_t i = 1; i < rest.len; i++)
            assert_true(byte_is_digit(rest.ptr[i]));
    }
    assert_true(accepted > 100);
}

static void a_cookie_has_the_name_and_the_value(void **state)
{
    struct http_request r = parsed("GET / HTTP/1.1\r\nCookie: a=1; b=2;c=3\r\n"
                                   "X: y\r\ncookie:d=4=5; b=6\r\n\r\n");
    (void)state;
    assert_true(http_has_cookie(&r, STR("a"), STR("1")));
    assert_true(http_has_cookie(&r, STR("b"), STR("2")));
    assert_true(http_has_cookie(&r, STR("b"), STR("6")));
    assert_true(http_has_cookie(&r, STR("c"), STR("3")));
    assert_true(http_has_cookie(&r, STR("d"), STR("4=5")));
    assert_false(http_has_cookie(&r, STR("b"), STR("3")));
    assert_false(http_has_cookie(&r, STR("b"), STR("")));
    assert_false(http_has_cookie(&r, STR("y"), STR("")));
    assert_false(http_has_cookie(&r, STR(""), STR("1")));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        UNIT(a_request_has_its_parts),
        UNIT(invalid_requests_are_rejected),
        UNIT(only_exact_names_are_hosts),
        UNIT(a_cookie_has_the_name_and_the_value),
    };
    return UNITS_RUN(tests);
}
