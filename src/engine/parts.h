/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text file with several threads, each of which reads a part.
 *
 * A thread without work takes over half of the unread bytes of the part that has the
 * most, from a record boundary on. So all threads finish at about the same time,
 * whatever their speed. The parts are merged in the order of the file, by whichever
 * thread is free: the result is the same as with one thread. */
#ifndef STOKE_ENGINE_PARTS_H
#define STOKE_ENGINE_PARTS_H

#include "import/importer.h"
#include "os/file.h"

struct parts_input {
    struct os_input *file;           /* a regular file */
    uint64_t begin;                  /* of the text in it */
    const struct importer *importer; /* one with a split function */
    const struct import_options *options;
};

/* How many threads are useful for a file of that size, at most `limit`. */
unsigned parts_threads(uint64_t size, uint64_t limit);

/* Adds the contents of the file to b. False like import_read. */
bool parts_read(const struct parts_input *in, unsigned threads, struct builder *b,
                struct error *err);

#endif
