/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by stoke.c and stoke_code.c. */
#ifndef STOKE_EXPORT_STOKE_WRITER_H
#define STOKE_EXPORT_STOKE_WRITER_H

#include "base/crc32.h"
#include "export/exporter.h"
#include "model/code.h"

struct stoke_writer {
    const struct profile *p;
    const struct code *code; /* or NULL */
    struct output *out;
    struct output body;
    struct crc32 crc;
};

void stoke_put(struct stoke_writer *w, uint64_t value);        /* uleb */
void stoke_put_signed(struct stoke_writer *w, uint64_t value); /* sleb */
void stoke_put_weight(struct stoke_writer *w, double weight);

/* Writes the columns of the rows from `from` to `to` of one table. */
typedef void stoke_put_rows(struct stoke_writer *w, size_t from, size_t to);

/* Writes the sections of a table with the rows from `from` to `count`. `strings`: the table,
 * if it is one of strings; else NULL. */
bool stoke_put_table(struct stoke_writer *w, const char *tag, size_t from, size_t count,
                     const struct strings *strings, stoke_put_rows *put_rows);

void stoke_put_string_rows(struct stoke_writer *w, const struct strings *strings,
                           size_t from, size_t to);

/* Writes the tables of the code, if there is any. */
bool stoke_put_code(struct stoke_writer *w);

#endif
