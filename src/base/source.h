/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes coming in: from a file, a pipe, memory, or another source through a decoder.
 *
 * A reader sees a window, [begin, end). What it has used it leaves behind and asks for
 * more; the window slides, so memory does not grow with the input. A reader that needs
 * a longer piece than the window holds keeps its beginning, and the window grows. */
#ifndef STOKE_BASE_SOURCE_H
#define STOKE_BASE_SOURCE_H

#include "base/error.h"

/* One of the files of a folder. */
struct source_file {
    uint64_t offset, size;
    struct str path; /* in the folder */
};

struct source {
    const char *begin, *end; /* the bytes at hand */
    uint64_t offset;         /* of `begin` in the stream, for messages */
    bool last;               /* nothing comes behind `end` */
    uint64_t long_lines; /* left out by the reader of lines: longer than limits.line, */
    uint64_t long_line;  /* the number of the first of them */
    struct str name;     /* the input's name, for messages */

    /* The provider: puts up to `room` bytes to `into`, sets *got, which is 0 only at the
     * end. False on an error. NULL: the window is all there is. */
    bool (*read)(void *context, char *into, size_t room, size_t *got, struct error *err);
    void *context;

    /* The provider: puts all the bytes, from the beginning of the input to its end, into
     * *all, where they stay as long as the provider does. False, with nothing changed,
     * where it cannot. NULL: it never can. */
    bool (*map)(void *context, struct str *all);

    /* An input that is a folder of files, which are all at hand: where each lies among
     * the bytes; the first at 0, with room of no meaning between them. NULL: it is one
     * file. */
    const struct source_file *files;
    size_t file_count;

    /* The provider: gives the memory back that reading what was mapped has taken; the
     * bytes stay where they are. Takes long for large inputs, and may be called by
     * another thread, as long as the provider is there. NULL: there is nothing to give
     * back. */
    void (*release)(void *context);

    char *buffer; /* owned; NULL for a source over memory */
    size_t size;
};

/* A source over bytes that are all at hand and outlive it. */
struct source source_of(struct str bytes, struct str name);

/* A source that reads through `read`. Allocates nothing yet. */
struct source source_reading(bool (*read)(void *, char *, size_t, size_t *,
                                          struct error *),
                             void *context, struct str name);

/* Frees the buffer (not the context). */
void source_deinit(struct source *s);

/* Gets more bytes behind the window, keeping those from `keep` (within the window) on:
 * `keep` becomes `begin`, at another address. True when there are more bytes or when the
 * end is reached, which `last` tells (with no bytes added, `last` is true). False on a
 * read error, or when the piece kept is longer than limits.piece. */
bool source_more(struct source *s, const char *keep, struct error *err);

/* Reads on until the whole rest of the input is in the window, and gives it. */
bool source_all(struct source *s, struct str *all, struct error *err);

/* The same without reading, where the input lies in memory or can be mapped. False, with
 * nothing changed, where it cannot. */
bool source_map(struct source *s, struct str *all);

/* Makes the window hold at least `want` bytes, or all there are. */
bool source_peek(struct source *s, size_t want, struct error *err);

#endif
