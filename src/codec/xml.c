/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/xml.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"

void xml_init(struct xml *x, struct source *in, struct error *err)
{
    *x = (struct xml){.source = in, .err = err, .line = 1, .next_line = 1};
    x->name = x->text = x->attributes = STR("");
}

/* --- Bytes ----------------------------------------------------------------------- */

static enum xml_piece fail(struct xml *x, const char *message)
{
    x->failed = x->damaged = true;
    error_set(x->err, "%s", message);
    error_at_line(x->err, x->line, 0, STR(""));
    return XML_END;
}

static struct str window(const struct xml *x)
{
    return str_span(x->source->begin, x->source->end);
}

/* Makes the window hold more than its first `seen` bytes. False at the end of the text
 * and on failure. */
static bool more(struct xml *x, size_t seen)
{
    struct source *s = x->source;
    while (!s->last && (size_t)(s->end - s->begin) <= seen) {
        if (seen >= XML_PIECE_MAX) {
            fail(x, "a tag or a text is too long");
            return false;
        }
        if (!source_more(s, s->begin, x->err)) {
            x->failed = true;
            return false;
        }
    }
    return (size_t)(s->end - s->begin) > seen;
}

/* Offset of the next `part` in the text; false if there is none. */
static bool find(struct xml *x, struct str part, size_t *at)
{
    size_t seen = 0;
    for (;;) {
        struct str text = window(x);
        *at = seen + str_search(str_skip(text, seen), part);
        if (*at < text.len)
            return true;
        seen = text.len >= part.len ? text.len - part.len + 1 : 0;
        if (!more(x, text.len))
            return false;
    }
}

/* Offset of the end of the current tag: its '>' outside quotes. */
static bool find_tag_end(struct xml *x, size_t *at)
{
    char quote = 0;
    size_t i = 1;
    while (more(x, i)) {
        struct str text = window(x);
        for (; i < text.len; i++) {
            char c = text.ptr[i];
            if (quote ? c == quote : c == '"' || c == '\'') {
                quote = quote ? 0 : c;
            } else if (c == '>' && !quote) {
                *at = i;
                return true;
            }
        }
    }
    return false;
}

/* Consumes `length` bytes and counts their lines. The bytes stay valid until the next
 * piece. */
static struct str take(struct xml *x, size_t length)
{
    struct str taken = str_head(window(x), length), rest = taken;
    for (size_t at = str_find(rest, '\n'); at < rest.len; at = str_find(rest, '\n')) {
        x->next_line++;
        rest = str_skip(rest, at + 1);
    }
    x->source->offset += taken.len;
    x->source->begin += taken.len;
    return taken;
}

static bool starts(struct xml *x, struct str head)
{
    return more(x, head.len - 1) && str_starts(window(x), head);
}

/* --- Tags ------------------------------------------------------------------------ */

static bool is_name_end(char c)
{
    return byte_is_space(c) || c == '/' || c == '=' || c == '>';
}

static struct str take_name(struct str *rest)
{
    size_t length = 0;
    while (length < rest->len && !is_name_end(rest->ptr[length]))
        length++;
    struct str name = str_head(*rest, length);
    *rest = str_skip(*rest, length);
    return name;
}

static enum xml_piece open_tag(struct xml *x, struct str tag)
{
    struct str rest = tag;
    x->close_next = str_ends(rest, STR("/"));
    if (x->close_next)
        rest.len--;
    x->name = take_name(&rest);
    x->attributes = rest;
    if (x->name.len == 0)
        return fail(x, "a tag without a name");
    if (x->depth == XML_DEPTH_MAX)
        return fail(x, "tags are nested too deeply");
    x->open[x->depth++] = hash_bytes(x->name.ptr, x->name.len);
    return XML_OPEN;
}

static enum xml_piece close_tag(struct xml *x, struct str tag)
{
    x->name = take_name(&tag);
    uint64_t hash = hash_bytes(x->name.ptr, x->name.len);
    if (x->depth == 0 || x->open[x->depth - 1] != hash)
        return fail(x, "a closing tag does not match an open one");
    x->depth--;
    return XML_CLOSE;
}

static enum xml_piece read_tag(struct xml *x)
{
    size_t end;
    if (!find_tag_end(x, &end)) {
        x->cut = !x->failed;
        return XML_END;
    }
    struct str tag = take(x, end + 1);
    tag = str_span(tag.ptr + 1, tag.ptr + tag.len - 1);
    if (str_starts(tag, STR("/")))
        return close_tag(x, str_skip(tag, 1));
    return open_tag(x, tag);
}

