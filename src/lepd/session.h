/* SPDX-License-Identifier: Apache-2.0 */
/* A LEPD connection as a state machine: bytes in, bytes out. It knows no sockets and never
 * waits.
 *
 * Replies have the order of the requests. Some replies are complete immediately; for others,
 * the session reports the method in `waiting`, and reads no further request until its owner
 * supplies the text. Memory is bounded: a session reads no request while it has much to
 * send, and long texts are shared between sessions. */
#ifndef STOKE_LEPD_SESSION_H
#define STOKE_LEPD_SESSION_H

#include "base/output.h"
#include "lepd/frame.h"
#include "lepd/method.h"
#include "lepd/request.h"

#define LEPD_REQUEST_MAX ((size_t)8 << 10)  /* bytes of a request */
#define LEPD_REPLIES_MAX ((size_t)16 << 10) /* bytes of replies to be sent */

/* The text of a result, escaped, shared by sessions. */
struct lepd_text {
    size_t references;     /* of one thread */
    struct output escaped; /* a buffer; owned */
};

/* Makes a text from a result; NULL when out of memory. The caller owns a reference. */
struct lepd_text *lepd_text_create(struct str result);
struct lepd_text *lepd_text_hold(struct lepd_text *t);
void lepd_text_release(struct lepd_text *t); /* NULL is allowed */

struct lepd_session {
    /* The method whose text the session waits for; or NULL. */
    const struct lepd_method *waiting;
    bool ends;   /* to be closed when all is sent */
    bool closed; /* set by the owner: the client sends no more */
    bool failed; /* out of memory: to be closed now */

    /* Private fields. */
    struct lepd_framer framer;
    struct output input; /* received, from the beginning of a request on */
    size_t scanned;      /* bytes of it that the framer has read */
    struct output before, after;
    struct lepd_text *body; /* is sent after `before`; or NULL */
    size_t sent, body_sent; /* of `before` (then `after`), and of the body */
    char id[LEPD_ID_MAX + 1];
};

#define LEPD_SESSION_INIT ((struct lepd_session){0})

void lepd_session_deinit(struct lepd_session *s);

/* How many bytes the session can receive now. */
size_t lepd_session_room(const struct lepd_session *s);

/* Receives bytes, at most as many as it has room for, and answers what it can. */
void lepd_session_receive(struct lepd_session *s, struct str bytes);

/* Supplies the text for `waiting`, and continues. The session takes a reference of its own.
 * NULL: the result is not available. */
void lepd_session_supply(struct lepd_session *s, struct lepd_text *text);

/* Returns true if the connection is to be closed when all is sent. */
static inline bool lepd_session_is_over(const struct lepd_session *s)
{
    return s->ends || (s->closed && !s->waiting && !s->body);
}

#define LEPD_PIECES 3

/* The bytes to be sent, in order; returns the number of pieces. They are valid until
 * the next call that changes the session. */
size_t lepd_session_output(const struct lepd_session *s, struct str pieces[LEPD_PIECES]);

/* Removes that many bytes, which were sent, and continues with what was received before. */
void lepd_session_sent(struct lepd_session *s, size_t count);

#endif
