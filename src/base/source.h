/* SPDX-License-Identifier: Apache-2.0 */
/* Byte input: from a file, a pipe, memory, or another source through a decoder.
 *
 * A reader sees a window, [begin, end). It advances `begin` past what it has used and
 * asks for more; the window slides, so memory does not grow with the input. A reader
 * that needs a piece longer than the window retains its beginning, and the window
 * grows. */
#ifndef STOKE_BASE_SOURCE_H
#define STOKE_BASE_SOURCE_H

#include "base/error.h"
#include "base/limits.h"

/* One file of a folder. */
struct source_file {
    uint64_t offset, size;
    struct str path; /* relative to the folder */
};

struct source {
    const char *begin, *end; /* the available bytes */
    uint64_t offset;         /* of `begin` in the stream, for messages */
    bool last;               /* nothing follows `end` */
    uint64_t long_lines; /* lines that the line reader skipped: longer than limits.line */
    uint64_t long_line;  /* the line number of the first of them */
    struct str name;     /* the name of the input, for messages */

    /* Provider: writes up to `room` bytes to `into` and sets *got, which is 0 only at
     * the end. False on an error. NULL: the window is the whole input. */
    bool (*read)(void *context, char *into, size_t room, size_t *got, struct error *err);
    void *context;

    /* Provider: sets *all to the bytes of the whole input, which stay valid as long as
     * the provider. False if it cannot; nothing changes then. NULL: never possible. */
    bool (*map)(void *context, struct str *all);

    /* For an input that is a folder of files, all available: the offset of each file
     * among the bytes, the first at 0; bytes between files have no meaning. NULL: the
     * input is one file. */
    const struct source_file *files;
    size_t file_count;

    /* Provider: frees the page cache memory that reading the mapped bytes has used; the
     * addresses stay valid. Slow for large inputs; another thread may call it while the
     * provider exists. NULL: there is nothing to free. */
    void (*release)(void *context);

    const struct limits *limits; /* of the reader; NULL: limits_default */

    char *buffer; /* owned; NULL for a source over memory */
    size_t size;
};

static inline const struct limits *source_limits(const struct source *s)
{
    return s->limits ? s->limits : &limits_default;
}

/* A source over bytes in memory, which must outlive it. */
struct source source_of(struct str bytes, struct str name);

/* A source that reads through `read`. Allocates nothing yet. */
struct source source_reading(bool (*read)(void *, char *, size_t, size_t *,
                                          struct error *),
                             void *context, struct str name);

/* Frees the buffer, not the context. */
void source_deinit(struct source *s);

/* Adds more bytes at the end of the window and retains those from `retain` (within the
 * window) on: `retain` becomes `begin`, at another address. Returns true if bytes were
 * added or the end is reached (with no bytes added, `last` is true). Returns false on a
 * read error, or if the retained piece exceeds limits.piece. */
bool source_more(struct source *s, const char *retain, struct error *err);

/* Reads until the whole rest of the input is in the window, and returns it in *all. */
bool source_all(struct source *s, struct str *all, struct error *err);

/* The same without reading, if the input is in memory or can be mapped. Otherwise
 * returns false and changes nothing. */
bool source_map(struct source *s, struct str *all);

/* Makes the window hold at least `size` bytes, or all that remain. */
bool source_peek(struct source *s, size_t size, struct error *err);

#endif
