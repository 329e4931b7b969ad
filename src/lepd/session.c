/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/session.h"
#include <stdlib.h>

struct lepd_text *lepd_text_create(struct str result)
{
    struct lepd_text *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->references = 1;
    lepd_escape(&t->escaped, result);
    if (t->escaped.failed) {
        lepd_text_release(t);
        return NULL;
    }
    return t;
}

struct lepd_text *lepd_text_hold(struct lepd_text *t)
{
    t->references++;
    return t;
}

void lepd_text_release(struct lepd_text *t)
{
    if (!t || --t->references)
        return;
    output_deinit(&t->escaped);
    free(t);
}

void lepd_session_deinit(struct lepd_session *s)
{
    output_deinit(&s->input);
    output_deinit(&s->before);
    output_deinit(&s->after);
    lepd_text_release(s->body);
    *s = LEPD_SESSION_INIT;
}

/* Removes bytes from the front of a buffer, and frees it when it is empty: most connections
 * are idle most of the time. */
static void drop_front(struct output *o, size_t count)
{
    if (count >= o->used) {
        output_deinit(o);
        *o = OUTPUT_BUFFER;
        return;
    }
    memmove(o->bytes, o->bytes + count, o->used - count);
    o->used -= count;
}

static void end_with(struct lepd_session *s, enum lepd_error error)
{
    lepd_reply_error(&s->before, error, "");
    drop_front(&s->input, s->input.used);
    s->scanned = 0;
    s->ends = true;
}

static void answer(struct lepd_session *s, struct str text)
{
    struct lepd_request request;
    enum lepd_request_kind kind = lepd_request_parse(text, &request);
    const struct lepd_method *method;
    if (kind == LEPD_REQUEST_BROKEN) {
        end_with(s, LEPD_ERROR_PARSE);
        return;
    }
    if (kind == LEPD_REQUEST_INVALID) {
        lepd_reply_error(&s->before, LEPD_ERROR_REQUEST, request.id);
        return;
    }
    method = lepd_method_find(str_of(request.method));
    if (!method) {
        lepd_reply_error(&s->before, LEPD_ERROR_METHOD, request.id);
    } else if (method->constant) {
        struct output text_of = OUTPUT_BUFFER;
        method->constant(&text_of);
        struct str result = output_contents(&text_of);
        lepd_reply_begin(&s->before, result.len, request.id);
        lepd_escape(&s->before, result);
        lepd_reply_end(&s->before, request.id);
        s->failed |= text_of.failed;
        output_deinit(&text_of);
    } else {
        s->waiting = method;
        memcpy(s->id, request.id, sizeof s->id);
    }
}

static bool is_blocked(const struct lepd_session *s)
{
    return s->waiting || s->body || s->ends || s->failed ||
           s->before.used - s->sent >= LEPD_REPLIES_MAX;
}

/* Answers requests that were received, as far as possible. */
static void go_on(struct lepd_session *s)
{
    size_t begin = 0; /* of the next request */
    while (!is_blocked(s) && s->scanned < s->input.used) {
        size_t used;
        struct str rest = {s->input.bytes + s->scanned, s->input.used - s->scanned};
        enum lepd_frame frame = lepd_frame_find(&s->framer, rest, &used);
        s->scanned += used;
        if (frame == LEPD_FRAME_BROKEN) {
            end_with(s, LEPD_ERROR_PARSE);
            return;
        }
        if (frame == LEPD_FRAME_MORE)
            break;
        answer(s, (struct str){s->input.bytes + begin, s->scanned - begin});
        if (s->ends)
            return;
        begin = s->scanned;
    }
    s->scanned -= begin;
    drop_front(&s->input, begin);
    if (!is_blocked(s) && s->input.used >= LEPD_REQUEST_MAX)
        end_with(s, LEPD_ERROR_PARSE);
    s->failed |= s->input.failed || s->before.failed || s->after.failed;
}

size_t lepd_session_room(const struct lepd_session *s)
{
    return s->ends || s->failed ? 0 : LEPD_REQUEST_MAX - s->input.used;
}

void lepd_session_receive(struct lepd_session *s, struct str bytes)
{
    output_str(&s->input, str_head(bytes, lepd_session_room(s)));
    go_on(s);
}

void lepd_session_supply(struct lepd_session *s, struct lepd_text *text)
{
    if (!s->waiting)
        return;
    s->waiting = NULL;
    if (text) {
        lepd_reply_begin(&s->before, text->escaped.used, s->id);
        lepd_reply_end(&s->after, s->id);
        s->body = lepd_text_hold(text);
        s->body_sent = 0;
    } else {
        lepd_reply_nothing(&s->before, s->id);
    }
    go_on(s);
}

size_t lepd_session_output(const struct lepd_session *s, struct str pieces[LEPD_PIECES])
{
    size_t count = 0;
    if (s->before.used > s->sent)
        pieces[count++] = str_skip(output_contents(&s->before), s->sent);
    if (s->body && s->body_sent < s->body->escaped.used)
        pieces[count++] = str_skip(output_contents(&s->body->escaped), s->body_sent);
    if (s->body)
        pieces[count++] = output_contents(&s->after);
    return count;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The body is sent: what follows it is sent as `before` is. */
static void finish_body(struct lepd_session *s)
{
    lepd_text_release(s->body);
    s->body = NULL;
    output_deinit(&s->before);
    s->before = s->after;
    s->after = OUTPUT_BUFFER;
    s->sent = 0;
}

void lepd_session_sent(struct lepd_session *s, size_t count)
{
    size_t part = smaller(count, s->before.used - s->sent);
    s->sent += part;
    count -= part;
    if (s->body) {
        part = smaller(count, s->body->escaped.used - s->body_sent);
        s->body_sent += part;
        count -= part;
        if (s->sent == s->before.used && s->body_sent == s->body->escaped.used)
            finish_body(s);
        part = s->body ? 0 : smaller(count, s->before.used);
        s->sent += part;
    }
    if (!s->body && s->sent == s->before.used) {
        drop_front(&s->before, s->sent);
        s->sent = 0;
    }
    go_on(s);
}
