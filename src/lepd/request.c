/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/request.h"
#include "base/format.h"
#include "base/source.h"
#include "base/utf8.h"
#include "codec/json.h"
#include "lepd/frame.h"

/* Copies the current value, a string or a number, as JSON. False if it is too long, or
 * of another kind. */
static bool read_id(struct json *j, char id[LEPD_ID_MAX + 1])
{
    enum json_kind kind = json_peek(j);
    struct output text = OUTPUT_BUFFER;
    struct str value;
    bool ok = true;
    id[0] = '\0';
    if (kind == JSON_NULL) {
        json_skip(j);
    } else if (kind == JSON_STRING && json_string(j, &value)) {
        output_char(&text, '"');
        lepd_escape(&text, value);
        output_char(&text, '"');
    } else {
        ok = kind == JSON_NUMBER && json_text(j, &value);
        if (ok)
            output_str(&text, value);
        else if (kind != JSON_NUMBER)
            json_skip(j);
    }
    struct str whole = output_contents(&text);
    ok &= whole.len <= LEPD_ID_MAX && !text.failed;
    if (ok)
        format_text(id, LEPD_ID_MAX + 1, "%.*s", STR_ARG(whole));
    output_deinit(&text);
    return ok;
}

/* Reads the members of the object; false if it is not a request. */
static bool read_members(struct json *j, struct lepd_request *out)
{
    bool has_method = false, valid = true;
    struct str key, value;
    while (json_key(j, &key)) {
        if (str_equal(key, STR("method")) && json_peek(j) == JSON_STRING) {
            has_method = json_string(j, &value);
            if (has_method)
                format_text(out->method, sizeof out->method, "%.*s", STR_ARG(value));
        } else if (str_equal(key, STR("id"))) {
            valid &= read_id(j, out->id);
        } else {
            json_skip(j);
        }
    }
    return has_method && valid;
}

enum lepd_request_kind lepd_request_parse(struct str text, struct lepd_request *out)
{
    struct source source = source_of(text, STR("request"));
    struct error err;
    struct json j;
    bool valid = false;
    *out = (struct lepd_request){0};
    json_init(&j, &source, false, &err);
    j.depth_max = LEPD_DEPTH_MAX + 1;
    if (json_enter(&j, JSON_OBJECT))
        valid = read_members(&j, out);
    bool whole = json_finish(&j) && !j.failed;
    json_deinit(&j);
    source_deinit(&source);
    return !whole  ? LEPD_REQUEST_BROKEN
           : valid ? LEPD_REQUEST_CALL
                   : LEPD_REQUEST_INVALID;
}

static void put_id(struct output *o, const char *id, const char *separator)
{
    if (id[0])
        output_format(o, "%s\n\t\"id\":\t%s", separator, id);
}

static const char *error_message(enum lepd_error error)
{
    switch (error) {
    case LEPD_ERROR_PARSE:
        return "Parse error. Invalid JSON was received by the server.";
    case LEPD_ERROR_REQUEST:
        return "The JSON sent is not a valid Request object.";
    case LEPD_ERROR_METHOD:
        return "Method not found.";
    case LEPD_ERROR_BUSY:
        break;
    }
    return "The server is busy.";
}

void lepd_reply_error(struct output *o, enum lepd_error error, const char *id)
{
    output_format(o,
                  "{\n\t\"error\":\t{\n\t\t\"code\":\t%d,\n\t\t\"message\":\t\"%s\"\n\t}",
                  (int)error, error_message(error));
    put_id(o, id, ",");
    output_text(o, "\n}\n");
}

#define REPLY_HEAD "{\n\t\"result\":\t"
#define REPLY_TAIL "\n}\n"

void lepd_reply_begin(struct output *o, size_t length, const char *id)
{
    size_t id_length = strlen(id);
    size_t tail = sizeof LEPD_END + sizeof REPLY_TAIL - 1;
    size_t at = (sizeof REPLY_HEAD + length) % LEPD_CLIENT_PIECE;
    if (id_length)
        tail += id_length + 8; /* ,\n\t"id":\t */
    output_text(o, REPLY_HEAD);
    for (; at && at + tail > LEPD_CLIENT_PIECE && at < LEPD_CLIENT_PIECE; at++)
        output_char(o, ' ');
    output_char(o, '"');
}

void lepd_reply_end(struct output *o, const char *id)
{
    output_text(o, LEPD_END "\"");
    put_id(o, id, ",");
    output_text(o, REPLY_TAIL);
}

void lepd_reply_nothing(struct output *o, const char *id)
{
    output_char(o, '{');
    put_id(o, id, "");
    output_text(o, REPLY_TAIL);
}

static void escape_char(struct output *o, char c)
{
    static const char plain[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *known = c ? strchr(plain, c) : NULL;
    if (known) {
        output_char(o, '\\');
        output_char(o, letters[known - plain]);
    } else if ((unsigned char)c < 0x20) {
        output_format(o, "\\u%04x", (unsigned)(unsigned char)c);
    } else {
        output_char(o, c);
    }
}

void lepd_escape(struct output *o, struct str text)
{
    while (text.len) {
        size_t bad = 1, length = utf8_length(text, &bad);
        if (length == 1)
            escape_char(o, text.ptr[0]);
        else if (length)
            output_bytes(o, text.ptr, length);
        else
            output_text(o, "\xef\xbf\xbd");
        text = str_skip(text, length ? length : bad);
    }
}