/* --- The rest -------------------------------------------------------------------- */

static enum xml_piece read_text(struct xml *x)
{
    size_t end;
    bool found = find(x, STR("<"), &end);
    if (x->failed)
        return XML_END;
    x->text = take(x, found ? end : window(x).len);
    x->raw = false;
    return XML_TEXT;
}

static enum xml_piece read_cdata(struct xml *x)
{
    size_t end;
    if (!find(x, STR("]]>"), &end)) {
        x->cut = !x->failed;
        return XML_END;
    }
    x->text = str_skip(take(x, end), sizeof "<![CDATA[" - 1);
    take(x, 3);
    x->raw = true;
    return XML_TEXT;
}

/* Skips a comment, a processing instruction or a document type. False if none follows,
 * or if it is invalid or unterminated. */
static bool skip_aside(struct xml *x)
{
    size_t end;
    struct str close;
    if (starts(x, STR("<!--")))
        close = STR("-->");
    else if (starts(x, STR("<?")))
        close = STR("?>");
    else if (starts(x, STR("<!DOCTYPE")))
        close = STR(">");
    else
        return false;
    if (!find(x, close, &end)) {
        x->cut = !x->failed;
        return false;
    }
    struct str aside = take(x, end + close.len);
    if (close.len == 1 && str_find(aside, '[') < aside.len) {
        fail(x, "document types with declarations are not supported");
        return false;
    }
    return true;
}

enum xml_piece xml_next(struct xml *x)
{
    if (x->close_next) {
        x->close_next = false;
        x->depth--;
        return XML_CLOSE;
    }
    x->line = x->next_line;
    while (!x->failed && !x->cut && skip_aside(x))
        x->line = x->next_line;
    if (x->failed || x->cut)
        return XML_END;
    if (!more(x, 0)) {
        x->cut = x->depth != 0 && !x->failed;
        return XML_END;
    }
    if (starts(x, STR("<![CDATA[")))
        return read_cdata(x);
    return *x->source->begin == '<' ? read_tag(x) : read_text(x);
}

bool xml_attribute(const struct xml *x, struct str name, struct str *value)
{
    struct str rest = x->attributes;
    for (;;) {
        rest = str_trim_left(rest);
        struct str found = take_name(&rest);
        rest = str_trim_left(rest);
        if (found.len == 0 || !str_starts(rest, STR("=")))
            return false;
        rest = str_trim_left(str_skip(rest, 1));
        if (rest.len == 0 || (rest.ptr[0] != '"' && rest.ptr[0] != '\''))
            return false;
        char quote = rest.ptr[0];
        rest = str_skip(rest, 1);
        *value = str_cut(&rest, quote);
        if (str_equal(found, name))
            return true;
    }
}

/* --- Entities -------------------------------------------------------------------- */

/* Writes the character that "&name;" stands for; false if it is unknown. */
static bool write_entity(struct output *out, struct str name)
{
    static const struct {
        const char *name;
        char c;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    uint64_t code;
    char bytes[4];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (str_equal(name, str_of(known[i].name))) {
            output_char(out, known[i].c);
            return true;
        }
    }
    bool good = str_starts(name, STR("#x"))  ? number_parse_hex(str_skip(name, 2), &code)
                : str_starts(name, STR("#")) ? number_parse_u64(str_skip(name, 1), &code)
                                             : false;
    if (!good || code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    output_bytes(out, bytes, utf8_write((unsigned)code, bytes));
    return true;
}

#define ENTITY_MAX 12

struct str xml_decode(struct str text, struct output *scratch)
{
    size_t at = str_find(text, '&');
    if (at == text.len)
        return text;
    scratch->used = 0;
    for (; at < text.len; at = str_find(text, '&')) {
        struct str name = str_head(str_skip(text, at + 1), ENTITY_MAX);
        size_t end = str_find(name, ';');
        output_str(scratch, str_head(text, at));
        if (end < name.len && write_entity(scratch, str_head(name, end))) {
            text = str_skip(text, at + end + 2);
        } else {
            output_char(scratch, '&');
            text = str_skip(text, at + 1);
        }
    }
    output_str(scratch, text);
    return output_contents(scratch);
}
