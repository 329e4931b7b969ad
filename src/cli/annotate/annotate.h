/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `stoke annotate` share: where in the code of one function the samples
 * of recordings were.
 *
 * Addresses are the file's own, as in its symbol table; of code without a file, those
 * that the processor saw. */
#ifndef STOKE_CLI_ANNOTATE_ANNOTATE_H
#define STOKE_CLI_ANNOTATE_ANNOTATE_H

#include "cli/options/load.h"

/* Samples at one address, or of one line. */
struct annotated {
    double weight;
    uint64_t count;
};

struct annotated_address {
    uint64_t address;
    struct annotated samples;
};

/* From this address up to the next row's. */
struct annotated_row {
    uint64_t address;
    uint32_t file, line; /* a number among the files; 0: not known */
};

/* A line that the function has code of, its own or inlined. */
struct annotated_line {
    uint32_t file, line;
    struct annotated samples;
};

/* An instruction, as objdump prints it, with the names of functions as they are shown. */
struct annotated_code {
    uint64_t address;
    struct str text;     /* "mov %rsp,%rbp" */
    struct str function; /* the innermost one that is inlined here; or empty */
    struct annotated samples;
};

/* A function, with what was sampled in it. */
struct annotation {
    struct str symbol, module;
    struct str path;    /* of the file that holds its code; empty: there is none */
    bool is_jit;        /* a JIT made its code: no file has it */
    bool is_stripped;   /* it has no symbol: its name is made of its address */
    uint64_t low, high; /* [low, high) */
    struct annotated samples;
    struct annotated_address *addresses; /* in order */
    size_t address_count, address_cap;
    struct annotated_row *rows; /* in order; none without debug information */
    size_t row_count;
    struct strings files;         /* of the lines */
    struct annotated_line *lines; /* in the order of the files and lines */
    size_t line_count;
    struct annotated_code *code; /* in order */
    size_t code_count;
    struct str no_code; /* why there is none */
};

/* Everything that was asked for. */
struct annotations {
    struct arena arena;
    const char *wanted;       /* the function's name, or a part of it */
    const char *wanted_event; /* or NULL: the first that has samples */
    struct str event;
    size_t event_count; /* how many had samples */
    enum unit unit;
    double total;             /* of all samples of the event */
    struct annotation *items; /* the heaviest first */
    size_t count, cap;
    bool ended; /* all recordings were read */
    bool ok;
    struct error err; /* where not ok */
};

struct annotate_collector;

/* NULL when memory is short. It fills `a`, whose wishes are set, at the end of the last
 * of so many recordings; the caller's is the arena. */
struct annotate_collector *annotate_collector_create(struct annotations *a,
                                                     int recordings);
void annotate_collector_destroy(struct annotate_collector *c);
const struct perf_taker *annotate_collector_taker(const struct annotate_collector *c);

/* The row that an address belongs to; NULL for none. */
const struct annotated_row *annotation_row(const struct annotation *f, uint64_t address);

/* annotate_code.c: reads the function's instructions, by binutils' objdump, into the
 * arena. False, with why in f->no_code, where that cannot be: the addresses that were
 * sampled are then all there is. */
bool annotation_disassemble(struct annotation *f, struct arena *arena);

/* The address that an instruction jumps to or speaks of; false where there is none.
 * *before is the instruction up to there, *said what objdump calls it. */
bool annotated_target(struct str text, uint64_t *address, struct str *before,
                      struct str *said);

/* annotate_text.c */

struct annotate_output {
    struct output *out;
    bool colour;
    bool whole; /* not only what is near the samples */
};

/* False when memory is short. */
bool annotate_write_text(const struct annotations *a, const struct annotate_output *to);
bool annotate_write_json(const struct annotations *a, struct output *out);

#endif
