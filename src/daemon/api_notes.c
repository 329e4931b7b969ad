/* SPDX-License-Identifier: Apache-2.0 */
/* Notes on the time line: /api/notes, /api/note, /api/note/remove. */
#include "base/format.h"
#include "daemon/api_parts.h"
#include "daemon/notes.h"
#include "os/machine.h"

#define NOTES_SECONDS 3600 /* of /api/notes without `from` */

/* The body of a request. */
struct note_request {
    uint64_t time, number; /* 0: not given */
    char text[DAEMON_NOTE_BYTES + 2];
    size_t length;
};

static bool read_member(struct json *j, struct str key, struct note_request *r)
{
    struct str text;
    if (str_equal(key, STR("time")))
        return json_u64(j, &r->time) && r->time <= UINT64_MAX / STORE_SECOND;
    if (str_equal(key, STR("number")))
        return json_u64(j, &r->number);
    if (!str_equal(key, STR("text")) || json_peek(j) != JSON_STRING ||
        !json_string(j, &text) || text.len >= sizeof r->text)
        return false;
    r->length = text.len;
    memcpy(r->text, text.ptr, text.len);
    return true;
}

static bool read_request(struct str body, struct note_request *r, struct error *err)
{
    struct source source = source_of(body, STR("the note"));
    struct json j;
    struct str key;
    char name[32] = "";
    bool ok = true;
    json_init(&j, &source, false, err);
    j.depth_max = 2;
    bool object = json_enter(&j, JSON_OBJECT);
    while (ok && object && json_key(&j, &key)) {
        format_text(name, sizeof name, "%.*s", STR_ARG(key));
        ok = read_member(&j, str_of(name), r);
    }
    bool whole = ok && object && json_finish(&j);
    if (!ok && !j.failed)
        error_set(err, "the member '%s' is unknown, or its value is invalid", name);
    else if (!object && !j.failed)
        error_set(err, "the note is not an object in JSON");
    json_deinit(&j);
    return whole;
}

/* Reads the request of a change, which only those with the token make. */
static bool may_change(const struct daemon_api *api, const struct http_query *q,
                       struct note_request *request, struct http_reply *r)
{
    struct error err = {.message = ""};
    if (!read_request(q->body, request, &err)) {
        api_fail(r, STATUS_BAD, &err);
        return false;
    }
    if (api->has_token)
        return true;
    error_set(&err, "notes can be changed only if requests need a token");
    error_hint(&err, "stoke daemon --own-token, or --token-file FILE");
    api_fail(r, STATUS_FORBIDDEN, &err);
    return false;
}

static void reply_change(bool ok, const struct error *err, struct http_reply *r)
{
    r->type = "application/json";
    if (ok)
        output_text(&r->body, "{}");
    else
        api_fail(r, STATUS_BAD, err);
}

void api_notes(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct error err = {.message = ""};
    struct store_span span;
    if (!api_read_span(q, NOTES_SECONDS, &span, &err)) {
        api_fail(r, STATUS_BAD, &err);
        return;
    }
    r->type = "application/json";
    daemon_notes_write(api->notes, &span, &r->body);
}

void api_note(struct daemon_api *api, const struct http_query *q, struct http_reply *r)
{
    struct note_request request = {0};
    struct error err = {.message = ""};
    if (!may_change(api, q, &request, r))
        return;
    uint64_t time = request.time ? request.time : os_clock_real() / STORE_SECOND;
    struct str text = {request.text, request.length};
    reply_change(daemon_notes_add(api->notes, time, text, &err), &err, r);
}

void api_note_remove(struct daemon_api *api, const struct http_query *q,
                     struct http_reply *r)
{
    struct note_request request = {0};
    struct error err = {.message = ""};
    if (may_change(api, q, &request, r))
        reply_change(daemon_notes_remove(api->notes, request.number, &err), &err, r);
}
