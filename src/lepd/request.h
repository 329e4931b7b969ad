/* SPDX-License-Identifier: Apache-2.0 */
/* A LEPD request (JSON-RPC), and the text around its result. */
#ifndef STOKE_LEPD_REQUEST_H
#define STOKE_LEPD_REQUEST_H

#include "base/output.h"

#define LEPD_METHOD_MAX 64
#define LEPD_ID_MAX 256 /* bytes of an ID, as JSON */

enum lepd_request_kind {
    LEPD_REQUEST_CALL,
    LEPD_REQUEST_INVALID, /* JSON, but not a request */
    LEPD_REQUEST_BROKEN,  /* not JSON */
};

struct lepd_request {
    char method[LEPD_METHOD_MAX + 1];
    char id[LEPD_ID_MAX + 1]; /* as JSON; empty: none */
};

/* Reads one JSON value. A method name that is too long is truncated, so it is unknown. */
enum lepd_request_kind lepd_request_parse(struct str text, struct lepd_request *out);

/* Errors of JSON-RPC 2.0. */
enum lepd_error {
    LEPD_ERROR_PARSE = -32700,
    LEPD_ERROR_REQUEST = -32600,
    LEPD_ERROR_METHOD = -32601,
    LEPD_ERROR_BUSY = -32000,
};

/* Writes the whole reply of an error. `id` as in struct lepd_request. */
void lepd_reply_error(struct output *o, enum lepd_error error, const char *id);

/* The client LEPV considers a reply complete when the result of one recv of 2,048 bytes contains
 * these bytes. The bytes that follow them must be in the same result. */
#define LEPD_END "lepdendstring"
#define LEPD_CLIENT_PIECE 2048

/* Write a reply before and after the result of `length` bytes, which is escaped. If the end
 * would be split between two pieces of LEPV, white space before the result prevents it. */
void lepd_reply_begin(struct output *o, size_t length, const char *id);
void lepd_reply_end(struct output *o, const char *id);

/* Writes the reply for a result that is not available. */
void lepd_reply_nothing(struct output *o, const char *id);

/* Writes text as the inside of a JSON string. Bytes that are not UTF-8 are replaced. */
void lepd_escape(struct output *o, struct str text);

#endif
