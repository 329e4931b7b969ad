/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/multipart.h"

static bool starts_without_case(struct str s, struct str head)
{
    if (s.len < head.len)
        return false;
    for (size_t i = 0; i < head.len; i++) {
        char c = s.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != head.ptr[i])
            return false;
    }
    return true;
}

bool multipart_is(struct str content_type)
{
    return starts_without_case(str_trim_left(content_type), STR("multipart/form-data"));
}

/* The value of a parameter: `; name="x"` or `; name=x`. False if there is none. */
static bool find_parameter(struct str field, struct str name, struct str *value)
{
    str_cut(&field, ';');
    while (field.len) {
        field = str_trim_left(field);
        bool found = starts_without_case(field, name) && field.len > name.len &&
                     field.ptr[name.len] == '=';
        size_t equal = str_find(field, '=');
        bool is_quoted = equal + 1 < field.len && field.ptr[equal + 1] == '"' &&
                         equal < str_find(field, ';');
        struct str text = str_skip(field, equal + 1);
        if (is_quoted) {
            field = str_skip(text, 1);
            text = str_cut(&field, '"');
            str_cut(&field, ';');
        } else {
            text = str_trim(str_cut(&field, ';'));
            text = str_skip(text, found ? name.len + 1 : 0);
        }
        if (!found)
            continue;
        *value = text;
        return true;
    }
    return false;
}

static bool fail(struct multipart *m, const char *what, struct error *err)
{
    m->failed = true;
    return error_set(err, "the multipart body is damaged: %s", what);
}

static struct str delimiter_of(const struct multipart *m)
{
    return (struct str){m->delimiter, m->delimiter_length};
}

bool multipart_init(struct multipart *m, struct str content_type, struct str body,
                    struct error *err)
{
    struct str boundary;
    *m = (struct multipart){.rest = body};
    if (!find_parameter(content_type, STR("boundary"), &boundary) || !boundary.len ||
        boundary.len > MULTIPART_BOUNDARY_MAX)
        return error_set(err, "the content type has no boundary of 1 to %d bytes",
                         MULTIPART_BOUNDARY_MAX);
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, boundary.ptr, boundary.len);
    m->delimiter_length = boundary.len + 4;
    struct str first = str_skip(delimiter_of(m), 2);
    if (str_starts(body, first)) { /* without a line before it */
        m->rest = str_skip(body, first.len);
        return true;
    }
    size_t at = str_search(body, delimiter_of(m));
    if (at == body.len)
        return fail(m, "the boundary does not occur", err);
    m->rest = str_skip(body, at + m->delimiter_length);
    return true;
}

/* The fields of a part, up to the empty line; *rest begins after it. */
static bool read_head(struct multipart *m, struct str *rest, struct multipart_part *part,
                      struct error *err)
{
    struct str limited = str_head(*rest, MULTIPART_HEAD_MAX);
    size_t end = str_search(limited, STR("\r\n\r\n"));
    bool has_name = false;
    if (end == limited.len)
        return fail(m, "the fields of a part do not end", err);
    struct str head = str_head(limited, end);
    *rest = str_skip(*rest, end + 4);
    while (head.len) {
        struct str line = str_trim(str_cut(&head, '\n'));
        if (starts_without_case(line, STR("content-disposition:")))
            has_name = find_parameter(line, STR("name"), &part->name);
    }
    return has_name || fail(m, "a part has no name", err);
}

bool multipart_next(struct multipart *m, struct multipart_part *part, struct error *err)
{
    struct str rest = m->rest;
    if (m->failed || str_starts(rest, STR("--"))) /* the last boundary */
        return false;
    while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == '\t'))
        rest = str_skip(rest, 1);
    if (!str_starts(rest, STR("\r\n")))
        return fail(m, "a boundary is not followed by the end of the line", err);
    if (m->parts++ == MULTIPART_PARTS_MAX)
        return fail(m, "it has too many parts", err);
    rest = str_skip(rest, 2);
    if (!read_head(m, &rest, part, err))
        return false;
    size_t end = str_search(rest, delimiter_of(m));
    if (end == rest.len)
        return fail(m, "a part does not end", err);
    part->body = str_head(rest, end);
    m->rest = str_skip(rest, end + m->delimiter_length);
    return true;
}
