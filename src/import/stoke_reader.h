/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by stoke.c and stoke_code.c. */
#ifndef STOKE_IMPORT_STOKE_READER_H
#define STOKE_IMPORT_STOKE_READER_H

#include "base/crc32.h"
#include "import/importer.h"

#define COLUMNS_MAX 13

/* Rows of the tables before SAMPLES get new ids. */
enum table {
    STRINGS,
    MODULES,
    FRAMES,
    STACKS,
    THREADS,
    EVENTS,
    LABELS,
    LABEL_SETS,
    CODE_STRINGS,
    CODE_EVENTS,
    CODE_FUNCTIONS,
    SAMPLES,
    CALLS,
    CODE_ROWS,
    CODE_NOTES,
    CODE_SPOTS,
    CODE_SOURCES,
    TABLES
};

/* The new ids of a table's rows. */
struct id_map {
    uint32_t *ids;
    size_t count, cap;
};

struct section {
    char tag[4];
    uint32_t first, rows, size, sum;
    uint64_t offset; /* of its head, in the decompressed data */
};

struct stoke_reader {
    struct source *in;
    const struct import_options *options;
    struct builder *b;
    struct error *err;
    struct arena arena;
    struct crc32 crc;
    struct id_map maps[TABLES];
    struct section section;
    struct str body;
    uint64_t *columns[COLUMNS_MAX]; /* of the current section */
    size_t column_caps[COLUMNS_MAX];
    uint32_t *set_sizes; /* by label set */
    size_t set_size_cap;
    uint64_t mark; /* number of the stack that is left out; 0: none */
    struct facts facts;
    bool has_facts, all_samples, ended, reserved;
    uint64_t samples; /* the number of samples in the rows */
    uint64_t first, last;
};

/* Reports a flaw of the current section. */
void stoke_warn(struct stoke_reader *r, const char *what);

/* The new id of a row; 0 if the row was lost. */
uint32_t stoke_new_id(struct stoke_reader *r, enum table table, uint64_t id);

/* The tables of the code (model/code.h): each adds a row of the current section, and returns
 * its new id. */
uint32_t stoke_add_code_event(struct stoke_reader *r, uint32_t row);
uint32_t stoke_add_code_function(struct stoke_reader *r, uint32_t row);
uint32_t stoke_add_code_row(struct stoke_reader *r, uint32_t row);
uint32_t stoke_add_code_note(struct stoke_reader *r, uint32_t row);
uint32_t stoke_add_code_spot(struct stoke_reader *r, uint32_t row);
uint32_t stoke_add_code_source(struct stoke_reader *r, uint32_t row);

#endif
