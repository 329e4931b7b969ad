/* SPDX-License-Identifier: Apache-2.0 */
/* A streaming JSON reader and writer.
 *
 * The reader pulls from a source through its window, so memory holds the longest string
 * but no tree. Every value must be consumed once: read, entered or skipped.
 *
 *     if (json_enter(&j, JSON_OBJECT))
 *         while (json_key(&j, &key)) {
 *             if (str_equal(key, STR("name")))
 *                 json_string(&j, &name);
 *             else
 *                 json_skip(&j);
 *         }
 *
 * If a value is not of the requested kind, the function skips it and returns false; so
 * a reader needs no special code for files with another structure. Failure is sticky:
 * every function then returns false, and loops end. Nothing recurses. */
#ifndef STOKE_CODEC_JSON_H
#define STOKE_CODEC_JSON_H

#include "base/arena.h"
#include "base/output.h"
#include "base/source.h"

/* Default nesting limit of arrays and objects. */
#define JSON_DEPTH_MAX 512

enum json_kind {
    JSON_NONE, /* the input has ended, or reading has failed */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* A location in the text, for messages. `text` is empty if the beginning of the line
 * has left the window. */
struct json_location {
    uint64_t line, column;
    struct str text;
};

struct json {
    struct source *source;
    struct error *err;
    /* Accepts what profilers write: a comma after the last item, NaN and Infinity, and
     * an input that ends early, which closes all open containers and sets `cut`. */
    bool lenient;
    size_t depth_max;
    bool cut;    /* the input ended inside a value */
    bool broken; /* the text is not valid JSON from here on; see err */
    bool failed; /* broken, or the source or memory failed; see err */

    /* Private fields. */
    const char *at;         /* the next byte, in the window */
    bool fresh;             /* nothing of the innermost array or object has been read */
    struct arena arena;     /* for `nesting` */
    unsigned char *nesting; /* enum json_kind of the open containers, outermost first */
    size_t depth, depth_cap;
    struct output text;  /* the last string, if it had to be decoded */
    const char *counted; /* lines are counted up to here, in the window */
    uint64_t line,
        /* the line number there, from 1, and the offset where that line begins */
        line_from;
};

/* Initialises a reader from the source's window on. `err` is filled on failure. */
void json_init(struct json *j, struct source *source, bool lenient, struct error *err);
void json_deinit(struct json *j);

/* The kind of the current value. */
enum json_kind json_peek(struct json *j);

/* Enters the current array or object. Call json_item or json_key until it returns
 * false, which leaves it. */
bool json_enter(struct json *j, enum json_kind kind);

/* Moves to the next item of the array. */
bool json_item(struct json *j);

/* Moves to the value of the next member of the object and returns its key, valid until
 * the next call. */
bool json_key(struct json *j, struct str *key);

/* Read the current value. Text is converted to valid UTF-8 and is valid until the next
 * call. json_text also accepts numbers and booleans, as they are written; json_number
 * and json_u64 also accept a string that contains a number; json_u64 accepts
 * non-negative integers only. */
bool json_string(struct json *j, struct str *out);
bool json_text(struct json *j, struct str *out);
bool json_number(struct json *j, double *out);
bool json_u64(struct json *j, uint64_t *out);
bool json_bool(struct json *j, bool *out);
void json_skip(struct json *j);

/* Checks that only white space is left. */
bool json_finish(struct json *j);

/* The current location. Repeated calls cost no more than one. */
struct json_location json_location(struct json *j);

/* --- Writing ---------------------------------------------------------------------- */

/* A document being written. The writer inserts commas; the caller must close what it
 * opens. */
struct json_writer {
    struct output *out;
    bool comma; /* the next value needs a comma */
    bool line;  /* the next value begins a line */
};

void json_begin(struct json_writer *w, enum json_kind kind); /* JSON_OBJECT, JSON_ARRAY */
void json_end(struct json_writer *w, enum json_kind kind);
void json_put_key(struct json_writer *w, const char *key);
void json_put_str(struct json_writer *w, struct str s);
void json_put_u64(struct json_writer *w, uint64_t v);
void json_put_double(struct json_writer *w, double v);
void json_put_bool(struct json_writer *w, bool v);
void json_put_null(struct json_writer *w);
void json_put_raw(struct json_writer *w, struct str json); /* a complete value */

/* A key and its value. */
void json_member_str(struct json_writer *w, const char *key, struct str s);
void json_member_u64(struct json_writer *w, const char *key, uint64_t v);
void json_member_double(struct json_writer *w, const char *key, double v);

/* A line break between two values, to make large documents readable. */
void json_put_line(struct json_writer *w);

#endif
