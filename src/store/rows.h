/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a window as bytes, for stores that keep blobs.
 *
 * A row says how many samples a series has in a second with a stack, and their weight.
 * Rows are sorted by series, stack and second. The bytes are columns, compressed with
 * zstd; stoke-store(5) specifies them. The bytes of a store are hostile input. */
#ifndef STOKE_STORE_ROWS_H
#define STOKE_STORE_ROWS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/output.h"

#define STORE_ROWS_MAX ((size_t)1 << 24) /* of one window */

struct store_row {
    uint64_t series, stack; /* ids of the store */
    uint64_t second;        /* since the start of the window */
    uint64_t count;
    double weight;
};

/* Sorts rows and adds up those with the same series, stack and second. Returns how many
 * are left. */
size_t store_rows_merge(struct store_row *rows, size_t count);

/* Appends the bytes of merged rows. False if out of memory. */
bool store_rows_encode(const struct store_row *rows, size_t count, struct output *out,
                       struct error *err);

/* Reads rows into the arena. False with err set if the bytes are damaged,
 * or if out of memory. */
bool store_rows_decode(struct str bytes, struct arena *arena, struct store_row **rows,
                       size_t *count, struct error *err);

/* Rows without their seconds, sorted by series and stack. All zero at first. */
struct store_sum {
    struct arena arena; /* the caller frees it */
    struct store_row *rows;
    size_t count;
};

/* Adds rows that are sorted by series and stack: those that are equal in both become one.
 * False if out of memory. */
bool store_sum_add(struct store_sum *sum, const struct store_row *rows, size_t count,
                   struct error *err);

#endif
