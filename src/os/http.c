/* SPDX-License-Identifier: Apache-2.0 */
#include "os/http.h"
#include "base/number.h"

#define PORT_DIGITS 5
#define PORT_MAX 65535
#define PORT_DEFAULT 80 /* the default port of http */

static char small_letter(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool same_letters(struct str a, struct str small)
{
    if (a.len != small.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (small_letter(a.ptr[i]) != small.ptr[i])
            return false;
    return true;
}

/* Finds the next field of that name and its value; false if there are no more. */
static bool next_field(struct str *fields, struct str name, struct str *value)
{
    while (fields->len) {
        struct str line = str_trim_right(str_cut(fields, '\n'));
        struct str field = str_cut(&line, ':');
        if (!same_letters(field, name))
            continue;
        *value = str_trim(line);
        return true;
    }
    return false;
}

/* The value of a field that occurs exactly once; otherwise empty. */
static struct str only_field(struct str fields, struct str name)
{
    struct str value = STR(""), other;
    if (!next_field(&fields, name, &value) || next_field(&fields, name, &other))
        return STR("");
    return value;
}

/* Parses ":8080" or an empty text (the default). Returns 0 for anything else. */
static unsigned port_of(struct str text)
{
    unsigned port = 0;
    if (text.len == 0)
        return PORT_DEFAULT;
    if (text.ptr[0] != ':' || text.len > 1 + PORT_DIGITS)
        return 0;
    for (size_t i = 1; i < text.len; i++) {
        if (!byte_is_digit(text.ptr[i]))
            return 0;
        port = port * 10 + (unsigned)(text.ptr[i] - '0');
    }
    return port <= PORT_MAX ? port : 0;
}

/* Accepts exact names only: a name of another site may resolve to this machine. */
static void find_host(struct http_request *r)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    struct str host = only_field(r->fields, STR("host"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct str name = str_of(names[i]);
        if (!same_letters(str_head(host, name.len), name))
            continue;
        r->port = port_of(str_skip(host, name.len));
        r->host = r->port ? names[i] : NULL;
    }
}

/* An Origin, which browsers add to requests of scripts: "http://" and the Host field of
 * this server's pages. */
static bool is_other_origin(struct str fields)
{
    struct str origin, again = fields, scheme = STR("http://");
    if (!next_field(&again, STR("origin"), &origin))
        return false;
    return !str_starts(origin, scheme) ||
           !str_equal(str_skip(origin, scheme.len), only_field(fields, STR("host")));
}

/* Fills in what describes the body. Its encoding must be its length. */
static void find_body(struct http_request *r)
{
    struct str fields = r->fields, value, type = only_field(fields, STR("content-type"));
    r->is_json = str_equal(str_trim(str_cut(&type, ';')), STR("application/json"));
    if (next_field(&fields, STR("transfer-encoding"), &value))
        r->length = HTTP_NO_LENGTH;
    fields = r->fields;
    if (next_field(&fields, STR("content-length"), &value) &&
        !number_parse_u64(only_field(r->fields, STR("content-length")), &r->length))
        r->length = HTTP_NO_LENGTH;
}

bool http_parse(struct str head, struct http_request *r)
{
    struct str line = str_trim_right(str_cut(&head, '\n'));
    *r = (struct http_request){.fields = head};
    r->method = str_cut(&line, ' ');
    r->path = str_cut(&line, ' ');
    if (!str_equal(line, STR("HTTP/1.1")) && !str_equal(line, STR("HTTP/1.0")))
        return false;
    find_host(r);
    struct str site = only_field(head, STR("sec-fetch-site"));
    r->from_elsewhere =
        str_equal(site, STR("cross-site")) || str_equal(site, STR("same-site"));
    r->other_origin = is_other_origin(head);
    find_body(r);
    return true;
}

bool http_same_secret(struct str a, struct str b)
{
    unsigned differ = 0;
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        differ |= (unsigned)(a.ptr[i] ^ b.ptr[i]);
    return differ == 0;
}

bool http_has_cookie(const struct http_request *r, struct str name, struct str value)
{
    struct str fields = r->fields, cookies;
    while (next_field(&fields, STR("cookie"), &cookies)) {
        while (cookies.len) {
            struct str cookie = str_trim(str_cut(&cookies, ';'));
            if (str_equal(str_cut(&cookie, '='), name) && http_same_secret(cookie, value))
                return true;
        }
    }
    return false;
}
