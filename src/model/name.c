/* SPDX-License-Identifier: Apache-2.0 */
#include "model/name.h"

/* The end of the bracket that opens at `at`: the index after its last byte; s.len + 1 if
 * it does not close. Round and angle brackets nest; "->" is not a bracket. */
static size_t skip_brackets(struct str s, size_t at)
{
    size_t depth = 0;
    for (; at < s.len; at++) {
        char c = s.ptr[at];
        if (c == '>' && at && s.ptr[at - 1] == '-')
            continue;
        if (c == '(' || c == '<')
            depth++;
        else if (c == ')' || c == '>')
            depth--;
        if (depth == 0)
            return at + 1;
    }
    return s.len + 1;
}

static bool ends_with_operator(struct str s)
{
    return str_ends(s, STR("operator")) &&
           (s.len == 8 || !byte_is_word(s.ptr[s.len - 9]));
}

/* The length of the operator at `at`, after the word "operator": its brackets are not
 * those of arguments. 0 if there is none. */
static size_t operator_sign(struct str s, size_t at)
{
    static const char *const signs[] = {"()", "<=>", "<<=", ">>=", "->*", "<<",
                                        ">>", "->",  "<=",  ">=",  "<",   ">"};
    if (!ends_with_operator(str_head(s, at)))
        return 0;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (str_starts(str_skip(s, at), str_of(signs[i])))
            return strlen(signs[i]);
    return 0;
}

static bool is_go_method(struct str name)
{
    size_t open = str_search(name, STR(".("));
    return open < name.len && str_has(str_skip(name, open), STR(")."));
}

/* The end of the scope that contains the bracket at `at`, "(int) const::" or "(anonymous
 * namespace)::", in Swift "(Swift.Int) -> () in " or "(extension in Foundation):"; 0 if no scope ends after the brackets, so that they contain the
 * arguments of the function. */
static size_t skip_scope(struct str s, size_t at)
{
    size_t end = skip_brackets(s, at);
    struct str rest = str_skip(s, end);
    size_t in = str_search(rest, STR(" in "));
    if (in < rest.len)
        return end + in + 4;
    if (str_starts(str_skip(s, at), STR("(extension in ")) && str_starts(rest, STR(":")))
        return end + 1;
    if (str_starts(rest, STR(" const")))
        rest = str_skip(rest, 6);
    return str_starts(rest, STR("::")) ? (size_t)(rest.ptr - s.ptr) + 2 : 0;
}

/* The end of the braces that open at `at`, "{lambda(int)#1}"; s.len if they do not
 * close. */
static size_t skip_braces(struct str s, size_t at)
{
    size_t depth = 0;
    for (; at < s.len; at++) {
        depth += s.ptr[at] == '{';
        depth -= s.ptr[at] == '}';
        if (depth == 0)
            return at + 1;
    }
    return s.len;
}

struct str name_without_arguments(struct str name)
{
    size_t at = 0, scope;
    if (str_find(name, '(') == name.len || is_go_method(name))
        return name;
    while (at < name.len) {
        size_t sign = operator_sign(name, at);
        if (sign) {
            at += sign;
        } else if (name.ptr[at] == '<') {
            at = skip_brackets(name, at);
            if (at > name.len) /* truncated: the name ends at the first bracket */
                return str_head(name, str_find(name, '('));
        } else if (name.ptr[at] == '{') {
            at = skip_braces(name, at);
        } else if (name.ptr[at] == '(') {
            scope = skip_scope(name, at);
            if (!scope)
                break;
            at = scope;
        } else {
            at++;
        }
    }
    return at ? str_head(name, at) : name; /* "(garbage collector)" */
}

/* True if the '<' at `at` starts the arguments of the template before it. */
static bool opens_template(struct str s, size_t at)
{
    struct str before = str_head(s, at), rest = str_skip(s, at + 1);
    if (at == 0)
        return false;
    if (str_ends(before, STR("::")))
        return !str_starts(rest, STR("lambda")) && !str_starts(rest, STR("unnamed")) &&
               !str_starts(rest, STR("anonymous"));
    char c = before.ptr[at - 1];
    return byte_is_word(c) || c == ')' || c == ']' || (unsigned char)c >= 0x80;
}

void name_write_without_templates(struct output *o, struct str name)
{
    size_t at = 0;
    while (at < name.len) {
        size_t sign = operator_sign(name, at), end;
        if (sign) {
            output_bytes(o, name.ptr + at, sign);
            at += sign;
            size_t open = at + str_starts(str_skip(name, at), STR(" <"));
            if (str_starts(str_skip(name, open), STR("<")) &&
                (end = skip_brackets(name, open)) <= name.len)
                at = end;
        } else if (name.ptr[at] == '<' && opens_template(name, at)) {
            end = skip_brackets(name, at);
            if (end > name.len) {
                output_str(o, str_skip(name, at));
                return;
            }
            if (str_ends(str_head(name, at), STR("::")) && o->used >= 2)
                o->used -= 2;
            at = end;
        } else {
            output_char(o, name.ptr[at++]);
        }
    }
}

struct str name_without_offset(struct str name)
{
    size_t at = str_rfind(name, '+');
    struct str offset = str_skip(name, at + 1);
    if (at == name.len || at == 0 || !str_starts(offset, STR("0x")) || offset.len < 3)
        return name;
    bool slash = false;
    for (size_t i = 2; i < offset.len; i++) {
        if (offset.ptr[i] == '/' && !slash &&
            str_starts(str_skip(offset, i + 1), STR("0x"))) {
            slash = true;
            i += 2;
        } else if (!byte_is_hex(offset.ptr[i])) {
            return name;
        }
    }
    return str_head(name, at);
}

struct str name_without_descriptor(struct str name)
{
    size_t at = 1;
    if (name.len < 4 || name.ptr[0] != 'L' || !(name.ptr[1] >= 'a' && name.ptr[1] <= 'z'))
        return name;
    while (at < name.len && (byte_is_word(name.ptr[at]) || name.ptr[at] == '$'))
        at++;
    return at < name.len && name.ptr[at] == '/' ? str_skip(name, 1) : name;
}

struct str name_tidy(struct str name)
{
    return name_without_descriptor(name_without_arguments(name_without_offset(name)));
}

struct str name_next_link(struct str *rest)
{
    struct str s = *rest;
    size_t at = 0;
    for (;;) {
        at += str_search(str_skip(s, at), STR("->"));
        if (at >= s.len) {
            *rest = str_skip(s, s.len);
            return s;
        }
        bool link = at && s.ptr[at - 1] != ' ' && s.ptr[at - 1] != ')' &&
                    !ends_with_operator(str_head(s, at));
        if (link)
            break;
        at += 2;
    }
    *rest = str_skip(s, at + 2);
    return str_head(s, at);
}
