/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of recordings in the code of a function, by line and by instruction.
 *
 *   struct annotations a = {.function = "compress"};
 *   struct annotate_collector *c = annotate_collector_create(&a, file_count);
 *   load.consumer = annotate_collector_consumer(c);
 *   load.code_consumer = annotate_collector_code_consumer(c);
 *   struct profile *p = engine_load(&load, file_count, files, &report, &err);
 *   annotate_collector_destroy(c);
 *   if (p && a.ended && a.ok) ... a.items[0 .. a.count)
 *   arena_deinit(&a.arena);
 *
 * Addresses are those of the object file, as in its symbol table. Code without a file
 * has the addresses that were sampled. Weights are in a.unit. */
#ifndef STOKE_ENGINE_ANNOTATE_H
#define STOKE_ENGINE_ANNOTATE_H

#include "base/error.h"
#include "base/strings.h"
#include "engine/load.h"
#include "import/perf_data/recording.h"
#include "model/code.h"
#include "symbol/symtab.h"

/* The samples at one address, or of one line. */
struct annotated {
    double weight;
    uint64_t count;
};

struct annotated_address {
    uint64_t address;
    struct annotated samples;
};

/* The source line of the addresses up to the next row. */
struct annotated_row {
    uint64_t address;
    uint32_t file, line; /* index into the files; 0: unknown */
};

/* A source line of the function, or of a function that is inlined into it. */
struct annotated_line {
    uint32_t file, line;
    struct annotated samples;
};

/* An instruction as objdump prints it, with symbols as the resolver shows them. */
struct annotated_code {
    uint64_t address;
    struct str text;     /* "mov %rsp,%rbp" */
    struct str function; /* the innermost function that is inlined here; or empty */
    struct annotated samples;
};

/* The processor of a function's code, as an ELF file states it. */
struct annotated_machine {
    uint16_t machine; /* enum elf_machine, or another */
    bool is_64, big_endian;
    uint32_t flags;
};

/* An annotated function. */
struct annotation {
    struct str symbol, module;
    struct str bytes;                 /* its code, from `low` on; empty: unknown */
    struct annotated_machine machine; /* of its code */
    struct symtab_mark *marks;        /* in its code */
    size_t mark_count;
    const char *style; /* of the disassembler; or NULL */
    bool is_jit;       /* made by a JIT: no file has its code */
    bool is_stripped;  /* it has no symbol: its name is made of its address */
    bool
        is_bundled; /* its code is from a bundle; so are its sources, annotations.sources */
    bool is_left_out;   /* it is in a bundle, but without its code */
    uint64_t low, high; /* [low, high) */
    struct annotated samples;
    struct annotated_address *addresses; /* sorted */
    size_t address_count, address_cap;
    struct annotated_row *rows; /* sorted; none without debug information */
    size_t row_count;
    struct strings files;         /* of the lines */
    struct annotated_line *lines; /* sorted by file and line */
    size_t line_count;
    struct annotated_code *code; /* sorted */
    size_t code_count;
    struct str no_code; /* why the code is not available */

    /* The samples of the other events of a group: for each address, line and instruction one
     * after the other. */
    size_t other_count;
    struct annotated *others; /* of the function */
    struct annotated *address_others, *line_others, *code_others;
};

/* Another event of a group. */
struct annotated_event {
    struct str name;
    enum unit unit;
    double total;
};

/* A request for a bundle: the code of the functions with most samples of any event, for
 * machines without their files. */
struct annotation_keeping {
    uint64_t
        most; /* bytes of code and sources; larger functions and files are left out */
    const struct name_list *source_dirs; /* also searched for sources */
    struct code *code;                   /* out; initialized by the caller */

    size_t function_count,
        included_count;              /* functions with samples; those with their code */
    size_t without_code;             /* hot functions whose files are missing */
    size_t over_limit;               /* functions and sources that do not fit */
    double share;                    /* of the event with the smallest one, percent */
    uint64_t code_size, source_size; /* bytes */
    size_t source_count, unread;     /* sources; those that cannot be read */
};

struct source_text; /* export/exporter.h */

struct annotations {
    /* The request. */
    struct annotation_keeping *keep; /* NULL: functions are annotated */
    const char *function; /* the function's name, or a part of it; NULL: all functions */
    size_t most;          /* of all functions: how many, the heaviest */
    const char *event_pattern;     /* NULL: the first one with samples */
    double least;                  /* percent of the total: of lighter functions, none */
    bool group;                    /* also the samples of all other events */
    const struct number_set *cpus; /* only samples of these; NULL or empty: all */
    const char *style;             /* of the disassembler, "intel"; NULL: its default */

    /* The result. */
    /* owns the following data; the caller frees it with arena_deinit */
    struct arena arena;
    struct str event;
    size_t event_count;             /* events with samples */
    struct annotated_event *others; /* of a group, without the event above */
    size_t other_count;
    enum unit unit;
    double total;             /* of all samples of the event */
    struct annotation *items; /* the heaviest first */
    size_t count, cap;
    const struct source_text *sources; /* of functions from bundles */
    size_t source_count;
    bool ended; /* all recordings were read; if not, an input was not a recording */
    bool ok;
    struct error err; /* if not ok */
};

struct annotate_collector;

/* A collector for a number of recordings, which are read one after the other. It fills
 * the result at the end of the last one. NULL if out of memory. */
struct annotate_collector *annotate_collector_create(struct annotations *a,
                                                     int recordings);
void annotate_collector_destroy(struct annotate_collector *c);
const struct perf_consumer *annotate_collector_consumer(
    const struct annotate_collector *c);

/* For .stoke files that have the code of functions. */
const struct code_consumer *annotate_collector_code_consumer(
    const struct annotate_collector *c);

/* After the last recording: false, with err set, if the result is not complete or an input
 * has no code. */
bool annotate_check_result(const struct annotations *a, int file_count,
                           struct error *err);

/* Reads recordings a second time into `a`, with the settings of their first load, which
 * printed its messages. False, with err set, if an input is the standard input or history, is
 * neither a recording nor a .stoke with code, or cannot be read. */
bool annotate_read_again(struct annotations *a, const struct load_settings *first,
                         int file_count, char **files, struct error *err);

/* The row that an address belongs to; NULL if there is none. */
const struct annotated_row *annotation_row(const struct annotation *f, uint64_t address);

/* Finds the address that an instruction jumps to or refers to; false if there is none.
 * *before is the text before the address, *symbol is objdump's name of the address. */
bool annotated_target(struct str text, uint64_t *address, struct str *before,
                      struct str *symbol);

#endif
