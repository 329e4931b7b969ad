/* SPDX-License-Identifier: Apache-2.0 */
/* A file of text read by several threads, each a part of it.
 *
 * A thread that has nothing left to read takes half of what the one with the most has
 * before it, from where a record begins; so all end at the same time, however fast each
 * is. The parts are put together in the order of the file, by who has time for it: the
 * answer is that of one thread. */
#ifndef STOKE_ENGINE_PARTS_H
#define STOKE_ENGINE_PARTS_H

#include "import/importer.h"
#include "os/file.h"

struct parts_input {
    const struct os_input *file;     /* a regular one */
    uint64_t begin;                  /* of the text in it */
    const struct importer *importer; /* one that can split its text */
    const struct import_options *options;
};

/* How many threads are worth having for a file of that size, of those wanted. */
unsigned parts_threads(uint64_t size, uint64_t wanted);

/* Adds what the file holds to b. False as import_read is. */
bool parts_read(const struct parts_input *in, unsigned threads, struct builder *b,
                struct error *err);

#endif
