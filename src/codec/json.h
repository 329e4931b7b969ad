/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, read and written piece by piece.
 *
 * The reader pulls from a source through its window, so memory holds the longest string
 * and nothing of the tree. Every value at hand is taken once: read, entered or skipped.
 *
 *     if (json_enter(&j, JSON_OBJECT))
 *         while (json_key(&j, &key)) {
 *             if (str_equal(key, STR("name")))
 *                 json_string(&j, &name);
 *             else
 *                 json_skip(&j);
 *         }
 *
 * A value that is not of the kind asked for is skipped, and the function returns false;
 * so a reader needs no care for a file of another shape. Failure sticks: every function
 * then returns false, and loops end. Nothing recurses, the input's least of all. */
#ifndef STOKE_CODEC_JSON_H
#define STOKE_CODEC_JSON_H

#include "base/arena.h"
#include "base/output.h"
#include "base/source.h"

/* How deep arrays and objects may lie in each other, unless the reader is told else. */
#define JSON_DEPTH_MAX 512

enum json_kind {
    JSON_NONE, /* nothing: the input has ended, or reading has failed */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* A place in the text, for messages. The line is empty where its beginning has left the
 * window. */
struct json_place {
    uint64_t line, column;
    struct str text;
};

struct json {
    struct source *source;
    struct error *err;
    /* As profilers' files need it: a comma behind the last item, NaN and Infinity, and an
     * input that ends early, which closes all that is open and sets `cut`. */
    bool lenient;
    size_t depth_max;
    bool cut;    /* the input ended inside a value */
    bool broken; /* the text is not JSON from here on; err says how */
    bool failed; /* broken, or the source or memory failed; err says how */

    /* The reader's own. */
    const char *at;         /* the next byte, in the window */
    bool fresh;             /* nothing of the innermost array or object is read yet */
    struct arena arena;     /* for `nesting` */
    unsigned char *nesting; /* enum json_kind of what is open, outermost first */
    size_t depth, depth_cap;
    struct output text;  /* the last string, where it had to be rewritten */
    const char *counted; /* up to where lines are counted, in the window */
    uint64_t line,
        line_from; /* the line there, from 1, and the offset of its beginning */
};

/* A reader from the source's window on. The error is filled on failure. */
void json_init(struct json *j, struct source *source, bool lenient, struct error *err);
void json_deinit(struct json *j);

/* The kind of the value at hand. */
enum json_kind json_peek(struct json *j);

/* Goes into the array or object at hand; then json_item or json_key until they return
 * false, which leaves it. */
bool json_enter(struct json *j, enum json_kind kind);

/* Goes to the next item of the array. */
bool json_item(struct json *j);

/* Goes to the value of the next member of the object, and gives its key, good until the
 * next call. */
bool json_key(struct json *j, struct str *key);

/* Take the value at hand. Text is UTF-8, whatever the file held, and good until the next
 * call. json_text also takes numbers and truth values, as they are written; json_number
 * and json_u64 also take a string that is a number, the latter a whole one from 0 on. */
bool json_string(struct json *j, struct str *out);
bool json_text(struct json *j, struct str *out);
bool json_number(struct json *j, double *out);
bool json_u64(struct json *j, uint64_t *out);
bool json_bool(struct json *j, bool *out);
void json_skip(struct json *j);

/* Checks that nothing but white space is left. */
bool json_finish(struct json *j);

/* Where the reader is: asking for it again and again costs nothing more than once. */
struct json_place json_place(struct json *j);

/* --- Writing ---------------------------------------------------------------------- */

/* A document under way. Commas are the writer's care, matching ends the caller's. */
struct json_writer {
    struct output *out;
    bool comma; /* a value stands before the next one */
    bool line;  /* the next one begins a line */
};

void json_begin(struct json_writer *w, enum json_kind kind); /* JSON_OBJECT, JSON_ARRAY */
void json_end(struct json_writer *w, enum json_kind kind);
void json_put_key(struct json_writer *w, const char *key);
void json_put_str(struct json_writer *w, struct str s);
void json_put_u64(struct json_writer *w, uint64_t v);
void json_put_double(struct json_writer *w, double v);
void json_put_bool(struct json_writer *w, bool v);
void json_put_null(struct json_writer *w);

/* A key and its value. */
void json_member_str(struct json_writer *w, const char *key, struct str s);
void json_member_u64(struct json_writer *w, const char *key, uint64_t v);
void json_member_double(struct json_writer *w, const char *key, double v);

/* A line break between two values, so that a large document can be looked at. */
void json_put_line(struct json_writer *w);

#endif
