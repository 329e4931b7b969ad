/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/csv.h"

/* Length of a quoted text up to its closing quote; all of s if that is missing. */
static size_t quoted_length(struct str s, bool *doubled)
{
    size_t at = str_find(s, '"');
    while (at + 1 < s.len && s.ptr[at + 1] == '"') {
        *doubled = true;
        at += 2;
        at += str_find(str_skip(s, at), '"');
    }
    return at;
}

bool csv_next(struct csv *c, struct csv_field *field)
{
    if (c->done)
        return false;
    *field = (struct csv_field){.text = c->rest};
    size_t at = 0, end;
    while (at < c->rest.len && byte_is_space(c->rest.ptr[at]) &&
           c->rest.ptr[at] != c->separator)
        at++;
    if (at < c->rest.len && c->rest.ptr[at] == '"') {
        struct str inside = str_skip(c->rest, at + 1);
        size_t length = quoted_length(inside, &field->doubled);
        field->text = str_head(inside, length);
        field->indent = at;
        at += 1 + length;
        end = at + str_find(str_skip(c->rest, at), c->separator);
    } else {
        end = str_find(c->rest, c->separator);
        field->text = str_head(c->rest, end);
    }
    c->done = end >= c->rest.len;
    c->rest = str_skip(c->rest, end + 1);
    return true;
}

struct str csv_text(const struct csv_field *field, struct output *scratch)
{
    if (!field->doubled)
        return field->text;
    scratch->used = 0;
    for (size_t i = 0; i < field->text.len; i++) {
        char c = field->text.ptr[i];
        output_char(scratch, c);
        if (c == '"' && i + 1 < field->text.len && field->text.ptr[i + 1] == '"')
            i++;
    }
    return output_contents(scratch);
}
